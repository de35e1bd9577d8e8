"""Near-duplicates: items so alike in every block that one may stand for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from likewise.collection.lines.line import View
from likewise.collection.lines.parts import places
from likewise.collection.options import Result
from likewise.types import FloatArray, IdArray

THRESHOLD = 0.9
"""Share of the largest possible plain score from which on two items are near-duplicates."""

_BLOCK = 1_024
"""Items that are asked about at a time."""
_FIRST = 8
"""Neighbours that are asked for first; where all are near-duplicates, four times as many."""


def groups(view: View, threshold: float | None = None) -> list[list[int]]:
    """Groups of items that are all near-duplicates of one of them, largest group first.

    Items with the most near-duplicates come first and take those that no group has yet, so that a
    chain of small differences never joins what is not alike.
    """
    if not len(view):
        return []
    limit = THRESHOLD if threshold is None else threshold
    ids, codes = view.all_rows()
    # Copies of one file have one content, which is asked about once.
    _, row, content = np.unique(view.contents, return_index=True, return_inverse=True)
    first, second = _pairs(view, ids, codes, row, limit)
    order = np.lexsort((second, first))
    near = second[order]
    starts = np.searchsorted(first[order], np.arange(len(row) + 1))
    group = np.full(len(row), -1)
    for at in np.lexsort((row, -np.diff(starts))).tolist():
        if group[at] < 0:
            group[at] = at
            found = near[starts[at] : starts[at + 1]]
            group[found[group[found] < 0]] = at
    label = group[content]
    by_group = np.argsort(label, kind="stable")
    edges = np.flatnonzero(np.diff(label[by_group])) + 1
    members = [part.tolist() for part in np.split(ids[by_group], edges) if len(part) > 1]
    return sorted(members, key=lambda m: (-len(m), m))


def _pairs(
    view: View, ids: IdArray, codes: FloatArray, rows: IdArray, limit: float
) -> tuple[IdArray, IdArray]:
    """Places among ``rows`` of near-duplicates, both ways; the index names them, codes decide."""
    place = np.full(len(ids), -1)
    place[rows] = np.arange(len(rows))
    floor = limit * sum(view.plain.weights.values()) * (1 - 1e-4)
    pairs = [np.zeros(0, np.int64)]
    for start in range(0, len(rows), _BLOCK):
        asked, k = np.arange(start, min(start + _BLOCK, len(rows))), _FIRST
        while len(asked):
            surrogates = [view.plain.surrogate(x) for x in codes[rows[asked]]]
            deeper = []
            for at, hits in zip(asked.tolist(), view.search_many(surrogates, k)):
                near = hits.ids[hits.scores >= floor]
                found = place[places(ids, near)]
                found = found[(found >= 0) & (found != at)]
                if len(found):
                    pairs.append(np.minimum(at, found) * len(rows) + np.maximum(at, found))
                if len(near) == k < len(ids):
                    deeper.append(at)
            asked, k = np.array(deeper, dtype=np.int64), 4 * k
    both = np.stack(np.divmod(np.unique(np.concatenate(pairs)), len(rows)), axis=1)
    alike = np.zeros(len(both))
    for start in range(0, len(both), 16 * _BLOCK):
        some = both[start : start + 16 * _BLOCK]
        one, other = (alike_vectors(view, codes[rows[side]]) for side in some.T)
        alike[start : start + 16 * _BLOCK] = (one * other).sum(axis=1)
    first, second = both[alike >= limit].T
    return np.r_[first, second], np.r_[second, first]


def alike_vectors(view: View, codes: FloatArray) -> FloatArray:
    """Codes scaled so that the product of two is their plain score over the largest one."""
    total = sum(view.plain.weights.values())
    scaled: FloatArray = codes * np.sqrt(view.plain.w0 / total).astype(np.float32)
    return scaled


def folded(results: Sequence[Result], view: View) -> list[Result]:
    """Near-duplicates folded into the best-placed of them."""
    known = [r.item for r in results if view.holds(r.item)]
    if not known:
        return list(results)
    vectors = dict(zip(known, alike_vectors(view, view.rows(known))))
    kept: list[Result] = []
    shown: list[FloatArray] = []
    for result in results:
        vector = vectors.get(result.item, np.zeros(len(vectors[known[0]]), np.float32))
        alike = np.stack(shown) @ vector if shown else np.zeros(1)
        best = int(alike.argmax())
        if alike[best] >= THRESHOLD:
            kept[best] = kept[best]._replace(copies=(*kept[best].copies, result.item))
            continue
        kept.append(result)
        shown.append(vector)
    return kept
