"""Earlier teaching, offered where it fits: which taught queries are near, and their marks."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.collection.lines.parts import places
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
GROWN = 1.25
"""With so many times the pictures, or so much fewer, what is compared with them is fitted anew."""


@dataclass(eq=False)
class _Kept:
    """Groups as pictures of one space, and how far all that they are made of was followed."""

    frame: tuple[Any, ...]
    groups: TaughtGroups
    pictures: int
    change: int
    seen: tuple[int, int] = (-1, 0)
    waiting: set[str] = field(default_factory=set)
    items: set[int] = field(default_factory=set)
    read_to: int = 0
    answers: dict[str, dict[str, tuple[float, bool]]] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.Lock)


class Offers:
    """Taught queries by name, kept in mind as pictures of one space."""

    def __init__(self, store: Store, taught: Taught) -> None:
        self._store, self._taught = store, taught
        self._lock, self._fitting = threading.Lock(), threading.Lock()
        self._kept: _Kept | None = None
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
        items = np.array([i for _, one in marks for i, _ in one], dtype=np.int64)
        held = view.contents[places(view.ids, items)]
        pictures = int(math.log(max(len(view), 1), GROWN))
        state = _frame(view), view.bare is view, marks, held.tobytes(), pictures
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
        kept = self._ready(view, own)
        groups = kept.groups
        with kept.lock:
            answers = kept.answers.items()
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

    def _ready(self, view: View, own: str) -> _Kept:
        """The groups as they are now; what was said of this very query waits for another one.

        Where they are to be fitted anew one thread does it, and others go on with those of before.
        """
        kept, frame = self._kept, _frame(view)
        if kept is not None and kept.frame == frame:
            with kept.lock:
                self._follow(kept, view, own)
                grown = max(len(view), kept.pictures) > GROWN * min(len(view), kept.pictures)
                is_good = not grown and not kept.groups.is_due
            if is_good or not self._fitting.acquire(blocking=False):
                return kept
        else:
            self._fitting.acquire()
        try:
            now = self._kept
            if now is None or now is kept or now.frame != frame:
                step = max(1, len(view) // SAMPLE)
                sample = view.rows(view.ids[::step][:SAMPLE])
                groups = TaughtGroups(sample, view.plain)
                now = _Kept(frame, groups, len(view), view.changes[0])
                self._follow(now, view, own)
                groups.learn()
                self._kept = now
            return now
        finally:
            self._fitting.release()

    def _follow(self, kept: _Kept, view: View, own: str) -> None:
        """Take over what was said, and what changed in pictures that something was said of."""
        before, is_new = kept.seen, False
        kept.seen, changed = self._taught.changed(before)
        if view.changes[0] > kept.change:
            touched = self._store.catalogue.touched(kept.change, framed=False)
            is_new = touched is None or not kept.items.isdisjoint(touched.tolist())
            kept.change = view.changes[0]
        if is_new or before[0] not in (-1, kept.seen[0]):
            changed |= {*self._taught.queries(), *((LOOK, name) for name in kept.groups)}
        kept.waiting |= {name for line, name in changed if line == LOOK} | self._answered(kept)
        for name in kept.waiting - {own}:
            self._put(kept, name, view)
        kept.waiting &= {own}

    def _answered(self, kept: _Kept) -> set[str]:
        """Taught queries whose offers were answered since the last look."""
        log = self._store.offered
        newest = log.newest()
        if newest < kept.read_to:  # something was forgotten
            kept.read_to, kept.answers = 0, {}
        if newest == kept.read_to:
            return set()
        said = [a for a in log.answers(kept.read_to) if a.line == LOOK]
        for answer in said:
            by_query = kept.answers.setdefault(answer.taught, {})
            by_query.pop(answer.query, None)
            if answer.taken is not None:
                by_query[answer.query] = answer.likeness, answer.taken
        kept.read_to = newest
        return {answer.taught for answer in said}

    def _put(self, kept: _Kept, name: str, view: View) -> None:
        kept.items |= {*self._taught.marks(LOOK, name), self._item(name) or 0}
        right, wrong = self._sides(name, view)
        answers = [(x, taken) for x, taken in kept.answers.get(name, {}).values() if x]
        rows = view.rows(right) if right else ()
        kept.groups.put(name, rows, view.rows(wrong) if wrong else (), answers)

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


def _frame(view: View) -> tuple[Any, ...]:
    """What is the same as long as pictures keep their vectors."""
    return view.space, *view.position[1:]
