"""What people answered when earlier teaching was offered: taken, refused, or taken back."""

from __future__ import annotations

import time
from typing import NamedTuple

from likewise.store.catalogue import Catalogue


class Answered(NamedTuple):
    """One answer: for ``query`` the teaching of ``taught`` was offered (both by name).

    Attributes
    ----------
    taken
        Whether it was taken; None where an earlier answer was taken back.
    likeness
        How near the query stood.
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
        with self._catalogue.transaction() as db:
            number = db.execute(
                "INSERT INTO offered (line, query, query_item, taught, taught_item, taken, "
                "likeness, person, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    line, query, _item(query), taught, _item(taught),
                    None if taken is None else int(taken), likeness, person, time.time(),
                ),
            ).lastrowid  # fmt: skip
        assert number is not None
        return number

    def newest(self) -> int:
        """Number of the latest answer; 0 where there is none."""
        return self._catalogue.number("SELECT COALESCE(MAX(id), 0) FROM offered")

    def answers(self, after: int = 0) -> list[Answered]:
        """Answers that came after one, in order."""
        with self._catalogue.reading() as db:
            rows = db.execute(
                "SELECT id, line, query, taught, taken, likeness FROM offered WHERE id > ? "
                "ORDER BY id",
                (after,),
            )
            found = [Answered._make(row) for row in rows]
        return [a if a.taken is None else a._replace(taken=bool(a.taken)) for a in found]


def _item(name: str) -> int | None:
    kind, _, value = name.partition(":")
    return int(value.partition("@")[0]) if kind == "item" else None
