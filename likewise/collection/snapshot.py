"""One consistent view of a collection that answers surrogates: a generation, what came since,
and without what has gone.

A snapshot never changes.  While the writer goes on, readers keep theirs and take a
new one when they next look.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from likewise.collection.building import current_space, encode_sound
from likewise.collection.views import View
from likewise.index.flat import FlatIndex
from likewise.learners.plain import Plain
from likewise.store import Generation, Store
from likewise.types import (
    BadInput,
    DataProblem,
    FloatArray,
    Hits,
    IdArray,
    Index,
    NotFound,
    Surrogate,
)

if TYPE_CHECKING:
    from likewise.learners.marks import Background

MANY_GONE = 256
SAMPLE = 1_000
"""Pictures whose scores tell how far a surrogate spreads."""


class Snapshot(View):
    """Items that can be found, their codes, and the index over them.

    Attributes
    ----------
    plain
        The plain similarity of the space; None while nothing is embedded.
    """

    answers_unchecked = True

    def __init__(self, store: Store) -> None:
        self.plain: Plain | None = current_space(store)
        live = store.items.contents()
        self.ids: IdArray = np.fromiter(live.keys(), dtype=np.int64, count=len(live))
        contents = np.fromiter(live.values(), dtype=np.int64, count=len(live))
        self._faiss: Index | None = None
        self._rows = self._row_contents = np.zeros(0, np.int64)
        self._codes: FloatArray = np.zeros((0, self.dim), np.float32)
        super().__init__(store, self.space)
        self._background: Background | None = None
        self._sample: FloatArray | None = None
        self._flat: Index | None = None
        self._lock = threading.Lock()
        self._arrange(store, contents)

    def _load(self, found: Generation) -> None:
        rows = np.load(found.folder / "ids.npy")
        contents = np.load(found.folder / "contents.npy")
        codes = np.load(found.folder / "codes.npy", mmap_mode="r")
        if codes.dtype != np.float32 or codes.shape != (len(rows), self.dim):
            raise DataProblem(f"File codes.npy of index generation {found.number} is damaged.")
        if found.kind == "faiss" and self.check is None:
            from likewise.index.faiss import FaissIndex

            self._faiss = FaissIndex.load(found.folder / "faiss", compared=True)
        self._rows, self._row_contents, self._codes = rows, contents, np.asarray(codes)

    def _arrange(self, store: Store, contents: IdArray) -> None:
        """Set apart rows that are stale and items that are not in the generation yet."""
        rows, row_contents = self._rows, self._row_contents
        place = np.searchsorted(rows, self.ids)
        place[place >= len(rows)] = 0
        if len(rows):
            covered = (rows[place] == self.ids) & (row_contents[place] == contents)
        else:
            covered = np.zeros(len(self.ids), bool)
        kept = np.zeros(len(rows), bool)
        kept[place[covered]] = True
        self._row_of = dict(zip(self.ids[covered].tolist(), place[covered].tolist()))
        self._gone = rows[~kept]
        self._kept = rows[kept] if len(self._gone) > MANY_GONE else None
        fresh, fresh_contents = self.ids[~covered], contents[~covered]
        self._fresh: Index | None = None
        self._fresh_codes = np.zeros((0, self.dim), np.float32)
        self._fresh_of: dict[int, int] = {}
        self.left_out = 0
        if self.plain is not None and len(fresh):
            sound, self._fresh_codes = encode_sound(store, self.plain.space, fresh_contents)
            fresh, self.left_out = fresh[sound], int((~sound).sum())
        if len(fresh):
            self._fresh_of = dict(zip(fresh.tolist(), range(len(fresh))))
            self._fresh = FlatIndex.build(self._fresh_codes, fresh, space=self.space)
            if not self.generation and not self.degraded:
                self.degraded = (
                    f"No index is built yet; {len(fresh):,} pictures were scanned exactly."
                )
        self.degraded = f"{self.degraded} {store.segments.left_out(self.left_out)}".strip()

    kind: ClassVar[str] = "snapshot"

    @property
    def space(self) -> str:
        """Fingerprint of the space."""
        return self.plain.space.fingerprint if self.plain is not None else ""

    def search_many(
        self, surrogates: Sequence[Surrogate], k: int, *, among: IdArray | None = None
    ) -> list[Hits]:
        """The same as :meth:`search` for several surrogates."""
        return [self.search(s, k, among=among) for s in surrogates]

    @property
    def is_complete(self) -> bool:
        """Whether the generation holds exactly the items that can be found."""
        more = self._fresh is not None or self.left_out or len(self._gone)
        return bool(self.generation) and self.check is None and not more

    @property
    def dim(self) -> int:
        """Length of a picture vector."""
        return self.plain.space.dim if self.plain is not None else 0

    def __len__(self) -> int:
        """Items that can be found by picture."""
        return len(self._row_of) + len(self._fresh_of)

    def codes(self, items: Any) -> FloatArray:
        """Picture vectors of items, in the order given."""
        wanted = np.atleast_1d(np.asarray(items, dtype=np.int64)).tolist()
        out = np.empty((len(wanted), self.dim), np.float32)
        for at, item in enumerate(wanted):
            if item in self._row_of:
                out[at] = self._codes[self._row_of[item]]
            elif item in self._fresh_of:
                out[at] = self._fresh_codes[self._fresh_of[item]]
            else:
                raise NotFound(f"Item {item} has no vectors; it is gone, unreadable or waiting.")
        return out

    def all_codes(self) -> tuple[IdArray, FloatArray]:
        """Every findable item and its picture vector, in order of id (a copy)."""
        ids = np.array(sorted([*self._row_of, *self._fresh_of]), dtype=np.int64)
        if len(self._row_of) == len(self._codes) == len(ids):
            return ids, np.asarray(self._codes)
        return ids, self.codes(ids) if len(ids) else np.zeros((0, self.dim), np.float32)

    def sample(self) -> FloatArray:
        """Picture vectors of about ``SAMPLE`` items, evenly spaced by id; read once."""
        with self._lock:
            if self._sample is None:
                ids = np.sort(np.array([*self._row_of, *self._fresh_of], dtype=np.int64))
                self._sample = self.codes(ids[:: max(1, len(ids) // SAMPLE)][:SAMPLE])
            return self._sample

    def background(self) -> Background | None:
        """How the collection's pictures vary; computed once, when marks first need it."""
        with self._lock:
            if self._background is None and self.plain is not None and len(self):
                from likewise.learners.marks import Background

                self._background = Background.of(self.all_codes()[1], self.plain.w0)
            return self._background

    def holds(self, item: int) -> bool:
        """Whether an item can be found by picture."""
        return item in self._row_of or item in self._fresh_of

    def search(self, surrogate: Surrogate, k: int, *, among: IdArray | None = None) -> Hits:
        """The ``k`` best present items: the generation's and the fresh ones together."""
        found: list[Hits] = []
        if self._row_of:
            index = self._index()
            if self._kept is not None:
                allowed = self._kept if among is None else np.intersect1d(self._kept, among)
                found.append(index.search(surrogate, k, among=allowed))
            else:
                hits = index.search(surrogate, k + len(self._gone), among=among)
                keep = ~np.isin(hits.ids, self._gone) if len(self._gone) else slice(None)
                found.append(Hits(hits.ids[keep][:k], hits.scores[keep][:k]))
        if self._fresh is not None:
            found.append(self._fresh.search(surrogate, k, among=among))
        return best_of(found, k)

    def _index(self) -> Index:
        """What was published, or a scan of its codes: made when first searched, as it reads all."""
        if self._faiss is not None:
            return self._faiss
        with self._lock:
            if self._flat is None:
                try:
                    self._flat = FlatIndex.build(self._codes, self._rows, space=self.space)
                except BadInput as error:
                    raise DataProblem(
                        f"Index generation {self.generation} is damaged: {error} Search again."
                    ) from None
            return self._flat


def best_of(parts: list[Hits], k: int) -> Hits:
    """The ``k`` best of several lists of hits; ties are broken by id."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Hits(np.zeros(0, np.int64), np.zeros(0))
    ids = np.concatenate([p.ids for p in parts])
    scores = np.concatenate([p.scores for p in parts])
    order = np.lexsort((ids, -scores))[:k]
    return Hits(ids[order], scores[order])
