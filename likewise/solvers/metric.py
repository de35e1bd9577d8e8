"""A weighted Euclidean metric from an order: the non-negative ranking problem of one session.

    min over w >= 0 of  1/2 |w - prior|^2 + sum_t C_t max(0, 1 - w . (d_far - d_near))

with rows ``d = (q - x) o (q - x)`` (Han et al., equations 5 and 6).  Its dual is

    max over 0 <= a <= C of  1'a - 1/2 |max(prior + A'a, 0)|^2,    w = max(prior + A'a, 0)

and the paper's updates (7) and (8) are coordinate ascent on it, one coordinate at a time with
w refreshed at once.  That is the shared ranking solver with ``w >= 0``: Gauss-Seidel steps with a
certified gap, which go on from the multipliers of an earlier solve.  Without those a compiled
interior point (the method of `ranking_interior` for dense rows, without the cost of some hundred
small numpy calls) is quicker and is asked first.  Whatever the way, the gap is
certified; where it stays open, on badly scaled rounds, an interior point with more digits comes
near and an active set closes it.
"""

from __future__ import annotations

import contextlib
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.later import njit
from likewise.solvers import checks
from likewise.solvers.checks import Floats, Ints
from likewise.solvers.ranking import Ranking, rank
from likewise.solvers.ranking_interior import interior_alpha

Pairs = Literal["neighbours", "all"]

SAME = 1e-12
"""Two rows that differ by less than this share of their length are duplicates."""


TIGHT = 1e-11
"""Products, relative to the objective, at which the compiled interior point stops."""

PATIENCE = 8
"""Sweeps of coordinate ascent before the interior point and the active set are asked."""


class MetricFit(NamedTuple):
    """A solved metric: as :class:`~likewise.solvers.ranking.Ranking`.

    ``dropped`` counts pairs of duplicates, which say nothing, because their difference is the zero
    row: their multipliers are zero, and the objective is without them.
    """

    w: Floats
    alpha: Floats
    objective: float
    gap: float
    sweeps: int
    dropped: int


def learn_metric(
    D: ArrayLike,
    near: ArrayLike,
    far: ArrayLike,
    *,
    C: float = 20.0,
    weights: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    signed: bool = False,
    alpha: ArrayLike | None = None,
    tol: float = 1e-5,
    max_sweeps: int = 1000,
) -> MetricFit:
    """Weights under which ``D[near[t]]`` is at least one nearer than ``D[far[t]]``.

    Parameters
    ----------
    D
        Squared differences to the query, ``(q - x) o (q - x)``, one row a picture.  The query
        itself is a row of zeros.  Rows of several queries may stand below each other.
    near, far
        Row numbers: the person put the first nearer than the second.
    C
        Price of a broken pair.
    weights
        A factor on ``C`` for each pair: how sure the person was.
    prior
        Weights to stay close to, for instance those of the last round; zero unless given.
    signed
        Allow negative weights, as ranking-SVM does; only to compare with.
    alpha, tol, max_sweeps
        As for :func:`~likewise.solvers.ranking.rank`.

    Examples
    --------
    >>> found = learn_metric([[0.0, 4.0], [4.0, 0.0]], [0], [1])
    >>> found.w.round(3).tolist()  # only the first dimension puts the first picture nearer
    [0.25, 0.0]
    """
    rows = checks.matrix("D", D)
    if (rows < 0).any():
        raise ValueError("D must hold squared differences; it has numbers below zero.")
    first, second = (
        checks.numbers(name, at, len(rows)) for name, at in (("near", near), ("far", far))
    )
    if len(first) != len(second):
        raise ValueError("near and far must have one length.")
    factors = checks.vector("weights", weights, len(first), 1.0)
    start = checks.vector("alpha", alpha, len(first), 0.0)
    tells = informative(rows, first, second)
    base = checks.vector("prior", prior, rows.shape[1], 0.0)

    def ascend(start: Floats | None, most: int) -> Ranking:
        return rank(
            -rows,
            first[tells],
            second[tells],
            C=C,
            weights=factors[tells],
            prior=base,
            nonnegative=not signed,
            alpha=start,
            tol=tol,
            max_sweeps=most,
        )

    cap, steps = C * factors[tells], rows[second[tells]] - rows[first[tells]]
    quick = None if signed or alpha is not None else _interior(steps, base, cap)
    if quick is not None and not _open(quick, tol):
        solved = quick
    else:
        solved = ascend(None if alpha is None else start[tells], min(max_sweeps, PATIENCE))
    if _open(solved, tol) and not signed:
        pairs = first[tells], second[tells], np.ones(len(cap)), cap
        openings = []
        for near_enough in (0.1 * tol, 1e3 * tol):
            with contextlib.suppress(np.linalg.LinAlgError):  # beyond the digits of its matrix
                openings.append(
                    interior_alpha(-rows, *pairs, base, nonnegative=True, tol=near_enough)
                )
                break
        for opening in (*openings, solved.alpha):
            found = active_set(steps, base, cap, opening, tol=tol).alpha
            closer = Ranking(*certify(steps, base, cap, found), solved.sweeps)
            solved = min(solved, closer, key=lambda one: one.gap)
            if not _open(solved, tol):
                break
    if _open(solved, tol) and solved.sweeps < max_sweeps:
        last = ascend(solved.alpha, max_sweeps - solved.sweeps)
        solved = min(solved, last, key=lambda one: one.gap)
    multipliers = np.zeros(len(first))
    multipliers[tells] = solved.alpha
    dropped = int(len(first) - tells.sum())
    return MetricFit(solved.w, multipliers, solved.objective, solved.gap, solved.sweeps, dropped)


def _interior(steps: Floats, base: Floats, cap: Floats) -> Ranking | None:
    """The compiled interior point, certified; nothing where its matrix runs out of digits."""
    use = cap > 0  # a pair of weight zero has an empty box
    alpha = np.zeros(len(cap))
    if use.any():
        with contextlib.suppress(np.linalg.LinAlgError):
            alpha[use] = interior(np.ascontiguousarray(steps[use]), base, cap[use], TIGHT, 80)
    if not np.isfinite(alpha).all():
        return None
    return Ranking(*certify(steps, base, cap, alpha), 0)


def _open(solved: Ranking, tol: float) -> bool:
    return solved.gap > tol * max(1.0, abs(solved.objective))


def informative(D: Floats, near: Ints, far: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which pairs say anything: not those of duplicates, whose difference is the zero row."""
    scale = np.maximum(D[near].max(axis=1, initial=0), D[far].max(axis=1, initial=0))
    differ: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
        np.abs(D[far] - D[near]).max(axis=1, initial=0) > SAME * scale
    )
    return differ


class Active(NamedTuple):
    """Multipliers, and how far the primal at their weights may be above the optimum."""

    alpha: Floats
    objective: float
    gap: float


def certify(
    A: Floats, prior: Floats, cap: Floats, alpha: Floats
) -> tuple[Floats, Floats, float, float]:
    """Weights, the multipliers they come from, primal objective and gap, computed afresh."""
    w = np.maximum(prior + alpha @ A, 0)
    short = 1 - A @ w
    loss = cap * np.maximum(short, 0)
    objective = 0.5 * float((w - prior) @ (w - prior)) + float(loss.sum())
    return w, alpha, objective, float((loss - alpha * short).sum())


def active_set(
    A: Floats, prior: Floats, cap: Floats, alpha: Floats, *, tol: float, most: int = 1000
) -> Active:
    """Raise the dual from ``alpha`` until the gap is below ``tol * max(1, objective)``.

    The dual is quadratic as long as the same pairs are free (strictly inside of their box) and the
    same weights are positive.  A step solves that quadratic exactly, walks to the best point of the
    way there inside of the box, and looks again which are.  Least squares on the rows themselves,
    not on their Gram matrix, keeps the digits that bad scales cost.
    """
    alpha = np.clip(alpha, 0, cap)
    best = Active(alpha, *certify(A, prior, cap, alpha)[2:])
    for _ in range(most):
        if best.gap <= tol * max(1.0, abs(best.objective)):
            break
        w = np.maximum(prior + alpha @ A, 0)
        slope = 1 - A @ w
        free = ((alpha > 0) | (slope > 0)) & ((alpha < cap) | (slope < 0))
        if not free.any():
            break
        moved = _rise(A, prior, cap, alpha, free, slope)
        if moved is None:
            break
        alpha = moved
        objective, gap = certify(A, prior, cap, alpha)[2:]
        if gap < best.gap:
            best = Active(alpha, objective, gap)
    return best


def _rise(
    A: Floats, prior: Floats, cap: Floats, alpha: Floats, free: NDArray[np.bool_], slope: Floats
) -> Floats | None:
    """A Newton step on the free pairs, bent at the box; steepest ascent where it does not rise."""
    positive = prior + alpha @ A > 0
    part = A[np.ix_(free, positive)]
    newton = np.zeros_like(alpha)
    if part.size:
        # part part' s = slope by two least-squares problems, never by the product
        size = np.linalg.norm(part, axis=1)
        size[size == 0] = 1.0
        scaled = part / size[:, None]
        u = np.linalg.lstsq(scaled, slope[free] / size, rcond=1e-13)[0]
        newton[free] = np.linalg.lstsq(scaled.T, u, rcond=1e-13)[0] / size
    steepest = np.where(free, slope / np.maximum((A * A).sum(axis=1), 1e-300), 0.0)
    now = _dual(A, prior, alpha)
    for direction in (newton, steepest):
        length = 1.0
        for _ in range(40):
            moved = np.clip(alpha + length * direction, 0, cap)
            if _dual(A, prior, moved) > now and (moved != alpha).any():
                return moved
            length *= 0.5
    return None


def _dual(A: Floats, prior: Floats, alpha: Floats) -> float:
    w = np.maximum(prior + alpha @ A, 0)
    return float(alpha.sum() - 0.5 * w @ w)


@njit(cache=True, nogil=True)
def interior(A, base, cap, tol, most):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def _step(  # type: ignore[no-untyped-def]
    A, lower, drift, rest, diagonal, w, v, alpha, s, z, xi, az, sx, vw
):
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


@njit(cache=True, nogil=True)
def _reach(w, dw, v, dv, alpha, da, s, z, dz, xi, dxi):  # type: ignore[no-untyped-def]
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
