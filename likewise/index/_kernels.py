"""The hot loops that indexes share; each is a few lines and never allocates per item.

They release the GIL and use no threads of their own, so that several searches may run
at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# Sums may be reordered (that is what makes a dot product fast); NaN keeps its meaning.
REORDER = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=REORDER)
def dot(a: Any, b: Any) -> Any:
    """Inner product of two vectors of one length, in their own precision."""
    total = a[0] * b[0]
    for j in range(1, a.shape[0]):
        total += a[j] * b[j]
    return total


@njit(cache=True, nogil=True)
def dots(rows: Any, vector: Any, out: Any) -> None:
    """``out[i] = rows[i] . vector``; at memory bandwidth, where BLAS's gemv is not.

    Each row is summed in the same order wherever it lies, so that equal rows get equal
    scores to the last bit.
    """
    for i in range(rows.shape[0]):
        out[i] = dot(rows[i], vector)


@njit(cache=True, nogil=True)
def dots_at(codes: Any, rows: Any, vector: Any, out: Any) -> None:
    """``out[i] = codes[rows[i]] . vector``, without gathering the rows first."""
    for i in range(rows.shape[0]):
        out[i] = dot(codes[rows[i]], vector)


@njit(cache=True, nogil=True)
def csr_dots(data: Any, columns: Any, starts: Any, rows: Any, vector: Any, out: Any) -> None:
    """The same for the chosen rows of a sparse matrix; sums in the precision of ``vector``."""
    for i in range(rows.shape[0]):
        total = 0.0
        for p in range(starts[rows[i]], starts[rows[i] + 1]):
            total += data[p] * vector[columns[p]]
        out[i] = total


@njit(cache=True, nogil=True)
def sift(heap: Any, value: Any) -> None:
    """Replace the smallest value of a min-heap."""
    at, size = 0, heap.shape[0]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value


@njit(cache=True, nogil=True)
def raise_floors(scores: Any, heaps: Any) -> None:
    """Keep in ``heaps[q]`` the largest scores of row ``q`` seen so far; the root is the least.

    Start the heaps at minus infinity.
    """
    for q in range(scores.shape[0]):
        heap, row = heaps[q], scores[q]
        floor = heap[0]
        for i in range(row.shape[0]):
            if row[i] > floor:
                sift(heap, row[i])
                floor = heap[0]


@njit(cache=True, nogil=True)
def look_over(vectors: Any, side: Any, offsets: Any) -> Any:
    """Whether all numbers are finite, whether all fit float32 well, and how many rows are zero.

    One call instead of a dozen of numpy's, which would cost more than a small search.
    """
    finite, fits, silent = True, True, 0
    for q in range(vectors.shape[0]):
        peak = 0.0
        for j in range(vectors.shape[1]):
            size = abs(vectors[q, j])
            if not size <= np.inf or size == np.inf:
                finite = False
            peak = max(peak, size)
        loud = peak > 0
        if loud and not 1e-15 < peak < 1e15:
            fits = False
        for j in range(side.shape[1]):
            loud = loud or side[q, j] != 0
        silent += not loud
        finite = finite and np.isfinite(offsets[q])
    return finite, fits, silent


@njit(cache=True, nogil=True)
def name_hits(places: Any, found: Any, names: Any, offsets: Any) -> Any:
    """Ids and true scores of hits, each row by falling score, equal scores by ascending id.

    Rows come nearly sorted, so they are put right by insertion.
    """
    ids = np.empty(places.shape, np.int64)
    scores = np.empty(places.shape, np.float64)
    for q in range(places.shape[0]):
        for i in range(places.shape[1]):
            score, name, at = np.float64(found[q, i]), names[places[q, i]], i
            while at > 0 and (
                scores[q, at - 1] < score or (scores[q, at - 1] == score and ids[q, at - 1] > name)
            ):
                scores[q, at] = scores[q, at - 1]
                ids[q, at] = ids[q, at - 1]
                at -= 1
            scores[q, at] = score
            ids[q, at] = name
        for i in range(places.shape[1]):
            scores[q, i] += offsets[q]
    return ids, scores


def exact_dots(rows: Any, vector: Any) -> Any:
    """Scores of gathered rows in float64, whatever precision they are kept in."""
    wide = np.ascontiguousarray(rows, dtype=np.float64)
    out = np.empty(len(wide))
    dots(wide, np.ascontiguousarray(vector, dtype=np.float64), out)
    return out
