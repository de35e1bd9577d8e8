"""What a person is asked next: reference queries that stand for the collection."""

from __future__ import annotations

import threading

import numpy as np

from likewise.collection import Collection


class Representatives:
    """Items that stand for the collection, remembered while the index stays the same."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._lock = threading.Lock()
        self._known: dict[int, tuple[int, list[int]]] = {}

    def __call__(self, count: int) -> list[int]:
        """So many items, the one of the largest cluster first."""
        view = self._collection.look.view()
        if not view.generation:  # still coming in: a fair sample will do
            rows = np.linspace(0, len(view.ids) - 1, min(count, len(view.ids)))
            sample = view.ids[np.unique(rows.astype(int))] if len(view.ids) else []
            return [int(i) for i in sample]
        with self._lock:
            generation, items = self._known.get(count, (0, []))
            if generation != view.generation:
                items = self._collection.representatives(count)
                self._known[count] = (view.generation, items)
        return [i for i in items if view.holds(i)]


def untaught(collection: Collection, offered: list[int]) -> list[int]:
    """Items on offer that are there and that nobody has taught yet."""
    taught = {name.partition("@")[0] for _, name in collection.teaching.taught.queries()}
    known = collection.items.paths(offered)
    return [i for i in offered if i in known and f"item:{i}" not in taught]
