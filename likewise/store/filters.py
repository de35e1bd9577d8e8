"""Filters of a search: what is known of every item as columns, and which items a filter lets pass.

A column is read when a filter first needs it, and then follows the changes of items; only tags
are looked up in the catalogue each time.
"""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.filters import FACTS, Condition, Filter
from likewise.store.catalogue import AMONG, Catalogue, id_list
from likewise.store.paths import as_key
from likewise.types import BadInput, IdArray

STATES = ("seen", "decoded", "embedded", "indexed", "problem", "removed")
KEPT = 16
"""Filters whose items are kept while nothing changes."""
MOST = 20_000
"""Items whose changes are followed; beyond, columns are read anew."""

_CHUNK = 20_000
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d)?)?)?)?")
_COLUMNS = {
    "gone": "i.removed IS NOT NULL",
    "bytes": "i.size",
    "pixels": "COALESCE(c.width * c.height, -1)",
    "format": "upper(c.format)",
    # When a picture does not say when it was taken, the time of its file stands in.
    "taken": "COALESCE(c.taken, strftime('%Y-%m-%dT%H:%M:%S', i.mtime_ns / 1000000000, "
    "'unixepoch'))",
    "folder": "i.path",
    "state": "i.state",
}
_FROM = "FROM items AS i LEFT JOIN contents AS c ON c.id = i.content"


class Columns:
    """What filters ask of every item, in order of id."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self._codes: dict[Any, int] = {}
        self._start((-1, -1))

    def matching(self, wanted: Filter) -> IdArray:
        """Ids of the items that a filter lets through, in order."""
        with self._catalogue.reading(), self._lock:
            self._follow()
            # Tags are not counted as changes: what they leave is not kept.
            ids = self._passing(replace(wanted, tags=(), without_tags=()))
            for tags, keep in ((wanted.tags, True), (wanted.without_tags, False)):
                for tag in tags:
                    tagged = self._tagged(tag)
                    at = np.searchsorted(ids, tagged)
                    at = at[ids.take(at, mode="clip") == tagged] if len(ids) else at[:0]
                    ids = ids[at] if keep else np.delete(ids, at)
            ids.flags.writeable = False
            return ids

    def restated(self, wanted: Filter, position: int) -> tuple[IdArray, IdArray]:
        """Items whose facts changed since, and those of them that a filter lets through."""
        sql = "SELECT DISTINCT item FROM restated WHERE id > ? ORDER BY item"
        with self._catalogue.reading():
            changed = np.array(self._catalogue.column(sql, (position,)), dtype=np.int64)
            if not len(changed):
                return changed, changed
            return changed, np.intersect1d(changed, self.matching(wanted))

    def counts(self) -> dict[str, int]:
        """How many items are in each state."""
        with self._catalogue.reading(), self._lock:
            self._follow()
            found = self._column("state")
            return {state: int((found == self._code(state)).sum()) for state in STATES}

    # -- which items -------------------------------------------------------------

    def _passing(self, wanted: Filter) -> IdArray:
        if wanted not in self._known:
            self._known[wanted] = self._column("id")[self._mask(wanted)]
            self._known[wanted].flags.writeable = False
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(wanted)
        return self._known[wanted]

    def _mask(self, wanted: Filter) -> NDArray[np.bool_]:
        if wanted.states:
            unknown = set(wanted.states) - set(STATES)
            if unknown:
                one = sorted(unknown)[0]
                raise BadInput(f"A state is one of {', '.join(STATES)}, not {one!r}.")
            mask = np.isin(self._column("state"), [self._code(s) for s in wanted.states])
        else:
            mask = self._column("gone") == 0
        if wanted.folder is not None and wanted.folder not in ("", ".", b"", b"."):
            below = as_key(wanted.folder).rstrip(b"/") + b"/"
            held = self._column("folder")
            inside = [c for f, c in self._codes.items() if type(f) is bytes and f.startswith(below)]
            mask &= np.isin(held, inside)
        for date, is_first in ((wanted.since, True), (wanted.until, False)):
            if date is not None:
                text = _date(date).encode()
                taken = self._column("taken").astype(f"S{len(text)}")
                mask &= taken >= text if is_first else taken <= text
        if wanted.formats:
            codes = [self._code(f.upper()) for f in wanted.formats]
            mask &= np.isin(self._column("format"), codes)
        for name, least, most in (
            ("pixels", wanted.min_pixels, wanted.max_pixels),
            ("bytes", wanted.min_bytes, wanted.max_bytes),
        ):
            if least is not None:
                mask &= self._column(name) >= max(least, 0)
            if most is not None:
                mask &= (self._column(name) <= most) & (self._column(name) >= 0)
        return mask

    def _tagged(self, tag: str) -> IdArray:
        sql = "SELECT item FROM item_texts WHERE kind = 'tag' AND text = ? COLLATE NOCASE"
        return np.unique(np.array(self._catalogue.column(sql, (tag,)), dtype=np.int64))

    # -- columns -----------------------------------------------------------------

    def _start(self, position: tuple[int, int]) -> None:
        self._position, self._frame = position, -1
        self._values: dict[str, NDArray[Any]] = {}
        self._known: OrderedDict[Filter, IdArray] = OrderedDict()

    def _follow(self) -> None:
        """Bring what was read to the state that is read now."""
        catalogue, (number, undone) = self._catalogue, self._position
        now = catalogue.changes()
        if now == self._position:
            return
        touched = catalogue.touched(number, framed=False) if undone == now[1] else None
        if touched is None or len(touched) > MOST:
            self._start(now)
            return
        if touched.size or catalogue.touched(number) is None:
            self._known.clear()
        if catalogue.touched(number) is None:
            self._values.pop("state", None)
        self._position = now
        if not touched.size or not self._values:
            return
        names = list(self._values)
        stay = ~np.isin(self._values["id"], touched)
        where = f"WHERE i.id {AMONG}"
        new = {name: self._read(name, where, (id_list(touched),)) for name in names}
        ids = np.concatenate([self._values["id"][stay], new["id"]])
        order = np.argsort(ids, kind="stable")
        for name in names:
            both = np.concatenate([self._values[name][stay], new[name]])
            self._values[name] = both[order]

    def _column(self, name: str) -> NDArray[Any]:
        for one in ("id", name):
            if one not in self._values:
                self._values[one] = self._read(one)
        return self._values[name]

    def _read(self, name: str, where: str = "", given: Iterable[Any] = ()) -> NDArray[Any]:
        source = "FROM item_states AS i" if name == "state" else _FROM
        sql = f"SELECT {_COLUMNS.get(name, 'i.id')} {source} {where} ORDER BY i.id"
        with self._catalogue.reading() as db:
            found = (row[0] for row in db.execute(sql, tuple(given)))
            if name == "taken":
                return np.array([str(value).encode() for value in found], dtype=np.bytes_)
            if name == "folder":
                found = (path[: path.rfind(b"/") + 1] for path in found)
            if name in ("folder", "format", "state"):
                found = (self._code(value) for value in found)
            return np.fromiter(found, np.int64)

    def _code(self, value: Any) -> int:
        """A number for a value that many items share."""
        return self._codes.setdefault(value, len(self._codes))


# -- for engines that keep facts beside their codes ------------------------------------


def conditions(wanted: Filter) -> list[Condition] | None:
    """A filter as conditions over facts; None for states, which only the catalogue knows."""
    if wanted.states:
        return None
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
    sql = {**_COLUMNS, "path": "i.path"}
    none = {"path": b"", "taken": "", "format": "", "pixels": -1, "bytes": -1}
    tags = (
        "SELECT json_group_array(DISTINCT lower(t.text)) FROM texts AS t WHERE t.kind = 'tag' "
        "AND (t.item = i.id OR t.content = i.content)"
    )
    columns = ", ".join(sql[name] for name in FACTS[:-1])
    for start in range(0, len(ids), _CHUNK):
        part = ids[start : start + _CHUNK].tolist()
        rows = catalogue.rows(
            f"SELECT i.id, {columns}, ({tags}) {_FROM} WHERE i.id {AMONG}", (id_list(part),)
        )
        known = {
            row[0]: (
                *(none[n] if v is None else v for n, v in zip(FACTS, row[1:-1])),
                json.loads(row[-1]),
            )
            for row in rows
        }
        yield from (known.get(item, (*none.values(), [])) for item in part)


def restatements(catalogue: Catalogue, since: int = 0) -> tuple[int, int]:
    """The newest position in the log of changed facts, and how many came since one."""
    last, count = catalogue.row(
        "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'restated'), COUNT(*) "
        "FROM restated WHERE id > ?",
        (since,),
    )
    return int(last or 0), int(count)


def _date(text: str) -> str:
    if not _DATE.fullmatch(text):
        raise BadInput(
            f"Write a date as 2020, 2020-05, 2020-05-01 or 2020-05-01T12:30, not {text!r}."
        )
    return text.replace(" ", "T")
