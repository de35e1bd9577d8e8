"""One kind of thing that is searched: a line, which makes views of its state.

A line describes pictures in a space of its own and keeps an index over them.
"""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from likewise.collection.lines.parts import NONE, Part, places, stacked
from likewise.collection.lines.view import View as View
from likewise.collection.options import Query, Result
from likewise.collection.query_pictures import QueryPictures
from likewise.store import CHANGE, THINNED, Check, Generation, Store
from likewise.types import (
    BadInput,
    DataProblem,
    IdArray,
    LikewiseError,
    NotFound,
    QueryRef,
    Similarity,
    Surrogate,
)

THIN = "Pictures were forgotten; answers come from an exact scan until the next index."
TRIES = 50
"""States that are tried before a file that is not there counts as lost."""


class Opened(NamedTuple):
    """What could be taken of the newest generation."""

    part: Part | None = None
    contents: IdArray = NONE
    number: int = 0
    degraded: str = ""
    trouble: str = ""
    check: Check | None = None
    change: int | None = None
    """The catalogue's counter of changes when its items were listed, where that is known."""


class Line(ABC):
    """A way of describing pictures that can be searched, marked, explained and learned in.

    People call it ``name``, the store calls its generations ``stored``, and results that it found
    say ``found_by``.  While it ``is_held``, :meth:`view` gives what the last :meth:`refresh` made,
    without a look at the catalogue: for a process that knows when something was written.
    """

    name: ClassVar[str]
    stored: ClassVar[str]
    found_by: ClassVar[str]
    may_be_empty: ClassVar[bool] = False
    """Whether asking it before it holds anything is a note, and not an error."""
    goes_on: ClassVar[bool] = False
    """Whether a view is made of the one before it and of the items that changed since."""
    answers_unchecked: ClassVar[bool] = False
    """Whether exact answers may be given, and marked, while an index is still being checked."""

    def __init__(self, store: Store, pictures: QueryPictures) -> None:
        self._store, self._pictures = store, pictures
        self._lock = threading.RLock()
        self._view: View | None = None
        self.is_held = False
        self._here = threading.local()

    # -- what a line adds ----------------------------------------------------------

    @property
    @abstractmethod
    def empty(self) -> str:
        """One sentence for a line that holds nothing yet."""

    @abstractmethod
    def plain(self) -> Similarity | None:
        """Its plain similarity; None while nothing is described."""

    @abstractmethod
    def query(self, ref: QueryRef, view: View) -> Any:
        """What similarities take, of one query picture."""

    @abstractmethod
    def marked(
        self,
        view: View,
        similarity: Similarity,
        surrogate: Surrogate | None,
        marks: Mapping[int, float],
        own: Sequence[int],
    ) -> Surrogate:
        """A query's surrogate (None for text alone) with its marks: 1 or -1 by item.

        ``own`` are items that are the query themselves.
        """

    @abstractmethod
    def contributions(self, surrogate: Surrogate, code: Any, view: View) -> dict[str, float]:
        """What each part of a code adds to the product with a surrogate, by name."""

    @abstractmethod
    def build(self) -> int:
        """Publish an index of what is there where something changed; gives its number."""

    @abstractmethod
    def _live(self, items: IdArray | None = None) -> tuple[IdArray, IdArray]:
        """Items, all or some, that can be found on this line, in order, and their contents."""

    @abstractmethod
    def _rows(self, contents: IdArray, plain: Any) -> Any:
        """Rows of contents, in the order given; :class:`Damaged` where a vector is not sound."""

    @abstractmethod
    def _load(self, generation: Generation, plain: Any, *, checked: bool) -> tuple[Part, IdArray]:
        """The part that a generation holds, and the content of each of its ids.

        Unless ``checked``, only what can be searched exactly may be read of it.
        """

    @abstractmethod
    def _part(self, ids: IdArray, rows: Any, plain: Any) -> Part:
        """Rows under an exact index, for what is not in a generation yet."""

    # -- what all of them do -------------------------------------------------------

    def check(self, query: Query) -> None:
        """Refuse, in a sentence, what this line cannot be asked."""
        return

    def notes(self, query: Query, view: View) -> list[str]:
        """Sentences that an answer to this query should carry."""
        return []

    def vector(self, vector: Any, view: View) -> Any:
        """A query vector of a person's own."""
        raise BadInput("This cannot be searched by a vector; give a picture.")

    def checked(self, query: Query, results: list[Result], count: int) -> list[Result]:
        """The first results with what a closer look at them says."""
        raise BadInput("Only a same-object search has a geometric check; ask for line objects.")

    def view(self, *, checked: bool = True) -> View:
        """The newest consistent view, or the one that is held.

        Unless ``checked``, it may answer from what is not compared with its checksums yet, and
        then says so (``degraded``).
        """
        pinned: View | None = getattr(self._here, "view", None)
        if pinned is not None and not (checked and pinned.check is not None):
            return pinned
        now = self._view if self.is_held else None
        if now is None or (now.check is not None and (checked or now.check.is_over)):
            now = self.refresh(checked=checked)
        return now

    @property
    def is_pinned(self) -> bool:
        """Whether this thread is in a block of :meth:`pinned` that has its view."""
        return getattr(self._here, "view", None) is not None

    @contextlib.contextmanager
    def pinned(self) -> Iterator[bool]:
        """Let :meth:`view` give this thread, in the block, the view of the state that it reads.

        Other threads may go on to newer ones.  Gives whether there is such a view at hand.
        """
        view, before = self._view, getattr(self._here, "view", None)
        held = self.is_held and view is not None and view.check is None
        good = before is not None or held or (view is not None and self._is_newest(view))
        self._here.view = (before or view) if good else None
        try:
            yield good
        finally:
            self._here.view = before

    def refresh(self, *, checked: bool = False) -> View:
        """A view of what is there now; the one before where nothing more is known."""
        with self._lock:
            if self._view is None or not self._is_newest(self._view):
                self._view = self._newest()
            now = self._view
        if checked and now.check is not None:
            now.check.wait()
            return self.refresh()
        return now

    def _is_newest(self, view: View) -> bool:
        known = view.check is None or not view.check.is_over
        return known and view.changes == self._store.catalogue.changes()

    def _newest(self) -> View:
        """The view of the state that the catalogue is in now.

        It is read within one state; where the writer takes away a file of that state before it
        was opened, the next state is read instead.
        """
        for left in reversed(range(TRIES)):
            changes = self._store.catalogue.changes()
            try:
                with self._store.snapshot():
                    made = self._made()
                if not made.trouble:
                    return made
            except (DataProblem, NotFound, FileNotFoundError):
                if self._store.catalogue.is_reading and self._view is not None:
                    return self._view  # this thread stays in an old state: the newest must do
                if not left or self._store.catalogue.changes() == changes:
                    raise
                continue
            if not left or self._store.catalogue.changes() == changes:
                return made
        raise AssertionError

    def _made(self) -> View:
        store = self._store
        changes = store.catalogue.changes()
        following = self._following(changes) if self.goes_on else None
        if following is not None:
            return following
        plain: Any = self.plain()
        if plain is None:
            return View(self, changes, None)
        opened = self._opened(plain)
        old = opened.part
        if old is not None:
            old.contents = opened.contents
            following = self._as_built(opened, changes, plain)
            if following is not None:
                return following
        ids, contents = self._live()
        place = places(NONE if old is None else old.ids, ids)
        covered = place >= 0
        covered[covered] = opened.contents[place[covered]] == contents[covered]
        new = np.flatnonzero(~covered)
        fresh, degraded, left_out = None, opened.degraded, 0
        if len(new):
            sound, rows = store.segments.sound(contents[new], lambda some: self._rows(some, plain))
            left_out = int((~sound).sum())
            new = new[sound]
        present = np.sort(np.r_[np.flatnonzero(covered), new])
        if len(new):
            fresh = self._part(ids[new], rows, plain)
            if old is None and not degraded:
                degraded = f"No index is built yet; {len(new):,} pictures were scanned exactly."
        degraded = f"{degraded} {store.segments.left_out(left_out)}".strip()
        return View(
            self, changes, plain, old, np.sort(place[covered]), fresh,
            (ids[present], contents[present]), generation=opened.number, degraded=degraded,
            trouble=opened.trouble, check=opened.check, left_out=left_out,
        )  # fmt: skip

    def _following(self, changes: tuple[int, int]) -> View | None:
        """The view of this state by what changed since the last one; None where that is much."""
        last = self._view
        if last is None or last.old is None or last.trouble or last.check:
            return None
        if last._degraded not in ("", THIN) or last.changes[1] != changes[1] or last.left_out:
            return None
        return self._after(last, changes, self._store.catalogue.touched(last.changes[0]))

    def _as_built(self, opened: Opened, changes: tuple[int, int], plain: Any) -> View | None:
        """The view of this state by what changed since its generation listed its items."""
        if opened.change is None or opened.part is None:
            return None
        ids = opened.part.ids
        built = View(
            self, changes, plain, opened.part, np.arange(len(ids)), None, (ids, opened.contents),
            generation=opened.number, degraded=opened.degraded, check=opened.check,
        )  # fmt: skip
        touched = self._store.catalogue.touched(opened.change, framed=False)
        return self._after(built, changes, touched)

    def _after(self, last: View, changes: tuple[int, int], touched: IdArray | None) -> View | None:
        """The view of a state by an earlier one and the items that changed; None for too many."""
        if touched is None or len(touched) > max(1_024, len(last) // 8):
            return None
        old = last.old
        assert old is not None
        ids, contents = self._live(touched)
        place = places(old.ids, ids)
        covered = place >= 0
        covered[covered] = old.contents[place[covered]] == contents[covered]
        kept, went = last._kept, places(old.ids, touched)
        if (went >= 0).any():  # else nothing as long as the collection is made anew
            is_kept = np.zeros(len(old.ids), bool)
            is_kept[kept] = True
            is_kept[went[went >= 0]] = False
            is_kept[place[covered]] = True
            kept = np.flatnonzero(is_kept)
        sound, rows = self._store.segments.sound(
            contents[~covered], lambda some: self._rows(some, last.plain)
        )
        if not sound.all():
            return None
        fresh, new = last.fresh, ids[~covered]
        if fresh is not None:
            stay = places(touched, fresh.ids) < 0
            new = np.r_[fresh.ids[stay], new]
            rows = stacked([fresh.bare.rows[stay], rows])
        order = np.argsort(new, kind="stable")
        there = last.ids, last.contents
        if len(touched):
            went = places(last.ids, touched)
            went = went[went >= 0]
            if len(went):
                there = np.delete(there[0], went), np.delete(there[1], went)
            is_last = not len(ids) or not len(there[0]) or ids[0] > there[0][-1]
            there = np.r_[there[0], ids], np.r_[there[1], contents]
            if not is_last:
                by_id = np.argsort(there[0], kind="stable")
                there = there[0][by_id], there[1][by_id]
        return View(
            self, changes, last.plain, old, kept,
            self._part(new[order], rows[order], last.plain) if len(new) else None,
            there, generation=last.generation, check=last.check,
            degraded=f"{last._degraded} {self._store.segments.left_out()}".strip(),
        )  # fmt: skip

    def _to_publish(self) -> View:
        """The newest view, once what is damaged was sent to be described anew."""
        view = self.refresh(checked=True)
        if view.left_out and self._store.segments.mend():
            view = self.refresh(checked=True)
        return view

    def _opened(self, plain: Any) -> Opened:
        """The newest generation, once its checksums were compared or while they are."""
        found = self._store.generations.current(self.stored)
        if found is None:
            return Opened()
        check = self._store.generations.check(found, plain.space.fingerprint)
        if not self.answers_unchecked:
            check.wait()
        trouble, degraded, going_on = check.reason, "", None
        if not check.is_over:
            going_on = check
            degraded = (
                f"Index generation {found.number} is being compared with its checksums; answers "
                "are exact meanwhile."
            )
        elif THINNED in found.settings:
            degraded = THIN
        if not trouble:
            try:
                part, contents = self._load(found, plain, checked=going_on is None)
                change = found.settings.get(CHANGE)
                return Opened(part, contents, found.number, degraded, "", going_on, change)
            except (LikewiseError, ValueError, OSError, EOFError) as error:
                trouble = str(error)
        sentence = f"{trouble} Answers are exact meanwhile; index again to rebuild it."
        return Opened(degraded=sentence, trouble=trouble)
