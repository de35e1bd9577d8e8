"""Vectors in append-only segments: written, synced and checksummed before they are named.

A segment is one file for one batch of contents: the ids of the contents, then one raw
little-endian matrix for each block of features, a JSON footer that says where each lies, its
length and a magic word.  It is never changed; purging writes a new file without the rows
and removes the old one after the commit that names the new one.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.store.catalogue import AMONG, Catalogue, id_list
from likewise.store.files import remove_file, sweep, write_file
from likewise.store.segment_file import KINDS, Place, lay_out, map_block
from likewise.types import BadInput, DataProblem, FloatArray, IdArray, NotFound, as_matrix

FOLDER = "segments"
_CHANGES = "segments.changes"


@dataclass(frozen=True)
class Segment:
    """A row of the catalogue: one file, its contents and the blocks it holds."""

    id: int
    file: str
    sha256: str
    size: int
    contents: IdArray
    blocks: Mapping[str, Place]


@dataclass(frozen=True)
class _Map:
    """Of one block: contents in order, and for each the segment and row of its vector."""

    contents: IdArray
    segment: IdArray
    row: IdArray
    dim: int
    dtype: str


_EMPTY = np.zeros(0, dtype=np.int64)


class Segments:
    """Feature vectors by block and content."""

    def __init__(self, catalogue: Catalogue, folder: Path) -> None:
        self._catalogue, self.folder = catalogue, folder / FOLDER
        self._lock = threading.Lock()
        self._version = "unknown"
        self._segments: dict[int, Segment] = {}
        self._maps: dict[str, _Map] = {}
        self._open: dict[tuple[str, str], NDArray[Any]] = {}

    # -- writing ----------------------------------------------------------------

    def append(
        self,
        contents: Sequence[int],
        blocks: Mapping[str, Any],
        *,
        dtype: str | Mapping[str, str] = "float32",
    ) -> int:
        """Add vectors of contents, one row each in every block; gives the segment's id.

        The file is on the disk before the transaction that names it can commit.  A content
        that has a vector in a block already gets the new one.

        Parameters
        ----------
        contents
            Ids of contents, each once.
        blocks
            Matrix by name of the block, rows in the order of ``contents``.
        dtype
            ``float32``, ``float16`` (half the room, about three digits) or ``uint8`` (whole
            numbers up to 255); one for all blocks, or by name (float32 where not named).
        """
        ids = np.asarray(contents, dtype=np.int64)
        if len(ids) == 0 or not blocks:
            raise BadInput("A segment needs at least one content and one block of vectors.")
        if len(np.unique(ids)) != len(ids):
            raise BadInput("Each content may stand once in a segment.")
        dims = self._dims()
        kinds = dict.fromkeys(blocks, dtype) if isinstance(dtype, str) else dtype
        matrices = {
            name: _checked(name, x, len(ids), dims.get(name), kinds.get(name, "float32"))
            for name, x in blocks.items()
        }
        with self._catalogue.transaction() as db:
            segment = int(
                db.execute(
                    "SELECT COALESCE(MAX(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'segments'"
                ).fetchone()[0]
            )
            self._insert(segment, ids, matrices)
            self._changed(db)
            known = db.execute(
                f"UPDATE contents SET segment = ?, decoded = 1 WHERE id {AMONG}",
                (segment, id_list(ids)),
            ).rowcount
            if known != len(ids):
                raise NotFound(f"{len(ids) - known} of these contents are not in the catalogue.")
        return segment

    def _dims(self) -> dict[str, int]:
        # Not through the map of all rows, which every batch of an ingest would have to rebuild.
        with self._catalogue.reading() as db:
            layouts = db.execute("SELECT DISTINCT layout FROM segments").fetchall()
        return {name: place[1] for (text,) in layouts for name, place in json.loads(text).items()}

    def _insert(self, segment: int, ids: IdArray, matrices: Mapping[str, FloatArray]) -> None:
        """Write the file, then the row that names it: never the other way round."""
        file = f"{segment:08d}-{secrets.token_hex(4)}.seg"
        places, chunks = lay_out(ids, matrices)
        self._catalogue.on_rollback(lambda: remove_file(self.folder / file))
        sha256, size = write_file(self.folder / file, chunks)
        layout = json.dumps({name: [p.dtype, p.dim, p.offset] for name, p in places.items()})
        with self._catalogue.transaction() as db:
            db.execute(
                "INSERT INTO segments (id, file, sha256, size, layout, contents, made) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (segment, file, sha256, size, layout, ids.astype("<i8").tobytes(), time.time()),
            )

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
        """Write every segment that holds these contents anew without them; gives how many."""
        gone = np.array(sorted({int(c) for c in contents}), dtype=np.int64)
        return self._rewrite(lambda s: ~np.isin(s.contents, gone), drop="")

    def drop(self, block: str) -> int:
        """Remove a block of features from every segment; gives how many were written anew."""
        return self._rewrite(lambda s: np.ones(len(s.contents), dtype=bool), drop=block)

    def _rewrite(self, keep: Any, drop: str) -> int:
        changed = 0
        touched: list[IdArray] = []
        with self._catalogue.transaction() as db:
            for segment in self.all():
                rows = keep(segment)
                names = [name for name in segment.blocks if name != drop]
                if rows.all() and len(names) == len(segment.blocks):
                    continue
                changed += 1
                touched.append(segment.contents)
                matrices = {name: np.array(self._matrix(segment, name)[rows]) for name in names}
                db.execute("DELETE FROM segments WHERE id = ?", (segment.id,))
                if rows.any() and matrices:
                    self._insert(segment.id, segment.contents[rows], matrices)
                self._changed(db)
                old = self.folder / segment.file
                self._catalogue.after_commit(lambda old=old: remove_file(old))  # type: ignore[misc]
            if touched:
                self._point_anew(db, np.unique(np.concatenate(touched)))
        return changed

    def _point_anew(self, db: sqlite3.Connection, contents: IdArray) -> None:
        """Let contents name the newest segment that still holds them, or none."""
        held, which, _ = _newest(self.all())
        at = np.minimum(np.searchsorted(held, contents), max(len(held) - 1, 0))
        found = held[at] == contents if len(held) else np.zeros(len(contents), dtype=bool)
        newest = np.where(found, which[at] if len(held) else 0, 0)
        db.executemany(
            "UPDATE contents SET segment = ? WHERE id = ?",
            zip((new or None for new in newest.tolist()), contents.tolist()),
        )

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
        return _EMPTY if found is None else found.contents.copy()

    def missing(self, block: str) -> IdArray:
        """Readable contents without a vector in a block: what new features still have to do."""
        with self._catalogue.reading() as db:
            rows = db.execute("SELECT id FROM contents WHERE problem = '' ORDER BY id").fetchall()
        return np.setdiff1d(np.array([r[0] for r in rows], dtype=np.int64), self.contents(block))

    def read(self, block: str, contents: Any) -> NDArray[np.float32]:
        """Vectors of contents in a block as float32, rows in the order given."""
        wanted = np.asarray(contents, dtype=np.int64)
        for attempt in (0, 1):
            segments, maps = self._current(afresh=bool(attempt))
            at = _locate(maps.get(block), wanted, block)
            try:
                return (
                    self._gather(segments, maps[block], block, at)
                    if len(wanted)
                    else np.zeros((0, maps[block].dim), dtype=np.float32)
                )
            except FileNotFoundError:
                # Purged and written anew since this state was read: the rows that are left
                # are the same, so the newest state may answer.
                continue
        raise DataProblem("A segment file is missing; run verify, and restore it from a backup.")

    def batches(
        self, block: str, size: int = 16_384
    ) -> Iterator[tuple[IdArray, NDArray[np.float32]]]:
        """All vectors of a block in order of content id: (contents, matrix) a batch."""
        ids = self.contents(block)
        for start in range(0, len(ids), size):
            part = ids[start : start + size]
            yield part, self.read(block, part)

    def all(self) -> list[Segment]:
        """Every segment that the catalogue names, in order."""
        with self._catalogue.reading() as db:
            return [
                _segment(row)
                for row in db.execute(
                    "SELECT id, file, sha256, size, contents, layout FROM segments ORDER BY id"
                )
            ]

    def last(self) -> int:
        """Id of the newest segment, 0 where there is none: what a generation covers."""
        with self._catalogue.reading() as db:
            return int(db.execute("SELECT COALESCE(MAX(id), 0) FROM segments").fetchone()[0])

    def _current(self, *, afresh: bool = False) -> tuple[dict[int, Segment], dict[str, _Map]]:
        if afresh:
            other = Catalogue(self._catalogue.folder, write=False)
            try:
                return _maps(Segments(other, self._catalogue.folder).all())
            finally:
                other.close()
        with self._catalogue.reading() as db, self._lock:
            row = db.execute("SELECT value FROM settings WHERE name = ?", (_CHANGES,)).fetchone()
            version = row[0] if row else ""
            if version != self._version:
                self._segments, self._maps = _maps(self.all())
                named = {segment.file for segment in self._segments.values()}
                self._open = {key: x for key, x in self._open.items() if key[0] in named}
                self._version = version
            return self._segments, self._maps

    def _gather(
        self, segments: Mapping[int, Segment], found: _Map, block: str, at: IdArray
    ) -> NDArray[np.float32]:
        out = np.empty((len(at), found.dim), dtype=np.float32)
        which = found.segment[at]
        order = np.argsort(which, kind="stable")
        edges = np.flatnonzero(np.diff(which[order])) + 1
        for part in np.split(order, edges):
            matrix = self._matrix(segments[int(which[part[0]])], block)
            out[part] = matrix[found.row[at[part]]]
        return out

    def _matrix(self, segment: Segment, block: str) -> NDArray[Any]:
        key = (segment.file, block)
        matrix = self._open.get(key)
        if matrix is None:
            path, place = self.folder / segment.file, segment.blocks[block]
            matrix = map_block(path, place, len(segment.contents), segment.size)
            self._open[key] = matrix
        return matrix


def _segment(row: tuple[Any, ...]) -> Segment:
    number, file, sha256, size, contents, layout = row
    ids = np.frombuffer(contents, dtype="<i8").astype(np.int64)
    places = {name: Place(*place) for name, place in json.loads(layout).items()}
    return Segment(number, file, sha256, size, ids, places)


def _maps(segments: list[Segment]) -> tuple[dict[int, Segment], dict[str, _Map]]:
    parts: dict[str, list[Segment]] = {}
    for segment in segments:
        for name in segment.blocks:
            parts.setdefault(name, []).append(segment)
    maps = {}
    for name, holding in parts.items():
        place = holding[-1].blocks[name]
        maps[name] = _Map(*_newest(holding), place.dim, place.dtype)
    return {s.id: s for s in segments}, maps


def _newest(segments: Sequence[Segment]) -> tuple[IdArray, IdArray, IdArray]:
    """Contents in order, and for each the newest segment that holds it and its row there."""
    if not segments:
        return _EMPTY, _EMPTY, _EMPTY
    contents = np.concatenate([s.contents for s in segments])
    which = np.repeat([s.id for s in segments], [len(s.contents) for s in segments])
    row = np.concatenate([np.arange(len(s.contents)) for s in segments])
    kept, first = np.unique(contents[::-1], return_index=True)  # from the end: the newest first
    at = len(contents) - 1 - first
    return kept, which[at].astype(np.int64), row[at].astype(np.int64)


def _checked(name: str, x: Any, rows: int, dim: int | None, dtype: str) -> FloatArray:
    if dtype not in KINDS:
        raise BadInput(f"Vectors are kept as float16 or float32, or as uint8, not {dtype}.")
    matrix = as_matrix(x, dim=dim, name=f"{name} vectors")
    if len(matrix) != rows:
        raise BadInput(f"Block {name} has {len(matrix)} rows for {rows} contents.")
    if dtype == "uint8":
        if matrix.size and not ((matrix >= 0) & (matrix <= 255) & (matrix % 1 == 0)).all():
            raise BadInput(f"The {name} vectors are no bytes: whole numbers from 0 to 255.")
        return np.ascontiguousarray(matrix, dtype=KINDS[dtype])
    largest = float(np.finfo(KINDS[dtype]).max)
    if np.abs(matrix).max(initial=0) > largest:
        raise BadInput(
            f"The {name} vectors hold numbers above {largest:g}, more than {dtype} can keep."
        )
    return np.ascontiguousarray(matrix, dtype=KINDS[dtype])


def _locate(found: _Map | None, wanted: IdArray, block: str) -> IdArray:
    if found is None:
        raise NotFound(f"There are no vectors of block {block!r}; index the collection first.")
    if wanted.ndim != 1:
        raise BadInput("Give the contents as a list of ids.")
    at = np.searchsorted(found.contents, wanted)
    at[at == len(found.contents)] = 0
    lost = found.contents[at] != wanted if len(found.contents) else np.ones(len(wanted), bool)
    if lost.any():
        raise NotFound(
            f"{int(lost.sum())} of {len(wanted)} contents have no {block!r} vector "
            f"(first: {int(wanted[lost][0])}); index the collection again."
        )
    return at.astype(np.int64)
