"""Near-duplicates: items so alike in every block that one may stand for all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from likewise.collection.answers import Answer, Result
from likewise.collection.snapshot import Snapshot
from likewise.types import FloatArray, IdArray

THRESHOLD = 0.9
"""Share of the largest possible plain score from which on two items are near-duplicates."""

_BLOCK = 512


def groups(snapshot: Snapshot, threshold: float | None = None) -> list[list[int]]:
    """Groups of items that are linked by near-duplicate pairs, largest group first."""
    if snapshot.plain is None:
        return []
    limit = THRESHOLD if threshold is None else threshold
    ids, codes = snapshot.all_codes()
    parent = {int(i): int(i) for i in ids}

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    scaled = alike_vectors(snapshot, codes)
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


def alike_vectors(snapshot: Snapshot, codes: FloatArray) -> FloatArray:
    """Codes scaled so that the product of two is their plain score over the largest one."""
    assert snapshot.plain is not None
    total = sum(snapshot.plain.weights.values())
    scaled: FloatArray = codes * np.sqrt(snapshot.plain.w0 / total).astype(np.float32)
    return scaled


def collapse(answer: Answer, snapshot: Snapshot, k: int) -> Answer:
    """Fold near-duplicates into the best-placed of them."""
    if snapshot.plain is None:
        return answer
    kept: list[Result] = []
    vectors: list[FloatArray] = []
    present = [r for r in answer.results if snapshot.holds(r.item)]
    ids: IdArray = np.array([r.item for r in present], dtype=np.int64)
    scaled = alike_vectors(snapshot, snapshot.codes(ids)) if len(ids) else np.zeros((0, 0))
    row = {item: scaled[i] for i, item in enumerate(ids.tolist())}
    for result in answer.results:
        vector = row.get(result.item)
        if vector is not None and vectors:
            alike = np.stack(vectors) @ vector
            best = int(alike.argmax())
            if alike[best] >= THRESHOLD:
                kept[best] = replace(kept[best], copies=(*kept[best].copies, result.item))
                continue
        kept.append(result)
        vectors.append(vector if vector is not None else np.zeros(snapshot.dim, np.float32))
    return replace(answer, results=kept[:k])
