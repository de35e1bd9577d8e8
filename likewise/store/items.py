"""Items: which files there are, in which state, and what each holds.

An item is a path; what it holds is a *content*, known by its SHA-256.  Copies and renamed
files share a content, so a picture is decoded and embedded once.  The state of an item is
not stored but follows from the facts (view ``item_states``): removed, problem, seen,
decoded, embedded, indexed; so a file is always in exactly one.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likewise.filters import AnyPath, Condition, Filter
from likewise.store import filters
from likewise.store.catalogue import AMONG, Catalogue, id_list
from likewise.store.fulltext import Words
from likewise.store.paths import as_file, as_key, printable
from likewise.types import BadInput, IdArray, NotFound

NO_FILE = -1
"""The time of an item that own vectors named and that no file belongs to: no scan misses it."""


class Seen(NamedTuple):
    """A file that a scan found; ``sha256`` (32 bytes) where it is known already.

    ``id`` is a number that :meth:`Items.reserve` gave, for an item and a content that are new.
    """

    path: bytes
    size: int
    mtime_ns: int
    sha256: bytes | None = None
    id: int | None = None


@dataclass(frozen=True)
class Comparison:
    """What a scan found, beside what the catalogue knows (nothing is changed by comparing)."""

    new: list[Seen]
    changed: list[Seen]
    returned: list[Seen]
    missing: IdArray
    unchanged: int
    moved: frozenset[int] = frozenset()
    """Those of the missing whose size and time a new file has."""

    @property
    def known(self) -> int:
        """How many present items the catalogue knew before the scan."""
        return self.unchanged + len(self.changed) + len(self.missing)


class Item(NamedTuple):
    """One picture of the collection, with the facts of its content."""

    id: int
    path: bytes
    name: str
    size: int
    mtime_ns: int
    state: str
    reason: str
    content: int | None
    sha256: str
    width: int | None
    height: int | None
    format: str | None
    taken: str | None
    camera: str | None
    added: float

    @property
    def file(self) -> str:
        """The name to open the file by, relative to the collection's folder."""
        return as_file(self.path)


_ITEM = """SELECT i.id, i.path, i.name, i.size, i.mtime_ns, s.state, s.reason, i.content,
    COALESCE(lower(hex(c.sha256)), ''), c.width, c.height, c.format, c.taken, c.camera, i.added
    FROM items AS i JOIN item_states AS s ON s.id = i.id LEFT JOIN contents AS c ON c.id = i.content
"""

# A file that was seen before keeps its content only while size and time agree.
_SEE = """INSERT INTO items (id, path, name, folder, content, size, mtime_ns, added)
    VALUES (?, ?, ?, ?, (SELECT id FROM contents WHERE sha256 = ?), ?, ?, ?)
    ON CONFLICT (path) DO UPDATE SET
        content = CASE WHEN size = excluded.size AND mtime_ns = excluded.mtime_ns
                       THEN COALESCE(excluded.content, content) ELSE excluded.content END,
        size = excluded.size, mtime_ns = excluded.mtime_ns, problem = '', removed = NULL"""


class Items(filters.Columns):
    """The files of a collection, in bulk.  Paths are bytes; see :mod:`likewise.store.paths`."""

    def __init__(self, catalogue: Catalogue, words: Words) -> None:
        super().__init__(catalogue)
        self._words = words

    # -- what ingest calls -------------------------------------------------------

    def compare(self, files: Iterable[Seen]) -> Comparison:
        """Sort the files of a scan into new, changed, returned and unchanged; list the missing."""
        rows = self._catalogue.rows(
            "SELECT path, id, size, mtime_ns, removed IS NOT NULL FROM items"
        )
        known = {row[0]: row[1:] for row in rows}
        new, changed, returned, unchanged = [], [], [], 0
        for file in files:
            row = known.pop(file[0], None)
            if row is None:
                new.append(Seen(*file))
            elif row[3]:
                returned.append(Seen(*file))
            elif row[1] != file[1] or row[2] != file[2]:
                changed.append(Seen(*file))
            else:
                unchanged += 1
        missing = {row[0]: row[1:3] for row in known.values() if not row[3] and row[2] != NO_FILE}
        facts = {(file.size, file.mtime_ns) for file in new}
        moved = frozenset(item for item, fact in missing.items() if fact in facts)
        ids = np.array(sorted(missing), dtype=np.int64)
        return Comparison(new, changed, returned, ids, unchanged, moved)

    def reserve(self) -> int:
        """The first of the numbers that no item and no content ever had.

        Children finish in any order; files that are numbered by the scan have the same ids
        however many children there are.
        """
        return 1 + self._catalogue.number(
            "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name IN ('items', 'contents')"
        )

    def see(self, files: Sequence[Seen]) -> list[int]:
        """Add or refresh files, in one transaction; gives their ids in the order given.

        A file whose size or time changed loses its content until its hash is told, here
        or by :meth:`hashed`.  A removed file that is seen again is present again.
        """
        now = time.time()
        with self._catalogue.transaction() as db:
            db.executemany(
                "INSERT INTO contents (id, sha256, size, added) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (sha256) DO NOTHING",
                ((f.id, _digest(f.sha256), f.size, now) for f in files if f.sha256 is not None),
            )
            db.executemany(
                _SEE,
                ((f.id, f.path, *_name(f.path), f.sha256, f.size, f.mtime_ns, now) for f in files),
            )
            found = self.ids([f.path for f in files])
            ids = [found[f.path] for f in files]
            self._words.refresh(ids)
        return ids

    def trouble(self, pairs: Sequence[tuple[int, str]]) -> None:
        """Record why files could not be read at all (permission, vanished, not a file)."""
        with self._catalogue.transaction() as db:
            db.executemany(
                "UPDATE items SET problem = ? WHERE id = ?",
                ((reason or "The file could not be read.", item) for item, reason in pairs),
            )

    def remove(self, ids: Iterable[int]) -> None:
        """Mark items as removed: they leave search; judgements and vectors stay."""
        gone = [int(i) for i in ids]
        with self._catalogue.transaction() as db:
            db.execute(
                f"UPDATE items SET removed = ? WHERE removed IS NULL AND id {AMONG}",
                (time.time(), id_list(gone)),
            )
            self._words.refresh(gone)

    def rename(self, pairs: Sequence[tuple[int, bytes]]) -> None:
        """Let items go on under new paths, with their ids and judgements."""
        with self._catalogue.transaction() as db:
            try:
                db.executemany(
                    "UPDATE items SET path = ?, name = ?, folder = ?, removed = NULL WHERE id = ?",
                    ((path, *_name(path), item) for item, path in pairs),
                )
            except sqlite3.IntegrityError:
                raise BadInput(
                    "An item of the new name is there already; remove or forget it first."
                ) from None
            self._words.refresh([item for item, _ in pairs])

    # -- what everybody asks -----------------------------------------------------

    def get(self, item: int) -> Item:
        """One item by id."""
        found = self._one("id", int(item))
        if found is None:
            raise NotFound(f"There is no item {item} in this collection.")
        return found

    def find(self, path: AnyPath) -> Item:
        """One item by its path."""
        key = as_key(path)
        found = self._one("path", key)
        if found is None:
            raise NotFound(
                f"There is no item {printable(key)!r} in this collection; index it first."
            )
        return found

    def _one(self, column: str, value: int | bytes) -> Item | None:
        """An item by number or path; within one read, by both once it was found by one."""

        def read(db: sqlite3.Connection) -> Item | None:
            row = db.execute(f"{_ITEM} WHERE i.{column} = ?", (value,)).fetchone()
            return Item(*row) if row else None

        found = self._catalogue.once(value, read)
        if column == "id" and found is not None:
            self._catalogue.once(found.path, lambda db: found)
        return found

    def many(self, ids: Iterable[int]) -> list[Item]:
        """Items by id, in the order given; unknown ids are passed over."""
        wanted = [int(i) for i in ids]
        rows = self._catalogue.rows(_ITEM + f"WHERE i.id {AMONG}", (id_list(wanted),))
        found = {row[0]: Item(*row) for row in rows}
        return [found[i] for i in wanted if i in found]

    def ids(self, paths: Sequence[bytes]) -> dict[bytes, int]:
        """Ids by path; unknown paths are left out."""
        return dict(self._catalogue.by_key("SELECT path, id FROM items WHERE path IN", paths))

    def paths(self, ids: Iterable[int]) -> dict[int, bytes]:
        """Paths by id; unknown ids are left out."""
        wanted = [int(i) for i in ids]
        return dict(self._catalogue.by_key("SELECT id, path FROM items WHERE id IN", wanted))

    def present_paths(self) -> list[bytes]:
        """Paths of all items that a file belongs to and that can be read, in order."""
        return self._catalogue.column(
            "SELECT path FROM items AS i LEFT JOIN contents AS c ON c.id = i.content "
            "WHERE removed IS NULL AND i.problem = '' AND COALESCE(c.problem, '') = '' "
            "AND mtime_ns <> ? ORDER BY path",
            (NO_FILE,),
        )

    def contents_of(self, paths: Sequence[bytes]) -> dict[bytes, int | None]:
        """The content of each item by path; unknown paths are left out."""
        return dict(self._catalogue.by_key("SELECT path, content FROM items WHERE path IN", paths))

    def by_content(self, sha256: Sequence[bytes]) -> dict[bytes, list[int]]:
        """Items (removed ones too) that hold these contents: how a scan recognises a rename."""
        found: dict[bytes, list[int]] = {}
        rows = self._catalogue.by_key(
            "SELECT i.id, c.sha256 FROM contents AS c JOIN items AS i ON i.content = c.id "
            "WHERE c.sha256 IN",
            sha256,
        )
        for item, key in sorted(rows):
            found.setdefault(key, []).append(item)
        return found

    def contents(self, ids: Iterable[int] | None = None) -> dict[int, int]:
        """Content of each present item that has vectors: what search joins items and rows by."""
        return dict(zip(*(column.tolist() for column in self.described(ids))))

    def described(self, ids: Iterable[int] | None = None) -> tuple[IdArray, IdArray]:
        """The same as two arrays, in order of id."""
        where, given = ("", ()) if ids is None else (f"AND i.id {AMONG}", (id_list(ids),))
        sql = (
            "SELECT i.id, i.content FROM items AS i JOIN contents AS c ON c.id = i.content "
            "WHERE i.removed IS NULL AND i.problem = '' AND c.problem = '' "
            f"AND c.segment IS NOT NULL {where} ORDER BY i.id"
        )
        with self._catalogue.reading() as db:
            rows = np.fromiter(db.execute(sql, given), dtype="i8,i8")
        return rows["f0"].copy(), rows["f1"].copy()

    def page(self, wanted: Filter, limit: int | None = None, after: int = 0) -> list[Item]:
        """Items that a filter lets through, by id, those after an id: no more is read."""
        if wanted == Filter():
            sql = _ITEM + "WHERE i.id > ? AND i.removed IS NULL ORDER BY i.id LIMIT ?"
            rows = self._catalogue.rows(sql, (after, -1 if limit is None else limit))
            return [Item(*row) for row in rows]
        ids = self.matching(wanted)
        rest = ids[np.searchsorted(ids, after, side="right") :]
        return self.many(rest[:limit].tolist())

    def count(self, wanted: Filter) -> int:
        """How many items a filter lets through."""
        return len(self.matching(wanted))

    def conditions(self, wanted: Filter) -> list[Condition] | None:
        """A filter as conditions over facts that an engine may keep."""
        return filters.conditions(wanted)

    def latest(self, limit: int) -> list[Item]:
        """Items whose pictures were read, those that came last first."""
        rows = self._catalogue.rows(
            _ITEM + "WHERE c.decoded AND i.removed IS NULL AND i.problem = '' "
            "ORDER BY i.id DESC LIMIT ?",
            (limit,),
        )
        return [Item(*row) for row in rows]

    def problems(self, limit: int | None = None, after: int = 0) -> list[Item]:
        """Items in state problem with their reasons, by id, those after an id."""
        return self.page(Filter(states=("problem",)), limit, after)


def _name(path: bytes) -> tuple[str, str]:
    folder, _, name = path.rpartition(b"/")
    return printable(name), printable(folder)


def _digest(sha256: bytes) -> bytes:
    if len(sha256) != 32:
        raise BadInput("A content is named by the 32 bytes of its SHA-256.")
    return sha256
