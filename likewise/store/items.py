"""Items: which files there are, in which state, and what each holds.

An item is a path; what it holds is a *content*, known by its SHA-256.  Copies and renamed
files share a content, so a picture is decoded and embedded once.  The state of an item is
not stored but follows from the facts (view ``item_states``): removed, problem, seen,
decoded, embedded, indexed; so a file is always in exactly one.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from likewise.filters import AnyPath, Condition, Filter
from likewise.store import filters
from likewise.store.catalogue import AMONG, Catalogue, id_list
from likewise.store.filters import STATES
from likewise.store.fulltext import Words
from likewise.store.paths import as_file, as_key, printable
from likewise.types import BadInput, IdArray, NotFound

_CHUNK = 20_000


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


@dataclass(frozen=True)
class Item:
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


class Items:
    """The files of a collection, in bulk.  Paths are bytes; see :mod:`likewise.store.paths`."""

    def __init__(self, catalogue: Catalogue, words: Words) -> None:
        self._catalogue, self._words = catalogue, words

    # -- what ingest calls -------------------------------------------------------

    def compare(self, files: Iterable[Seen]) -> Comparison:
        """Sort the files of a scan into new, changed, returned and unchanged; list the missing."""
        with self._catalogue.reading() as db:
            known = {
                path: (item, size, mtime, removed)
                for item, path, size, mtime, removed in db.execute(
                    "SELECT id, path, size, mtime_ns, removed IS NOT NULL FROM items"
                )
            }
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
        missing = {row[0]: row[1:3] for row in known.values() if not row[3]}
        facts = {(file.size, file.mtime_ns) for file in new}
        moved = frozenset(item for item, fact in missing.items() if fact in facts)
        ids = np.array(sorted(missing), dtype=np.int64)
        return Comparison(new, changed, returned, ids, unchanged, moved)

    def reserve(self) -> int:
        """The first of the numbers that no item and no content ever had.

        Children finish in any order; files that are numbered by the scan have the same ids
        however many children there are.
        """
        with self._catalogue.reading() as db:
            return 1 + int(
                db.execute(
                    "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence "
                    "WHERE name IN ('items', 'contents')"
                ).fetchone()[0]
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
                ((_reason(reason), item) for item, reason in pairs),
            )

    def remove(self, ids: Iterable[int]) -> None:
        """Mark items as removed: they leave search; judgements and vectors stay."""
        listed = id_list(ids)
        with self._catalogue.transaction() as db:
            db.execute(
                f"UPDATE items SET removed = ? WHERE removed IS NULL AND id {AMONG}",
                (time.time(), listed),
            )
            self._words.refresh(_ints(listed))

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
        found = self.many([item])
        if not found:
            raise NotFound(f"There is no item {item} in this collection.")
        return found[0]

    def find(self, path: AnyPath) -> Item:
        """One item by its path."""
        key = as_key(path)
        with self._catalogue.reading() as db:
            row = db.execute(_ITEM + "WHERE i.path = ?", (key,)).fetchone()
        if row is None:
            raise NotFound(
                f"There is no item {printable(key)!r} in this collection; index it first."
            )
        return Item(*row)

    def many(self, ids: Iterable[int]) -> list[Item]:
        """Items by id, in the order given; unknown ids are passed over."""
        wanted = [int(i) for i in ids]
        with self._catalogue.reading() as db:
            rows = db.execute(_ITEM + f"WHERE i.id {AMONG}", (id_list(wanted),)).fetchall()
        found = {row[0]: Item(*row) for row in rows}
        return [found[i] for i in wanted if i in found]

    def ids(self, paths: Sequence[bytes]) -> dict[bytes, int]:
        """Ids by path; unknown paths are left out."""
        found: dict[bytes, int] = {}
        with self._catalogue.reading() as db:
            for start in range(0, len(paths), _CHUNK):
                part = paths[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                found.update(
                    db.execute(f"SELECT path, id FROM items WHERE path IN ({marks})", part)
                )
        return found

    def paths(self, ids: Iterable[int]) -> dict[int, bytes]:
        """Paths by id; unknown ids are left out."""
        with self._catalogue.reading() as db:
            return dict(db.execute(f"SELECT id, path FROM items WHERE id {AMONG}", (id_list(ids),)))

    def by_content(self, sha256: Sequence[bytes]) -> dict[bytes, list[int]]:
        """Items (removed ones too) that hold these contents: how a scan recognises a rename."""
        found: dict[bytes, list[int]] = {}
        with self._catalogue.reading() as db:
            for start in range(0, len(sha256), _CHUNK):
                part = sha256[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                for key, item in db.execute(
                    "SELECT c.sha256, i.id FROM contents AS c JOIN items AS i ON i.content = c.id "
                    f"WHERE c.sha256 IN ({marks}) ORDER BY i.id",
                    part,
                ):
                    found.setdefault(key, []).append(item)
        return found

    def contents(self, ids: Iterable[int] | None = None) -> dict[int, int]:
        """Content of each present item that has vectors: what search joins items and rows by."""
        where, given = ("", ()) if ids is None else (f"AND i.id {AMONG}", (id_list(ids),))
        with self._catalogue.reading() as db:
            return dict(
                db.execute(
                    "SELECT i.id, i.content FROM items AS i JOIN contents AS c ON c.id = i.content "
                    "WHERE i.removed IS NULL AND i.problem = '' AND c.problem = '' "
                    f"AND c.segment IS NOT NULL {where} ORDER BY i.id",
                    given,
                )
            )

    def matching(self, wanted: Filter) -> IdArray:
        """Ids of the items that a filter lets through, in order."""
        return filters.matching(self._catalogue, wanted)

    def page(self, wanted: Filter, limit: int, after: int = 0) -> list[Item]:
        """Items that a filter lets through, by id, those after an id: no more is read."""
        with self._catalogue.reading():
            return self.many(filters.page(self._catalogue, wanted, limit, after))

    def count(self, wanted: Filter) -> int:
        """How many items a filter lets through."""
        return filters.count(self._catalogue, wanted)

    def conditions(self, wanted: Filter) -> list[Condition] | None:
        """A filter as conditions over facts that an engine may keep."""
        return filters.conditions(wanted)

    def restated(self, wanted: Filter, position: int) -> tuple[IdArray, IdArray]:
        """Items whose facts changed since, and those of them that a filter lets through."""
        return filters.restated(self._catalogue, wanted, position)

    def counts(self) -> dict[str, int]:
        """How many items are in each state."""
        with self._catalogue.reading() as db:
            found: Mapping[str, int] = dict(
                db.execute("SELECT state, COUNT(*) FROM item_states GROUP BY state")
            )
        return {state: found.get(state, 0) for state in STATES}

    def latest(self, limit: int) -> list[Item]:
        """Items whose pictures were read, those that came last first."""
        with self._catalogue.reading() as db:
            rows = db.execute(
                _ITEM + "WHERE c.decoded AND i.removed IS NULL AND i.problem = '' "
                "ORDER BY i.id DESC LIMIT ?",
                (limit,),
            ).fetchall()
        return [Item(*row) for row in rows]

    def problems(self, limit: int = -1, after: int = 0) -> list[Item]:
        """Items in state problem with their reasons, by id, those after an id."""
        return self.page(Filter(states=("problem",)), limit, after)


def _name(path: bytes) -> tuple[str, str]:
    folder, _, name = path.rpartition(b"/")
    return printable(name), printable(folder)


def _digest(sha256: bytes) -> bytes:
    if len(sha256) != 32:
        raise BadInput("A content is named by the 32 bytes of its SHA-256.")
    return sha256


def _reason(reason: str) -> str:
    return reason or "The file could not be read."


def _ints(listed: str) -> list[Any]:
    import json

    return list(json.loads(listed))
