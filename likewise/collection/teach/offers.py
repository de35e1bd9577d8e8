"""Earlier teaching, offered where it fits: which taught queries are near, and their marks."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.collection.options import Offer
from likewise.collection.teach.taught import SESSION, Taught
from likewise.learners.offers import TaughtGroups, in_common
from likewise.store import Store
from likewise.types import LOOK, BadInput, NotFound, Similarity

if TYPE_CHECKING:
    from likewise.collection.lines.line import View

USED, USED_WRONG = 0.5, 1.0
"""How much a mark of another query counts, right and wrong, where one of this query counts 1."""
SAMPLE = 1_000
"""Pictures that tell how far likenesses spread."""
RECENT, OTHERS = 200, 5_000
"""Newest taught queries that are learned from where one of them is used, and pictures beside."""


class Offers:
    """Taught queries by name, kept in mind as pictures of one view."""

    def __init__(self, store: Store, taught: Taught) -> None:
        self._store, self._taught = store, taught
        self._lock = threading.Lock()
        self._seen = -1, 0
        self._view: Any = None
        self._groups: TaughtGroups | None = None
        self._waiting: set[str] = set()
        self._read_to = 0
        self._answers: dict[str, dict[str, tuple[float, bool]]] = {}
        self._learned: tuple[Any, Similarity] | None = None

    def marks(self, line: str, names: Sequence[str], view: View) -> dict[int, float]:
        """Marks of taught queries that are to be used, as grades by item that can be found."""
        marks: dict[int, float] = {}
        for name in names:
            said = self._taught.marks(line, name)
            if not said:
                raise BadInput(
                    f"No feedback is kept for {name!r}; use a name that an answer offered."
                )
            grades = {i: value if name.startswith(SESSION) else 1.0 if value > 0 else -1.0
                      for i, value in said.items()}  # fmt: skip
            item = self._item(name)
            if item is not None:
                grades.setdefault(item, 1.0)
            marks |= {
                i: grade * (USED if grade > 0 else USED_WRONG)
                for i, grade in grades.items()
                if view.holds(i)
            }
        return marks

    def in_common(self, own: str, used: Sequence[str], view: View) -> Similarity:
        """What taught queries other than this one have in common, learned at once.

        Nothing was checked: it acts where a person asks for earlier teaching, nowhere else.
        """
        said = self._taught.queries()
        taught = {n: marks for (line, n), marks in said.items() if line == LOOK and n != own}
        newest = [*used, *(name for name in reversed(taught) if name not in used)][:RECENT]
        marks = tuple((name, tuple(sorted(taught[name].items()))) for name in sorted(newest))
        state = view.position, view.space, view.bare is view, marks
        with self._lock:
            if self._learned is None or self._learned[0] != state:
                self._learned = state, self._learn(newest, view)
            return self._learned[1]

    def _learn(self, names: Sequence[str], view: View) -> Similarity:
        groups = [group for group in (self._sides(name, view) for name in names) if group[0]]
        step = max(1, len(view) // OTHERS)
        marked = [np.array([*right, *wrong]) for right, wrong in groups]
        items = np.unique(np.concatenate([view.ids[::step], *marked]))
        rows = [
            (np.searchsorted(items, one), np.searchsorted(items, other)) for one, other in groups
        ]
        return in_common(view.plain, view.rows(items), rows)

    def used(self, line: str, names: Sequence[str]) -> tuple[Offer, ...]:
        """What an answer says of the taught queries whose marks it uses."""
        return tuple(self._offer(line, name, 0.0, True) for name in names)

    def near(
        self, own: str, rows: Sequence[Any], used: Sequence[str], view: View
    ) -> tuple[Offer, ...]:
        """What else may fit a query of this name; see :class:`TaughtGroups`.

        ``rows`` are the query and, where it has marks, what is right for it; they and the view
        are of pictures as they are, not smoothed by their neighbours.
        """
        with self._lock:
            groups = self._ready(view, own)
            answers = self._answers.items()
            refused = {name for name, said in answers if own in said and not said[own][1]}
            without = {own, *used, *refused}
            found: dict[str, float] = {}
            for row in [sum(rows), *rows[1:]] if rows else ():
                for name, likeness in groups.offered(row, without, rows[0]):
                    found[name] = max(likeness, found.get(name, likeness))
        first = sorted(found, key=lambda name: -found[name])[: groups.settings.most]
        return tuple(self._offer(LOOK, name, found[name], False) for name in first)

    def reply(
        self, line: str, query: str, taught: str, taken: bool | None, *, likeness: float = 0.0,
        person: str = "",
    ) -> int:  # fmt: skip
        """Write down what a person did with an offer; the latest word counts."""
        if not self._taught.marks(line, taught):
            raise NotFound(f"No feedback is kept for {taught!r}; it was taken back or forgotten.")
        return self._store.offered.add(line, query, taught, taken, likeness, person=person)

    # -- kept in mind ----------------------------------------------------------------

    def _ready(self, view: View, own: str) -> TaughtGroups:
        """The groups as they are now; what was said of this very query waits for another one."""
        if self._groups is None or self._view != (view.position, view.space):
            step = max(1, len(view) // SAMPLE)
            sample = view.rows(view.ids[::step][:SAMPLE])
            self._groups = TaughtGroups(sample, view.plain)
            self._waiting = set()
            self._view, self._seen = (view.position, view.space), (-1, 0)
        before = self._seen[0]
        self._seen, changed = self._taught.changed(self._seen)
        if before not in (-1, self._seen[0]):
            self._view = None
            return self._ready(view, own)
        self._waiting |= {name for line, name in changed if line == LOOK} | self._answered()
        for name in self._waiting - {own}:
            self._put(self._groups, name, view)
        self._waiting &= {own}
        return self._groups

    def _answered(self) -> set[str]:
        """Taught queries whose offers were answered since the last look."""
        log = self._store.offered
        newest = log.newest()
        if newest < self._read_to:  # something was forgotten
            self._read_to, self._answers = 0, {}
        if newest == self._read_to:
            return set()
        said = [a for a in log.answers(self._read_to) if a.line == LOOK]
        for answer in said:
            by_query = self._answers.setdefault(answer.taught, {})
            by_query.pop(answer.query, None)
            if answer.taken is not None:
                by_query[answer.query] = answer.likeness, answer.taken
        self._read_to = newest
        return {answer.taught for answer in said}

    def _put(self, groups: TaughtGroups, name: str, view: View) -> None:
        right, wrong = self._sides(name, view)
        answers = [(x, taken) for x, taken in self._answers.get(name, {}).values() if x]
        rows = view.rows(right) if right else ()
        groups.put(name, rows, view.rows(wrong) if wrong else (), answers)

    def _sides(self, name: str, view: View) -> tuple[list[int], list[int]]:
        """Members of a taught query, its own picture first, and what was wrong; or no members."""
        marks = {i: v for i, v in self._taught.marks(LOOK, name).items() if view.holds(i)}
        item = self._item(name)
        right = [i for i, value in marks.items() if value > 0]
        wrong = [i for i, value in marks.items() if value <= 0]
        if not right or (item is not None and not view.holds(item)):
            return [], wrong  # its picture has gone: nobody would know what is offered
        return right if item is None else [item, *(i for i in right if i != item)], wrong

    def _item(self, name: str) -> int | None:
        """The item that a taught query is, as a whole picture; of a target search, the target."""
        kind, _, value = name.partition(":")
        if kind == "session":
            try:
                target = self._store.sessions.get(int(value)).outcome.get("query")
            except NotFound:
                return None
            return None if target is None else int(target)
        return int(value) if kind == "item" and "@" not in value else None

    def _offer(self, line: str, name: str, likeness: float, used: bool) -> Offer:
        kind, _, value = name.partition(":")
        marks = self._taught.marks(line, name)
        right = sum(grade > 0 for grade in marks.values())
        item = self._item(name)
        if kind == "item":
            item = int(value.partition("@")[0])
        return Offer(
            name, kind, item, value.partition("@")[0] if kind == "upload" else "",
            value if kind == "text" else "", right, len(marks) - right, likeness, used,
        )  # fmt: skip
