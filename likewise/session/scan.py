"""The exact scan of a session: every item scored, the best unseen ones taken."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from likewise.session.holdings import Holdings, rows_of
from likewise.types import FloatArray, IdArray

CHUNK = 65_536


def nearness(vectors: FloatArray, query: FloatArray, weights: FloatArray) -> FloatArray:
    """Minus the weighted squared distance of every item, by one exact scan."""
    used = np.flatnonzero(weights)
    out = np.empty(len(vectors), np.float64)
    w = weights[used]
    for start in range(0, len(vectors), CHUNK):
        part = vectors[start : start + CHUNK]
        gap = (part if len(used) == vectors.shape[1] else part[:, used]) - query[used]
        out[start : start + CHUNK] = -(np.square(gap, out=gap) @ w.astype(gap.dtype))
    return out


def unseen(holdings: Holdings, seen: Iterable[int]) -> IdArray:
    """Rows of the items that were not shown yet."""
    free = np.ones(len(holdings.ids), bool)
    gone = rows_of(holdings, sorted(seen))
    free[gone[gone >= 0]] = False
    return np.flatnonzero(free)


def best_unseen(holdings: Holdings, scores: FloatArray, seen: Iterable[int], count: int) -> IdArray:
    """Ids of the best items that were not shown yet, ties by id."""
    rows = unseen(holdings, seen)
    if len(rows) > count > 0:
        value = scores[rows]
        bound = np.partition(value, len(rows) - count)[len(rows) - count]
        rows = rows[value >= bound]
    order = np.argsort(-scores[rows], kind="stable")[:count]
    return holdings.ids[rows[order]]
