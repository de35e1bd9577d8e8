"""What a person is asked next: reference queries that stand for the collection, and candidates."""

from __future__ import annotations

import threading
from itertools import zip_longest

import numpy as np

from likewise.collection import Collection, Query
from likewise.store import as_file
from likewise.types import BadInput


class Representatives:
    """Items that stand for the collection, remembered while the index stays the same."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._lock = threading.Lock()
        self._known: dict[int, tuple[int, list[int]]] = {}

    def __call__(self, count: int) -> list[int]:
        """So many items, the one of the largest cluster first."""
        snapshot = self._collection.snapshot()
        if not snapshot.generation:  # still coming in: a fair sample will do
            rows = np.linspace(0, len(snapshot.ids) - 1, min(count, len(snapshot.ids)))
            sample = snapshot.ids[np.unique(rows.astype(int))] if len(snapshot.ids) else []
            return [int(i) for i in sample]
        with self._lock:
            generation, items = self._known.get(count, (0, []))
            if generation != snapshot.generation:
                items = self._collection.representatives(count)
                self._known[count] = (snapshot.generation, items)
        return [i for i in items if snapshot.holds(i)]


def next_reference(collection: Collection, offered: list[int], skip: set[int]) -> int | None:
    """The first item on offer that nobody has taught yet and that was not skipped."""
    taught = {
        record.judgement.query.value
        for record in collection.store.judgements.records(kind="label")
        if record.judgement.query.kind == "item"
    }
    paths = collection.store.items.paths(offered)
    for item in offered:
        if item not in skip and item in paths and as_file(paths[item]) not in taught:
            return item
    return None


def candidates(collection: Collection, query: Query, count: int) -> list[int]:
    """Items to judge for a query, none of them judged yet, the near and the far in turn.

    The collection gives the nearest first; here they alternate with the others, so that
    a person who stops early has still judged both kinds.
    """
    if not any(e.weight > 0 for e in query.examples):
        raise BadInput("Candidates are chosen for a picture; give the query one.")
    chosen = collection.teaching.candidates(query, count)
    half = (count + 1) // 2
    pairs = zip_longest(chosen[:half], chosen[half:])
    return [item for pair in pairs for item in pair if item is not None]
