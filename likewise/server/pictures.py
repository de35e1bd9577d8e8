"""Pictures out: decoded in a child process and written anew, so that no metadata survives."""

from __future__ import annotations

import os
from dataclasses import replace

from PIL import Image

from likewise.collection import Collection
from likewise.intake.reading.decoding import Picture, encode_jpeg
from likewise.intake.workers import Describer, Task, decode_task
from likewise.types import BadInput, DataProblem, NotFound

LARGE = "large"
"""Name under which the larger picture lies beside the small one in the cache."""


def decode_large(task: Task, gps: bool) -> Picture:
    """The picture of a task with a JPEG of its working size as the thumbnail."""
    picture = decode_task(task, gps)
    return replace(picture, thumbnail=encode_jpeg(Image.fromarray(picture.pixels), quality=88))


class Pictures:
    """Larger views of items and of uploaded pictures, made when first asked for."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._describer = Describer((), decoder=decode_large)

    def close(self) -> None:
        """End the child."""
        self._describer.close()

    def small(self, sha256: str) -> bytes:
        """The thumbnail of a content by its hash."""
        kept = self._collection.thumbnails.get(sha256, "small")
        return kept if kept is not None else self._of_content(sha256, "small")

    def large(self, sha256: str) -> bytes:
        """A larger view of a content by its hash."""
        kept = self._collection.thumbnails.get(sha256, LARGE)
        return kept if kept is not None else self._of_content(sha256, LARGE)

    def upload(self, data: bytes) -> Picture:
        """Check that uploaded bytes are a picture; its thumbnail is the larger view."""
        outcome = self._describer(Task(1, data=data))
        if outcome.picture is None:
            raise BadInput(f"The picture cannot be used: {outcome.problem}")
        return outcome.picture

    def uploaded(self, sha256: str) -> bytes:
        """A view of an uploaded picture."""
        kept = self._collection.thumbnails.get(sha256, LARGE)
        if kept is not None and sha256 in self._collection.uploads.all():
            return kept
        view = self.upload(self._collection.uploads.get(sha256)).thumbnail
        self._collection.thumbnails.put(sha256, LARGE, view)
        return view

    def _of_content(self, sha256: str, size: str) -> bytes:
        items = self._collection.items
        holders = items.by_content([bytes.fromhex(sha256)])
        present = [
            i
            for i in items.many(holders.get(bytes.fromhex(sha256), []))
            if i.state not in ("removed", "problem")
        ]
        if not present:
            raise NotFound("There is no picture of this content in the collection.")
        if size == "small":
            data = self._collection.thumbnail(present[0].id)
        else:
            path = os.path.join(os.fsencode(self._collection.folder), present[0].path)
            outcome = self._describer(Task(1, path))
            if outcome.picture is None:
                raise DataProblem(f"{present[0].name} cannot be shown: {outcome.problem}")
            data = outcome.picture.thumbnail
        self._collection.thumbnails.put(sha256, size, data)
        return data
