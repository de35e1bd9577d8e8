"""Active set for the metric's dual: what closes the gap on badly scaled rounds.

The dual ``1'a - 1/2 |max(prior + A'a, 0)|^2`` is quadratic as long as the same pairs are free
(strictly inside of their box) and the same weights are positive.  A step solves that quadratic
exactly, walks to the best point of the way there inside of the box, and looks again which pairs
are free and which weights positive.  Least squares on the rows themselves, not on their Gram
matrix, keeps the digits that bad scales cost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.solvers.checks import Floats


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
    """Raise the dual from ``alpha`` until the gap is below ``tol * max(1, objective)``."""
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
        moved = _step(A, prior, cap, alpha, free, slope)
        if moved is None:
            break
        alpha = moved
        objective, gap = certify(A, prior, cap, alpha)[2:]
        if gap < best.gap:
            best = Active(alpha, objective, gap)
    return best


def _step(
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
