"""The log of judgements: records are added, never changed; an undo is a record too.

``add`` returns when the records are on the disk.  A judgement counts while no counting undo
points at it; so undoing an undo brings it back.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from likewise.store.catalogue import AMONG, Catalogue, id_list
from likewise.store.items import Items
from likewise.store.paths import as_file, as_key, printable
from likewise.types import LOOK, OBJECTS, BadInput, Judgement, NotFound, QueryRef

_CHUNK = 5000


@dataclass(frozen=True)
class Record:
    """A judgement with its number in the log; ``undone`` when it counts no longer."""

    id: int
    judgement: Judgement
    undone: bool


class Said(NamedTuple):
    """What a label, or an ordering of a target search, says; all about one query has one name.

    The ``name`` is ``item:12``, ``item:12@0.1,0.1,0.6,0.6`` (a part), ``upload:`` and its hash,
    ``text:`` and its words, or ``session:3`` for a target search.  With ``undo`` nothing is said,
    but something about this query was taken back or brought back.
    """

    record: int
    line: str
    name: str
    query: int | None = None
    value: float = 0.0
    items: tuple[int, ...] = ()
    undo: bool = False


_TEACHES = "(j.kind = 'label' OR j.kind = 'ordering' AND j.source LIKE 'session %')"
_SAID = (
    "SELECT j.id, j.line, j.kind, j.query_kind, j.query_item, j.query_value, j.crop, j.value, "
    "j.source, j.undoes, d.item FROM judgements AS j INDEXED BY {index} "
    "LEFT JOIN judged AS d ON d.judgement = j.id WHERE {which} ORDER BY j.id, d.position"
)


def query_name(kind: str, value: int | str, crop: Sequence[float] | None = None) -> str:
    """The name of a query: what it is and, for items by number, which one."""
    part = "@" + ",".join(f"{edge:g}" for edge in crop) if crop else ""
    return f"{kind}:{value}{part}"


class JudgementLog:
    """Append-only log with undo, person, source and idempotency keys."""

    def __init__(self, catalogue: Catalogue, items: Items) -> None:
        self._catalogue, self._items = catalogue, items

    def add(
        self, judgements: Sequence[Judgement], keys: Sequence[str | None] | None = None
    ) -> list[int]:
        """Write judgements, all or none; gives their numbers.

        Items are named by path; a time of 0 means now.  A key that was used before writes nothing
        and gives the first record's number, so a request may be sent twice.
        """
        given: Sequence[str | None] = [None] * len(judgements) if keys is None else keys
        if len(given) != len(judgements):
            raise BadInput("Give one key for each judgement, or none at all.")
        with self._catalogue.transaction():
            ids = self._resolve(judgements)
            return [self._add(j, key, ids) for j, key in zip(judgements, given)]

    def _resolve(self, judgements: Sequence[Judgement]) -> dict[str, int]:
        names = {name for j in judgements for name in j.items}
        names |= {j.query.value for j in judgements if j.query.kind == "item"}
        uploads = {j.query.value for j in judgements if j.query.kind == "upload"}
        keys = {name: as_key(name) for name in names}
        found = self._items.ids(list(keys.values()))
        lost = sorted(name for name, key in keys.items() if key not in found)
        if lost:
            raise NotFound(
                f"{len(lost)} of the judged items are not in this collection (first: "
                f"{printable(keys[lost[0]])!r}); index them first."
            )
        for sha256 in uploads:
            if not self._catalogue.row("SELECT 1 FROM uploads WHERE sha256 = ?", (sha256,)):
                raise NotFound(f"The uploaded picture {sha256[:12]} is not kept; upload it again.")
        return {name: found[key] for name, key in keys.items()}

    def _add(self, j: Judgement, key: str | None, ids: dict[str, int]) -> int:
        _check(j)
        items = [ids[name] for name in j.items]
        known = self._catalogue.row("SELECT id, kind, value FROM judgements WHERE key = ?", (key,))
        if known:
            judged = "SELECT item FROM judged WHERE judgement = ? ORDER BY position"
            stored = self._catalogue.column(judged, known[:1])
            if (*known[1:], stored) != (j.kind, float(j.value), items):
                raise BadInput(
                    "This key was used for another judgement; choose a new key for a new one."
                )
            return int(known[0])
        of_item, crop = j.query.kind == "item", json.dumps(j.query.crop) if j.query.crop else None
        item, value = (ids[j.query.value], None) if of_item else (None, j.query.value)
        number = self._catalogue.insert(
            "INSERT INTO judgements (key, kind, query_kind, query_item, query_value, crop, value, "
            "time, person, source, position, line) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                key, j.kind, j.query.kind, item, value, crop, float(j.value),
                j.time or time.time(), j.person, j.source, j.position, j.line,
            ),
        )  # fmt: skip
        with self._catalogue.transaction() as db:
            rows = [(number, position, one) for position, one in enumerate(items)]
            db.executemany("INSERT INTO judged VALUES (?, ?, ?)", rows)
        return number

    def undo(
        self, record: int, *, person: str = "", source: str = "", key: str | None = None
    ) -> int:
        """Take a record back (or an undo of it, which brings it back); gives the undo's number."""
        with self._catalogue.transaction():
            earlier = self._catalogue.row(
                "SELECT id FROM judgements WHERE key = ? AND undoes = ?", (key, record)
            )
            if earlier:
                return int(earlier[0])
            if not self._catalogue.row("SELECT 1 FROM judgements WHERE id = ?", (record,)):
                raise NotFound(f"There is no judgement {record} in the log.")
            if record in self._undone([record]):
                raise BadInput(
                    f"Judgement {record} was undone before; undo the undo to bring it back."
                )
            return self._catalogue.insert(
                "INSERT INTO judgements (key, kind, undoes, value, time, person, source) "
                "VALUES (?, 'undo', ?, 0, ?, ?, ?)",
                (key, record, time.time(), person, source),
            )

    def records(
        self, *, after: int = 0, undone: bool = False, upto: int | None = None,
        person: str | None = None, source: str | None = None, kind: str | None = None
    ) -> Iterator[Record]:  # fmt: skip
        """Records in the order they came, those that count (or all, with ``undone``)."""
        given = {"person": person, "source": source, "kind": kind}
        only = {name: value for name, value in given.items() if value is not None}
        gone = self._undone()
        newest = self.newest() if upto is None else upto
        while found := self._page(after, newest, only):
            after = found[-1].id
            for record in found:
                if undone or record.id not in gone:
                    yield Record(record.id, record.judgement, record.id in gone)

    def undo_all(
        self, *, by: str | None = None, of: str | None = None, person: str = "", source: str = ""
    ) -> list[int]:
        """Take back all that counts of a person (``by``), of a source (``of``), or of one by the
        other; gives the numbers of the undos.  ``person`` and ``source`` say who does so.
        """
        if by is None and of is None:
            raise BadInput("Say whose judgements are to be undone: a person, a source, or both.")
        with self._catalogue.transaction():
            records = [record.id for record in self.records(person=by, source=of)]
            return [self.undo(record, person=person, source=source) for record in records]

    def chosen(self, query: QueryRef, item: int) -> float:
        """How often an item was chosen (clicked) for a query."""
        with self._catalogue.reading():
            rows = self._catalogue.rows(
                "SELECT j.id, j.value, j.crop FROM judged AS d JOIN judgements AS j "
                "ON j.id = d.judgement LEFT JOIN items AS i ON i.id = j.query_item "
                "WHERE d.item = ? AND j.kind = 'click' AND j.query_kind = ? "
                "AND COALESCE(i.path, CAST(j.query_value AS BLOB)) = ?",
                (item, query.kind, query.value.encode("utf-8", "surrogateescape")),
            )
            gone = self._undone([row[0] for row in rows])
        crop = json.dumps(query.crop) if query.crop else None
        return float(sum(row[1] for row in rows if row[0] not in gone and row[2] == crop))

    def clicked(self, text: str) -> list[int]:
        """Items that were chosen (clicked) for a text, each once."""
        with self._catalogue.reading():
            rows = self._catalogue.rows(
                "SELECT j.id, d.item FROM judgements AS j INDEXED BY judgements_clicked "
                "JOIN judged AS d ON d.judgement = j.id "
                "WHERE j.kind = 'click' AND j.query_kind = 'text' AND j.query_value = ?",
                (text,),
            )
            gone = self._undone([row[0] for row in rows])
        return sorted({item for record, item in rows if record not in gone})

    def said(self, after: int = 0) -> list[Said]:
        """What was said for queries after a record, in order; clicks are not even read.

        What was taken back is among it, followed by an entry with ``undo``.
        """
        with self._catalogue.reading():
            which = f"j.id > ? AND j.kind <> 'click' AND ({_TEACHES} OR j.kind = 'undo')"
            found = map(self._resolved, self._said("judgements_told", which, (after,)))
            return [one for one in found if one is not None]

    def said_with(self, record: int) -> list[Said]:
        """What counts of all that was said for the query of a record, in order."""
        with self._catalogue.reading():
            about = self._catalogue.row(
                "SELECT kind, source, query_item, query_value, query_kind, crop, line "
                "FROM judgements WHERE id = ?",
                (record,),
            )
            if about[0] == "ordering":
                index, which, given = "judgements_sessions", "j.source = ?", about[1:2]
                which += " AND j.kind = 'ordering'"
            else:
                index, given = "judgements_taught", about[2:]
                columns = ("query_item", "query_value", "query_kind", "crop", "line")
                which = " AND ".join(f"j.{name} IS ?" for name in columns) + " AND j.kind = 'label'"
            found = self._said(index, which, given)
            gone = self._undone([one.record for one in found])
        return [one for one in found if one.record not in gone]

    def texts(self, limit: int = 1000) -> list[str]:
        """Text queries that something was judged for, the latest first."""
        return self._catalogue.column(
            "SELECT query_value, MAX(id) AS newest FROM judgements "
            "WHERE query_kind = 'text' AND kind <> 'undo' GROUP BY query_value "
            "ORDER BY newest DESC LIMIT ?",
            (limit,),
        )

    def last(self) -> int:
        """Number of the latest record that counts and is no undo; 0 where there is none."""
        sql = "SELECT id FROM judgements WHERE id < ? AND kind <> 'undo' ORDER BY id DESC LIMIT 100"
        with self._catalogue.reading():
            before: int = self.newest() + 1
            while numbers := self._catalogue.column(sql, (before,)):
                before = numbers[-1]
                if counting := set(numbers) - self._undone(numbers):
                    return int(max(counting))
        return 0

    def newest(self) -> int:
        """Number of the newest record, an undo included; 0 where there is none."""
        return self._catalogue.newest().judgement

    def __iter__(self) -> Iterator[Judgement]:
        """Every judgement that counts, as :class:`likewise.types.Judgement`."""
        return (record.judgement for record in self.records())

    def __len__(self) -> int:
        """How many judgements count."""
        with self._catalogue.reading():
            said = self._catalogue.column("SELECT id FROM judgements WHERE kind <> 'undo'")
            return len(set(said) - self._undone())

    def forget(self, items: Sequence[int]) -> int:
        """Remove what was judged about items for good; gives how many records went.

        A record goes when the query is such an item or when no item (for an ordering: fewer
        than two) is left; otherwise only the item leaves it.
        """
        listed = id_list(items)
        column = self._catalogue.column
        with self._catalogue.transaction() as db:
            touched = column(f"SELECT judgement FROM judged WHERE item {AMONG}", (listed,))
            db.execute(f"DELETE FROM judged WHERE item {AMONG}", (listed,))
            doomed = column(f"SELECT id FROM judgements WHERE query_item {AMONG}", (listed,))
            doomed += column(
                "SELECT id FROM judgements AS j WHERE kind <> 'undo' AND "
                "(SELECT COUNT(*) FROM judged WHERE judgement = j.id) < "
                f"CASE kind WHEN 'ordering' THEN 2 ELSE 1 END AND id {AMONG}",
                (id_list(touched),),
            )
            # With them goes every undo of them, since it would point at nothing.
            layer = every = set(doomed)
            while layer:
                undoing = f"SELECT id FROM judgements WHERE undoes {AMONG}"
                layer = set(column(undoing, (id_list(layer),)))
                every = every | layer
            for number in sorted(every, reverse=True):
                db.execute("DELETE FROM judged WHERE judgement = ?", (number,))
                db.execute("DELETE FROM judgements WHERE id = ?", (number,))
        return len(set(doomed))

    def _said(self, index: str, which: str, given: Sequence[Any]) -> list[Said]:
        rows = self._catalogue.rows(_SAID.format(index=index, which=which), given)
        return [_said(list(group)) for _, group in groupby(rows, lambda row: row[0])]

    def _resolved(self, said: Said) -> Said | None:
        """An undo with the query that it is about in the end; None where that teaches nothing."""
        if not said.undo:
            return said
        number = said.record
        about = "SELECT undoes FROM judgements WHERE id = ?"
        while (undoes := self._catalogue.row(about, (number,))[0]) is not None:
            number = undoes
        which = f"j.id = ? AND j.kind <> 'click' AND {_TEACHES}"
        found = self._said("judgements_told", which, (number,))
        return found[0]._replace(undo=True) if found else None

    def _undone(self, records: Sequence[int] | None = None) -> set[int]:
        """What counts no longer: of all, or of some records and the undos that lead to them."""
        undos: list[tuple[int, int]] = []
        sql = "SELECT id, undoes FROM judgements WHERE undoes "
        if records is None:
            undos = self._catalogue.rows(sql + "IS NOT NULL")
        while records:
            layer = self._catalogue.rows(sql + AMONG, (id_list(records),))
            undos += layer
            records = [number for number, _ in layer]
        # Undos come after what they undo: from the newest on, each one that counts cancels.
        gone: set[int] = set()
        for number, undoes in sorted(undos, reverse=True):
            if number not in gone:
                gone.add(undoes)
        return gone

    def _page(self, after: int, upto: int, only: Mapping[str, str]) -> list[Record]:
        which = "".join(f"AND j.{name} = ? " for name in only)
        with self._catalogue.reading() as db:
            rows = db.execute(
                "SELECT j.id, j.kind, query_kind, COALESCE(i.path, query_value), crop, value, "
                "time, person, source, j.position, line FROM judgements AS j "
                "LEFT JOIN items AS i ON i.id = j.query_item "
                f"WHERE j.kind <> 'undo' AND j.id > ? AND j.id <= ? {which}ORDER BY j.id LIMIT ?",
                (after, upto, *only.values(), _CHUNK),
            ).fetchall()
            items: dict[int, list[str]] = {row[0]: [] for row in rows}
            for judgement, path in db.execute(
                "SELECT d.judgement, i.path FROM judged AS d JOIN items AS i ON i.id = d.item "
                "WHERE d.judgement > ? AND d.judgement <= ? ORDER BY d.judgement, d.position",
                (after, rows[-1][0] if rows else after),
            ):
                if judgement in items:
                    items[judgement].append(as_file(path))
        return [_record(row, tuple(items[row[0]])) for row in rows]


def _check(j: Judgement) -> None:
    if j.kind not in ("label", "click", "ordering"):
        raise BadInput(f"A judgement is a label, a click or an ordering, not {j.kind!r}.")
    needed = 2 if j.kind == "ordering" else 1
    if len(j.items) < needed or len(set(j.items)) != len(j.items):
        raise BadInput(f"A judgement of kind {j.kind} needs at least {needed} different items.")
    if not -1e300 < float(j.value) < 1e300:
        raise BadInput("The value of a judgement must be a finite number.")
    if j.line not in (LOOK, OBJECTS):
        raise BadInput(f"A judgement is about the line look or objects, not {j.line!r}.")
    if not 0 <= j.position < 2**53:
        raise BadInput(f"Positions of results count from 1 (0: not known), not {j.position}.")


def _said(rows: list[tuple[Any, ...]]) -> Said:
    number, line, kind, query_kind, item, text, crop, value, source, undoes, _ = rows[0]
    if kind == "undo":
        return Said(int(undoes), "", "", undo=True)
    name = query_name(query_kind, text if item is None else item, json.loads(crop or "null"))
    if kind == "ordering":
        name = source.replace("session ", "session:")
    return Said(number, line, name, item, value, tuple(r[-1] for r in rows if r[-1] is not None))


def _record(row: tuple[Any, ...], items: tuple[str, ...]) -> Record:
    number, kind, query_kind, value_of, crop, value, when, person, source, position, line = row
    text = as_file(value_of) if isinstance(value_of, bytes) else value_of
    query = QueryRef(query_kind, text, tuple(json.loads(crop)) if crop else None)
    judgement = Judgement(query, items, kind, value, when, person, source, position, line)
    return Record(number, judgement, False)
