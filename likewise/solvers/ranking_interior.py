"""Interior point for a ranking problem: what closes the gap where coordinate ascent crawls.

A badly scaled problem (large C, sigma near one, nearly dependent items) can cost
coordinate ascent any number of sweeps.  Newton's method on the relaxed optimality
conditions needs a few dozen steps whatever the scale.  The preferences enter through the
weighted graph Laplacian ``B' D^-1 B`` over items only, so the linear system has the size
of the vector, never of the preferences.

    min 1/2 |w - base|^2 + cap . xi     with  x_t . w + xi_t - z_t = margin_t,  xi, z >= 0

and ``w >= 0`` on request.  Optimal: ``w - base - X alpha - v = 0``, ``alpha + s = cap``, and
the products ``alpha z``, ``s xi``, ``v w`` are zero; on the central path they are all mu.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from likewise.later import linalg, sparse
from likewise.solvers.checks import Floats, Ints

DENSE_ITEMS = 400
"""Most items for which the graph of preferences is a dense matrix."""


class _Point(NamedTuple):
    """An iterate, or a step from one; ``v`` is empty unless ``w >= 0`` is asked for."""

    w: Floats
    v: Floats
    alpha: Floats
    s: Floats
    z: Floats
    xi: Floats

    def products(self, other: _Point) -> tuple[Floats, Floats, Floats]:
        """``alpha z``, ``s xi`` and ``v w``, the second factor taken from ``other``."""
        return self.alpha * other.z, self.s * other.xi, self.v * other.w[: len(self.v)]

    def moved(self, step: _Point, length: float) -> _Point:
        return _Point(*(a + length * b for a, b in zip(self, step)))

    def reach(self, step: _Point) -> float:
        """The longest step, at most one, that keeps every bounded value at or above zero."""
        reach = 1.0
        bounded = list(zip(self, step))[0 if len(self.v) else 2 :]
        for value, change in bounded:
            falling = change < 0
            if falling.any():
                reach = min(reach, float(np.min(-value[falling] / change[falling])))
        return reach


class _Pairs(NamedTuple):
    """The differences ``x_t = rows[better[t]] - rows[worse[t]]`` as a linear map, never formed."""

    rows: Floats
    better: Ints
    worse: Ints

    def slopes(self, w: Floats) -> Floats:
        """``x_t . w`` of every preference."""
        scores = self.rows @ w
        return scores[self.better] - scores[self.worse]

    def pull(self, alpha: Floats) -> Floats:
        """``sum_t alpha_t x_t``."""
        count = len(self.rows)
        coefficients = np.bincount(self.better, alpha, count)
        coefficients -= np.bincount(self.worse, alpha, count)
        return coefficients @ self.rows

    def weighted(self, weight: Floats) -> Floats:
        """``sum_t weight_t x_t x_t'``, by the Laplacian of the graph of preferences."""
        count = len(self.rows)
        degree = np.bincount(self.better, weight, count) + np.bincount(self.worse, weight, count)
        links: Any
        if count <= DENSE_ITEMS:
            place = self.better * count + self.worse
            links = np.bincount(place, weight, count * count).reshape(count, count)
        else:
            links = sparse.csr_array((weight, (self.better, self.worse)), (count, count))
        crossed: Floats = self.rows.T @ (links @ self.rows)
        return (self.rows.T * degree) @ self.rows - crossed - crossed.T


def interior_alpha(
    rows: Floats,
    better: Ints,
    worse: Ints,
    margin: Floats,
    cap: Floats,
    base: Floats,
    *,
    nonnegative: bool = False,
    tol: float = 1e-9,
    most: int = 80,
) -> Floats:
    """Multipliers alpha of the problem above, strictly inside their boxes; the caller certifies.

    Predictor and corrector after Mehrotra, one step length for all.  ``most`` bounds the
    number of steps.
    """
    alpha = np.zeros(len(cap))
    use = cap > 0  # a preference of weight zero has an empty box
    if use.any():
        pairs = _Pairs(rows, better[use], worse[use])
        point = _start(pairs, margin[use], cap[use], base, nonnegative)
        for _ in range(most):
            point, done = _advance(point, pairs, margin[use], base, tol)
            if done:
                break
        alpha[use] = np.clip(point.alpha, 0, cap[use])
    return alpha


def _start(pairs: _Pairs, margin: Floats, cap: Floats, base: Floats, nonnegative: bool) -> _Point:
    alpha = cap / 2
    w = base + pairs.pull(alpha)
    if nonnegative:
        w = np.maximum(w, 0) + 1e-2 * (1 + np.abs(w).max())
    slack = pairs.slopes(w) - margin
    v = np.ones(len(w) if nonnegative else 0)
    return _Point(w, v, alpha, cap - alpha, np.maximum(slack, 0) + 1, np.maximum(-slack, 0) + 1)


def _advance(
    now: _Point, pairs: _Pairs, margin: Floats, base: Floats, tol: float
) -> tuple[_Point, bool]:
    """One predictor-corrector step, and whether there is nothing left to do."""
    signed = bool(len(now.v))
    drift = now.w - base - pairs.pull(now.alpha)
    if signed:
        drift = drift - now.v
    rest = pairs.slopes(now.w) + now.xi - now.z - margin
    products = np.concatenate(now.products(now))
    size = max(1.0, 0.5 * float((now.w - base) @ (now.w - base)) + abs(float(margin @ now.alpha)))
    if products.sum() <= tol * size and np.abs(drift).max(initial=0) <= 1e-7 * size:
        return now, True

    diagonal = now.xi / now.s + now.z / now.alpha
    system = pairs.weighted(1 / diagonal)
    system[np.diag_indices_from(system)] += 1 + (now.v / now.w if signed else 0)
    factor = linalg.cho_factor(system, check_finite=False)

    def newton(az: Floats, sx: Floats, vw: Floats) -> _Point:
        """The step that aims at these products, everything but ``dw`` eliminated."""
        h = -rest - (sx / now.s - now.xi) + (az / now.alpha - now.z)
        right = -drift + pairs.pull(h / diagonal)
        if signed:
            right = right + vw / now.w - now.v
        dw = linalg.cho_solve(factor, right, check_finite=False)
        da = (h - pairs.slopes(dw)) / diagonal
        dv = (vw - now.v * dw) / now.w - now.v if signed else now.v
        dz = (az - now.z * da) / now.alpha - now.z
        dxi = (sx + now.xi * da) / now.s - now.xi
        return _Point(dw, dv, da, -da, dz, dxi)

    mu = float(products.mean())
    guess = newton(*(0 * p for p in now.products(now)))
    ahead = now.moved(guess, now.reach(guess))
    aimed = float(np.concatenate(ahead.products(ahead)).mean())
    centre = mu * min(1.0, max(aimed, 0.0) / mu) ** 3
    step = newton(*(centre - p for p in guess.products(guess)))
    length = 0.995 * now.reach(step)
    return now.moved(step, length), length < 1e-10
