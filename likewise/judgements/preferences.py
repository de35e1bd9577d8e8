"""What judgements mean as preferences: for a query, better before worse.

Labels put the relevant before the irrelevant (and a higher grade before a lower),
clicks the oftener chosen before the less chosen, orderings each item before the
next, with the query itself at the head.  Ties say nothing and are dropped; where two
judgements contradict each other the latest one holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.judgements.kinds import (
    Made,
    Pairs,
    click_blocks,
    label_blocks,
    merge,
    ordering_blocks,
)
from likewise.judgements.records import Judgements, Resolved, own_row
from likewise.judgements.sampling import (
    DEFAULT_TOTAL,
    Seed,
    as_rows,
    changes,
    check_limit,
    class_blocks,
    draw,
    graded_columns,
    thin,
)
from likewise.types import BadInput, IdArray, Preferences, QueryRef

MAX_CLICKS = 100.0
"""Clicks on one item for one query count up to this many."""


@dataclass(frozen=True)
class PreferenceReport:
    """What became of a log.

    Attributes
    ----------
    used
        Preferences made.
    left_out
        Preferences that the limits left out.
    ties
        Pairs of items judged alike for one query by labels or clicks.
    duplicates
        Judgements or preferences that repeat another.
    contradictions
        Judgements or preferences overruled by a later or more explicit one.
    unknown_items
        Items of judgements that have no row (counted as often as they are named).
    unknown_queries
        Distinct queries that have no row.
    queries, covered
        Distinct queries with a row, and how many of them have a preference.
    """

    used: int = 0
    left_out: int = 0
    ties: int = 0
    duplicates: int = 0
    contradictions: int = 0
    unknown_items: int = 0
    unknown_queries: int = 0
    queries: int = 0
    covered: int = 0


# --------------------------------------------------------------------------
# One function a kind


def from_labels(
    query: ArrayLike,
    item: ArrayLike,
    value: ArrayLike,
    *,
    time: ArrayLike | None = None,
    graded: bool = True,
    per_query: int | None = None,
    total: int | None = DEFAULT_TOTAL,
    seed: Seed = 0,
) -> Preferences:
    """Preferences of labels: relevant before irrelevant, higher before lower.

    Parameters
    ----------
    query, item, value
        For query row ``query[i]``, item row ``item[i]`` was labelled ``value[i]``:
        relevant above 0, irrelevant at 0 and below.
    time
        When; of several labels of one item for one query the latest holds, and the
        last in the list where times are equal.
    graded
        Whether a more relevant item comes before a less relevant one, or only
        relevant before irrelevant.
    per_query, total, seed
        As in :func:`sample_triplets`.
    """
    made = label_blocks(*graded_columns(query, item, value), _times(time, query), graded)
    return draw(made.blocks, per_query=per_query, total=total, seed=seed)


def from_clicks(
    query: ArrayLike,
    item: ArrayLike,
    count: ArrayLike,
    *,
    candidates: tuple[ArrayLike, ArrayLike] | None = None,
    max_clicks: float = MAX_CLICKS,
    per_query: int | None = None,
    total: int | None = DEFAULT_TOTAL,
    seed: Seed = 0,
) -> Preferences:
    """Preferences of clicks: the oftener chosen item before the less or never chosen one.

    Parameters
    ----------
    query, item, count
        For query row ``query[i]``, item row ``item[i]`` was chosen ``count[i]``
        times; 0 says that it was shown and not chosen.  Several counts of one
        item for one query add up.
    candidates
        Query rows and item rows of what was shown besides, chosen or not.
    max_clicks
        A sum above this counts as this, so that two very popular items tie.
    per_query, total, seed
        As in :func:`sample_triplets`.
    """
    q, i, c = graded_columns(query, item, count)
    if candidates is not None:
        shown_q, shown_i = (as_rows(column, "candidates") for column in candidates)
        q, i = np.concatenate([q, shown_q]), np.concatenate([i, shown_i])
        c = np.concatenate([c, np.zeros(len(i) - len(c))])
    return draw(
        click_blocks(q, i, c, max_clicks).blocks, per_query=per_query, total=total, seed=seed
    )


def from_orderings(
    query: ArrayLike,
    orderings: Sequence[ArrayLike],
    *,
    head: ArrayLike | None = None,
    time: ArrayLike | None = None,
    pairs: Pairs = "neighbours",
    per_query: int | None = None,
    total: int | None = DEFAULT_TOTAL,
    seed: Seed = 0,
) -> Preferences:
    """Preferences of orderings: each item before the next one.

    N items make N - 1 inequalities (Han et al., section 2), and the query itself, where it is
    an item, is nearest of all: it stands at the head of the chain and adds one more.

    Parameters
    ----------
    query, orderings
        For query row ``query[i]``, ``orderings[i]`` lists item rows from nearest to farthest.
        Of an item named twice the nearest place counts.
    head
        Item row that is the query itself, -1 where it is no item.  Without it no chain
        has a head.
    time
        When; of two orderings that contradict each other in a pair the latest holds.
    pairs
        ``neighbours``: each item before the next; ``all``: before all that follow.
    per_query, total, seed
        As in :func:`sample_triplets`.
    """
    q = as_rows(query, "query rows")
    if len(orderings) != len(q):
        raise BadInput("There must be one ordering for each query row.")
    chains = [as_rows(chain, "items of an ordering") for chain in orderings]
    heads = np.full(len(q), -1) if head is None else np.asarray(head, np.int64)
    if heads.shape != q.shape:
        raise BadInput("There must be one head for each query row; -1 says that there is none.")
    made = ordering_blocks(q, chains, heads, _times(time, query), pairs)
    return draw(made.blocks, per_query=per_query, total=total, seed=seed)


def from_classes(
    labels: ArrayLike,
    *,
    queries: ArrayLike | None = None,
    per_query: int | None = 20,
    total: int | None = DEFAULT_TOTAL,
    seed: Seed = 0,
) -> Preferences:
    """Triplets of classes: for an item, another of its class before one of another class.

    Parameters
    ----------
    labels
        The class of each item: numbers or names.
    queries
        Rows of the items to be queries; all of them unless given.
    per_query, total, seed
        As in :func:`sample_triplets`.
    """
    named = np.asarray(labels)
    if named.ndim != 1:
        raise BadInput("Class labels must be one list, with one label an item.")
    if named.dtype.kind == "f" and not np.isfinite(named).all():
        raise BadInput("A class label is NaN or infinite; leave those items out.")
    rows = np.arange(len(named)) if queries is None else np.unique(as_rows(queries, "queries"))
    if len(rows) and rows[-1] >= len(named):
        raise BadInput(f"Query {rows[-1]} has no class label: there are only {len(named)} items.")
    if not len(named):
        return Preferences.of([], [], [])
    classes = np.unique(named, return_inverse=True)[1].astype(np.int64)
    blocks = class_blocks(classes, rows.astype(np.int64))
    return draw(blocks, per_query=per_query, total=total, seed=seed)


# --------------------------------------------------------------------------
# A mixed log


def preferences(
    judgements: Judgements,
    rows: Mapping[str, int],
    queries: Mapping[QueryRef, int] | None = None,
    *,
    candidates: Mapping[QueryRef, Sequence[str]] | None = None,
    graded: bool = True,
    max_clicks: float = MAX_CLICKS,
    pairs: Pairs = "neighbours",
    per_query: int | None = None,
    total: int | None = DEFAULT_TOTAL,
    seed: Seed = 0,
) -> tuple[Preferences, PreferenceReport]:
    """Preferences of a log of labels, clicks and orderings, and what became of the log.

    Where two kinds say opposite things of one pair, the ordering holds before the label, and
    the label before the click.

    Parameters
    ----------
    judgements
        The log.
    rows
        Row of the item matrix by item key.
    queries
        Row of the query matrix by query; without it the items are the queries.
    candidates
        For queries with clicks, what was shown besides; items never clicked come
        after the clicked ones.
    graded, max_clicks, pairs
        As in :func:`from_labels`, :func:`from_clicks` and :func:`from_orderings`.
    per_query, total, seed
        As in :func:`sample_triplets`; the limits hold for all kinds together.
    """
    check_limit(per_query, "per_query")
    check_limit(total, "total")
    log = judgements.resolve(rows, queries)
    nameless = set(judgements.query_codes()[1][log.record[log.query < 0]].tolist())
    known = log.where((log.query >= 0) & (log.item >= 0))
    rng = np.random.default_rng(seed)
    shown = _shown(judgements.of_kind("click"), candidates, rows, queries)
    # The most explicit kind last: it holds where kinds contradict each other.
    made = [
        click_blocks(*_with_shown(_only(known, "click"), shown), max_clicks),
        label_blocks(*_graded(_only(known, "label")), _only(known, "label").time, graded),
        _known_orderings(_only(known, "ordering"), pairs),
    ]
    drawn = [draw(m.blocks, per_query=per_query, total=total, seed=rng) for m in made]
    merged, duplicates, contradictions = merge(drawn)
    kept = thin(merged, per_query=per_query, total=total, seed=rng)
    available = sum(int(m.blocks.size.sum()) for m in made)
    report = PreferenceReport(
        used=len(kept),
        left_out=available - sum(map(len, drawn)) + len(merged) - len(kept),
        ties=sum(m.ties for m in made),
        duplicates=duplicates + sum(m.duplicates for m in made),
        contradictions=contradictions + sum(m.contradictions for m in made),
        unknown_items=int((log.item < 0).sum()),
        unknown_queries=len(nameless),
        queries=len(np.unique(log.query[log.query >= 0])),
        covered=len(np.unique(kept.query)),
    )
    return kept, report


def _known_orderings(log: Resolved, pairs: Pairs) -> Made:
    start = np.flatnonzero(changes(log.record))
    chains = np.split(log.item, start[1:]) if len(log) else []
    return ordering_blocks(log.query[start], chains, log.head[start], log.time[start], pairs)


def _only(log: Resolved, kind: str) -> Resolved:
    return log.where(log.kind == kind)


def _graded(log: Resolved) -> tuple[IdArray, IdArray, NDArray[np.float64]]:
    return log.query, log.item, log.value


def _shown(
    clicks: Judgements,
    candidates: Mapping[QueryRef, Sequence[str]] | None,
    rows: Mapping[str, int],
    queries: Mapping[QueryRef, int] | None,
) -> tuple[IdArray, IdArray]:
    """Rows of the queries that were clicked for and of the candidates shown for them."""
    if not candidates:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    pairs = []
    for query in clicks.queries():
        row = own_row(query, rows) if queries is None else queries.get(query, -1)
        pairs += [(row, rows.get(item, -1)) for item in candidates.get(query, ())]
    both = np.array(pairs, np.int64).reshape(-1, 2)
    both = both[(both >= 0).all(axis=1)]
    return both[:, 0], both[:, 1]


def _with_shown(
    log: Resolved, shown: tuple[IdArray, IdArray]
) -> tuple[IdArray, IdArray, NDArray[np.float64]]:
    nothing = np.zeros(len(shown[0]))
    return (
        np.concatenate([log.query, shown[0]]),
        np.concatenate([log.item, shown[1]]),
        np.concatenate([log.value, nothing]),
    )


def _times(time: ArrayLike | None, query: ArrayLike) -> NDArray[np.float64]:
    if time is None:
        return np.zeros(len(np.asarray(query)))
    given = np.asarray(time, np.float64)
    if given.shape != np.shape(query) or not np.isfinite(given).all():
        raise BadInput("There must be one finite time for each query row.")
    return given
