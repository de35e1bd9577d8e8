"""The triplet sampler: distinct triplets, uniform within a query, even over queries.

All triplets of a query are a row of *blocks*; a block is the product of two runs of
items, every one of the first before every one of the second.  A triplet is then
a number below the size of its query's blocks, so drawing triplets is drawing
distinct numbers, and only what is drawn is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.types import BadInput, IdArray, Preferences

DEFAULT_TOTAL = 1_000_000
"""How many triplets are drawn at most unless told otherwise."""

Seed = int | np.random.Generator


@dataclass(frozen=True, eq=False)
class Blocks:
    """Block ``b``: ``items[better_start[b]:][:better_count[b]]`` before the same of worse."""

    items: IdArray
    query: IdArray
    better_start: IdArray
    better_count: IdArray
    worse_start: IdArray
    worse_count: IdArray

    @property
    def size(self) -> IdArray:
        """Number of triplets in each block."""
        return self.better_count * self.worse_count


def graded_columns(
    query: ArrayLike, item: ArrayLike, grade: ArrayLike
) -> tuple[IdArray, IdArray, NDArray[np.float64]]:
    """The three columns as checked arrays of one length."""
    q, i, g = as_rows(query, "query rows"), as_rows(item, "item rows"), np.asarray(grade, float)
    if g.ndim != 1 or not len(q) == len(i) == len(g):
        raise BadInput("Queries, items and values of judgements must be three lists of one length.")
    if not np.isfinite(g).all():
        raise BadInput("The values of judgements must be finite numbers.")
    return q, i, g


def as_rows(x: ArrayLike, name: str) -> IdArray:
    """A list of row numbers: whole and not negative."""
    a = np.asarray(x)
    if a.ndim == 1 and a.size == 0:
        return np.zeros(0, np.int64)
    if a.ndim != 1 or a.dtype.kind not in "iu":
        raise BadInput(f"The {name} must be one list of whole numbers.")
    if a.min() < 0:
        raise BadInput(f"The {name} must not be negative.")
    return a.astype(np.int64)


def graded_blocks(query: IdArray, item: IdArray, grade: NDArray[np.float64]) -> Blocks:
    """One block a query and grade: the items of this grade before all of lower ones."""
    order = np.lexsort((item, -grade, query))
    query, item, grade = query[order], item[order], grade[order]
    pairs = np.lexsort((item, query))
    if not changes(query[pairs], item[pairs]).all():
        raise BadInput("An item has two grades for one query; decide for one before sampling.")
    query_end = np.searchsorted(query, query, side="right")
    start = np.flatnonzero(changes(query, grade))
    end = np.append(start[1:], len(query))
    return Blocks(item, query[start], start, end - start, end, query_end[start] - end)


def draw(
    blocks: Blocks, *, per_query: int | None = None, total: int | None = None, seed: Seed = 0
) -> Preferences:
    """Distinct triplets from blocks, sorted by query, better and worse, weight one each.

    At most ``per_query`` of one query and ``total`` altogether (None for no limit).  Where
    ``total`` binds, it is shared out evenly: no query has two more than another that still has
    some left.  Where no limit binds these are all, else a uniform sample per query.
    """
    check_limit(per_query, "per_query")
    check_limit(total, "total")
    rng = np.random.default_rng(seed)
    live = np.flatnonzero(blocks.size)
    live = live[np.argsort(blocks.query[live], kind="stable")]
    size = blocks.size[live]
    if float(size.sum(dtype=np.float64)) > 2.0**62:
        raise BadInput("There are more triplets than can be counted; give fewer items or queries.")
    queries, group = np.unique(blocks.query[live], return_inverse=True)
    block_end = np.cumsum(size)
    group_end = block_end[np.append(np.flatnonzero(np.diff(group)), -1)] if len(live) else block_end
    available = np.diff(group_end, prepend=0)
    quota = available if per_query is None else np.minimum(available, per_query)
    which, number = distinct_numbers(available, even_quota(quota, total, rng), rng)
    flat = number + (group_end - available)[which]
    block = np.searchsorted(block_end, flat, side="right")
    nth = flat - (block_end - size)[block]
    block_of = live[block]
    worse_count = blocks.worse_count[block_of]
    better = blocks.items[blocks.better_start[block_of] + nth // worse_count]
    worse = blocks.items[blocks.worse_start[block_of] + nth % worse_count]
    return in_order(Preferences.of(queries[which], better, worse))


def thin(
    preferences: Preferences, *, per_query: int | None, total: int | None, seed: Seed
) -> Preferences:
    """Preferences that are already there, under the same limits and as evenly."""
    return draw(single_blocks(preferences), per_query=per_query, total=total, seed=seed)


def single_blocks(preferences: Preferences) -> Blocks:
    """One block of one triplet for each preference."""
    n = len(preferences)
    one, place = np.ones(n, np.int64), np.arange(n)
    both = np.concatenate([preferences.better, preferences.worse])
    return Blocks(both, preferences.query, place, one, place + n, one)


def even_quota(available: IdArray, total: int | None, rng: np.random.Generator) -> IdArray:
    """At most ``total`` shared out: as many to each as it has, up to a common level."""
    if total is None or int(available.sum()) <= total:
        return available
    low, high = 0, total  # the largest level that fits lies in [low, high)
    while high - low > 1:
        level = (low + high) // 2
        fits = int(np.minimum(available, level).sum()) <= total
        low, high = (level, high) if fits else (low, level)
    quota = np.minimum(available, low)
    more = rng.permutation(np.flatnonzero(available > low))[: total - int(quota.sum())]
    quota[more] += 1
    return quota


def distinct_numbers(
    available: IdArray, quota: IdArray, rng: np.random.Generator
) -> tuple[IdArray, IdArray]:
    """For each group g, ``quota[g]`` distinct numbers below ``available[g]``, uniformly.

    Where at least half is wanted all are listed and shuffled; elsewhere numbers are drawn and
    repeats drawn again, so that memory follows what is wanted and not what there is.
    """
    half = 2 * quota >= available
    group, number = _listed(np.flatnonzero(half), available, quota, rng)
    first = np.cumsum(available) - available
    missing = np.where(half, 0, quota)
    seen = np.zeros(0, np.int64)
    while missing.any():
        again = np.repeat(np.arange(len(available)), missing)
        fresh = first[again] + rng.integers(0, available[again])
        seen = np.unique(np.concatenate([seen, fresh]))
        where = np.searchsorted(first, seen, side="right") - 1
        missing = np.where(half, 0, quota) - np.bincount(where, minlength=len(available))
    where = np.searchsorted(first, seen, side="right") - 1
    return np.concatenate([group, where]), np.concatenate([number, seen - first[where]])


def _listed(
    groups: IdArray, available: IdArray, quota: IdArray, rng: np.random.Generator
) -> tuple[IdArray, IdArray]:
    count = available[groups]
    group = np.repeat(groups, count)
    number = np.arange(len(group)) - np.repeat(np.cumsum(count) - count, count)
    if (quota[groups] < count).any():
        order = np.lexsort((rng.random(len(group)), group))
        kept = order[number < quota[group]]  # number is also the place within a group
        return group[kept], number[kept]
    return group, number


def in_order(preferences: Preferences) -> Preferences:
    """Sorted by query, better and worse."""
    return preferences.where(np.lexsort((preferences.worse, preferences.better, preferences.query)))


def changes(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Where sorted rows differ from the row before; the first one always does."""
    new = np.zeros(len(columns[0]), dtype=bool)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return new


def check_limit(limit: int | None, name: str) -> None:
    """A limit is None or a whole number of at least one."""
    whole = isinstance(limit, (int, np.integer)) and not isinstance(limit, bool)
    if limit is not None and not (whole and limit >= 1):
        raise BadInput(f"{name} must be None or a whole number of at least 1, not {limit!r}.")
