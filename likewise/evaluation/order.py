"""The hot loop of the measures: sort each row of scores, note where the judged items stand.

The rows come as the bits of floats, which sort as whole numbers.  A stable radix sort
breaks ties by id without a further thought.  Every function gives up Python's lock, so
that blocks of queries can run in threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

DIGIT = 11
"""Bits that one pass of the radix sort looks at."""


class _Room(NamedTuple):
    """Room to sort in: two halves between which the passes go to and fro, and a tally."""

    keys: Any
    order: Any
    other_keys: Any
    other_order: Any
    tally: Any


@njit(cache=True, nogil=True)
def count_relevant(start, stop, ids, grades, out):  # type: ignore[no-untyped-def]
    """How many relevant items each query has, the one left out not counted."""
    count = np.zeros(len(start), dtype=np.int64)
    for q in range(len(start)):
        for j in range(start[q], stop[q]):
            if grades[j] > 0 and ids[j] != out[q]:
                count[q] += 1
    return count


@njit(cache=True, nogil=True)
def rank_rows(  # type: ignore[no-untyped-def]
    rows, start, stop, ids, judged, complete, out, starts, ranks, above, grades, irrelevant, top
):
    """Walk each sorted row once and write down what stands where."""
    count, items = rows.shape
    if items == 0:
        return
    room = _Room(
        np.empty(items, rows.dtype),
        np.empty(items, np.uint32),
        np.empty(items, rows.dtype),
        np.empty(items, np.uint32),
        np.empty(1 << DIGIT, np.uint32),
    )
    # The grade of each item for the query at hand; what is not listed keeps `default`.
    default = np.float32(0.0) if complete else np.float32(np.nan)
    grade_of = np.full(items, default, dtype=np.float32)
    for q in range(count):
        for j in range(start[q], stop[q]):
            grade_of[ids[j]] = judged[j]
        keys, order = _sort(rows[q], room)
        write, place, wrong = starts[q], 0, 0
        leader, found = keys[0], 0
        for at in range(items):
            item = order[at]
            if item == out[q]:
                continue
            place += 1
            grade = grade_of[item]
            if grade > 0:
                ranks[write], above[write], grades[write] = place, wrong, grade
                write += 1
                if wrong == 0:
                    # top[q] lags behind by the relevant items that tie with this one.
                    if keys[at] != leader:
                        leader, top[q] = keys[at], found
                    found += 1
            elif grade <= 0:  # judged irrelevant; NaN (unjudged) is neither
                # Strictly above: relevant items tied with the first irrelevant one are not.
                if wrong == 0 and keys[at] != leader:
                    top[q] = found
                wrong += 1
        if wrong == 0:
            top[q] = found
        irrelevant[q] = wrong
        for j in range(start[q], stop[q]):
            grade_of[ids[j]] = default


@njit(cache=True, nogil=True)
def _sort(row, room):  # type: ignore[no-untyped-def]
    """Keys and positions of a row of float bits, greatest float first, equals by position."""
    low, high = _fill(row, room)
    width = 0
    while (high - low) >> np.uint64(width):
        width += 1
    # Three passes over the leading bits leave long keys almost in order: the few that are
    # not move by insertion.  If they are many after all, the passes go over all the bits.
    rough = 3 * DIGIT
    keys, order = _passes(room, low, max(0, width - rough), width)
    if width > rough and not _insertion(keys, order, 4 * len(row)):
        _fill(row, room)
        keys, order = _passes(room, low, 0, width)
    return keys, order


@njit(cache=True, nogil=True)
def _fill(row, room):  # type: ignore[no-untyped-def]
    """Write keys that ascend as the floats descend; returns the lowest and highest key."""
    one = np.uint64(1)
    sign = one << np.uint64(8 * row.itemsize - 1)
    low, high = ~np.uint64(0), np.uint64(0)
    for i in range(np.uint64(len(row))):
        # Bits of a negative float grow as it sinks; those of the others are turned round.
        key = np.uint64(row[i])
        if not key & sign:
            key = ~key & (sign - one)
        room.keys[i], room.order[i] = key, i
        low, high = min(low, key), max(high, key)
    return low, high


@njit(cache=True, nogil=True)
def _passes(room, low, first, last):  # type: ignore[no-untyped-def]
    """Stable radix sort of ``keys - low`` by the bits from ``first`` up to ``last``."""
    keys, order, other_keys, other_order, tally = room
    count, mask = np.uint64(len(keys)), np.uint64((1 << DIGIT) - 1)
    for bit in range(first, last, DIGIT):
        shift = np.uint64(bit)
        tally[:] = 0
        for i in range(count):
            tally[((np.uint64(keys[i]) - low) >> shift) & mask] += np.uint32(1)
        total = np.uint32(0)
        for d in range(len(tally)):
            here = tally[d]
            tally[d] = total
            total += here
        for i in range(count):
            key = keys[i]
            digit = ((np.uint64(key) - low) >> shift) & mask
            to = tally[digit]
            tally[digit] = to + np.uint32(1)
            other_keys[to] = key
            other_order[to] = order[i]
        keys, other_keys = other_keys, keys
        order, other_order = other_order, order
    return keys, order


@njit(cache=True, nogil=True)
def _insertion(keys, order, budget):  # type: ignore[no-untyped-def]
    """Stable insertion sort; gives up (false) after ``budget`` moves."""
    moves = 0
    for i in range(1, len(keys)):
        key, item, to = keys[i], order[i], i
        while to > 0 and keys[to - 1] > key:
            keys[to], order[to] = keys[to - 1], order[to - 1]
            to -= 1
        keys[to], order[to] = key, item
        moves += i - to
        if moves > budget:
            return False
    return True
