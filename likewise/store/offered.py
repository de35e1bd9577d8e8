"""What people answered when earlier teaching was offered: taken, refused, or taken back."""

from __future__ import annotations

import time
from typing import NamedTuple

from likewise.store.catalogue import Catalogue


class Answered(NamedTuple):
    """One answer: for ``query`` the teaching of ``taught`` was offered (both by name).

    ``taken`` is None where an earlier answer was taken back.
    """

    id: int
    line: str
    query: str
    taught: str
    taken: bool | None
    likeness: float


class Offered:
    """A log of answers to offers."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def add(
        self, line: str, query: str, taught: str, taken: bool | None, likeness: float,
        *, person: str = "",
    ) -> int:  # fmt: skip
        """Write an answer down; gives its number.  It goes when an item that it names goes."""
        return self._catalogue.insert(
            "INSERT INTO offered (line, query, query_item, taught, taught_item, taken, "
            "likeness, person, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                line, query, _item(query), taught, _item(taught),
                None if taken is None else int(taken), likeness, person, time.time(),
            ),
        )  # fmt: skip

    def newest(self) -> int:
        """Number of the latest answer; 0 where there is none."""
        return self._catalogue.newest().offered

    def answers(self, after: int = 0) -> list[Answered]:
        """Answers that came after one, in order."""
        rows = self._catalogue.rows(
            "SELECT id, line, query, taught, taken, likeness FROM offered WHERE id > ? ORDER BY id",
            (after,),
        )
        return [Answered(*(*r[:4], None if r[4] is None else bool(r[4]), r[5])) for r in rows]


def _item(name: str) -> int | None:
    kind, _, value = name.partition(":")
    return int(value.partition("@")[0]) if kind == "item" else None
