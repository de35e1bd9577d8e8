"""From scores to ranks: where in each ranking the relevant items stand.

Every measure of a ranking is a short formula of the ranks of the relevant items, so the
work is done once, here, and the result (:class:`Ranked`) is small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.evaluation.relevance import Relevance, RelevanceLike, as_relevance
from likewise.types import BadInput, FloatArray, Hits, IdArray

NOT_FOUND = np.iinfo(np.int32).max
"""Rank of a relevant item that the ranking does not hold."""

MANY = np.iinfo(np.int32).max
"""Stands for the number of irrelevant items where nobody counted them."""

Rankings = ArrayLike | Sequence[Hits] | Mapping[str, Mapping[str, float]]
"""A score matrix, one Hits a query, or a run: query name to item name to score."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Ranks of the relevant items of every query: all that the measures need.

    Parameters
    ----------
    starts
        Query ``q`` owns ``starts[q]:starts[q + 1]`` of the next three columns.
    ranks
        1 for the best item; ascending inside a query; ``NOT_FOUND`` at the end.
    above
        How many items judged irrelevant stand above.
    grades
        Grades of the relevant items, all above zero.
    lengths
        Items ranked, a number a query.
    irrelevant
        Items judged irrelevant, found or not, a number a query.
    top
        Relevant items that score strictly above every irrelevant one, a number a query.
    complete
        Whether every item is judged.
    names
        Names of the queries, where they have any.
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
        if len(parts) == 1:
            return parts[0]
        if len({part.complete for part in parts}) > 1:
            raise BadInput("Join rankings that are all judged completely, or all in part.")
        relevant = np.concatenate([part.relevant for part in parts])
        return cls(
            np.concatenate([[0], np.cumsum(relevant)]).astype(np.int64),
            np.concatenate([part.ranks for part in parts]),
            np.concatenate([part.above for part in parts]),
            np.concatenate([part.grades for part in parts]),
            np.concatenate([part.lengths for part in parts]),
            np.concatenate([part.irrelevant for part in parts]),
            np.concatenate([part.top for part in parts]),
            parts[0].complete,
            tuple(name for part in parts for name in part.names),
        )


def rank(
    rankings: Rankings,
    relevance: RelevanceLike | Mapping[str, Mapping[str, float]],
    *,
    leave_out: ArrayLike | None = None,
) -> Ranked:
    """Find where the relevant items of every query stand.

    Parameters
    ----------
    rankings
        One of: a score matrix (one row a query, one column an item, higher is better;
        the ids are the column numbers); a list with one :class:`~likewise.types.Hits` a
        query; a run, that is a mapping from query name to item name to score.
    relevance
        What :func:`as_relevance` takes; for a run, a mapping from query name to item
        name to grade, or to the names of the relevant items.
    leave_out
        For each query the id of an item to take out of the ranking, usually the query
        itself; -1 takes none out.  For a run: a mapping from query name to item name.

    Returns
    -------
    Ranked

    Notes
    -----
    Equal scores are ordered by id, the lower first.  A relevant item that the hits or
    the run do not hold counts as never found.
    """
    if isinstance(rankings, Mapping):
        if not isinstance(relevance, Mapping):
            raise BadInput("Beside a run, give a mapping from query name to item name to grade.")
        return _rank_run(rankings, relevance, leave_out)
    if isinstance(relevance, Mapping):
        raise BadInput("Relevance by query name needs a run: query name to item name to score.")
    if isinstance(rankings, Sequence) and any(isinstance(row, Hits) for row in rankings):
        return _rank_hits(rankings, as_relevance(relevance), leave_out)
    return _rank_scores(rankings, relevance, leave_out)


# --------------------------------------------------------------------------
# Rankings as a score matrix


def _rank_scores(rankings: Any, relevance: RelevanceLike, leave_out: ArrayLike | None) -> Ranked:
    scores = np.asarray(rankings)
    if scores.ndim != 2:
        raise BadInput(f"Scores must form a matrix of queries by items, not {scores.ndim} axes.")
    if scores.dtype.kind not in "biuf":
        raise BadInput("Scores must be numbers.")
    odd = np.flatnonzero(~np.isfinite(scores).all(axis=1))
    if len(odd):
        raise BadInput(
            f"The scores hold NaN or infinity (first in row {odd[0]}); "
            "leave that query out, or give such items a very low score."
        )
    truth = as_relevance(relevance, items=scores.shape[1])
    check_length(len(scores), truth)
    check_items(truth, scores.shape[1])
    truth, ids = replace(truth, items=scores.shape[1]), np.arange(scores.shape[1])
    return _rank_hits([Hits(ids, row) for row in scores], truth, leave_out)


def check_items(truth: Relevance, items: int) -> None:
    """Refuse relevance that speaks of other items than there are scores of."""
    inside = not len(truth.ids) or (truth.ids.min() >= 0 and truth.ids.max() < items)
    if truth.items not in (None, items) or not inside:
        raise BadInput(
            f"The scores are of {items} items, but the relevance speaks of others; "
            "make one column of scores for each item."
        )


# --------------------------------------------------------------------------
# Rankings as hits and as runs


def _rank_hits(rankings: Sequence[Any], truth: Relevance, leave_out: ArrayLike | None) -> Ranked:
    check_length(len(rankings), truth)
    out = left_out(leave_out, len(rankings))
    rows = []
    for q, hits in enumerate(rankings):
        if not isinstance(hits, Hits):
            raise BadInput(f"Query {q} has no Hits; give one (ids, scores) for every query.")
        ids, grades = truth.of_query(q)
        rows.append(_rank_list(hits, ids, grades, truth, int(out[q])))
    return Ranked.join(rows) if rows else empty(truth.complete)


def _rank_list(
    hits: Hits, judged: IdArray, values: FloatArray, truth: Relevance, out: int
) -> Ranked:
    ids, scores = np.asarray(hits.ids), np.asarray(hits.scores)
    if ids.ndim != 1 or ids.shape != scores.shape:
        raise BadInput("Hits must hold one row of ids and as many scores.")
    if len(np.unique(ids)) != len(ids):
        raise BadInput("Hits name an item twice; keep the better of the two.")
    if not np.isfinite(scores.astype(np.float64)).all():
        raise BadInput("Scores of hits hold NaN or infinity; leave those hits out.")
    order = np.lexsort((ids, -scores.astype(np.float64)))
    order = order[ids[order] != out]
    values, judged = values[judged != out], judged[judged != out]
    ids, scores = ids[order], scores[order]
    unlisted = 0.0 if truth.complete else np.nan
    found = np.full(len(ids), unlisted)
    known = np.isin(ids, judged)
    found[known] = values[np.searchsorted(judged, ids[known])]
    good, bad = found > 0, found <= 0
    lost = values[(values > 0) & ~np.isin(judged, ids)]
    first_bad = scores[bad][0] if bad.any() else -np.inf
    wrong_above = np.cumsum(bad)
    total = int((values > 0).sum())
    if not truth.complete:
        irrelevant = int((values <= 0).sum())
    else:
        inside = 1 if out >= 0 else 0
        irrelevant = MANY if truth.items is None else max(0, truth.items - inside - total)
    return Ranked(
        np.array([0, total], dtype=np.int64),
        _then(np.flatnonzero(good) + 1, NOT_FOUND, len(lost)),
        _then(wrong_above[good], irrelevant, len(lost)),
        np.concatenate([found[good], np.sort(lost)[::-1]]).astype(np.float32),
        np.array([len(ids)], dtype=np.int64),
        np.array([irrelevant], dtype=np.int64),
        np.array([np.count_nonzero(good & (scores > first_bad))], dtype=np.int64),
        truth.complete,
    )


def _rank_run(
    run: Mapping[str, Mapping[str, float]], relevance: Mapping[str, Any], leave_out: Any
) -> Ranked:
    """A run by names becomes hits by number; numbers follow the order of the names."""
    names = tuple(sorted(set(run) | set(relevance)))
    items = {name for row in run.values() for name in row}
    items |= {name for row in relevance.values() for name in row}
    if not all(isinstance(name, str) for name in items):
        raise BadInput("Items of a run and of its relevance are named by strings.")
    number = {name: at for at, name in enumerate(sorted(items))}
    hits: list[Hits] = []
    judged: list[Any] = []
    for query in names:
        row = run.get(query, {})
        ids = np.array([number[name] for name in row], dtype=np.int64)
        hits.append(Hits(ids, np.array(list(row.values()), dtype=np.float64)))
        grades = relevance.get(query, {})
        if isinstance(grades, Mapping):
            judged.append({number[name]: float(grade) for name, grade in grades.items()})
        else:
            judged.append([number[name] for name in grades])
    if not any(isinstance(row, Mapping) for row in relevance.values()):
        judged = [list(row) for row in judged]  # a query without a list has no relevant item
    out = None
    if leave_out is not None:
        out = [number.get(leave_out.get(query, ""), -1) for query in names]
    return replace(_rank_hits(hits, as_relevance(judged), out), names=names)


# --------------------------------------------------------------------------


def _then(values: NDArray[Any], last: int, times: int) -> NDArray[np.int32]:
    return np.concatenate([values, np.full(times, last)]).astype(np.int32)


def left_out(leave_out: ArrayLike | None, count: int) -> IdArray:
    """Per query the id to take out, or -1."""
    if leave_out is None:
        return np.full(count, -1, dtype=np.int64)
    out = np.asarray(leave_out)
    if out.shape != (count,) or (count and out.dtype.kind not in "iu"):
        raise BadInput(f"leave_out must hold one item id (or -1) for each of {count} queries.")
    return out.astype(np.int64)


def check_length(count: int, truth: Relevance) -> None:
    """Refuse relevance of another number of queries."""
    if len(truth) != count:
        raise BadInput(
            f"There are {count} rankings but relevance for {len(truth)} queries; give one each."
        )


def empty(complete: bool) -> Ranked:
    """Of no query."""
    none = np.empty(0, dtype=np.int64)
    short = none.astype(np.int32)
    start = np.zeros(1, dtype=np.int64)
    return Ranked(start, short, short, none.astype(np.float32), none, none, none, complete)
