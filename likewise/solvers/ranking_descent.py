"""Coordinate ascent on the dual of a ranking problem: the two jitted loops at the bottom.

Both loops solve, for the differences ``x_t = y[better[t]] - y[worse[t]]``,

    max over 0 <= alpha <= cap of   margin . alpha - 1/2 |max(base + X alpha, floor)|^2

one coordinate at a time.  :func:`descend_gram` knows the items by their Gram matrix and
keeps one score an item, so that the gradient of a preference is read off in O(1) and a
step costs O(items); :func:`descend_vector` keeps the vector itself at O(dim) a step,
which is better for many items and is the only way with a floor (``w >= 0``).

A *sweep* visits every preference once in shuffled order, then the few that can still
move (shrinking) up to ``INNER`` times, then measures the duality gap anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.later import njit

INNER = 12
"""Most passes over the movable preferences between two looks at all of them."""

FLAT = 1e-13
"""A difference shorter than this share of its two items is a pair of duplicates."""


@njit(cache=True, nogil=True)
def _shuffle(order: Any, state: Any) -> Any:
    """Fisher-Yates by xorshift, so that no global generator is touched."""
    for k in range(len(order) - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        j = np.int64(state % np.uint64(k + 1))
        order[k], order[j] = order[j], order[k]
    return state


@njit(cache=True, nogil=True)
def _stuck(alpha: float, gradient: float, cap: float) -> bool:
    """Rule (11) of the paper holds at a bound: the coordinate cannot rise any further."""
    return (alpha <= 0.0 and gradient <= 0.0) or (alpha >= cap and gradient >= 0.0)


@njit(cache=True, nogil=True)
def descend_gram(  # type: ignore[no-untyped-def]
    gram, better, worse, margin, cap, alpha, tol, most, seed
):
    """Ascend in place on ``alpha``; returns (sweeps, gap).  No floor, base zero."""
    n, items = len(better), len(gram)
    curve = np.empty(n)
    coefficient = np.zeros(items)  # sum of signed alpha an item: X alpha = Y' coefficient
    scores = np.empty(items)  # y_i . X alpha
    for t in range(n):
        i, j = better[t], worse[t]
        curve[t] = gram[i, i] + gram[j, j] - 2.0 * gram[i, j]
        if curve[t] <= FLAT * (gram[i, i] + gram[j, j]):
            curve[t] = 0.0  # duplicates: the hinge is a constant, whose multiplier is known
            alpha[t] = cap[t] if margin[t] > 0.0 else 0.0
        coefficient[i] += alpha[t]
        coefficient[j] -= alpha[t]
    order = np.arange(n)
    active = np.empty(n, np.int64)
    state = np.uint64(2 * seed + 88172645463325253)
    sweep, gap = 0, 0.0
    while True:
        primal, gap = 0.0, 0.0
        for i in range(items):  # anew each sweep, so that rounding never piles up
            total = 0.0
            for k in range(items):
                total += gram[i, k] * coefficient[k]
            scores[i] = total
            primal += 0.5 * total * coefficient[i]
        for t in range(n):
            gradient = margin[t] - scores[better[t]] + scores[worse[t]]
            loss = cap[t] * max(gradient, 0.0)
            primal += loss
            gap += loss - alpha[t] * gradient
        if gap <= tol * max(1.0, abs(primal)) or sweep >= most:
            return sweep, gap
        sweep += 1
        state = _shuffle(order, state)
        count, visit = n, order
        for inner in range(INNER + 1):
            kept, change = 0, 0.0
            for k in range(count):
                t = visit[k]
                if curve[t] == 0.0:
                    continue
                i, j = better[t], worse[t]
                gradient = margin[t] - scores[i] + scores[j]
                if _stuck(alpha[t], gradient, cap[t]):
                    continue
                active[kept] = t
                kept += 1
                step = min(cap[t], max(0.0, alpha[t] + gradient / curve[t])) - alpha[t]
                if step != 0.0:
                    alpha[t] = alpha[t] + step
                    coefficient[i] += step
                    coefficient[j] -= step
                    change += step * step * curve[t]
                    first, second = gram[i], gram[j]
                    for r in range(items):
                        scores[r] += step * (first[r] - second[r])
            if inner == 0:
                start = change
            if kept == 0 or change <= 1e-3 * start:
                break
            count, visit = kept, active


@njit(cache=True, nogil=True)
def descend_vector(  # type: ignore[no-untyped-def]
    rows, base, floor, better, worse, margin, cap, alpha, tol, most, seed
):
    """Ascend in place on ``alpha``; returns (sweeps, gap).  ``floor`` is 0 or -inf."""
    n, dim = len(better), rows.shape[1]
    bent = floor > -np.inf
    curve = np.empty(n)
    for t in range(n):
        first, second = rows[better[t]], rows[worse[t]]
        length, scale = 0.0, 0.0
        for m in range(dim):
            length += (first[m] - second[m]) ** 2
            scale += first[m] ** 2 + second[m] ** 2
        curve[t] = length if length > FLAT * scale else 0.0
        if curve[t] == 0.0:
            alpha[t] = cap[t] if margin[t] > 0.0 else 0.0
    order = np.arange(n)
    active = np.empty(n, np.int64)
    state = np.uint64(2 * seed + 88172645463325253)
    sweep, gap = 0, 0.0
    while True:
        total = base.copy()  # base + X alpha; w is its part above the floor
        for t in range(n):
            if alpha[t] != 0.0:
                first, second = rows[better[t]], rows[worse[t]]
                for m in range(dim):
                    total[m] += alpha[t] * (first[m] - second[m])
        primal, gap = 0.0, 0.0
        for m in range(dim):
            primal += 0.5 * (max(total[m], floor) - base[m]) ** 2
        for t in range(n):
            gradient = margin[t] - _slope(rows[better[t]], rows[worse[t]], total, floor, 0.0)[0]
            loss = cap[t] * max(gradient, 0.0)
            primal += loss
            gap += loss - alpha[t] * gradient
        if gap <= tol * max(1.0, abs(primal)) or sweep >= most:
            return sweep, gap
        sweep += 1
        state = _shuffle(order, state)
        count, visit = n, order
        for inner in range(INNER + 1):
            kept, change = 0, 0.0
            for k in range(count):
                t = visit[k]
                if curve[t] == 0.0:
                    continue
                first, second = rows[better[t]], rows[worse[t]]
                slope, bend = _slope(first, second, total, floor, 0.0)
                gradient = margin[t] - slope
                if _stuck(alpha[t], gradient, cap[t]):
                    continue
                active[kept] = t
                kept += 1
                step = min(cap[t], max(0.0, alpha[t] + gradient / curve[t])) - alpha[t]
                if bent and bend > 0.0:
                    # Newton on the coordinates above the floor goes farther; it is kept
                    # where it does not pass the maximum along this coordinate.
                    far = min(cap[t], max(0.0, alpha[t] + gradient / bend)) - alpha[t]
                    after = margin[t] - _slope(first, second, total, floor, far)[0]
                    if after * gradient >= 0.0:
                        step = far
                if step != 0.0:
                    alpha[t] = alpha[t] + step
                    change += step * step * curve[t]
                    for m in range(dim):
                        total[m] += step * (first[m] - second[m])
            if inner == 0:
                start = change
            if kept == 0 or change <= 1e-3 * start:
                break
            count, visit = kept, active


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _slope(first: Any, second: Any, total: Any, floor: Any, step: Any) -> Any:
    """``x . w`` after a step, and ``|x|^2`` over the coordinates above the floor."""
    slope, bend = 0.0, 0.0
    for m in range(len(total)):  # w is the part above the floor, which is 0 or -inf
        x = first[m] - second[m]
        moved = total[m] + step * x
        above = moved > floor
        slope += x * moved if above else 0.0
        bend += x * x if above else 0.0
    return slope, bend
