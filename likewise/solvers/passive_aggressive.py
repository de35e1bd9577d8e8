"""Closed-form steps over triplets of a bilinear similarity z'Wx.

For the triplet (z, better, worse) the step along z (better - worse)' that brings the margin
to 1 has a closed form.  Kept within [0, C] over repeated passes it is dual coordinate
descent for the ranking SVM, with a certified gap; taken once a triplet it is the
passive-aggressive step of OASIS.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ids = NDArray[np.int64]


class Fit(NamedTuple):
    """W (or its diagonal), the objective, the duality gap (nan after a single online pass)."""

    weights: Floats
    objective: float
    residual: float


def rank_svm(
    queries: Floats,
    items: Floats,
    triplets: tuple[Ids, Ids, Ids],
    *,
    cost: float = 1.0,
    prior: Floats | None = None,
    diagonal: bool = False,
    tolerance: float = 1e-2,
    passes: int = 50,
    seed: int = 0,
) -> Fit:
    """Minimise 1/2 |W - W0|^2 + C sum max(0, 1 - z'W(better - worse)) over triplets.

    Stops at a duality gap of ``tolerance`` times P(W0), or after ``passes``.
    """
    z, x, w0 = _arrays(queries, items, prior, diagonal)
    w = w0.copy()
    alpha = np.zeros(len(triplets[0]))
    rng = np.random.default_rng(seed)
    start = upper = cost * float(_hinge(z, x, *triplets, np.atleast_2d(w), diagonal))
    lower = 0.0
    for _ in range(passes):
        if upper - lower <= tolerance * start:
            break
        order = rng.permutation(len(alpha))
        _steps(order, z, x, *triplets, alpha, np.atleast_2d(w), diagonal, cost, False)
        moved = w - w0
        hinge = _hinge(z, x, *triplets, np.atleast_2d(w), diagonal)
        upper = float(0.5 * (moved**2).sum() + cost * hinge)
        lower = float(alpha.sum() - (w0 * moved).sum() - 0.5 * (moved**2).sum())
    return Fit(w, upper, max(upper - lower, 0.0))


def oasis(
    queries: Floats,
    items: Floats,
    triplets: tuple[Ids, Ids, Ids],
    *,
    cost: float = 0.1,
    prior: Floats | None = None,
) -> Fit:
    """One pass of passive-aggressive steps, in the order of the triplets."""
    z, x, w0 = _arrays(queries, items, prior, False)
    w = w0.copy()
    alpha = np.zeros(len(triplets[0]))
    order = np.arange(len(alpha))
    suffered = _steps(order, z, x, *triplets, alpha, w, False, cost, True)
    return Fit(w, float(suffered), float("nan"))


def _arrays(
    queries: Floats, items: Floats, prior: Floats | None, diagonal: bool
) -> tuple[Floats, Floats, Floats]:
    z, x = (np.ascontiguousarray(m, dtype=np.float64) for m in (queries, items))
    d = x.shape[1]
    w0 = np.zeros(d if diagonal else (d, d)) if prior is None else np.array(prior, np.float64)
    return z, x, w0


@njit(cache=True, fastmath=True)
def _margin(z, x, better, worse, w, diagonal, move):  # type: ignore[no-untyped-def]
    """z'W(better - worse); ``move`` becomes better - worse."""
    d = len(z)
    for t in range(d):
        move[t] = x[better, t] - x[worse, t]
    total = 0.0
    if diagonal:
        for t in range(d):
            total += w[0, t] * z[t] * move[t]
        return total
    for p in range(d):
        if z[p] != 0.0:
            row = 0.0
            for t in range(d):
                row += w[p, t] * move[t]
            total += z[p] * row
    return total


@njit(cache=True, fastmath=True)
def _hinge(z, x, query, better, worse, w, diagonal):  # type: ignore[no-untyped-def]
    move = np.empty(x.shape[1])
    total = 0.0
    for t in range(len(query)):
        total += max(0.0, 1.0 - _margin(z[query[t]], x, better[t], worse[t], w, diagonal, move))
    return total


@njit(cache=True, fastmath=True)
def _steps(order, z, x, query, better, worse, alpha, w, diagonal, cost, online):  # type: ignore[no-untyped-def]
    """One pass; ``online`` leaves out the lower bound on alpha's memory of earlier passes."""
    d = x.shape[1]
    move = np.empty(d)
    suffered = 0.0
    for t in order:
        zi = z[query[t]]
        slack = 1.0 - _margin(zi, x, better[t], worse[t], w, diagonal, move)
        suffered += max(0.0, slack)
        if online and slack <= 0:
            continue
        bend = 0.0
        square = 0.0
        for p in range(d):
            bend += zi[p] * zi[p] * move[p] * move[p] if diagonal else move[p] * move[p]
            square += zi[p] * zi[p]
        if not diagonal:
            bend *= square
        if bend <= 1e-300:
            if slack > 0:
                alpha[t] = cost
            continue
        new = min(max(alpha[t] + slack / bend, 0.0), cost)
        change = new - alpha[t]
        alpha[t] = new
        if change == 0.0:
            continue
        if diagonal:
            for p in range(d):
                w[0, p] += change * zi[p] * move[p]
        else:
            for p in range(d):
                if zi[p] != 0.0:
                    for s in range(d):
                        w[p, s] += change * zi[p] * move[s]
    return suffered
