"""Vectors in append-only segments: written, synced and checksummed before they are named.

A segment is one file for one batch of contents: the ids of the contents, then one raw
little-endian matrix for each block of features, a JSON footer that says where each lies, its
length and a magic word.  Merging writes a new file and removes the old ones after the commit that
names the new one.  Purging gives a file another name, so that who knows the old one looks again;
once that is committed zeros are written over rows, and checksums count them as written already.

A segment that does not match its checksums never answers: reading raises, and the writer sets
it aside, so that its contents wait to be described anew.
"""

from __future__ import annotations

import contextlib
import errno
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise.files import copy_file, overwrite, remove_file, sweep, sync_folder, write_file
from likewise.open_files import TOO_MANY, too_many
from likewise.store import segment_file, segment_map
from likewise.store.catalogue import AMONG, Catalogue, id_list
from likewise.store.segment_map import Map, Segment, maps_of, newest
from likewise.store.settings import Settings
from likewise.types import BadInput, Damaged, DataProblem, IdArray, NotFound

FOLDER = "segments"
_CHANGES, _BLANK = "segments.changes", "segments.blank"
_COVERED = (
    "SELECT COALESCE((SELECT segment FROM generations WHERE line = 'main' "
    "ORDER BY number DESC LIMIT 1), 0)"
)
"""The newest segment that the index covers: items up to it are shown as indexed."""
_TRIES = 5
_Made = TypeVar("_Made")


class Segments:
    """Feature vectors by block and content."""

    def __init__(self, catalogue: Catalogue, folder: Path) -> None:
        self._catalogue, self.folder = catalogue, folder / FOLDER
        self._settings = Settings(catalogue)
        self._lock = threading.Lock()
        self._version = "unknown"
        self._segments: dict[int, Segment] = {}
        self._maps: dict[str, Map] = {}
        self._sums: dict[str, bytes] = {}  # by file, of segments that have none in the catalogue

    # -- writing ----------------------------------------------------------------

    def append(
        self, contents: Sequence[int], blocks: Mapping[str, Any], *,
        dtype: str | Mapping[str, str] = "float32"
    ) -> int:  # fmt: skip
        """Add vectors of contents, one row each in every block; gives the segment's id.

        The file is on the disk before the transaction that names it can commit.  A content
        that has a vector in a block already gets the new one.  ``dtype``, for all blocks or by
        name, is ``float32``, ``float16`` (about three digits) or ``uint8`` (whole numbers).
        """
        ids = np.asarray(contents, dtype=np.int64)
        if len(ids) == 0 or not blocks:
            raise BadInput("A segment needs at least one content and one block of vectors.")
        if len(np.unique(ids)) != len(ids):
            raise BadInput("Each content may stand once in a segment.")
        dims = self._dims()
        kinds = dict.fromkeys(blocks, dtype) if isinstance(dtype, str) else dtype
        matrices = {
            name: segment_file.as_kept(
                name, x, len(ids), dims.get(name), kinds.get(name, "float32")
            )
            for name, x in blocks.items()
        }
        with self._catalogue.transaction() as db:
            segment = self._catalogue.number(
                "SELECT COALESCE(MAX(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'segments'"
            )
            shapes = {name: (x.dtype.name, x.shape[1]) for name, x in matrices.items()}
            self._insert(segment, ids, shapes, lambda name: [matrices[name]])
            self._changed(db)
            db.execute(f"DELETE FROM set_aside WHERE content {AMONG}", (id_list(ids),))
            known = db.execute(
                f"UPDATE contents SET segment = ?, decoded = 1 WHERE id {AMONG}",
                (segment, id_list(ids)),
            ).rowcount
            if known != len(ids):
                raise NotFound(f"{len(ids) - known} of these contents are not in the catalogue.")
        return segment

    def _dims(self) -> dict[str, int]:
        # Not through the map of all rows, which every batch of an ingest would have to rebuild.
        layouts = self._catalogue.rows("SELECT DISTINCT layout FROM segments")
        return {name: place[1] for (text,) in layouts for name, place in json.loads(text).items()}

    def _insert(
        self, segment: int, ids: IdArray, kinds: Mapping[str, tuple[str, int]],
        rows: Callable[[str], Iterable[NDArray[Any]]]
    ) -> None:  # fmt: skip
        """Write the file, then the row that names it: never the other way round."""
        file = f"{segment:08d}-{secrets.token_hex(4)}.seg"
        places = segment_file.lay_out(len(ids), kinds)
        sums: list[int] = []
        self._catalogue.on_rollback(lambda: remove_file(self.folder / file))
        sha256, size = write_file(
            self.folder / file, segment_file.summed(segment_file.bytes_of(ids, places, rows), sums)
        )
        layout = json.dumps({name: [p.dtype, p.dim, p.offset] for name, p in places.items()})
        self._catalogue.write(
            "INSERT INTO segments (id, file, sha256, size, layout, contents, made, sums) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (segment, file, sha256, size, layout, ids.astype("<i8").tobytes(), time.time(),
             segment_file.as_bytes(sums)),
        )  # fmt: skip

    def _delete(self, db: sqlite3.Connection, segment: Segment) -> None:
        """Take a row out, and its file once that is on the disk."""
        db.execute("DELETE FROM segments WHERE id = ?", (segment.id,))
        self._catalogue.after_commit(lambda: remove_file(self.folder / segment.file))
        self._changed(db)

    def _changed(self, db: sqlite3.Connection) -> None:
        """Count one change, by which every process notices that its map is old."""
        db.execute(
            "INSERT INTO settings VALUES (?, '1') ON CONFLICT (name) "
            "DO UPDATE SET value = CAST(value AS INTEGER) + 1",
            (_CHANGES,),
        )
        self._catalogue.on_rollback(self._distrust)

    def _distrust(self) -> None:
        self._version = "unknown"

    def purge(self, contents: Iterable[int]) -> int:
        """Take these contents out of every segment that holds them; gives how many did.

        Their bytes stay until :meth:`blank`, but nothing reads them once this is committed.
        """
        gone, changed = np.array(sorted({int(c) for c in contents}), dtype=np.int64), []
        with self._catalogue.transaction() as db:
            db.execute(f"UPDATE contents SET segment = NULL WHERE id {AMONG}", (id_list(gone),))
            for segment in self.all():
                dead = np.isin(segment.contents, gone)
                if dead.any():
                    changed.append(segment.id)
                    self._take_out(db, segment, np.where(dead, 0, segment.contents))
            if changed:
                sync_folder(self.folder)
                self._settings.set(_BLANK, [*self._settings.get(_BLANK, []), *changed])
        return len(changed)

    def _take_out(self, db: sqlite3.Connection, segment: Segment, ids: IdArray) -> None:
        """Let a segment go on under another name, without the rows whose content is 0 now."""
        path, after = self.folder / segment.file, replace(segment, contents=ids)
        more = sorted({*after.blank}.difference(segment.blank))
        try:
            with _flaws_named(segment):
                sums = segment_file.sums_without(path, self._sums_of(segment), segment.blank, more)
        except (Damaged, FileNotFoundError):
            return self._set_aside(db, segment)  # nothing of it can be kept
        if not ids.any():
            return self._delete(db, segment)
        new = self.folder / f"{segment.id:08d}-{secrets.token_hex(4)}.seg"
        self._catalogue.on_rollback(lambda: remove_file(new))
        copy_file(path, new, link=True)
        self._catalogue.after_commit(lambda: remove_file(path))
        db.execute(
            "UPDATE segments SET file = ?, sha256 = '', contents = ?, sums = ? WHERE id = ?",
            (new.name, ids.astype("<i8").tobytes(), sums, segment.id),
        )
        self._changed(db)

    def blank(self) -> None:
        """Write zeros over what was purged, where that was not done yet."""
        if wanted := self._settings.get(_BLANK):
            with self._catalogue.transaction():
                for segment in self.all():
                    if segment.id in wanted:
                        overwrite(self.folder / segment.file, segment.blank, self.folder)
                self._settings.remove(_BLANK)

    def drop(self, block: str) -> int:
        """Remove a block of features from every segment; gives how many were written anew."""
        changed, touched = 0, list[IdArray]()
        with self._catalogue.transaction() as db:
            for segment in self.all():
                kinds = {name: kind for name, kind in segment.kind.items() if name != block}
                if len(kinds) == len(segment.blocks):
                    continue
                changed += 1
                if self.flaw(segment):  # nothing of it can be kept
                    self._set_aside(db, segment)
                    continue
                touched.append(segment.contents)
                self._delete(db, segment)
                rows = np.flatnonzero(segment.contents)
                if kinds:
                    self._insert(
                        segment.id, segment.contents[rows], kinds,
                        lambda name, s=segment, rows=rows: [self._rows(s, name, rows)],  # type: ignore[misc]
                    )  # fmt: skip
            if touched:
                self._point_anew(db, np.unique(np.concatenate(touched)))
        return changed

    def _point_anew(self, db: sqlite3.Connection, contents: IdArray) -> None:
        """Let contents name the newest segment that still holds them, or none."""
        held, which, _ = newest(self.all())
        at = np.minimum(np.searchsorted(held, contents), max(len(held) - 1, 0))
        found = held[at] == contents if len(held) else np.zeros(len(contents), dtype=bool)
        latest = np.where(found, which[at] if len(held) else 0, 0)
        db.executemany(
            # Those that were set aside wait, although other segments may hold other blocks of them.
            "UPDATE contents SET segment = ? WHERE id = ? AND segment IS NOT NULL",
            zip((new or None for new in latest.tolist()), contents.tolist()),
        )

    # -- merging and mending ----------------------------------------------------

    def merge(self) -> int:
        """Write runs of small segments as larger ones; gives how many segments went.

        Segments that were written before checksums of their pieces were kept get theirs.
        """
        went = 0
        try:
            while True:
                with self._catalogue.transaction() as db:
                    runs = segment_map.small_runs(self.all(), self._catalogue.number(_COVERED))
                    run = next((run for run in runs if len(run) >= segment_map.ENOUGH), None)
                    if run is None:
                        break
                    self._join(db, run)
                    went += len(run) - 1
            while True:
                with self._catalogue.transaction() as db:
                    old = next((segment for segment in self.all() if not segment.sums), None)
                    if old is None:
                        break
                    with _flaws_named(old):
                        found = (self._sums_of(old), old.id)
                    db.execute("UPDATE segments SET sums = ? WHERE id = ?", found)
        except FileNotFoundError as error:
            raise _missing(error, self.all()) from None
        return went

    def _join(self, db: sqlite3.Connection, run: Sequence[Segment]) -> None:
        """One segment for a run; it gets the last number, so that the order stays what it was."""
        held, which, row = newest(run)
        order = np.lexsort((row, which))
        last = run[-1].id

        def rows(block: str) -> Iterator[NDArray[Any]]:
            for segment in run:
                yield self._rows(segment, block, np.sort(row[which == segment.id]))

        for segment in run:
            self._delete(db, segment)
        self._insert(last, held[order], run[-1].kind, rows)
        db.execute(
            f"UPDATE contents SET segment = ? WHERE segment {AMONG}",
            (last, id_list(segment.id for segment in run)),
        )

    def mend(self) -> int:
        """Set aside every segment that is damaged; gives how many.

        Their contents wait as if they had never been described, and the next ingest describes
        them anew.
        """
        damaged = [segment for segment in self.all() if self.flaw(segment)]
        with self._catalogue.transaction() as db:
            named = {segment.file for segment in self.all()}
            damaged = [segment for segment in damaged if segment.file in named]
            for segment in damaged:
                self._set_aside(db, segment)
        return len(damaged)

    def _set_aside(self, db: sqlite3.Connection, segment: Segment) -> None:
        self._delete(db, segment)
        self.set_aside(segment.contents)

    def set_aside(self, contents: Iterable[int]) -> int:
        """Let contents wait as if they had never been described; gives how many did not yet."""
        ids = id_list(contents)
        with self._catalogue.transaction() as db:
            db.execute(
                f"INSERT OR IGNORE INTO set_aside SELECT id FROM contents WHERE id {AMONG}", (ids,)
            )
            return db.execute(
                f"UPDATE contents SET segment = NULL WHERE segment IS NOT NULL AND id {AMONG}",
                (ids,),
            ).rowcount

    def without_damage(self, work: Callable[[], _Made]) -> _Made:
        """Do work that reads vectors; where some are damaged, set them aside and do it again."""
        while True:
            try:
                return work()
            except Damaged as error:
                if not self.mend() and not self.set_aside(error.contents):
                    raise

    @staticmethod
    def sound(
        contents: IdArray, read: Callable[[IdArray], _Made]
    ) -> tuple[NDArray[np.bool_], _Made]:
        """Which contents have sound vectors, and what reading makes of these."""
        sound = np.ones(len(contents), bool)
        while True:
            try:
                return sound, read(contents[sound])
            except Damaged as error:
                sound &= ~np.isin(contents, error.contents)

    def left_out(self, more: int = 0) -> str:
        """One sentence on pictures that cannot be found until they are described anew, or none.

        ``more`` are those of segments that were found damaged, but not set aside yet.
        """
        count = more + self._catalogue.number(
            "SELECT COUNT(*) FROM set_aside AS s CROSS JOIN items ON items.content = "
            "s.content JOIN contents AS c ON c.id = s.content WHERE items.removed IS NULL "
            "AND items.problem = '' AND c.problem = '' AND c.segment IS NULL"
        )
        if not count:
            return ""
        return (
            f"The vectors of {count:,} pictures are damaged, so these are left out; index again to "
            "describe them anew."
        )

    def flaw(self, segment: Segment) -> str:
        """What is wrong with a segment's file, every byte compared; empty where nothing is."""
        path = self.folder / segment.file
        try:
            segment_file.check_file(
                path, segment.size,
                segment.sums or segment_file.sums_of(path, segment.sha256), segment.blank,
            )  # fmt: skip
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EIO):
                return "is missing" if error.errno == errno.ENOENT else "cannot be read"
            raise
        except DataProblem as error:
            return str(error)
        return ""

    def sweep(self) -> list[str]:
        """Remove files that no row names: left by a writer that died before its commit."""
        return sweep(self.folder, {segment.file for segment in self.all()})

    # -- reading ----------------------------------------------------------------

    def blocks(self) -> dict[str, tuple[int, int]]:
        """Of each block its (dimension, number of contents)."""
        maps = self._current()[1]
        return {name: (found.dim, len(found.contents)) for name, found in maps.items()}

    def contents(self, block: str) -> IdArray:
        """Contents that have a vector in a block, in order of id."""
        found = self._current()[1].get(block)
        return segment_map.EMPTY if found is None else found.contents.copy()

    def missing(self, block: str) -> IdArray:
        """Readable contents without a vector in a block: what new features still have to do."""
        every = self._catalogue.column("SELECT id FROM contents WHERE problem = ''")
        return np.setdiff1d(np.array(every, dtype=np.int64), self.contents(block))

    def read(self, block: str, contents: Any) -> NDArray[np.float32]:
        """Vectors of contents in a block as float32, rows in the order given.

        Raises :class:`~likewise.types.Damaged`, which names the contents, where some do not match
        their checksums.
        """
        wanted = np.asarray(contents, dtype=np.int64)
        known: set[str] = set()
        for attempt in range(_TRIES):
            segments, maps = self._current(afresh=bool(attempt))
            at = segment_map.locate(maps.get(block), wanted, block)
            named = {segment.file for segment in segments.values()}
            try:
                return self._gather(segments, maps[block], block, at)
            except FileNotFoundError as error:
                # Purged or merged and written anew since this state was read: the rows that
                # are left are the same, so the newest state may answer.
                lost = error
            except Damaged:  # or overwritten since: it had another name before
                if named == known or attempt == _TRIES - 1:
                    raise
            known = named
        raise _missing(lost, segments.values())

    def all(self, known: Mapping[str, Segment] | None = None) -> list[Segment]:
        """Every segment that the catalogue names, in order; those known by file are not read."""
        known = known or {}
        sql = "SELECT id, file, sha256, size, contents, layout, sums FROM segments WHERE id = ?"
        with self._catalogue.reading() as db:
            named = db.execute("SELECT id, file FROM segments ORDER BY id").fetchall()
            return [
                known.get(file) or segment_map.segment_of(db.execute(sql, (number,)).fetchone())
                for number, file in named
            ]

    def last(self) -> int:
        """Id of the newest segment, 0 where there is none: what a generation covers."""
        return self._catalogue.number("SELECT COALESCE(MAX(id), 0) FROM segments")

    def _current(self, *, afresh: bool = False) -> tuple[dict[int, Segment], dict[str, Map]]:
        if afresh:
            other = Catalogue(self._catalogue.folder, write=False)
            try:
                return maps_of(Segments(other, self._catalogue.folder).all())
            finally:
                other.close()
        with self._catalogue.reading() as db, self._lock:
            row = db.execute("SELECT value FROM settings WHERE name = ?", (_CHANGES,)).fetchone()
            version = row[0] if row else ""
            if version != self._version:
                before = self._segments, self._maps
                every = self.all({s.file: s for s in before[0].values() if s.sums})
                self._segments, self._maps = maps_of(every, before)
                named = {segment.file for segment in self._segments.values()}
                self._sums = {file: x for file, x in self._sums.items() if file in named}
                self._version = version
            return self._segments, self._maps

    def _gather(
        self, segments: Mapping[int, Segment], found: Map, block: str, at: IdArray
    ) -> NDArray[np.float32]:
        out = np.empty((len(at), found.dim), dtype=np.float32)
        which = found.segment[at]
        order = np.argsort(which, kind="stable")
        edges = np.flatnonzero(np.diff(which[order])) + 1
        damaged: list[Damaged] = []
        for part in np.split(order, edges) if len(order) else ():
            try:
                segment = segments[int(which[part[0]])]
                out[part] = self._rows(segment, block, found.row[at[part]])
            except Damaged as error:
                damaged.append(error)
        if damaged:
            raise Damaged(str(damaged[0]), [c for error in damaged for c in error.contents])
        return out

    def _rows(self, segment: Segment, block: str, rows: IdArray) -> NDArray[Any]:
        path, place = self.folder / segment.file, segment.blocks[block]
        with _flaws_named(segment):
            sums = self._sums_of(segment)
            return segment_file.read_rows(path, place, rows, segment.size, sums, segment.blank)

    def _sums_of(self, segment: Segment) -> bytes:
        sums = segment.sums or self._sums.get(segment.file)
        if not sums:
            sums = self._sums[segment.file] = segment_file.sums_of(
                self.folder / segment.file, segment.sha256
            )
        return sums


@contextlib.contextmanager
def _flaws_named(segment: Segment) -> Iterator[None]:
    """Let a file that cannot be trusted end in the error that names its contents."""
    try:
        yield
        return
    except OSError as error:
        if error.errno in TOO_MANY:
            raise too_many() from error
        if error.errno != errno.EIO:
            raise
        flaw = "cannot be read from the disk"
    except DataProblem as error:
        flaw = str(error)
    raise _damaged(segment, flaw)


def _missing(error: FileNotFoundError, segments: Iterable[Segment]) -> Damaged | FileNotFoundError:
    file = Path(str(error.filename)).name
    return next((_damaged(s, "is missing") for s in segments if s.file == file), error)


def _damaged(segment: Segment, flaw: str) -> Damaged:
    return Damaged(
        f"Segment {segment.file} {flaw}; index again to describe its pictures anew, or restore a "
        "backup.",
        segment.contents.tolist(),
    )
