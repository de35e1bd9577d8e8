"""The exact scan of a session: every item scored, the best unseen ones taken; and the first board.

A query that is far from the target is what most searches fail of (Han et al., section 6), so a
session without a query begins with a view of everything there is: representatives, or a random
hundred.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from likewise.later import njit
from likewise.session.holdings import Holdings, rows_of
from likewise.solvers.kmeans import kmeans, medoids
from likewise.solvers.threads import one_blas_thread
from likewise.types import FloatArray, IdArray

CHUNK = 16_384
"""Items scored at a time."""

SHARED_FROM = 100_000
"""Items from which a scan is shared between the cores."""


def nearness(vectors: FloatArray, query: FloatArray, weights: FloatArray) -> FloatArray:
    """Minus the weighted squared distance of every item, by one exact scan."""
    out = np.empty(len(vectors), np.float32)
    w = np.asarray(weights, np.float32)
    q = np.asarray(query, np.float32)

    def scan(rows: slice) -> None:
        np.negative(squared_distances(vectors[rows], q, w), out=out[rows])

    in_chunks(scan, len(vectors))
    return out


def in_chunks(work: Callable[[slice], None], items: int) -> None:
    """Call ``work`` for one range of rows after another; on all cores where there are many."""
    ranges = [slice(at, min(items, at + CHUNK)) for at in range(0, items, CHUNK)]
    with one_blas_thread():
        if items < SHARED_FROM:
            for rows in ranges:
                work(rows)
            return
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            list(pool.map(work, ranges))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def squared_distances(x: Any, query: Any, weights: Any) -> Any:
    """``sum_m w_m (x_m - q_m)^2`` of every row, straight from the differences."""
    out = np.empty(len(x), np.float32)
    for i in range(len(x)):
        row = x[i]
        total = np.float32(0.0)
        for m in range(len(query)):
            gap = row[m] - query[m]
            total += weights[m] * gap * gap
        out[i] = total
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


SAMPLE = 20_000
"""Items that representatives are chosen among."""


def representatives(
    holdings: Holdings, weights: FloatArray, count: int, *, seed: int = 0
) -> IdArray:
    """Ids of items that stand for all others: the medoids of ``count`` clusters by a metric."""
    rows = np.arange(len(holdings.ids))
    if len(rows) <= count:
        return holdings.ids[rows]
    if len(rows) > SAMPLE:
        rows = np.sort(np.random.default_rng(seed).choice(rows, SAMPLE, replace=False))
    x = holdings.vectors[rows] * np.sqrt(weights).astype(np.float32)
    centres = kmeans(x, count, seed=seed).centres
    chosen = medoids(x, centres)
    return holdings.ids[rows[np.sort(chosen)]]


def random_hundred(holdings: Holdings, *, without: Any = (), seed: int = 0) -> IdArray:
    """Ids of 100 items drawn at random, none shown before (section 5.2 of the paper)."""
    rows = unseen(holdings, without)
    drawn = np.random.default_rng(seed).permutation(rows)[:100]
    ids: IdArray = holdings.ids[np.sort(drawn)]
    return ids
