"""Filters of a search: folder, tags, date, size, kind, state -> item ids."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from likewise.filters import Filter
from likewise.store.catalogue import Catalogue
from likewise.store.paths import as_key
from likewise.types import BadInput, IdArray

STATES = ("seen", "decoded", "embedded", "indexed", "problem", "removed")

_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d)?)?)?)?")
# When a picture does not say when it was taken, the time of its file stands in.
_TAKEN = "COALESCE(c.taken, strftime('%Y-%m-%dT%H:%M:%S', i.mtime_ns / 1000000000, 'unixepoch'))"


def matching(catalogue: Catalogue, wanted: Filter) -> IdArray:
    """Ids of the items that a filter lets through, in order."""
    clauses, values = _clauses(wanted)
    sql = (
        "SELECT i.id FROM items AS i LEFT JOIN contents AS c ON c.id = i.content "
        + ("JOIN item_states AS s ON s.id = i.id " if wanted.states else "")
        + f"WHERE {' AND '.join(clauses)} ORDER BY i.id"
    )
    with catalogue.reading() as db:
        return np.array([row[0] for row in db.execute(sql, values)], dtype=np.int64)


def _clauses(wanted: Filter) -> tuple[list[str], list[Any]]:
    clauses: list[str] = []
    values: list[Any] = []

    def need(clause: str, *given: Any) -> None:
        clauses.append(clause)
        values.extend(given)

    if wanted.states:
        unknown = set(wanted.states) - set(STATES)
        if unknown:
            raise BadInput(f"A state is one of {', '.join(STATES)}, not {sorted(unknown)[0]!r}.")
        need(f"s.state IN ({_marks(wanted.states)})", *wanted.states)
    else:
        need("i.removed IS NULL")
    if wanted.folder is not None and wanted.folder not in ("", ".", b"", b"."):
        below = as_key(wanted.folder).rstrip(b"/") + b"/"
        need("i.path >= ? AND i.path < ?", below, below[:-1] + b"0")  # '0' follows '/'
    for tags, word in ((wanted.tags, "IN"), (wanted.without_tags, "NOT IN")):
        for tag in tags:
            need(
                f"i.id {word} (SELECT item FROM item_texts WHERE kind = 'tag' "
                "AND text = ? COLLATE NOCASE)",
                tag,
            )
    if wanted.since is not None:
        since = _date(wanted.since)
        need(f"substr({_TAKEN}, 1, {len(since)}) >= ?", since)
    if wanted.until is not None:
        until = _date(wanted.until)
        need(f"substr({_TAKEN}, 1, {len(until)}) <= ?", until)
    if wanted.formats:
        need(f"upper(c.format) IN ({_marks(wanted.formats)})", *(f.upper() for f in wanted.formats))
    for value, clause in (
        (wanted.min_pixels, "c.width * c.height >= ?"),
        (wanted.max_pixels, "c.width * c.height <= ?"),
        (wanted.min_bytes, "i.size >= ?"),
        (wanted.max_bytes, "i.size <= ?"),
    ):
        if value is not None:
            need(clause, value)
    return clauses, values


def _marks(values: tuple[str, ...]) -> str:
    return ",".join("?" * len(values))


def _date(text: str) -> str:
    if not _DATE.fullmatch(text):
        raise BadInput(
            f"Write a date as 2020, 2020-05, 2020-05-01 or 2020-05-01T12:30, not {text!r}."
        )
    return text.replace(" ", "T")
