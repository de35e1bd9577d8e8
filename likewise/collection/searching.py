"""From a query to an answer: picture vectors, surrogates, one search, one list of results."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.collection.answers import Answer, Result, fuse
from likewise.collection.decoding import Unreadable
from likewise.collection.own_vectors import BLOCK
from likewise.collection.queries import Crop, Query
from likewise.collection.snapshot import Snapshot
from likewise.collection.wording import Read, full_text, joined
from likewise.collection.workers import Describer, Task, read_file
from likewise.store import Filter, Store, as_file, printable
from likewise.types import (
    BadInput,
    FloatArray,
    Hits,
    IdArray,
    NotFound,
    QueryRef,
    Similarity,
    Surrogate,
    as_vector,
    check_k,
)

KEPT_VECTORS = 256
"""Query pictures whose vectors stay in memory."""
KEPT_BYTES = 256 << 20
"""Of query pictures from outside that stay in memory, the newest at least."""

DEEPER = 5
"""Each list that is fused looks this many times deeper than the answer."""


class QueryPictures:
    """Query pictures and their vectors: items from the snapshot, files and crops by a child."""

    def __init__(self, store: Store, folder: bytes) -> None:
        self._store, self._folder = store, folder
        self._describers: dict[tuple[str, ...], Describer] = {}
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, QueryRef, int | None], FloatArray] = OrderedDict()
        self._uploads: dict[str, bytes] = {}

    def locate(self, picture: Any, crop: Crop | None = None) -> QueryRef:
        """What a person means by a picture: an item, a file outside, or bytes."""
        if isinstance(picture, QueryRef):
            return QueryRef(picture.kind, picture.value, crop or picture.crop)
        if isinstance(picture, (bytes, bytearray)):
            return self._upload(bytes(picture), crop)
        if isinstance(picture, (int, np.integer)) and not isinstance(picture, bool):
            return QueryRef("item", self._store.items.get(int(picture)).file, crop)
        path = Path(picture)
        inside = self._inside(path)
        if inside is not None:
            return QueryRef("item", inside, crop)
        if not path.is_file():
            name = printable(os.fsencode(path))
            words = (
                "" if path.suffix or len(path.parts) > 1 else "; search for words as text (--text)"
            )
            raise NotFound(f"There is no item and no file {name!r}{words}.")
        try:
            return self._upload(read_file(os.fsencode(path)), crop)
        except Unreadable as error:
            raise BadInput(f"{path.name}: {error}") from None

    def _inside(self, path: Path) -> str | None:
        """The item that a path names, relative to the collection's folder or in it."""
        names = [os.fsencode(path)]
        absolute = os.path.abspath(os.fsencode(path))
        if absolute.startswith(self._folder + b"/"):
            names.append(absolute[len(self._folder) + 1 :])
        found = self._store.items.ids(names)
        return as_file(next(iter(found))) if found else None

    def _upload(self, data: bytes, crop: Crop | None) -> QueryRef:
        digest = hashlib.sha256(data).hexdigest()
        with self._lock:
            self._uploads.pop(digest, None)
            self._uploads[digest] = data
            size = sum(map(len, self._uploads.values()))
            while len(self._uploads) > 1 and (
                len(self._uploads) > KEPT_VECTORS or size > KEPT_BYTES
            ):
                size -= len(self._uploads.pop(next(iter(self._uploads))))
        return QueryRef("upload", digest, crop)

    def keep(self, ref: QueryRef) -> None:
        """Write an uploaded picture down, because a judgement is about it."""
        if ref.kind == "upload" and ref.value in self._uploads:
            self._store.uploads.put(self._uploads[ref.value])

    def vector(self, ref: QueryRef, snapshot: Snapshot) -> FloatArray:
        """The picture vector of one query picture."""
        if snapshot.plain is None:
            raise NotFound("No pictures are indexed yet; run: likewise index FOLDER")
        content = None
        if ref.kind == "item":
            item = self._store.items.find(ref.value)
            if ref.crop is None:
                own: FloatArray = snapshot.codes([item.id])[0]
                return own
            content = item.content  # another picture may have the name by now
        key = (snapshot.plain.space.fingerprint, ref, content)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        found = self._describe(ref, snapshot)
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > KEPT_VECTORS:
                self._kept.popitem(last=False)
        return found

    def _describe(self, ref: QueryRef, snapshot: Snapshot) -> FloatArray:
        assert snapshot.plain is not None
        if BLOCK in snapshot.plain.space.names:
            raise BadInput(
                "This collection has own vectors, so other pictures and crops cannot be described; "
                "search by an item, by words, or by a vector."
            )
        features = self.features(ref, snapshot.plain.space.names)
        rows = {name: vector[None] for name, vector in features.items()}
        return np.asarray(snapshot.plain.space.transform(rows)[0], dtype=np.float32)

    def features(self, ref: QueryRef, names: tuple[str, ...]) -> Mapping[str, FloatArray]:
        """Raw features of a query picture, decoded anew by a child."""
        with self._lock:
            if names not in self._describers:
                self._describers[names] = Describer(names)
        outcome = self._describers[names](self._task(ref))
        if outcome.problem:
            raise BadInput(f"The query picture cannot be used: {outcome.problem}")
        return outcome.features

    def _task(self, ref: QueryRef) -> Task:
        if ref.kind == "item":
            path = os.path.join(self._folder, self._store.items.find(ref.value).path)
            return Task(1, path, crop=ref.crop)
        data = self._uploads.get(ref.value)
        return Task(1, data=data or self._store.uploads.get(ref.value), crop=ref.crop)

    def close(self) -> None:
        """End the child that decodes."""
        for describer in self._describers.values():
            describer.close()


def picture_surrogate(
    query: Query, snapshot: Snapshot, pictures: QueryPictures, similarity: Similarity
) -> Surrogate | None:
    """The sum of the examples' surrogates times their weights; None for words alone."""
    parts: list[Surrogate] = []
    for example in query.examples:
        vector = pictures.vector(example.ref, snapshot)
        parts.append(similarity.surrogate(vector) * example.weight)
    if query.vector is not None:
        vector = as_vector(query.vector, dim=snapshot.dim, name="query vector")
        parts.append(similarity.surrogate(vector.astype(np.float32)))
    return sum_of(parts) if parts else None


def sum_of(parts: Sequence[Surrogate]) -> Surrogate:
    """Surrogates of one space, added up."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def answer(
    query: Query,
    *,
    k: int,
    store: Store,
    snapshot: Snapshot,
    surrogate: Surrogate | None,
    read: Read | None = None,
    wanted: Filter | None = None,
    model: str = "plain",
    marks: int = 0,
    pin_query: bool = False,
    leave_out: tuple[int, ...] = (),
) -> Answer:
    """Search by every kind of evidence the query has, and join what was found.

    Parameters
    ----------
    surrogate
        Of the query's pictures, or None.
    read
        What a words model makes of the query's words, or None.
    wanted
        Filter on folder, tags, date, size, kind.
    pin_query
        Whether items that are the query themselves come first; else they are left out.
    leave_out
        Items that must not come up.
    """
    started = time.perf_counter()
    check_k(k)
    among = store_filter(store, wanted)
    own = [store.items.find(path).id for path in query.own_items]
    out = {*own, *leave_out}
    lists: dict[str, Hits] = {}
    meant = None if read is None else read.surrogate
    several = bool(query.text) and (surrogate is not None or meant is not None)
    depth = (k * DEEPER if several else k) + len(out)
    if surrogate is not None and meant is not None:
        total = joined(surrogate, meant, snapshot)
        lists["picture with words"] = without(snapshot.search(total, depth, among=among), out)
    elif surrogate is not None:
        lists["picture"] = without(snapshot.search(surrogate, depth, among=among), out)
    elif meant is not None:
        assert read is not None
        lists["learned words"] = without(read.find(snapshot, depth, among=among), out)
    if query.text:
        lists["words"] = without(full_text(store, query.text, depth, read, among=among), out)
    if len(lists) == 1:
        ((name, hits),) = lists.items()
        hits = Hits(hits.ids[:k], hits.scores[:k])
        found_by: dict[int, tuple[str, ...]] = dict.fromkeys(hits.ids.tolist(), (name,))
    else:
        hits, found_by = fuse(lists, k)
    results = results_of(store, hits, found_by)
    if pin_query and own:
        results = [*_pinned(store, own, surrogate, snapshot), *results][:k]
    return Answer(
        results,
        model=model,
        words_model="" if read is None else read.title,
        marks=marks,
        generation=snapshot.generation,
        degraded=snapshot.degraded,
        seconds=time.perf_counter() - started,
        notes=(read.note,) if read is not None and read.note else (),
    )


def store_filter(store: Store, wanted: Filter | None) -> IdArray | None:
    """Ids that a filter lets through, None where it lets all through."""
    if wanted is None or wanted == Filter():
        return None
    return store.items.matching(wanted)


def without(hits: Hits, out: set[int]) -> Hits:
    """Hits less some items."""
    if not out:
        return hits
    keep = ~np.isin(hits.ids, list(out))
    return Hits(hits.ids[keep], hits.scores[keep])


def results_of(store: Store, hits: Hits, found_by: dict[int, tuple[str, ...]]) -> list[Result]:
    """Hits with their paths and with what found them."""
    paths = store.items.paths(hits.ids.tolist())
    return [
        Result(item, as_file(paths[item]), float(score), found_by[item])
        for item, score in zip(hits.ids.tolist(), hits.scores.tolist())
        if item in paths
    ]


def _pinned(
    store: Store, own: list[int], surrogate: Surrogate | None, snapshot: Snapshot
) -> list[Result]:
    results = []
    for item in own:
        score = 0.0
        if surrogate is not None:
            score = float(snapshot.codes([item])[0] @ surrogate.vector) + surrogate.offset
        path = as_file(store.items.paths([item])[item])
        results.append(Result(item, path, score, ("query",)))
    return results
