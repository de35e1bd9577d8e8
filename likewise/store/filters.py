"""Filters of a search: folder, tags, date, size, kind, state -> item ids."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from likewise.filters import Condition, Filter
from likewise.store.catalogue import AMONG, Catalogue, id_list
from likewise.store.paths import as_key
from likewise.types import BadInput, IdArray

STATES = ("seen", "decoded", "embedded", "indexed", "problem", "removed")

_CHUNK = 20_000
_SMALL = 5_000
_NONE = {"path": "x''", "format": "''", "pixels": -1}
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d)?)?)?)?")
# When a picture does not say when it was taken, the time of its file stands in.
_TAKEN = "COALESCE(c.taken, strftime('%Y-%m-%dT%H:%M:%S', i.mtime_ns / 1000000000, 'unixepoch'))"


# Facts of an item as SQL; engines keep them beside their codes under the same names.
_FACTS = {
    "path": "i.path",
    "taken": _TAKEN,
    "format": "upper(c.format)",
    "pixels": "c.width * c.height",
    "bytes": "i.size",
}
_FROM = "FROM items AS i LEFT JOIN contents AS c ON c.id = i.content "


def matching(catalogue: Catalogue, wanted: Filter, among: IdArray | None = None) -> IdArray:
    """Ids of the items that a filter lets through, in order; of these only, where given."""
    where, values = clauses(wanted)
    if among is not None:
        where, values = f"{where} AND i.id {AMONG}", [*values, id_list(among)]
    with catalogue.reading() as db:
        rows = db.execute(f"SELECT i.id {_FROM}WHERE {where} ORDER BY i.id", values)
        return np.array([row[0] for row in rows], dtype=np.int64)


def count(catalogue: Catalogue, wanted: Filter, most: int = -1) -> int:
    """How many items a filter lets through, counted up to so many."""
    where, values = clauses(wanted)
    sql = f"SELECT COUNT(*) FROM (SELECT 1 {_FROM}WHERE {where} LIMIT ?)"
    with catalogue.reading() as db:
        return int(db.execute(sql, (*values, most)).fetchone()[0])


def page(catalogue: Catalogue, wanted: Filter, limit: int, after: int) -> list[int]:
    """The first ids after one that a filter lets through."""
    where, values = clauses(wanted)
    # A small folder is found by its name and sorted; a large one is passed by id.
    small = wanted.folder and count(catalogue, Filter(folder=wanted.folder), _SMALL) < _SMALL
    key = "+i.id" if small else "i.id"
    sql = f"SELECT i.id {_FROM}WHERE {where} AND {key} > ? ORDER BY {key} LIMIT ?"
    with catalogue.reading() as db:
        return [row[0] for row in db.execute(sql, (*values, after, limit))]


def clauses(wanted: Filter) -> tuple[str, list[Any]]:
    """A filter as SQL over ``items AS i`` and ``contents AS c``, and its values."""
    found, values = ["i.removed IS NULL"], list[Any]()
    if wanted.states:
        unknown = set(wanted.states) - set(STATES)
        if unknown:
            raise BadInput(f"A state is one of {', '.join(STATES)}, not {sorted(unknown)[0]!r}.")
        marks = _marks(wanted.states)
        found = [f"(SELECT s.state FROM item_states AS s WHERE s.id = i.id) IN ({marks})"]
        values += wanted.states
    for fact, how, value in _conditions(wanted):
        if fact == "tags":
            word = "IN" if how == "has" else "NOT IN"
            tagged = "SELECT item FROM item_texts WHERE kind = 'tag' AND text = ? COLLATE NOCASE"
            found.append(f"i.id {word} ({tagged})")
        else:
            found.append(f"{_FACTS[fact]} {how} {f'({_marks(value)})' if how == 'in' else '?'}")
        values += value if how == "in" else [value]
    return " AND ".join(found), values


def conditions(wanted: Filter) -> list[Condition] | None:
    """A filter as conditions over facts; None for states, which only the catalogue knows."""
    return None if wanted.states else _conditions(wanted)


def _conditions(wanted: Filter) -> list[Condition]:
    found: list[Condition] = []
    if wanted.folder is not None and wanted.folder not in ("", ".", b"", b"."):
        below = as_key(wanted.folder).rstrip(b"/") + b"/"
        found += [("path", ">=", below), ("path", "<", below[:-1] + b"0")]  # '0' follows '/'
    # As in the catalogue, only letters of ASCII have two cases.
    found += [("tags", "has", tag.encode().lower().decode()) for tag in wanted.tags]
    found += [("tags", "lacks", tag.encode().lower().decode()) for tag in wanted.without_tags]
    if wanted.since is not None:
        found.append(("taken", ">=", _date(wanted.since)))
    if wanted.until is not None:
        found.append(("taken", "<=", _date(wanted.until) + "~"))  # behind all that begins so
    if wanted.formats:
        found.append(("format", "in", [f.upper() for f in wanted.formats]))
    for fact, least, most in (
        ("pixels", wanted.min_pixels, wanted.max_pixels),
        ("bytes", wanted.min_bytes, wanted.max_bytes),
    ):
        if least is not None or most is not None:
            found.append((fact, ">=", 0 if least is None else least))
        if most is not None:
            found.append((fact, "<=", most))
    return found


def facts(catalogue: Catalogue, ids: IdArray) -> Iterator[tuple[Any, ...]]:
    """What :data:`likewise.filters.FACTS` names, of items in the order given."""
    columns = ", ".join(f"COALESCE({sql}, {_NONE.get(n, 0)})" for n, sql in _FACTS.items())
    tags = (
        "SELECT json_group_array(DISTINCT lower(t.text)) FROM texts AS t WHERE t.kind = 'tag' "
        "AND (t.item = i.id OR t.content = i.content)"
    )
    for start in range(0, len(ids), _CHUNK):
        part = ids[start : start + _CHUNK].tolist()
        with catalogue.reading() as db:
            rows = db.execute(
                f"SELECT i.id, {columns}, ({tags}) {_FROM}WHERE i.id {AMONG}", (id_list(part),)
            ).fetchall()
        known = {row[0]: (*row[1:-1], json.loads(row[-1])) for row in rows}
        yield from (known.get(item, (b"", "", "", -1, -1, [])) for item in part)


def restated(catalogue: Catalogue, wanted: Filter, position: int) -> tuple[IdArray, IdArray]:
    """Items whose facts changed since, and those of them that a filter lets through."""
    with catalogue.reading() as db:
        rows = db.execute("SELECT DISTINCT item FROM restated WHERE id > ?", (position,)).fetchall()
        changed = np.array(sorted(row[0] for row in rows), dtype=np.int64)
        return changed, matching(catalogue, wanted, changed) if len(changed) else changed


def restatements(catalogue: Catalogue, since: int = 0) -> tuple[int, int]:
    """The newest position in the log of changed facts, and how many came since one."""
    with catalogue.reading() as db:
        last, count = db.execute(
            "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'restated'), COUNT(*) "
            "FROM restated WHERE id > ?",
            (since,),
        ).fetchone()
    return int(last or 0), int(count)


def _marks(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))


def _date(text: str) -> str:
    if not _DATE.fullmatch(text):
        raise BadInput(
            f"Write a date as 2020, 2020-05, 2020-05-01 or 2020-05-01T12:30, not {text!r}."
        )
    return text.replace(" ", "T")
