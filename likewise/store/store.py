"""The store: one data folder, opened; its parts do the work, each in its own file."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from likewise.files import make_folder, plain_errors
from likewise.store import filters
from likewise.store.catalogue import Catalogue
from likewise.store.contents import Contents
from likewise.store.forget import Forgotten, finish, forget
from likewise.store.fulltext import Words
from likewise.store.generations import Generations
from likewise.store.items import Items
from likewise.store.jobs import Jobs
from likewise.store.judgement_log import JudgementLog
from likewise.store.keys import Keys
from likewise.store.lock import WriterLock
from likewise.store.looks import Looks
from likewise.store.maps import Maps
from likewise.store.models import Models
from likewise.store.offered import Offered
from likewise.store.scratch import Scratch
from likewise.store.segments import Segments
from likewise.store.sessions import Sessions
from likewise.store.settings import Settings
from likewise.store.space_files import SpaceFiles
from likewise.store.texts import Texts
from likewise.store.thumbnails import Thumbnails
from likewise.store.uploads import Uploads
from likewise.types import IdArray, NotFound


class Store:
    """An open data folder.  Use :meth:`open`; close it, or use it in a ``with`` block."""

    def __init__(self, folder: Path, catalogue: Catalogue, lock: WriterLock | None) -> None:
        self.folder, self.catalogue, self._lock = folder, catalogue, lock
        self.settings, self.keys = Settings(catalogue), Keys(catalogue)
        self.words = Words(catalogue)
        self.texts = Texts(catalogue, self.words)
        self.items = Items(catalogue, self.words)
        self.segments = Segments(catalogue, folder)
        self.thumbnails = Thumbnails(folder)
        self.maps = Maps(folder)
        self.contents = Contents(catalogue, self.words, self.texts, self.segments, self.thumbnails)
        self.generations = Generations(catalogue, folder)
        self.judgements = JudgementLog(catalogue, self.items)
        self.offered = Offered(catalogue)
        self.uploads = Uploads(catalogue, folder, self.thumbnails)
        self.models = Models(catalogue, folder)
        self.looks = Looks(catalogue)
        self.spaces = SpaceFiles(catalogue, folder)
        self.jobs = Jobs(catalogue)
        self.sessions = Sessions(catalogue)
        self.scratch = Scratch(folder, write=lock is not None)

    @classmethod
    def open(
        cls, folder: str | os.PathLike[str], *, write: bool = False, create: bool = False
    ) -> Store:
        """Open a data folder; ``create`` makes it where it is missing, for writing.

        To write is to take the writer's lock (:class:`~likewise.types.Busy` where another has it),
        and to clear away what a writer that died left.
        """
        path = Path(folder)
        if not create:
            if not path.is_dir():
                raise NotFound(f"There is no data folder {path}; index a folder of pictures first.")
            if not write:
                return cls(path, Catalogue(path, write=False), None)
        with plain_errors(path):
            if not path.is_dir():
                make_folder(path.parent)
                path.mkdir(mode=0o700, exist_ok=True)
            lock = WriterLock(path)
            lock.acquire()
        try:
            if not create and not (path / "catalogue.sqlite").is_file():
                raise NotFound(
                    f"There is no catalogue in {path}; index a folder of pictures first."
                )
            store = cls(path, Catalogue(path, write=True), lock)
        except BaseException:
            lock.release()
            raise
        try:
            store._tidy()
        except BaseException:
            store.close()
            raise
        return store

    def _tidy(self) -> None:
        """Clear away what a writer that died left: it was never acknowledged."""
        with plain_errors(self.folder):
            for part in (
                self.segments, self.generations, self.models, self.spaces, self.uploads,
                self.thumbnails, self.maps,
            ):  # fmt: skip
                part.sweep()
            self.jobs.interrupted()
            self.finish_forgetting()

    def transaction(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """All writes in the block or none; on the disk when it has been left."""
        return self.catalogue.transaction()

    def snapshot(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """All reads in the block (of this thread) see one state."""
        return self.catalogue.reading()

    def facts(self, ids: IdArray) -> Iterator[tuple[Any, ...]]:
        """What filters ask of items, for engines that keep it; in the order given."""
        return filters.facts(self.catalogue, ids)

    def restatements(self, since: int = 0) -> tuple[int, int]:
        """The newest position in the log of changed facts, and how many changes came since one."""
        return filters.restatements(self.catalogue, since)

    def forget_restatements(self, until: int) -> None:
        """Drop from that log what every engine has."""
        self.catalogue.write("DELETE FROM restated WHERE id <= ?", (until,))

    def forget(self, items: Iterable[int]) -> Forgotten:
        """Remove items and all that was derived from them, for good."""
        return forget(self, items)

    def finish_forgetting(self, *, rewrite: bool = False) -> bool:
        """See :func:`likewise.store.forget.finish`."""
        return finish(self, rewrite=rewrite)

    def close(self) -> None:
        """Close every connection and let the next writer in."""
        self.thumbnails.close()
        self.catalogue.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None
    ) -> None:  # fmt: skip
        self.close()
