"""What judgements mean as preferences: for a query, better before worse.

Labels put the relevant before the irrelevant (and a higher grade before a lower),
clicks the oftener chosen before the less chosen, orderings each item before the
next, with the query itself at the head.  Ties say nothing and are dropped; where two
judgements contradict each other the latest one holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from likewise.judgements.kinds import Made, click_blocks, label_blocks, merge, ordering_blocks
from likewise.judgements.records import Judgements, Resolved
from likewise.judgements.sampling import (
    DEFAULT_TOTAL,
    Seed,
    as_rows,
    changes,
    check_limit,
    draw,
    graded_columns,
    thin,
)
from likewise.types import Preferences, QueryRef

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
        As in :func:`~likewise.judgements.sampling.draw`.
    """
    q, i, c = graded_columns(query, item, count)
    if candidates is not None:
        shown_q, shown_i = (as_rows(column, "candidates") for column in candidates)
        q, i = np.concatenate([q, shown_q]), np.concatenate([i, shown_i])
        c = np.concatenate([c, np.zeros(len(i) - len(c))])
    return draw(
        click_blocks(q, i, c, max_clicks).blocks, per_query=per_query, total=total, seed=seed
    )


def preferences(
    judgements: Judgements,
    rows: Mapping[str, int],
    queries: Mapping[QueryRef, int] | None = None,
    *,
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
    per_query, total, seed
        As in :func:`~likewise.judgements.sampling.draw`; the limits hold for all kinds together.
    """
    check_limit(per_query, "per_query")
    check_limit(total, "total")
    log = judgements.resolve(rows, queries)
    nameless = set(judgements.query_codes()[1][log.record[log.query < 0]].tolist())
    known = log.where((log.query >= 0) & (log.item >= 0))
    rng = np.random.default_rng(seed)
    clicks, labels, orderings = (
        known.where(known.kind == kind) for kind in ("click", "label", "ordering")
    )
    # The most explicit kind last: it holds where kinds contradict each other.
    made = [
        click_blocks(clicks.query, clicks.item, clicks.value, MAX_CLICKS),
        label_blocks(labels.query, labels.item, labels.value, labels.time),
        _chains(orderings),
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


def _chains(log: Resolved) -> Made:
    start = np.flatnonzero(changes(log.record))
    chains = np.split(log.item, start[1:]) if len(log) else []
    return ordering_blocks(log.query[start], chains, log.head[start], log.time[start])
