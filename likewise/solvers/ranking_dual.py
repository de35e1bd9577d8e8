"""The ranking problem in Euclidean form: the metric taken out, and the ways to raise its dual."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from likewise.solvers import checks
from likewise.solvers.checks import Floats, Ints
from likewise.solvers.ranking_descent import descend_gram, descend_vector
from likewise.solvers.ranking_interior import interior_alpha


class Metric(NamedTuple):
    """``A = I - sigma u u'`` for a unit vector u, or the identity with ``w >= 0``."""

    sigma: float
    unit: Floats
    nonnegative: bool

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
        return cls(float(sigma), direction / length, nonnegative)

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
