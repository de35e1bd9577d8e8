"""Near-duplicates: items so alike in every block that one may stand for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from likewise.collection.lines.line import View
from likewise.collection.options import Result
from likewise.types import FloatArray

THRESHOLD = 0.9
"""Share of the largest possible plain score from which on two items are near-duplicates."""

_BLOCK = 512


def groups(view: View, threshold: float | None = None) -> list[list[int]]:
    """Groups of items that are linked by near-duplicate pairs, largest group first."""
    if not len(view):
        return []
    limit = THRESHOLD if threshold is None else threshold
    ids, codes = view.all_rows()
    parent = {int(i): int(i) for i in ids}

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    scaled = alike_vectors(view, codes)
    for start in range(0, len(ids), _BLOCK):
        scores = scaled[start : start + _BLOCK] @ scaled.T
        for row, column in zip(*np.nonzero(scores >= limit)):
            a, b = root(int(ids[start + row])), root(int(ids[column]))
            if a != b:
                parent[max(a, b)] = min(a, b)
    members: dict[int, list[int]] = {}
    for item in ids.tolist():
        members.setdefault(root(item), []).append(item)
    found = [sorted(m) for m in members.values() if len(m) > 1]
    return sorted(found, key=lambda m: (-len(m), m))


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
            kept[best] = replace(kept[best], copies=(*kept[best].copies, result.item))
            continue
        kept.append(result)
        shown.append(vector)
    return kept
