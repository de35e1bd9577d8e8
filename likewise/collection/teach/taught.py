"""What was taught, kept in mind by query: new records are read once, an undo rereads its query."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

import numpy as np

from likewise.store import Said, Store

SESSION = "session:"
"""How the names of target searches begin."""
Marks = dict[int, float]
"""By item: above zero right, otherwise wrong; the latest word counts."""


class Taught:
    """The marks of every query, as far as the log goes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._state = 0, 0
        self._marks: dict[tuple[str, str], Marks] = {}
        self._records: dict[tuple[str, str], dict[int, list[int]]] = {}
        self._touched: list[tuple[str, str]] = []
        self._beginnings = 0

    def marks(self, line: str, name: str) -> Marks:
        """What was said of items for one query, by its name."""
        with self._lock:
            self._catch_up()
            return dict(self._marks.get((line, name), {}))

    def records(self, line: str, name: str) -> dict[int, list[int]]:
        """The records that say something of items for one query, by item."""
        with self._lock:
            self._catch_up()
            return {item: list(r) for item, r in self._records.get((line, name), {}).items()}

    def queries(self) -> dict[tuple[str, str], Mapping[int, float]]:
        """The marks of every query that was taught, by line and name."""
        with self._lock:
            self._catch_up()
            return {key: dict(marks) for key, marks in self._marks.items() if marks}

    def changed(self, since: tuple[int, int]) -> tuple[tuple[int, int], set[tuple[str, str]]]:
        """Where we are now, and the queries whose marks changed since another such place.

        With another first number everything was read anew; then all queries are named.
        """
        with self._lock:
            self._catch_up()
            start = since[1] if since[0] == self._beginnings else 0
            return (self._beginnings, len(self._touched)), set(self._touched[start:])

    def is_empty(self) -> bool:
        """Whether nothing was taught at all."""
        with self._lock:
            self._catch_up()
            return not self._marks

    def forget(self) -> None:
        """Read everything anew: something has left the log for good."""
        with self._lock:
            self._begin(0)

    def _begin(self, undone: int) -> None:
        self._state, self._marks, self._records = (0, undone), {}, {}
        self._touched, self._beginnings = [], self._beginnings + 1

    def _catch_up(self) -> None:
        log, catalogue = self._store.judgements, self._store.catalogue
        with self._store.snapshot():
            newest, undone = log.newest(), catalogue.changes()[1]
            if (newest, undone) == self._state:
                return
            if newest < self._state[0] or undone != self._state[1]:
                self._begin(undone)  # what was read is no longer there
            changed: dict[tuple[str, str], int] = {}
            for said in log.said(self._state[0]):
                key = said.line, said.name
                if said.undo:
                    changed[key] = said.record
                else:
                    self._add(key, said)
            self._touched += changed
            for key, record in changed.items():
                self._marks.pop(key, None)
                self._records.pop(key, None)
                for said in log.said_with(record):
                    self._add(key, said)
            self._state = newest, undone

    def _add(self, key: tuple[str, str], said: Said) -> None:
        self._touched.append(key)
        marks = self._marks.setdefault(key, {})
        marks.update(zip(said.items, _grades(said)))
        records = self._records.setdefault(key, {})
        for item in said.items:
            records.setdefault(item, []).append(said.record)


def _grades(said: Said) -> Iterable[float]:
    if said.name.startswith(SESSION):  # an ordering: from 1 for the nearest to -1
        return [float(grade) for grade in np.linspace(1.0, -1.0, len(said.items))]
    return [said.value] * len(said.items)
