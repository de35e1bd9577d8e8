"""One consistent state of a line, which answers surrogates.

A generation of the index, plus what came since, without what has gone.  It never changes; while the
writer goes on, readers keep theirs and take a new one when they next look.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from likewise.collection.lines.parts import NONE, Part, best_of, places, stacked, without
from likewise.filters import Allowed, Among
from likewise.store import Check
from likewise.types import Codes, Hits, IdArray, NotFound, QueryRef, Similarity, Surrogate

if TYPE_CHECKING:
    from likewise.collection.lines.line import Line

MANY_GONE = 256
"""From so many rows on that have gone, those that are left are named to the index."""
SAMPLE = 1_000
"""Pictures whose scores tell how far a surrogate spreads."""


class View:
    """One state of a line; never changes.

    ``ids`` are the items that can be found, in order, and ``contents`` the content of each.
    ``generation`` is the number of the index generation that answers, 0 for none; ``trouble`` says
    why the newest one does not; ``check`` is the comparison with its checksums while that goes on.
    The vectors of ``left_out`` pictures are damaged and wait to be computed anew.  ``position`` is
    the same only for views of the same state and the same trust in the index.
    """

    kind: ClassVar[str] = "view"

    def __init__(
        self, line: Line, changes: tuple[int, int], plain: Similarity | None,
        old: Part | None = None, kept: IdArray = NONE, fresh: Part | None = None,
        items: tuple[IdArray, IdArray] = (NONE, NONE), *, generation: int = 0, degraded: str = "",
        trouble: str = "", check: Check | None = None, left_out: int = 0,
    ) -> None:  # fmt: skip
        self.line, self.changes, self._plain = line, changes, plain
        self.old, self.fresh, (self.ids, self.contents) = old, fresh, items
        self.generation, self._degraded, self.trouble = generation, degraded, trouble
        self.check, self.left_out = check, left_out
        self.position = (*changes, check is None)
        self._kept = kept
        whole = old is not None and len(kept) == len(old.ids)
        self.gone = NONE if old is None or whole else np.delete(old.ids, kept)
        self._present: IdArray | None = None
        if old is not None and len(self.gone) > MANY_GONE:
            self._present = old.ids[kept]
            self._present.flags.writeable = False
        self._last_among: tuple[Any, IdArray] = None, NONE
        self._lock = threading.Lock()
        self._kept_values: dict[str, Any] = {}

    @property
    def degraded(self) -> str:
        """One sentence where the (last) answer does not come from a complete index; else empty."""
        return f"{self._degraded} {'' if self.old is None else self.old.trouble}".strip()

    @degraded.setter
    def degraded(self, sentence: str) -> None:
        self._degraded = sentence

    @property
    def plain(self) -> Any:
        """The plain similarity of the line; an empty line says so here."""
        if self._plain is None:
            raise NotFound(self.line.empty)
        return self._plain

    @property
    def space(self) -> str:
        """Fingerprint of the space; empty where nothing was described yet."""
        return "" if self._plain is None else self._plain.space.fingerprint

    @cached_property
    def bare(self) -> View:
        """The same state with every picture as it is, not smoothed by its neighbours."""
        old, fresh = (None if part is None else part.bare for part in (self.old, self.fresh))
        whole = old is self.old and fresh is self.fresh
        return self if whole else self.of_parts(old, fresh)

    def of_parts(self, old: Part | None, fresh: Part | None) -> View:
        """The same state with other parts of the same items."""
        return View(
            self.line, self.changes, self._plain, old, self._kept, fresh,
            (self.ids, self.contents), generation=self.generation, degraded=self._degraded,
            trouble=self.trouble, check=self.check, left_out=self.left_out,
        )  # fmt: skip

    @property
    def is_complete(self) -> bool:
        """Whether the generation holds exactly the items that can be found."""
        whole = self.check is None and self.fresh is None and not len(self.gone)
        return bool(self.generation) and whole and not self.left_out

    def __len__(self) -> int:
        """Items that can be found."""
        return len(self.ids)

    def holds(self, item: int) -> bool:
        """Whether an item can be found."""
        at = int(np.searchsorted(self.ids, item))
        return at < len(self.ids) and int(self.ids[at]) == item

    def rows(self, items: Any) -> Any:
        """What similarities take, of items in the order given."""
        wanted = np.atleast_1d(np.asarray(items, dtype=np.int64))
        at = places(self.ids, wanted)
        if len(at) and at.min() < 0:
            lost = wanted[at < 0][0]
            raise NotFound(f"Item {lost} has no vectors; it is gone, unreadable or waiting.")
        if self.fresh is None and not len(self.gone):
            return np.zeros((0, 0), np.float32) if self.old is None else self.old.rows[at]
        new = places(NONE if self.fresh is None else self.fresh.ids, wanted)
        if self.old is None or (len(wanted) and (new >= 0).all()):
            assert self.fresh is not None
            return self.fresh.rows[new]
        old = places(self.old.ids, wanted)
        first, second = np.flatnonzero(new < 0), np.flatnonzero(new >= 0)
        if self.fresh is None or not len(second):
            return self.old.rows[old]
        joined = stacked([self.old.rows[old[first]], self.fresh.rows[new[second]]])
        return joined[np.argsort(np.r_[first, second], kind="stable")]

    def query(self, ref: QueryRef) -> Any:
        """What similarities take, of one query picture."""
        return self.line.query(ref, self)

    def some(self, count: int) -> list[Any]:
        """Rows of the first few items, each as that of a query."""
        rows = [self.rows([item]) for item in self.ids[:count].tolist()]
        return [row[0] if isinstance(row, np.ndarray) else row for row in rows]

    def all_rows(self) -> tuple[IdArray, Any]:
        """Every item that can be found and its row, in order of id."""
        if self.is_complete:
            assert self.old is not None
            return self.ids, self.old.rows
        return self.ids, self.rows(self.ids)

    def codes(self, items: Any) -> Codes:
        """Codes of items, as the index holds them."""
        coded: Codes = self.plain.space.encode(self.rows(items))
        return coded

    def sample(self) -> Any:
        """Codes of about ``SAMPLE`` items, evenly spaced by id; read once."""
        step = max(1, len(self) // SAMPLE)
        return self.once("sample", lambda: self.codes(self.ids[::step][:SAMPLE]))

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What was made under this name for this view, made now where it was not yet."""
        with self._lock:
            if name not in self._kept_values:
                self._kept_values[name] = make()
            return self._kept_values[name]

    def search(
        self,
        surrogate: Surrogate,
        k: int,
        similarity: Similarity | None = None,
        *,
        among: Among | None = None,
    ) -> Hits:
        """The ``k`` best present items: the generation's and the fresh ones together.

        ``similarity`` made the surrogate; it is needed where that has side coefficients.
        """
        return self.search_many([surrogate], k, similarity, among=among)[0]

    def search_many(
        self,
        surrogates: Sequence[Surrogate],
        k: int,
        similarity: Similarity | None = None,
        *,
        among: Among | None = None,
    ) -> list[Hits]:
        """The same for several surrogates: what the parts answer, joined, without what has gone."""
        lists: list[list[Hits]] = []
        if self.old is not None and len(self._kept):
            allowed, extra = among, len(self.gone)
            if self._present is not None:
                allowed = self._present if among is None else self._both(among)
                extra = 0
            hits = self.old.search_many(surrogates, k + extra, similarity, allowed)
            lists.append([without(one, self.gone, k) for one in hits] if extra else hits)
        if self.fresh is not None:
            lists.append(self.fresh.search_many(surrogates, k, similarity, among))
        if not lists:
            return [best_of([], k) for _ in surrogates]
        return [best_of(list(parts), k) for parts in zip(*lists)]

    def _both(self, among: Among) -> IdArray:
        """Ids of a filter that are present; kept for the last one."""
        ids = among.ids if isinstance(among, Allowed) else among
        known, both = self._last_among
        if known is not ids:
            both = np.intersect1d(self._present, ids)  # type: ignore[arg-type]
            both.flags.writeable = False
            self._last_among = ids, both
        return both
