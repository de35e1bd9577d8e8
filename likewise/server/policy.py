"""What a person is asked next: reference queries that stand for the collection, and candidates.

Candidates are mixed: the nearest (most are right), some farther down the ranking (where
right turns into wrong, which teaches most), and a few at random (what the ranking
would never show).
"""

from __future__ import annotations

import hashlib
import threading

import numpy as np

from likewise.collection import Answer, Collection, Query
from likewise.collection.answers import Result
from likewise.store import as_file

SHARES = (0.5, 0.3)
"""Share of the nearest and of the farther ones; the rest is random."""
REACH = 200
"""How far down the ranking the farther ones lie."""


class Representatives:
    """Items that stand for the collection, remembered while the index stays the same."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._lock = threading.Lock()
        self._known: tuple[tuple[int, int], list[int]] = ((-1, -1), [])

    def __call__(self, count: int) -> list[int]:
        """So many items, the one of the largest cluster first."""
        snapshot = self._collection.snapshot()
        if not snapshot.generation:  # still coming in: a fair sample will do
            rows = np.linspace(0, len(snapshot.ids) - 1, min(count, len(snapshot.ids)))
            sample = snapshot.ids[np.unique(rows.astype(int))] if len(snapshot.ids) else []
            return [int(i) for i in sample]
        key = (snapshot.generation, count)
        with self._lock:
            if self._known[0] != key:
                self._known = (key, self._collection.representatives(count))
            return [i for i in self._known[1] if snapshot.holds(i)]


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


def candidates(collection: Collection, query: Query, count: int) -> Answer:
    """Items to judge for a query, none of them judged yet, the three kinds in turn."""
    marked = collection.teaching.marks(query)
    deep = collection.ask(query, k=REACH + count + len(marked))
    open_ = [r for r in deep.results if r.path not in marked]
    near_count = max(1, round(SHARES[0] * count))
    far_count = round(SHARES[1] * count)
    near, rest = open_[:near_count], open_[near_count : REACH + near_count]
    step = max(1, len(rest) // max(1, far_count))
    far = rest[step // 2 :: step][:far_count]
    taken = {r.item for r in (*near, *far)}
    chosen = [*near, *far, *_random(collection, query, marked, taken, count)]
    spare = [r for r in open_ if r.item not in {c.item for c in chosen}]
    mixed = _in_turn(near, far, chosen[len(near) + len(far) :]) + spare
    return Answer(
        mixed[:count],
        model=deep.model,
        marks=deep.marks,
        generation=deep.generation,
        degraded=deep.degraded,
        seconds=deep.seconds,
        notes=deep.notes,
    )


def _random(
    collection: Collection, query: Query, marked: dict[str, float], taken: set[int], count: int
) -> list[Result]:
    """Items from anywhere; the same query with the same marks draws the same ones."""
    ids = collection.snapshot().ids
    wanted = max(0, count - len(taken))
    if not len(ids) or not wanted:
        return []
    name = f"{query.ref} {len(marked)}".encode("utf-8", "replace")
    seed = int.from_bytes(hashlib.sha256(name).digest()[:8], "little")
    drawn = np.random.default_rng(seed).permutation(ids)[: wanted + len(taken) + len(marked) + 1]
    paths = collection.store.items.paths(drawn.tolist())
    own = {*query.own_items, *marked}
    found = [
        Result(int(i), as_file(paths[int(i)]), 0.0, ("random",))
        for i in drawn
        if int(i) in paths and int(i) not in taken and as_file(paths[int(i)]) not in own
    ]
    return found[:wanted]


def _in_turn(near: list[Result], far: list[Result], rest: list[Result]) -> list[Result]:
    """The three kinds spread evenly, so that stopping early still leaves a mixture."""
    placed = [
        ((place + 0.5) / len(kind), order, result)
        for order, kind in enumerate((near, far, rest))
        for place, result in enumerate(kind)
    ]
    return [result for _, _, result in sorted(placed, key=lambda p: p[:2])]
