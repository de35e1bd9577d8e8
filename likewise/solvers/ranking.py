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
from likewise.solvers.ranking_descent import descend_gram, descend_vector
from likewise.solvers.ranking_interior import interior_alpha

PATIENCE = 300
"""Sweeps of coordinate ascent before the interior point is asked."""

GRAM_ITEMS = 3000
"""Most items for which a Gram matrix is kept (72 MB)."""


class Ranking(NamedTuple):
    """A solved ranking problem.

    ``alpha`` has one dual multiplier a preference, in ``[0, C_t]``; hand it in again as a warm
    start. ``objective`` is the primal's value at ``w``, certified to be at most ``gap`` above the
    optimum.
    """

    w: Floats
    alpha: Floats
    objective: float
    gap: float
    sweeps: int


def rank(
    Z: ArrayLike, better: ArrayLike, worse: ArrayLike, *, C: float = 1.0,
    weights: ArrayLike | None = None, margins: ArrayLike | None = None, sigma: float = 0.0,
    w0: ArrayLike | None = None, prior: ArrayLike | None = None, nonnegative: bool = False,
    alpha: ArrayLike | None = None, tol: float = 1e-5, max_sweeps: int = 2000, seed: int = 0,
) -> Ranking:  # fmt: skip
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
        Without preferences ``w`` is the prior (its non-negative part on request).

    Examples
    --------
    >>> found = rank([[1.0, 0.0], [0.0, 1.0]], [0], [1], C=10.0)
    >>> found.w.round(3).tolist()
    [0.5, -0.5]
    """
    rows = checks.matrix("Z", Z)
    items, dim = rows.shape
    first, second = checks.numbers("better", better, items), checks.numbers("worse", worse, items)
    count = len(first)
    if count != len(second):
        raise ValueError(f"better and worse must have one length, not {count} and {len(second)}.")
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C must be a finite number above 0, not {C}.")
    if not tol > 0 or max_sweeps < 0:
        raise ValueError(f"tol must be above 0 and max_sweeps at least 0, not {tol}, {max_sweeps}.")
    cap = C * checks.vector("weights", weights, count, 1.0)
    margin = checks.vector("margins", margins, count, 1.0)
    if (cap < 0).any():
        raise ValueError("weights of preferences must be at least 0.")
    metric = Metric.of(sigma, w0, dim, nonnegative)
    base = checks.vector("prior", prior, dim, 0.0)
    # Only differences count, so a common row is taken out: the Gram matrix keeps its digits.
    y = metric.root(rows - rows[:1])
    if nonnegative:
        dual = Dual(y, None, first, second, margin, cap, base, 0.0)
    else:  # in w - prior the problem has prior zero and shifted margins
        scores = rows @ base
        target = margin - scores[first] + scores[second]
        gram = y @ y.T if items <= min(max(64, 4 * dim), GRAM_ITEMS) else None
        dual = Dual(y, gram, first, second, target, cap, np.zeros(dim), -np.inf)

    if alpha is None:
        found = dual.opening()
    else:
        found = np.clip(checks.vector("alpha", alpha, count, 0.0), 0, cap)
    sweeps, gap = dual.ascend(found, tol, min(max_sweeps, PATIENCE), seed)
    if sweeps == PATIENCE < max_sweeps:
        other = dual.interior(0.1 * tol)
        more, left = dual.ascend(other, tol, max_sweeps - sweeps, seed)
        found, sweeps = (other if left < gap else found), sweeps + more

    pull = y.T @ dual.coefficients(found)
    solved = np.maximum(base + pull, 0) if nonnegative else base + metric.root(pull)
    # Afresh from w: primal minus dual is a sum of terms that are each at least zero.
    scores = rows @ solved
    short = margin - scores[first] + scores[second]
    loss = cap * np.maximum(short, 0)
    objective = 0.5 * metric.norm2(solved - base) + float(loss.sum())
    return Ranking(solved, found, objective, float((loss - found * short).sum()), sweeps)


class Metric(NamedTuple):
    """``A = I - sigma u u'`` for a unit vector u."""

    sigma: float
    unit: Floats

    @classmethod
    def of(cls, sigma: float, w0: ArrayLike | None, dim: int, nonnegative: bool) -> Metric:
        """The metric of :func:`~likewise.solvers.ranking.rank`'s arguments, checked."""
        if not 0 <= sigma < 1:
            raise ValueError(f"sigma must be at least 0 and below 1, not {sigma}.")
        if nonnegative and sigma > 0:
            raise ValueError("w >= 0 can be demanded with sigma = 0 only; drop one of the two.")
        direction = checks.vector("w0", w0, dim, 1.0)
        length = float(np.linalg.norm(direction))
        if length == 0:
            raise ValueError("w0 must not be the zero vector: it gives the direction to favour.")
        return cls(float(sigma), direction / length)

    def root(self, x: Floats) -> Floats:
        """``A^(-1/2) x`` for a vector or for each row."""
        if self.sigma == 0:
            return x
        factor = (1 - self.sigma) ** -0.5 - 1
        shift: Floats = np.multiply.outer(factor * (x @ self.unit), self.unit)
        return x + shift

    def norm2(self, x: Floats) -> float:
        """``x' A x``."""
        return float(x @ x) - self.sigma * float(x @ self.unit) ** 2


class Dual(NamedTuple):
    """A problem in Euclidean form: ``max target.a - 1/2|max(base + X a, floor)|^2`` in the box."""

    rows: Floats
    gram: Floats | None
    better: Ints
    worse: Ints
    target: Floats
    cap: Floats
    base: Floats
    floor: float

    def coefficients(self, alpha: Floats) -> Floats:
        """One number an item: what its preferences won minus what they lost."""
        count = len(self.rows)
        won: Floats = np.bincount(self.better, alpha, count).astype(np.float64)
        return won - np.bincount(self.worse, alpha, count)

    def opening(self) -> Floats:
        """The best multiple of ``alpha = cap``, near the answer where labels are few."""
        pull = self.rows.T @ self.coefficients(self.cap)
        gain, bend = float(self.target @ self.cap), float(pull @ pull)
        if self.floor == 0:  # the line is bent: compare its two ends only
            top, none = np.maximum(self.base + pull, 0), np.maximum(self.base, 0)
            return self.cap * float(gain - 0.5 * top @ top > -0.5 * none @ none)
        return self.cap * (min(1.0, max(0.0, gain / bend)) if bend > 0 else float(gain > 0))

    def ascend(self, alpha: Floats, tol: float, most: int, seed: int) -> tuple[int, float]:
        """Coordinate ascent in place; sweeps done and gap."""
        pairs = self.better, self.worse, self.target, self.cap, alpha, tol, most, seed
        if self.gram is not None:
            sweeps, gap = descend_gram(self.gram, *pairs)
        else:
            sweeps, gap = descend_vector(self.rows, self.base, self.floor, *pairs)
        return sweeps, gap

    def interior(self, tol: float) -> Floats:
        """Multipliers by the interior point, in a basis of the items where that is smaller."""
        rows, base, signed = self.rows, self.base, self.floor == 0
        if not signed and self.gram is not None and len(rows) < rows.shape[1]:
            values, vectors = np.linalg.eigh(self.gram)
            keep = values > 1e-14 * max(values[-1], 0)
            rows = vectors[:, keep] * np.sqrt(values[keep])
            base = np.zeros(rows.shape[1])
        pairs = self.better, self.worse, self.target, self.cap
        return interior_alpha(rows, *pairs, base, nonnegative=signed, tol=tol)
