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

    Stops at a duality gap of ``tolerance`` times P(W0), or after ``passes``.  A pass goes
    query by query, so that a triplet costs d numbers and only a query d x d.
    """
    z, x, w0 = _arrays(queries, items, prior, diagonal)
    w = w0.copy()
    query, better, worse = triplets
    order = np.argsort(query, kind="stable")
    start = np.searchsorted(query[order], np.arange(len(z) + 1))
    better, worse = better[order], worse[order]
    alpha = np.zeros(len(order))
    rng = np.random.default_rng(seed)
    first = upper = cost * float(_hinge(z, x, start, better, worse, np.atleast_2d(w), diagonal))
    lower = 0.0
    for _ in range(passes):
        if upper - lower <= tolerance * first:
            break
        turn = rng.permutation(len(z))
        _pass(turn, z, x, start, better, worse, alpha, np.atleast_2d(w), diagonal, cost)
        moved = w - w0
        hinge = _hinge(z, x, start, better, worse, np.atleast_2d(w), diagonal)
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
    """One pass of passive-aggressive steps, in the order of the triplets.

    The objective is the sum of the losses that were suffered on the way.
    """
    z, x, w0 = _arrays(queries, items, prior, False)
    w = w0.copy()
    return Fit(w, float(_online(z, x, *triplets, w, cost)), float("nan"))


def _arrays(
    queries: Floats, items: Floats, prior: Floats | None, diagonal: bool
) -> tuple[Floats, Floats, Floats]:
    z, x = (np.ascontiguousarray(m, dtype=np.float64) for m in (queries, items))
    d = x.shape[1]
    w0 = np.zeros(d if diagonal else (d, d)) if prior is None else np.array(prior, np.float64)
    return z, x, w0


# --------------------------------------------------------------------------
# Kernels


@njit(cache=True)
def _surrogate(z, w, diagonal):  # type: ignore[no-untyped-def]
    """W'z, and how much of a change of u goes into it, a number a dimension."""
    if diagonal:
        return w[0] * z, z * z
    return np.dot(z, w), np.full(len(z), np.dot(z, z))


@njit(cache=True, fastmath=True)
def _sums(v, h, move):  # type: ignore[no-untyped-def]
    # Stores nothing, so that reordering its sums gives the same bits in every run.
    margin = 0.0
    bend = 0.0
    for t in range(len(v)):
        margin += v[t] * move[t]
        bend += h[t] * move[t] * move[t]
    return margin, bend


@njit(cache=True)
def _difference(v, h, good, bad, move):  # type: ignore[no-untyped-def]
    """Margin and curvature along good - bad, which is left in ``move``."""
    for t in range(len(v)):
        move[t] = good[t] - bad[t]
    return _sums(v, h, move)


@njit(cache=True)
def _hinge(z, x, start, better, worse, w, diagonal):  # type: ignore[no-untyped-def]
    """Sum of the hinge losses of all triplets."""
    move = np.empty(x.shape[1])
    total = 0.0
    for i in range(len(z)):
        v, h = _surrogate(z[i], w, diagonal)
        for t in range(start[i], start[i + 1]):
            total += max(0.0, 1.0 - _difference(v, h, x[better[t]], x[worse[t]], move)[0])
    return total


@njit(cache=True)
def _pass(turn, z, x, start, better, worse, alpha, w, diagonal, cost):  # type: ignore[no-untyped-def]
    """Every alpha once, the triplets of a query together."""
    d = x.shape[1]
    move = np.empty(d)
    for i in turn:
        v, h = _surrogate(z[i], w, diagonal)
        u = np.zeros(d)
        for t in range(start[i], start[i + 1]):
            margin, bend = _difference(v, h, x[better[t]], x[worse[t]], move)
            new = cost if margin < 1.0 else 0.0
            if bend > 1e-300:
                new = min(max(alpha[t] + (1.0 - margin) / bend, 0.0), cost)
            change = new - alpha[t]
            if change == 0.0:
                continue
            alpha[t] = new
            for p in range(d):
                v[p] += change * h[p] * move[p]
                u[p] += change * move[p]
        if diagonal:
            w[0] += z[i] * u
        else:
            for p in range(d):
                for t in range(d):
                    w[p, t] += z[i, p] * u[t]


@njit(cache=True)
def _online(z, x, query, better, worse, w, cost):  # type: ignore[no-untyped-def]
    """OASIS: W += min(C, loss / |V|^2) V with V = z (better - worse)'."""
    d = x.shape[1]
    move = np.empty(d)
    suffered = 0.0
    for t in range(len(query)):
        zi = z[query[t]]
        v, h = _surrogate(zi, w, False)
        margin, bend = _difference(v, h, x[better[t]], x[worse[t]], move)
        if margin >= 1.0:
            continue
        suffered += 1.0 - margin
        step = min(cost, (1.0 - margin) / bend) if bend > 1e-300 else 0.0
        for p in range(d):
            for s in range(d):
                w[p, s] += step * zi[p] * move[s]
    return suffered
