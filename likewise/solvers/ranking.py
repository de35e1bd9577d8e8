"""The shared ranking solver: preferences in, the weight vector that honours them out.

    min over w of  1/2 (w - prior)' A (w - prior) + sum_t C_t max(0, margin_t - w.(z_b - z_w))

with ``A = I - (sigma / |w0|^2) w0 w0'``.  Preferences are pairs of row numbers of ``Z``, and
no matrix of differences is ever made: a dual multiplier a preference adds up to one
coefficient an item.  The dual is solved by coordinate ascent (`ranking_descent`); where
that crawls, an interior point takes over (`ranking_interior`).  Whatever the way, the
duality gap returned is computed afresh from the solution.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from likewise.solvers import checks
from likewise.solvers.checks import Floats, Ints
from likewise.solvers.ranking_dual import Dual, Metric

PATIENCE = 300
"""Sweeps of coordinate ascent before the interior point is asked."""

GRAM_ITEMS = 3000
"""Most items for which a Gram matrix is kept (72 MB)."""


class Ranking(NamedTuple):
    """A solved ranking problem.

    Attributes
    ----------
    w
        The solution.
    alpha
        One dual multiplier a preference, in ``[0, C_t]``; hand it in again as a warm start.
    objective
        Value of the primal problem at ``w``.
    gap
        Certified: ``objective`` is at most this much above the optimum.
    sweeps
        Sweeps of coordinate ascent.
    """

    w: Floats
    alpha: Floats
    objective: float
    gap: float
    sweeps: int


def rank(
    Z: ArrayLike,
    better: ArrayLike,
    worse: ArrayLike,
    *,
    C: float = 1.0,
    weights: ArrayLike | None = None,
    margins: ArrayLike | None = None,
    sigma: float = 0.0,
    w0: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    nonnegative: bool = False,
    alpha: ArrayLike | None = None,
    tol: float = 1e-5,
    max_sweeps: int = 2000,
    seed: int = 0,
) -> Ranking:
    """Learn ``w`` from preferences among the rows of ``Z``.

    Parameters
    ----------
    Z
        One row an item, for instance ``x_q * x_i``.
    better, worse
        Row numbers: ``Z[better[t]]`` should score above ``Z[worse[t]]``.
    C
        Price of a broken preference.
    weights
        A factor on ``C`` for each preference, at least zero.
    margins
        Wanted differences of score; one each unless given.
    sigma
        Pull towards the direction of ``w0``, in ``[0, 1)``; more is stronger.
    w0
        That direction; all ones unless given.
    prior
        Vector to stay close to; zero unless given.
    nonnegative
        Demand ``w >= 0`` (only with ``sigma = 0``).
    alpha
        Multipliers to start from; values outside of the box are clipped.
    tol
        Stop when ``gap <= tol * max(1, |objective|)``.
    max_sweeps
        Bound on the sweeps; the gap returned says how far the answer then is.
    seed
        Of the order of the coordinates.

    Returns
    -------
    Ranking
        ``(w, alpha, objective, gap, sweeps)``.  Without preferences ``w`` is the prior (its
        non-negative part on request).

    Raises
    ------
    ValueError
        On wrong shapes, row numbers out of range, values that are not finite, ``C <= 0``
        or ``sigma`` outside of ``[0, 1)``.

    Examples
    --------
    >>> found = rank([[1.0, 0.0], [0.0, 1.0]], [0], [1], C=10.0)
    >>> found.w.round(3).tolist()
    [0.5, -0.5]
    """
    rows = checks.matrix("Z", Z)
    pairs = _pairs(better, worse, len(rows))
    cap, margin = _prices(C, weights, margins, len(pairs[0]))
    metric = Metric.of(sigma, w0, rows.shape[1], nonnegative)
    base = checks.vector("prior", prior, rows.shape[1], 0.0)
    start = None if alpha is None else checks.vector("alpha", alpha, len(cap), 0.0)
    _check_stop(tol, max_sweeps)
    return _solve(rows, *pairs, margin, cap, metric, base, start, tol, max_sweeps, seed)


def _solve(
    rows: Floats,
    better: Ints,
    worse: Ints,
    margin: Floats,
    cap: Floats,
    metric: Metric,
    prior: Floats,
    start: Floats | None,
    tol: float,
    most: int,
    seed: int,
) -> Ranking:
    """One problem, everything checked: transform, ascend, certify."""
    items, dim = rows.shape
    signed = metric.nonnegative
    # Only differences count, so a common row is taken out: the Gram matrix keeps its digits.
    y = metric.root(rows - rows[:1])
    if signed:
        dual = Dual(y, None, better, worse, margin, cap, prior, 0.0)
    else:  # in w - prior the problem has prior zero and shifted margins
        scores = rows @ prior
        target = margin - scores[better] + scores[worse]
        gram = y @ y.T if items <= min(max(64, 4 * dim), GRAM_ITEMS) else None
        dual = Dual(y, gram, better, worse, target, cap, np.zeros(dim), -np.inf)

    alpha = dual.opening() if start is None else np.clip(start, 0, cap)
    sweeps, gap = dual.ascend(alpha, tol, min(most, PATIENCE), seed)
    if sweeps == PATIENCE < most:
        other = dual.interior(0.1 * tol)
        more, left = dual.ascend(other, tol, most - sweeps, seed)
        alpha, sweeps = (other if left < gap else alpha), sweeps + more

    pull = y.T @ dual.coefficients(alpha)
    w = np.maximum(prior + pull, 0) if signed else prior + metric.root(pull)
    # Afresh from w: primal minus dual is a sum of terms that are each at least zero.
    scores = rows @ w
    short = margin - scores[better] + scores[worse]
    loss = cap * np.maximum(short, 0)
    objective = 0.5 * metric.norm2(w - prior) + float(loss.sum())
    return Ranking(w, alpha, objective, float((loss - alpha * short).sum()), sweeps)


# --------------------------------------------------------------------------
# Checks


def _pairs(better: ArrayLike, worse: ArrayLike, items: int) -> tuple[Ints, Ints]:
    pairs = checks.numbers("better", better, items), checks.numbers("worse", worse, items)
    if len(pairs[0]) != len(pairs[1]):
        raise ValueError(
            f"better and worse must have one length, not {len(pairs[0])} and {len(pairs[1])}."
        )
    return pairs


def _prices(
    C: float, weights: ArrayLike | None, margins: ArrayLike | None, count: int
) -> tuple[Floats, Floats]:
    """``C_t`` and the margins of all preferences."""
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C must be a finite number above 0, not {C}.")
    factors = checks.vector("weights", weights, count, 1.0)
    if (factors < 0).any():
        raise ValueError("weights of preferences must be at least 0.")
    return C * factors, checks.vector("margins", margins, count, 1.0)


def _check_stop(tol: float, max_sweeps: int) -> None:
    if not tol > 0:
        raise ValueError(f"tol must be above 0, not {tol}.")
    if max_sweeps < 0:
        raise ValueError(f"max_sweeps must be at least 0, not {max_sweeps}.")
