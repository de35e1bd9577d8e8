"""Each kind of judgement as blocks to draw triplets from, and what was dropped on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.judgements.sampling import Blocks, changes, graded_blocks, single_blocks
from likewise.types import BadInput, IdArray, Preferences


@dataclass(frozen=True, eq=False)
class Made:
    """Preferences of one kind of judgement, as blocks to draw from, and what was dropped."""

    blocks: Blocks
    ties: int = 0
    duplicates: int = 0
    contradictions: int = 0


def label_blocks(query: IdArray, item: IdArray, value: NDArray[Any], time: NDArray[Any]) -> Made:
    """Labels: the latest of each query and item counts; irrelevant is one grade, 0."""
    grade = np.maximum(value, 0.0)
    kept, duplicates, contradictions = _latest((query, item), grade, time)
    blocks = graded_blocks(query[kept], item[kept], grade[kept])
    return Made(blocks, _ties(blocks), duplicates, contradictions)


def click_blocks(query: IdArray, item: IdArray, count: NDArray[Any], max_clicks: float) -> Made:
    """Clicks: counts of one query and item add up, and are capped."""
    if (count < 0).any():
        raise BadInput("A number of clicks cannot be negative.")
    if not max_clicks > 0:
        raise BadInput(f"max_clicks must be above 0, not {max_clicks!r}.")
    order = np.lexsort((item, query))
    query, item, count = query[order], item[order], count[order]
    first = np.flatnonzero(changes(query, item))
    summed = np.add.reduceat(count, first) if len(first) else count
    blocks = graded_blocks(query[first], item[first], np.minimum(summed, max_clicks))
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
    return Made(single_blocks(kept), 0, repeats + duplicates, contradictions)


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
    new = changes(*(column[order] for column in key))
    last = np.append(new[1:], True)[: len(new)]
    kept = order[last]
    winner = value[kept][np.cumsum(new) - 1]
    overruled = int((value[order] != winner).sum())
    return kept, len(value) - len(kept) - overruled, overruled


def _ties(blocks: Blocks) -> int:
    return int((blocks.better_count * (blocks.better_count - 1) // 2).sum())


def _joined(parts: Sequence[IdArray]) -> IdArray:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
