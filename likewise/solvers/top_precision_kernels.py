"""Inner loops of the exact top-precision solver: look at all scores, and sweep over the dual.

A sweep works on one query at a time.  Its surrogate is v = W'z; a change of u moves v by
``h o u``, where h is |z|^2 everywhere for a full W and z o z for a diagonal one, so both are
one loop.
"""

from __future__ import annotations

import numpy as np
from numba import njit

NEAR = 0.2
"""Relevant items whose violation of the margin is smaller stay in all sweeps of a round."""


@njit(cache=True)
def scan(scores, first, start, item, out_start, out_item, loss, above, top):  # type: ignore[no-untyped-def]
    """Loss, relevant items above the top irrelevant one, and top irrelevant items of each row."""
    width = top.shape[1]
    for row in range(scores.shape[0]):
        i = first + row
        s = scores[row]
        relevant = item[start[i] : start[i + 1]]
        own = s[relevant]
        s[relevant] = -np.inf
        s[out_item[out_start[i] : out_start[i + 1]]] = -np.inf
        values = np.full(width, -np.inf)
        least = 0
        top[i] = -1
        for k in range(len(s)):
            if s[k] > values[least]:
                values[least] = s[k]
                top[i, least] = k
                least = int(np.argmin(values))
        best = values.max()
        total = 0.0
        count = 0
        for score in own:
            total += max(0.0, 1.0 + best - score)
            count += score > best
        loss[i] = total
        above[i] = count


# Only sums that store nothing may be reordered: a loop that also stores is compiled twice,
# for arrays that overlap and that do not, and would round differently from run to run.


@njit(cache=True, fastmath=True)
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for t in range(a.shape[0]):
        total += a[t] * b[t]
    return total


@njit(cache=True, fastmath=True)
def _square(h, move):  # type: ignore[no-untyped-def]
    """Sum of h o move o move: the curvature along a step."""
    total = 0.0
    for t in range(move.shape[0]):
        total += h[t] * move[t] * move[t]
    return total


@njit(cache=True)
def _swap(b, score, gram, gain, limit):  # type: ignore[no-untyped-def]
    """Move mass to the top irrelevant item of the set from the one that gains most by it.

    Raising ``b_k`` lowers the score of item k; ``gain`` collects the change of b.
    """
    size = len(b)
    for _ in range(limit):
        high = np.argmax(score)
        best = 0.0
        low = -1
        for k in range(size):
            slope = score[high] - score[k]
            if b[k] > 0 and slope > 1e-13 * (1.0 + abs(score[high])):
                bend = max(gram[high, high] + gram[k, k] - 2 * gram[high, k], 1e-300)
                if slope * slope / bend > best:
                    best = slope * slope / bend
                    low = k
        if low < 0:
            break
        slope = score[high] - score[low]
        bend = gram[high, high] + gram[low, low] - 2 * gram[high, low]
        step = b[low]
        if bend > 1e-14 * gram[high, high] and slope < bend * step:
            step = slope / bend
            b[low] -= step
        else:
            b[low] = 0.0
        b[high] += step
        gain[high] += step
        gain[low] -= step
        for k in range(size):
            score[k] -= step * (gram[k, high] - gram[k, low])


@njit(cache=True)
def _settle(b, score, gram, gain, near, v, h, u, limit):  # type: ignore[no-untyped-def]
    """Swaps, then what they change in the surrogate v and in u."""
    gain[:] = 0.0
    _swap(b, score, gram, gain, limit)
    for k in range(len(b)):
        if gain[k] != 0.0:
            for t in range(len(v)):
                v[t] -= h[t] * gain[k] * near[k, t]
                u[t] -= gain[k] * near[k, t]


@njit(cache=True)
def _choose(violation, a, cost, b, score):  # type: ignore[no-untyped-def]
    """Which irrelevant item to pair a relevant one with: the top one to raise a, the lowest that
    carries mass to lower it, none (-1) where a is at its bound.
    """
    if violation > 0:
        return np.argmax(score) if a < cost else -1
    low = -1
    if a > 0:
        for k in range(len(b)):
            if b[k] > 0 and (low < 0 or score[k] < score[low]):
                low = k
    return low


@njit(cache=True)
def _length(violation, bend, a, b, cost):  # type: ignore[no-untyped-def]
    """How far to go along a pair: Newton's step within 0 <= a <= C and b >= 0."""
    if violation > 0:
        return min(cost - a, violation / bend) if bend > 1e-300 else cost - a
    return max(-min(a, b), violation / bend) if bend > 1e-300 else -min(a, b)


@njit(cache=True)
def sweep(  # type: ignore[no-untyped-def]
    order, z, x, w, diagonal, start, item, a, set_start, set_item, mass, cost, live, first,
    backwards,
):  # fmt: skip
    """One pass over the queries and the relevant items that are alive.

    The ``first`` one of a round decides who is: those near the margin, and those it moves.
    """
    d = x.shape[1]
    for i in order:
        if set_start[i] == set_start[i + 1]:  # a finder may find nothing
            continue
        if diagonal:
            v, h = w[0] * z[i], z[i] * z[i]
        else:
            v, h = np.dot(z[i], w), np.full(d, _dot(z[i], z[i]))
        near = x[set_item[set_start[i] : set_start[i + 1]]]
        b = mass[set_start[i] : set_start[i + 1]]
        score = np.dot(near, v)
        gram = np.dot(near * h, near.T)
        gain = np.zeros(len(b))
        u = np.zeros(d)
        move = np.empty(d)
        _settle(b, score, gram, gain, near, v, h, u, 50)
        for step_number in range(start[i + 1] - start[i]):
            j = start[i + 1] - 1 - step_number if backwards else start[i] + step_number
            if not live[j]:
                continue
            own = _dot(x[item[j]], v)
            violation = 1.0 + score.max() - own
            k = _choose(violation, a[j], cost, b, score)
            if first:
                live[j] = k >= 0 or abs(violation) < NEAR
            if k < 0:
                continue
            for t in range(d):
                move[t] = x[item[j], t] - near[k, t]
            step = _length(1.0 + score[k] - own, _square(h, move), a[j], b[k], cost)
            if step == 0.0:
                continue
            a[j] = min(max(a[j] + step, 0.0), cost)
            b[k] = max(b[k] + step, 0.0)
            for t in range(d):
                move[t] *= step
                u[t] += move[t]
                move[t] *= h[t]
                v[t] += move[t]
            for k in range(len(b)):
                score[k] += _dot(near[k], move)
            _settle(b, score, gram, gain, near, v, h, u, 2)
        _settle(b, score, gram, gain, near, v, h, u, 50)
        if diagonal:
            w[0] += z[i] * u
        else:
            for p in range(d):
                for t in range(d):
                    w[p, t] += z[i, p] * u[t]
