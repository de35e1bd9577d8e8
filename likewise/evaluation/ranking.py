"""From scores to ranks: where in each ranking the relevant items stand.

Every measure of a ranking is a short formula of the ranks of the relevant items, so the
work is done once, here, and the result (:class:`Ranked`) is small.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.types import BadInput, IdArray

NOT_FOUND = np.iinfo(np.int32).max
"""Rank of a relevant item that the ranking does not hold."""

MANY = np.iinfo(np.int32).max
"""Stands for the number of irrelevant items where nobody counted them."""

Rankings = Mapping[str, Mapping[str, float]]
"""A run: query name to item name to score."""
Judged = Mapping[str, Mapping[str, float] | Collection[str]]
"""By query name: the grade of each judged item, or the names of the relevant ones."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Ranks of the relevant items of every query: all that the measures need.

    Query ``q`` owns ``starts[q]:starts[q + 1]`` of three columns, one entry a relevant item: its
    rank (1 for the best item, ascending, ``NOT_FOUND`` at the end), how many items judged
    irrelevant stand ``above``, and its grade, above zero.  A number a query: ``lengths`` counts
    items ranked, ``irrelevant`` those judged so, found or not, and ``top`` the relevant ones that
    score strictly above every irrelevant one.  ``complete`` says whether every item is judged.
    """

    starts: IdArray
    ranks: NDArray[np.int32]
    above: NDArray[np.int32]
    grades: NDArray[np.float32]
    lengths: IdArray
    irrelevant: IdArray
    top: IdArray
    complete: bool
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def relevant(self) -> IdArray:
        """Relevant items, found or not, a number a query."""
        return np.diff(self.starts)

    @cached_property
    def query(self) -> NDArray[np.int32]:
        """The query that each rank belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.relevant)

    @cached_property
    def place(self) -> NDArray[np.int32]:
        """1 for the first relevant item of a query, 2 for the second, and so on."""
        ones = np.arange(1, len(self.ranks) + 1, dtype=np.int64)
        return (ones - np.repeat(self.starts[:-1], self.relevant)).astype(np.int32)

    def of_query(self, query: int) -> NDArray[np.int32]:
        """Ranks of one query's relevant items."""
        return self.ranks[self.starts[query] : self.starts[query + 1]]

    @classmethod
    def join(cls, parts: Sequence[Ranked]) -> Ranked:
        """One ranking of all queries from rankings of some queries each, in order."""
        if not parts:
            raise BadInput("There is nothing to join: give at least one ranking.")
        if len({part.complete for part in parts}) > 1:
            raise BadInput("Join rankings that are all judged completely, or all in part.")
        relevant = np.concatenate([part.relevant for part in parts])
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("ranks", "above", "grades", "lengths", "irrelevant", "top")
        }
        starts = np.concatenate([[0], np.cumsum(relevant)]).astype(np.int64)
        names = tuple(name for part in parts for name in part.names)
        return cls(starts, **columns, complete=parts[0].complete, names=names)


def rank(run: Rankings, relevance: Judged) -> Ranked:
    """Find where the relevant items of every query stand.

    Parameters
    ----------
    run
        A score for each item found, by query name and item name; higher is better.
    relevance
        By query name either, for every query, the grade of each judged item (all others are
        unjudged) or the names of the relevant items (all others are irrelevant).

    Returns
    -------
    Ranked
        Of all queries of both, in the order of their names.

    Notes
    -----
    Equal scores are ordered by name.  A relevant item that the run does not hold counts as never
    found.
    """
    graded = {isinstance(row, Mapping) for row in relevance.values()}
    if len(graded) > 1:
        raise BadInput("Give either names or a mapping to grades for every query, not a mixture.")
    complete = graded == {False}
    names = tuple(sorted({*run, *relevance}))
    if not names:
        return empty(complete)
    rows = [_ranked(run.get(name, {}), relevance.get(name, {}), complete) for name in names]
    return replace(Ranked.join(rows), names=names)


def _ranked(
    row: Mapping[str, float], judged: Mapping[str, float] | Collection[str], complete: bool
) -> Ranked:
    """One query."""
    if not all(isinstance(name, str) for name in (*row, *judged)):
        raise BadInput("Items of a run and of its relevance are named by strings.")
    listed = judged if isinstance(judged, Mapping) else dict.fromkeys(judged, 1.0)
    values = np.array([*row.values(), *listed.values()], dtype=np.float64)
    if not np.isfinite(values).all():
        raise BadInput("Scores and grades must be finite; leave such items out.")
    items = sorted(row, key=lambda name: (-row[name], name))
    scores = np.array([row[name] for name in items])
    unlisted = 0.0 if complete else np.nan
    found = np.array([listed.get(name, unlisted) for name in items], dtype=np.float64)
    good, bad = found > 0, found <= 0
    lost = sorted((g for name, g in listed.items() if g > 0 and name not in row), reverse=True)
    first_bad = scores[bad][0] if bad.any() else -np.inf
    irrelevant = MANY if complete else sum(grade <= 0 for grade in listed.values())

    def then(values: NDArray[Any], last: int) -> NDArray[np.int32]:
        return np.append(values, np.full(len(lost), last)).astype(np.int32)

    return Ranked(
        np.array([0, good.sum() + len(lost)], dtype=np.int64),
        then(np.flatnonzero(good) + 1, NOT_FOUND),
        then(np.cumsum(bad)[good], irrelevant),
        np.append(found[good], lost).astype(np.float32),
        np.array([len(items)], dtype=np.int64),
        np.array([irrelevant], dtype=np.int64),
        np.array([np.count_nonzero(good & (scores > first_bad))], dtype=np.int64),
        complete,
    )


def empty(complete: bool) -> Ranked:
    """Of no query."""
    none = np.empty(0, dtype=np.int64)
    short = none.astype(np.int32)
    start = np.zeros(1, dtype=np.int64)
    return Ranked(start, short, short, none.astype(np.float32), none, none, none, complete)
