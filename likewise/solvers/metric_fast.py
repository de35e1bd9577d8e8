"""The metric's interior point, compiled: the usual round of a session in about a millisecond.

The method of `ranking_interior` (predictor and corrector after Mehrotra) for ``w >= 0`` and dense
rows, without the cost of some hundred small numpy calls.  It is not believed: the caller certifies
what it returns, and has slower ways that bad scales do not upset.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def interior(A: Any, base: Any, cap: Any, tol: Any, most: Any) -> Any:
    """Multipliers strictly inside of their boxes, at products below ``tol``."""
    n, dim = A.shape
    alpha = 0.5 * cap
    w = base + A.T @ alpha
    w = np.maximum(w, 0.0) + 1e-2 * (1.0 + np.abs(w).max())
    v, s = np.ones(dim), cap - alpha
    slack = A @ w - 1.0
    z, xi = np.maximum(slack, 0.0) + 1.0, np.maximum(-slack, 0.0) + 1.0
    for _ in range(most):
        drift = w - base - A.T @ alpha - v
        rest = A @ w + xi - z - 1.0
        total = (alpha * z).sum() + (s * xi).sum() + (v * w).sum()
        size = max(1.0, 0.5 * ((w - base) ** 2).sum() + abs(alpha.sum()))
        if total <= tol * size and np.abs(drift).max() <= 1e-7 * size:
            break
        diagonal = xi / s + z / alpha
        system = A.T @ (A / diagonal.reshape(-1, 1))
        for m in range(dim):
            system[m, m] += 1.0 + v[m] / w[m]
        lower = np.linalg.cholesky(system)
        mu = total / (2 * n + dim)
        # predictor: all products to zero; corrector: to the centre, less what was left out
        az, sx, vw = np.zeros(n), np.zeros(n), np.zeros(dim)
        dw, dv, da, dz, dxi = _step(
            A, lower, drift, rest, diagonal, w, v, alpha, s, z, xi, az, sx, vw
        )
        reach = _reach(w, dw, v, dv, alpha, da, s, z, dz, xi, dxi)
        aimed = (
            ((alpha + reach * da) * (z + reach * dz)).sum()
            + ((s - reach * da) * (xi + reach * dxi)).sum()
            + ((v + reach * dv) * (w + reach * dw)).sum()
        ) / (2 * n + dim)
        centre = mu * min(1.0, max(aimed, 0.0) / mu) ** 3
        az, sx, vw = centre - da * dz, centre + da * dxi, centre - dv * dw
        dw, dv, da, dz, dxi = _step(
            A, lower, drift, rest, diagonal, w, v, alpha, s, z, xi, az, sx, vw
        )
        length = 0.995 * _reach(w, dw, v, dv, alpha, da, s, z, dz, xi, dxi)
        if length < 1e-10:
            break
        w, v, alpha = w + length * dw, v + length * dv, alpha + length * da
        s, z, xi = s - length * da, z + length * dz, xi + length * dxi
    return np.minimum(np.maximum(alpha, 0.0), cap)


@numba.njit(cache=True, nogil=True)
def _step(
    A: Any,
    lower: Any,
    drift: Any,
    rest: Any,
    diagonal: Any,
    w: Any,
    v: Any,
    alpha: Any,
    s: Any,
    z: Any,
    xi: Any,
    az: Any,
    sx: Any,
    vw: Any,
) -> Any:
    """The step that aims at these products, everything but ``dw`` eliminated."""
    h = -rest - (sx / s - xi) + (az / alpha - z)
    dw = -drift + A.T @ (h / diagonal) + vw / w - v
    dim = len(dw)
    for m in range(dim):
        for k in range(m):
            dw[m] -= lower[m, k] * dw[k]
        dw[m] /= lower[m, m]
    for m in range(dim - 1, -1, -1):
        for k in range(m + 1, dim):
            dw[m] -= lower[k, m] * dw[k]
        dw[m] /= lower[m, m]
    da = (h - A @ dw) / diagonal
    dv = (vw - v * dw) / w - v
    dz = (az - z * da) / alpha - z
    dxi = (sx + xi * da) / s - xi
    return dw, dv, da, dz, dxi


@numba.njit(cache=True, nogil=True)
def _reach(
    w: Any,
    dw: Any,
    v: Any,
    dv: Any,
    alpha: Any,
    da: Any,
    s: Any,
    z: Any,
    dz: Any,
    xi: Any,
    dxi: Any,
) -> Any:
    """The longest step, at most one, that keeps every bounded value at or above zero."""
    reach = 1.0
    for m in range(len(w)):
        if dw[m] < 0.0:
            reach = min(reach, -w[m] / dw[m])
        if dv[m] < 0.0:
            reach = min(reach, -v[m] / dv[m])
    for t in range(len(alpha)):
        if da[t] < 0.0:
            reach = min(reach, -alpha[t] / da[t])
        if da[t] > 0.0:
            reach = min(reach, s[t] / da[t])
        if dz[t] < 0.0:
            reach = min(reach, -z[t] / dz[t])
        if dxi[t] < 0.0:
            reach = min(reach, -xi[t] / dxi[t])
    return reach
