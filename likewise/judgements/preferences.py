"""What judgements mean as preferences: for a query, better before worse.

Labels put the relevant before the irrelevant (and a higher grade before a lower),
clicks the oftener chosen before the less chosen, orderings each item before the
next, with the query itself at the head.  Ties say nothing and are dropped; where two
judgements contradict each other the latest one holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.judgements import sampling
from likewise.judgements.records import Judgements, Resolved
from likewise.types import BadInput, IdArray, Preferences, QueryRef


@dataclass(frozen=True, eq=False)
class Made:
    """Preferences of one kind of judgement, as blocks to draw from, and what was dropped."""

    blocks: sampling.Blocks
    ties: int = 0
    duplicates: int = 0
    contradictions: int = 0


def label_blocks(query: IdArray, item: IdArray, value: NDArray[Any], time: NDArray[Any]) -> Made:
    """Labels: the latest of each query and item counts; irrelevant is one grade, 0."""
    grade = np.maximum(value, 0.0)
    kept, duplicates, contradictions = _latest((query, item), grade, time)
    blocks = sampling.graded_blocks(query[kept], item[kept], grade[kept])
    return Made(blocks, _ties(blocks), duplicates, contradictions)


def click_blocks(query: IdArray, item: IdArray, count: NDArray[Any], max_clicks: float) -> Made:
    """Clicks: counts of one query and item add up, and are capped."""
    if (count < 0).any():
        raise BadInput("A number of clicks cannot be negative.")
    if not max_clicks > 0:
        raise BadInput(f"max_clicks must be above 0, not {max_clicks!r}.")
    order = np.lexsort((item, query))
    query, item, count = query[order], item[order], count[order]
    first = np.flatnonzero(sampling.changes(query, item))
    summed = np.add.reduceat(count, first) if len(first) else count
    blocks = sampling.graded_blocks(query[first], item[first], np.minimum(summed, max_clicks))
    return Made(blocks, _ties(blocks))


def ordering_blocks(
    query: IdArray, chains: Sequence[IdArray], heads: IdArray, time: NDArray[Any]
) -> Made:
    """Orderings: each item before the next, with the query itself at the head of the chain.

    N items make N - 1 inequalities (Han et al., section 2); a head (-1 for none) adds one more.
    """
    whole = [_chain(chain, head) for chain, head in zip(chains, heads)]
    better, worse = ([chain[part] for chain, _ in whole] for part in (slice(-1), slice(1, None)))
    counts = [len(part) for part in better]
    flat = Preferences.of(np.repeat(query, counts), _joined(better), _joined(worse))
    kept, duplicates, contradictions = _latest_pairs(flat, np.repeat(time, counts))
    repeats = sum(again for _, again in whole)
    return Made(sampling.single_blocks(kept), 0, repeats + duplicates, contradictions)


def _chain(chain: IdArray, head: int) -> tuple[IdArray, int]:
    """The chain with its head and without repeats, and how many repeats there were."""
    once = np.sort(np.unique(chain, return_index=True)[1])
    repeats, chain = len(chain) - len(once), chain[once]
    if head >= 0:
        chain = np.concatenate([np.array([head], np.int64), chain[chain != head]])
    return chain, repeats


def merge(parts: Sequence[Preferences]) -> tuple[Preferences, int, int]:
    """Parts together; of what they say twice or oppositely the last part holds."""
    columns = (
        np.concatenate([getattr(p, name) for p in parts]) for name in ("query", "better", "worse")
    )
    rank = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return _latest_pairs(Preferences.of(*columns), rank.astype(np.float64))


def _latest_pairs(flat: Preferences, time: NDArray[Any]) -> tuple[Preferences, int, int]:
    low, high = np.minimum(flat.better, flat.worse), np.maximum(flat.better, flat.worse)
    kept, duplicates, contradictions = _latest((flat.query, low, high), flat.better == low, time)
    return flat.where(kept), duplicates, contradictions


def _latest(
    key: tuple[IdArray, ...], value: NDArray[Any], time: NDArray[Any]
) -> tuple[IdArray, int, int]:
    """Index of the latest entry of each key, and how many others agree and disagree with it."""
    order = np.lexsort((np.arange(len(value)), time, *key))
    new = sampling.changes(*(column[order] for column in key))
    last = np.append(new[1:], True)[: len(new)]
    kept = order[last]
    winner = value[kept][np.cumsum(new) - 1]
    overruled = int((value[order] != winner).sum())
    return kept, len(value) - len(kept) - overruled, overruled


def _ties(blocks: sampling.Blocks) -> int:
    return int((blocks.better_count * (blocks.better_count - 1) // 2).sum())


def _joined(parts: Sequence[IdArray]) -> IdArray:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


MAX_CLICKS = 100.0
"""Clicks on one item for one query count up to this many."""


@dataclass(frozen=True)
class PreferenceReport:
    """What became of a log: preferences that were made, and that the limits left out.

    ``ties`` are pairs of items judged alike for one query by labels or clicks; ``duplicates`` and
    ``contradictions`` count judgements or preferences that repeat another, or were overruled by a
    later or more explicit one.  Items without a row count as often as they are named, queries once;
    ``covered`` of the ``queries`` with a row have a preference.
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
    total: int | None = sampling.DEFAULT_TOTAL,
    seed: sampling.Seed = 0,
) -> Preferences:
    """Preferences of clicks: the oftener chosen item before the less or never chosen one.

    A count of 0 says that an item was shown and not chosen; several counts of one item for one
    query add up, to ``max_clicks`` at most, so that two very popular items tie.  ``candidates``
    are query and item rows of what was shown besides.  The limits are those of
    :func:`~likewise.judgements.sampling.draw`.
    """
    q, i, c = sampling.graded_columns(query, item, count)
    if candidates is not None:
        shown_q, shown_i = (sampling.as_rows(column, "candidates") for column in candidates)
        q, i = np.concatenate([q, shown_q]), np.concatenate([i, shown_i])
        c = np.concatenate([c, np.zeros(len(i) - len(c))])
    return sampling.draw(
        click_blocks(q, i, c, max_clicks).blocks, per_query=per_query, total=total, seed=seed
    )


def preferences(
    judgements: Judgements | Resolved, rows: Mapping[str, int] | None = None,
    queries: Mapping[QueryRef, int] | None = None, *, per_query: int | None = None,
    total: int | None = sampling.DEFAULT_TOTAL, seed: sampling.Seed = 0,
) -> tuple[Preferences, PreferenceReport]:  # fmt: skip
    """Preferences of a log of labels, clicks and orderings, and what became of the log.

    Where two kinds say opposite things of one pair, the ordering holds before the label, and
    the label before the click.  Without ``queries`` the items are the queries; a log that was
    resolved before needs neither them nor ``rows``.  The limits of
    :func:`~likewise.judgements.sampling.draw` hold for all kinds together.
    """
    sampling.check_limit(per_query, "per_query")
    sampling.check_limit(total, "total")
    log = judgements
    if isinstance(log, Judgements):
        log = log.resolve(rows or {}, queries)
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
    drawn = [sampling.draw(m.blocks, per_query=per_query, total=total, seed=rng) for m in made]
    several = [part for part in drawn if len(part)]
    kept = merged = (several or drawn)[0]
    duplicates = contradictions = 0
    if len(several) > 1:  # what one kind says alone is distinct, in order and within the limits
        merged, duplicates, contradictions = merge(several)
        kept = sampling.thin(merged, per_query=per_query, total=total, seed=rng)
    available = sum(int(m.blocks.size.sum()) for m in made)
    report = PreferenceReport(
        used=len(kept),
        left_out=available - sum(map(len, drawn)) + len(merged) - len(kept),
        ties=sum(m.ties for m in made),
        duplicates=duplicates + sum(m.duplicates for m in made),
        contradictions=contradictions + sum(m.contradictions for m in made),
        unknown_items=int((log.item < 0).sum()),
        unknown_queries=len(np.unique(log.asked[log.query < 0])),
        queries=len(np.unique(log.query[log.query >= 0])),
        covered=len(np.unique(kept.query)),
    )
    return kept, report


def _chains(log: Resolved) -> Made:
    start = np.flatnonzero(sampling.changes(log.record))
    chains = np.split(log.item, start[1:]) if len(log) else []
    return ordering_blocks(log.query[start], chains, log.head[start], log.time[start])
