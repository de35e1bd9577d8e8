"""What every view of a collection does alike: one state, and an index that was checked.

A view never changes.  It is read within one state of the catalogue; where the writer takes
away a file of that state before it was opened, the next state is read instead.
"""

from __future__ import annotations

from typing import Self

from likewise.store import Check, Generation, Store
from likewise.types import DataProblem, LikewiseError, NotFound

TRIES = 50
"""States that are tried before a file that is not there counts as lost."""


class View:
    """One consistent view: a generation of the index, what came since, without what has gone.

    Attributes
    ----------
    position
        What is the same only for views of the same state and the same trust in the index.
    generation
        Number of the index generation that answers, 0 for none.
    degraded
        One sentence where the answer does not come from a complete index; else empty.
    check
        The comparison of the index with its checksums, while it is still going on.
    """

    line = "main"
    answers_unchecked = False
    """Whether exact answers may be given, and marked, while the index is still being checked."""

    def __init__(self, store: Store, space: str) -> None:
        self._changes = store.catalogue.changes()
        self.generation, self.degraded, self.trouble = 0, "", ""
        self.check: Check | None = None
        found = store.generations.current(self.line) if space else None
        if found is not None:
            self._open(store, found, space)
        self.position = (*self._changes, self.check is None)

    def _open(self, store: Store, found: Generation, space: str) -> None:
        check = store.generations.check(found, space)
        if not self.answers_unchecked:
            check.wait()
        self.trouble = check.reason
        if not check.is_over:
            self.check = check
            self.degraded = (
                f"Index generation {found.number} is being compared with its checksums; answers "
                "are exact meanwhile."
            )
        if not self.trouble:
            try:
                self._load(found)
                self.generation = found.number
            except (LikewiseError, ValueError, OSError, EOFError) as error:
                self.trouble, self.check = str(error), None
        if self.trouble:
            self.degraded = (
                f"{self.trouble} Answers are exact meanwhile; index again to rebuild it."
            )

    def _load(self, found: Generation) -> None:
        """Take in the files of a generation; its checksums agree, unless :attr:`check` is set."""
        raise NotImplementedError

    @classmethod
    def newest(cls, store: Store) -> Self:
        """The view of the state that the catalogue is in now."""
        for left in reversed(range(TRIES)):
            changes = store.catalogue.changes()
            try:
                with store.snapshot():
                    made = cls(store)  # type: ignore[call-arg]
                if not made.trouble:
                    return made
            except (DataProblem, NotFound, FileNotFoundError):
                if not left or store.catalogue.changes() == changes:
                    raise
                continue
            if not left or store.catalogue.changes() == changes:
                return made
        raise AssertionError

    def is_newest(self, store: Store) -> bool:
        """Whether the catalogue is still in the state of this view, and nothing more is known."""
        known = self.check is None or not self.check.is_over
        return known and self._changes == store.catalogue.changes()
