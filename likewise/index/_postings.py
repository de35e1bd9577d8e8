"""Postings of an inverted file and the loops that score them.

A *part* holds some rows.  Words are of two kinds.  A *rare* word has a list of postings, one
number each: the row, and in its lowest bits the level (how often the word occurs, truncated).
A *common* word, one that many rows hold, would have a long list of which a search needs
little; it has a few bits in every row instead, four words a byte where there are three levels,
and one look into a table of 256 gives what four words together add to a score.

Scores are sums in float64, rare words by ascending number and then common words by ascending
place, so that equal rows of a part get equal scores to the last bit, however the search went.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from likewise.types import IdArray

COMMON = 16
"""A word that more than one in so many rows holds is common: bits are then smaller than lists."""


class Part(NamedTuple):
    """Some rows of an inverted file, word by word; ``levels`` columns belong to one word.

    Postings of the rare word w are ``posts[starts[w]:starts[w + 1]]``, as ``row << bits | level``,
    with a number each in ``values``, or none where every number of a row is its ``scale`` (tau).
    ``common`` has the common words by place, ``rising`` their places by ascending word, and
    ``packed`` their levels (0 for absent), several a byte, one line a row.  ``order`` has the rows
    by falling scale and by falling side columns.
    """

    levels: int
    starts: IdArray
    posts: NDArray[Any]
    values: NDArray[np.floating[Any]]
    scale: NDArray[np.float64]
    common: IdArray
    rising: IdArray
    packed: NDArray[np.uint8]
    side: NDArray[np.float64]
    order: NDArray[np.uint32]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.scale)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self[1:])


def bits_of_level(levels: int) -> int:
    """Bits of a posting that say the level, 0 to levels - 1."""
    return (levels - 1).bit_length()


def bits_of_code(levels: int) -> int:
    """Bits of a common word's level, 0 for absent: 1, 2, 4 or 8, so that bytes are filled."""
    return next(b for b in (1, 2, 4, 8) if levels < 1 << b)


def make_part(rows: sparse.csr_array, levels: int, side: NDArray[np.float64]) -> Part:
    """Postings of canonical sparse rows.

    Where a row's numbers are all one positive number, and no row has two levels of a word,
    only the levels are kept; else every column is a word of its own with its number.
    """
    n, width = rows.shape
    scale = np.ones(n)
    plain = _scales(rows.indptr, rows.indices, rows.data, levels, scale)
    if not plain:
        levels, scale = 1, np.ones(n)
    words = -(-width // levels)
    held = np.zeros(words + 1, np.int64)
    _count(rows.indices, levels, held)
    common = np.zeros(0, np.int64)
    if plain:
        common = np.flatnonzero(held[1:] * COMMON > n)
        common = common[np.argsort(-held[1:][common], kind="stable")]
    place = np.full(words, -1, np.int64)
    place[common] = np.arange(len(common))
    held[1:][common] = 0
    starts = np.cumsum(held)
    code = bits_of_code(levels)
    packed = np.zeros((n, -(-len(common) * code // 8)), np.uint8)
    bits = bits_of_level(levels)
    posts = np.empty(starts[-1], np.uint32 if n << bits <= 1 << 32 else np.uint64)
    values = np.empty(0 if plain else len(posts), rows.data.dtype)
    _fill(
        rows.indptr, rows.indices, rows.data, levels, bits, code, place, starts[:-1].copy(), posts,
        values, packed,
    )  # fmt: skip
    rising = np.argsort(common)
    order = orders(scale, side)
    return Part(levels, starts, posts, values, scale, common, rising, packed, side, order)


def orders(scale: NDArray[np.float64], side: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Rows by falling scale, then by falling value of each side column, one line each."""
    keys = [scale, *side.T]
    return np.array([np.argsort(-key, kind="stable") for key in keys], dtype=np.uint32)


def rows_of(part: Part, width: int) -> sparse.csr_array:
    """The sparse rows that a part was made of."""
    code = bits_of_code(part.levels)
    counts = np.zeros(part.rows + 1, np.int64)
    bits = bits_of_level(part.levels)
    _row_lengths(part.posts, bits, part.packed, code, counts)
    starts = np.cumsum(counts)
    columns = np.empty(starts[-1], np.int32 if width < 1 << 31 else np.int64)
    data = np.empty(starts[-1], part.values.dtype if len(part.values) else np.float64)
    _unfill(
        part.starts, part.posts, part.values, part.scale, part.levels, bits, code, part.common,
        part.packed, starts[:-1].copy(), columns, data,
    )  # fmt: skip
    return sparse.csr_array((data, columns, starts), shape=(part.rows, width))


class Asked(NamedTuple):
    """One query for one part: what each rare posting and each byte of common words adds.

    ``most`` is the most that common words can add to a row, a little more than rounding.
    """

    words: IdArray
    gains: NDArray[np.float64]
    groups: IdArray
    tables: NDArray[np.float64]
    most: float
    touched: int


def ask(part: Part, columns: IdArray, numbers: NDArray[np.float64]) -> Asked:
    """A query's columns (ascending) and numbers, sorted into rare and common words."""
    code = bits_of_code(part.levels)
    words, gains, groups, tables, most, touched = _sort_out(
        columns, numbers, part.levels, part.starts, part.common, part.rising, code
    )
    return Asked(words, gains, groups, tables, most, touched)


@njit(cache=True, nogil=True)
def _sort_out(  # type: ignore[no-untyped-def]
    columns, numbers, levels, starts, common, rising, code
):
    per, mask, count = 8 // code, (1 << code) - 1, 0
    words = np.empty(columns.shape[0], np.int64)
    gains = np.zeros((columns.shape[0], levels))
    slack = 0.0
    for i in range(columns.shape[0]):
        word = columns[i] // levels
        if count == 0 or words[count - 1] != word:
            words[count] = word
            count += 1
        gains[count - 1, columns[i] - word * levels] = numbers[i]
        slack += 1e-12 * abs(numbers[i])
    # Rare words move to the front; common ones are set aside with their places.
    places = np.empty(count, np.int64)
    from_word = np.empty(count, np.int64)
    rare, held, touched = 0, 0, 0
    for w in range(count):
        low, high = 0, rising.shape[0]
        while low < high:
            middle = (low + high) // 2
            if common[rising[middle]] < words[w]:
                low = middle + 1
            else:
                high = middle
        if low < rising.shape[0] and common[rising[low]] == words[w]:
            places[held], from_word[held] = rising[low], w
            held += 1
    order = np.argsort(places[:held])
    groups = np.empty(held, np.int64)
    tables = np.zeros((held, 256))
    used = 0
    for i in order:  # by ascending place: the order in which scores are summed
        group, shift = places[i] // per, code * (places[i] % per)
        if used == 0 or groups[used - 1] != group:
            groups[used] = group
            used += 1
        for value in range(256):
            level = (value >> shift) & mask
            if 0 < level <= levels:
                tables[used - 1, value] += gains[from_word[i], level - 1]
    most = slack
    for g in range(used):
        most += tables[g].max()
    at = 0
    for w in range(count):
        if at < held and from_word[at] == w:
            at += 1
            continue
        words[rare] = words[w]
        gains[rare] = gains[w]
        touched += starts[words[w] + 1] - starts[words[w]]
        rare += 1
    return words[:rare], gains[:rare], groups[:used], tables[:used], most, touched


# --------------------------------------------------------------------------
# Building


@njit(cache=True, nogil=True)
def _scales(starts, columns, data, levels, scale):  # type: ignore[no-untyped-def]
    """Whether each row has one positive number only, and each word once; columns rise."""
    for row in range(starts.shape[0] - 1):
        first, last = starts[row], starts[row + 1]
        if first == last:
            continue
        scale[row] = data[first]
        if not data[first] > 0:
            return False
        for p in range(first + 1, last):
            if data[p] != data[first] or columns[p] // levels == columns[p - 1] // levels:
                return False
    return True


@njit(cache=True, nogil=True)
def _count(columns, levels, held):  # type: ignore[no-untyped-def]
    for p in range(columns.shape[0]):
        held[columns[p] // levels + 1] += 1


@njit(cache=True, nogil=True)
def _fill(  # type: ignore[no-untyped-def]
    starts, columns, data, levels, bits, code, place, cursor, posts, values, packed
):
    per = 8 // code
    for row in range(starts.shape[0] - 1):
        for p in range(starts[row], starts[row + 1]):
            word = columns[p] // levels
            level = columns[p] - word * levels
            at = place[word]
            if at >= 0:
                packed[row, at // per] |= np.uint8((level + 1) << (code * (at % per)))
                continue
            posts[cursor[word]] = (row << bits) | level
            if values.shape[0] > 0:
                values[cursor[word]] = data[p]
            cursor[word] += 1


@njit(cache=True, nogil=True)
def _row_lengths(posts, bits, packed, code, counts):  # type: ignore[no-untyped-def]
    mask = (1 << code) - 1
    for p in range(posts.shape[0]):
        counts[np.int64(posts[p] >> bits) + 1] += 1
    for row in range(packed.shape[0]):
        for g in range(packed.shape[1]):
            for shift in range(0, 8, code):
                counts[row + 1] += ((packed[row, g] >> shift) & mask) > 0


@njit(cache=True, nogil=True)
def _unfill(  # type: ignore[no-untyped-def]
    starts, posts, values, scale, levels, bits, code, common, packed, cursor, columns, data
):
    mask, per = (1 << code) - 1, 8 // code
    for word in range(starts.shape[0] - 1):
        for p in range(starts[word], starts[word + 1]):
            at = np.int64(posts[p] >> bits)
            level = np.int64(posts[p]) - (at << bits)
            columns[cursor[at]] = word * levels + level
            data[cursor[at]] = values[p] if values.shape[0] > 0 else scale[at]
            cursor[at] += 1
    for row in range(packed.shape[0]):
        for c in range(common.shape[0]):
            held = (packed[row, c // per] >> (code * (c % per))) & mask
            if held > 0:
                columns[cursor[row]] = common[c] * levels + held - 1
                data[cursor[row]] = scale[row]
                cursor[row] += 1


# --------------------------------------------------------------------------
# Searching


@njit(cache=True, nogil=True)
def accumulate(starts, posts, values, bits, words, gains, total):  # type: ignore[no-untyped-def]
    """Add what each rare word of the query gives to its rows."""
    mask = (1 << bits) - 1
    for w in range(words.shape[0]):
        first, last = starts[words[w]], starts[words[w] + 1]
        if values.shape[0] > 0:
            for p in range(first, last):
                total[posts[p]] += gains[w, 0] * values[p]
        elif bits == 0:
            gain = gains[w, 0]
            for p in range(first, last):
                total[posts[p]] += gain
        else:
            for p in range(first, last):
                total[posts[p] >> bits] += gains[w, posts[p] & mask]


@njit(cache=True, nogil=True)
def accumulate_noting(  # type: ignore[no-untyped-def]
    starts, posts, values, bits, words, gains, total, seen, rows
):
    """The same, with a list of the rows that hold any of the words."""
    mask, count = (1 << bits) - 1, 0
    for w in range(words.shape[0]):
        for p in range(starts[words[w]], starts[words[w] + 1]):
            row = posts[p] >> bits
            number = values[p] if values.shape[0] > 0 else 1.0
            total[row] += gains[w, posts[p] & mask] * number
            if seen[row] == 0:
                seen[row] = 1
                rows[count] = row
                count += 1
    return count


@njit(cache=True, nogil=True)
def _beside(side, coefficients, row):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(coefficients.shape[0]):
        total += coefficients[j] * side[row, j]
    return total


@njit(cache=True, nogil=True)
def _whole(total, groups, tables, packed, row):  # type: ignore[no-untyped-def]
    """The row's sum with its common words."""
    found = total[row]
    for g in range(groups.shape[0]):
        found += tables[g, packed[row, groups[g]]]
    return found


@njit(cache=True, nogil=True)
def _below(score, row, other, other_row, ids):  # type: ignore[no-untyped-def]
    """Whether a hit comes after another: by score, then by id."""
    return score < other or (score == other and ids[row] > ids[other_row])


@njit(cache=True, nogil=True)
def _keep(scores, places, count, score, row, ids):  # type: ignore[no-untyped-def]
    """Put a hit into a heap of the best, worst at the root; gives how many it holds."""
    size = scores.shape[0]
    if count < size:
        at = count
        while at > 0:
            up = (at - 1) // 2
            if not _below(score, row, scores[up], places[up], ids):
                break
            scores[at], places[at] = scores[up], places[up]
            at = up
        scores[at], places[at] = score, row
        return count + 1
    if not _below(scores[0], places[0], score, row, ids):
        return count
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _below(
            scores[child + 1], places[child + 1], scores[child], places[child], ids
        ):
            child += 1
        if not _below(scores[child], places[child], score, row, ids):
            break
        scores[at], places[at] = scores[child], places[child]
        at = child
    scores[at], places[at] = score, row
    return count


@njit(cache=True, nogil=True)
def scan(  # type: ignore[no-untyped-def]
    total, scale, side, coefficients, groups, tables, packed, most, ids, rows, scores, places
):
    """The best of all rows, or of some; gives how many there are.

    A first pass ranks rows by the most they could score and finishes the best of them; what
    those really score is a floor that spares nearly all others their common words.
    """
    some, size = rows.shape[0] > 0, scores.shape[0]
    n = rows.shape[0] if some else total.shape[0]
    floor = -np.inf
    if groups.shape[0] > 0:
        count = 0
        for i in range(n):
            row = rows[i] if some else i
            could = scale[row] * (total[row] + most) + _beside(side, coefficients, row)
            if count < size or could > scores[0]:
                count = _keep(scores, places, count, could, row, ids)
        if count == size:
            floor = np.inf
            for i in range(count):
                row = places[i]
                whole = scale[row] * _whole(total, groups, tables, packed, row)
                floor = min(floor, whole + _beside(side, coefficients, row))
    count = 0
    for i in range(n):
        row = rows[i] if some else i
        beside = _beside(side, coefficients, row)
        if scale[row] * (total[row] + most) + beside < floor:
            continue
        whole = scale[row] * _whole(total, groups, tables, packed, row) + beside
        count = _keep(scores, places, count, whole, row, ids)
        if count == size:
            floor = max(floor, scores[0])
    return count


@njit(cache=True, nogil=True)
def walk(  # type: ignore[no-untyped-def]
    total, scale, side, coefficients, groups, tables, packed, most, ids,
    seen, rows, order, scores, places,
):  # fmt: skip
    """The best of the noted rows and of all that hold no rare word of the query.

    Rows that were not noted can score ``scale * most + side`` at most.  They are visited by
    falling scale and by falling side columns at once; when what the lists still offer
    together is below the worst hit, no row beyond can be among the best.  Gives -1 where an
    eighth of all rows did not settle it.
    """
    n, size = scale.shape[0], scores.shape[0]
    count = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        whole = scale[row] * _whole(total, groups, tables, packed, row)
        whole += _beside(side, coefficients, row)
        count = _keep(scores, places, count, whole, row, ids)
    for step in range(n):
        bound = max(most, 0.0) * scale[order[0, step]]
        room = abs(bound)
        for j in range(coefficients.shape[0]):
            if coefficients[j] != 0.0:
                at = step if coefficients[j] > 0 else n - 1 - step
                offered = coefficients[j] * side[order[j + 1, at], j]
                bound += offered
                room += abs(offered)
        if count == size and bound + 1e-12 * room < scores[0]:
            return count
        if 8 * step > n:
            return -1
        for j in range(order.shape[0]):
            at = step if j == 0 or coefficients[j - 1] > 0 else n - 1 - step
            if j > 0 and coefficients[j - 1] == 0.0:
                continue
            row = order[j, at]
            if seen[row] == 0:
                seen[row] = 1
                whole = scale[row] * _whole(total, groups, tables, packed, row)
                whole += _beside(side, coefficients, row)
                count = _keep(scores, places, count, whole, row, ids)
    return count
