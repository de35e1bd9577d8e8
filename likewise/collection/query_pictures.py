"""Pictures that people ask with: items, files from outside, bytes; and their raw features."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.collection.options import Crop
from likewise.intake.own_vectors import with_places
from likewise.store import Store, as_file, printable
from likewise.types import BadInput, FloatArray, NotFound, QueryRef

if TYPE_CHECKING:
    from likewise.intake.workers import Describer, Task

KEPT = 256
"""Query pictures and texts whose features, and uploads whose bytes, stay in memory."""
KEPT_BYTES = 256 << 20
"""Of uploads that stay in memory, the newest at least."""


class QueryPictures:
    """Query pictures by name, and their features, computed by a child process."""

    def __init__(self, store: Store, folder: bytes) -> None:
        self._store, self._folder = store, folder
        self._describers: dict[tuple[str, ...], Describer] = {}
        self._readers: dict[str, Describer] = {}
        self._lock = threading.Lock()
        self._features: OrderedDict[Any, Mapping[str, FloatArray]] = OrderedDict()
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
        from likewise.intake.reading.decoding import Unreadable
        from likewise.intake.workers import read_file  # heavy: not for a search by an item

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
            while len(self._uploads) > 1 and (len(self._uploads) > KEPT or size > KEPT_BYTES):
                size -= len(self._uploads.pop(next(iter(self._uploads))))
        return QueryRef("upload", digest, crop)

    def keep(self, ref: QueryRef) -> None:
        """Write an uploaded picture down, because a judgement is about it."""
        if ref.kind == "upload" and ref.value in self._uploads:
            self._store.uploads.put(self._uploads[ref.value])

    def features(self, ref: QueryRef, names: tuple[str, ...]) -> Mapping[str, FloatArray]:
        """Raw features of a query picture, decoded anew by a child unless it was a moment ago."""
        content = self._store.items.find(ref.value).content if ref.kind == "item" else None
        from likewise.intake.workers import Describer

        key = names, ref, content  # another picture may have the name by now
        with self._lock:
            if key in self._features:
                self._features.move_to_end(key)
                return self._features[key]
            if names not in self._describers:
                self._describers[names] = Describer(with_places(self._store, names))
        outcome = self._describers[names](self._task(ref))
        if outcome.problem:
            raise BadInput(f"The query picture cannot be used: {outcome.problem}")
        return self._keep(key, outcome.features)

    def _keep(self, key: Any, features: Mapping[str, FloatArray]) -> Mapping[str, FloatArray]:
        with self._lock:
            self._features[key] = features
            while len(self._features) > KEPT:
                self._features.popitem(last=False)
        return features

    def read(self, text: str, block: str) -> FloatArray:
        """The vector of a text by a network that reads, run by a child that does nothing else."""
        from likewise.intake.workers import Describer, Task

        (name,) = with_places(self._store, (block,))
        key = name, text
        with self._lock:
            if key in self._features:
                return self._features[key][block]
            reader = self._readers.get(name) or Describer([name], pictures=False)
            self._readers[name] = reader
        outcome = reader(Task(1, text=text))
        if outcome.problem:
            raise BadInput(outcome.problem)
        return self._keep(key, outcome.features)[block]

    def _task(self, ref: QueryRef) -> Task:
        from likewise.intake.workers import Task

        if ref.kind == "item":
            path = os.path.join(self._folder, self._store.items.find(ref.value).path)
            return Task(1, path, crop=ref.crop)
        data = self._uploads.get(ref.value)
        return Task(1, data=data or self._store.uploads.get(ref.value), crop=ref.crop)

    def close(self) -> None:
        """End the children that decode."""
        for describer in (*self._describers.values(), *self._readers.values()):
            describer.close()
