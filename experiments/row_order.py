"""The hot loop of the measures: sort each row of scores, note where the judged items stand.

The rows come as the bits of floats, which sort as whole numbers.  A stable radix sort
breaks ties by id without a further thought.  Every function gives up Python's lock, so
that blocks of queries can run in threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

DIGIT = 11
"""Bits that one pass of the radix sort looks at."""

LEAD = 33
"""Leading bits of a key that are sorted together with the id: three passes."""

ID = 64 - LEAD
"""Bits of the id beside them."""


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
    """Walk each sorted row once and write down what stands where.

    Returns the first row that holds NaN or infinity, or -1 where all is well.
    """
    count, items = rows.shape
    if items == 0:
        return -1
    sign = _sign(rows)
    room = np.empty((2, items), np.uint64)
    # The grade of each item for the query at hand; what is not listed keeps `default`.
    default = np.float32(0.0) if complete else np.float32(np.nan)
    grade_of = np.full(items, default, dtype=np.float32)
    for q in range(count):
        row = rows[q]
        low, high = _extremes(row)
        if high < low:
            return q
        for j in range(start[q], stop[q]):
            grade_of[ids[j]] = judged[j]
        order = _sort(row, low, high, room)
        write, place, wrong, found = starts[q], 0, 0, 0
        leader = high
        for at in range(items):
            item = _id(order[at])
            if item == out[q]:
                continue
            place += 1
            grade = grade_of[item]
            if grade > 0:
                ranks[write], above[write], grades[write] = place, wrong, grade
                write += 1
                if wrong == 0:
                    # top[q] lags behind by the relevant items that tie with this one.
                    if _key(row[item], sign) != leader:
                        leader, top[q] = _key(row[item], sign), found
                    found += 1
            elif grade <= 0:  # judged irrelevant; NaN (unjudged) is neither
                # Strictly above: relevant items tied with the first irrelevant one are not.
                if wrong == 0 and _key(row[item], sign) != leader:
                    top[q] = found
                wrong += 1
        if wrong == 0:
            top[q] = found
        irrelevant[q] = wrong
        for j in range(start[q], stop[q]):
            grade_of[ids[j]] = default
    return -1


@njit(cache=True, nogil=True, inline="always")
def _key(bits, sign):  # type: ignore[no-untyped-def]
    """A whole number that ascends as the float with these bits descends."""
    key = np.uint64(bits)
    # Bits of a negative float grow as it sinks; those of the others are turned round.
    # Minus zero counts as zero, for the two must tie.
    if key > sign:
        return key
    rest = sign - np.uint64(1)
    return ~key & rest if key < sign else rest


@njit(cache=True, nogil=True, inline="always")
def _sign(row):  # type: ignore[no-untyped-def]
    """The sign bit of the floats whose bits a row holds."""
    return np.uint64(1) << np.uint64(8 * row.itemsize - 1)


@njit(cache=True, nogil=True, inline="always")
def _id(packed):  # type: ignore[no-untyped-def]
    return np.int64(packed & np.uint64((1 << ID) - 1))


@njit(cache=True, nogil=True)
def _extremes(row):  # type: ignore[no-untyped-def]
    """Lowest and highest key of a row; the highest first where a score is not finite."""
    wide, sign = row.itemsize == 8, _sign(row)
    infinite = np.uint64(0x7FF0000000000000) if wide else np.uint64(0x7F800000)
    low, high, sound = ~np.uint64(0), np.uint64(0), True
    for i in range(len(row)):
        sound &= np.uint64(row[i]) & infinite != infinite
        key = _key(row[i], sign)
        low, high = min(low, key), max(high, key)
    return (low, high) if sound else (np.uint64(1), np.uint64(0))


@njit(cache=True, nogil=True)
def _sort(row, low, high, room):  # type: ignore[no-untyped-def]
    """Ids of a row packed below the leading bits of their keys, best first, equals by id."""
    sign, width = _sign(row), 0
    while (high - low) >> np.uint64(width):
        width += 1
    # The leading bits alone leave long keys almost in order: the few that are not move by
    # insertion.  If they are many after all, the trailing bits are sorted first.
    shift = np.uint64(max(0, width - LEAD))
    for i in range(len(row)):
        room[0, i] = ((_key(row[i], sign) - low) >> shift) << np.uint64(ID) | np.uint64(i)
    order, spare = _passes(room[0], room[1], width - shift)
    if shift and not _insertion(order, row, 4 * len(row)):
        trailing = (np.uint64(1) << shift) - np.uint64(1)
        for i in range(len(row)):
            room[0, i] = ((_key(row[i], sign) - low) & trailing) << np.uint64(ID) | np.uint64(i)
        order, spare = _passes(room[0], room[1], shift)
        for i in range(len(row)):
            item = _id(order[i])
            order[i] = ((_key(row[item], sign) - low) >> shift) << np.uint64(ID) | np.uint64(item)
        order, spare = _passes(order, spare, width - shift)
    return order


@njit(cache=True, nogil=True)
def _passes(packed, other, width):  # type: ignore[no-untyped-def]
    """Stable radix sort by the ``width`` bits above the id; returns it and the spare half."""
    passes = (np.int64(width) + DIGIT - 1) // DIGIT
    mask = np.uint64((1 << DIGIT) - 1)
    tally = np.zeros((passes, 1 << DIGIT), np.uint32)
    for i in range(len(packed)):
        key = packed[i] >> np.uint64(ID)
        for p in range(passes):
            tally[p, (key >> np.uint64(p * DIGIT)) & mask] += np.uint32(1)
    for p in range(passes):
        shift = np.uint64(ID + p * DIGIT)
        next_at, total = tally[p], np.uint32(0)
        for d in range(len(next_at)):
            here = next_at[d]
            next_at[d] = total
            total += here
        for i in range(len(packed)):
            key = packed[i]
            digit = (key >> shift) & mask
            to = next_at[digit]
            next_at[digit] = to + np.uint32(1)
            other[to] = key
        packed, other = other, packed
    return packed, other


@njit(cache=True, nogil=True)
def _insertion(order, row, budget):  # type: ignore[no-untyped-def]
    """Order by the whole key what the leading bits left equal; false after ``budget`` moves."""
    lead, sign, moves = np.uint64(ID), _sign(row), 0
    for i in range(1, len(order)):
        own = order[i]
        if order[i - 1] >> lead != own >> lead:
            continue
        key, to = _key(row[_id(own)], sign), i
        while (
            to > 0
            and order[to - 1] >> lead == own >> lead
            and _key(row[_id(order[to - 1])], sign) > key
        ):
            order[to] = order[to - 1]
            to -= 1
        order[to] = own
        moves += i - to
        if moves > budget:
            return False
    return True
