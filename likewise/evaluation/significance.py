"""Is one model better than another, or was it luck: tests over paired queries.

The randomisation test asks how often swapping the two models' values at random, query by
query, makes as large a mean difference as was seen.  The bootstrap asks in which interval
the mean difference lies if the queries had been drawn anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.later import njit
from likewise.types import BadInput, check_k

Seed = int | np.random.Generator

EXACT_PAIRS = 16
"""Up to so many pairs that differ, all 2^n swaps are tried instead of random ones."""

BLOCK_BYTES = 8 << 20
"""Random numbers held at a time."""


@dataclass(frozen=True)
class Randomised:
    """Outcome of a randomisation test.

    ``draws`` counts the swaps that were tried: all of them where ``exact`` is true.
    """

    difference: float
    p_value: float
    pairs: int
    draws: int
    exact: bool


@dataclass(frozen=True)
class Interval:
    """A mean (or a mean difference) and the bootstrap interval around it."""

    mean: float
    low: float
    high: float
    level: float


def randomisation_test(
    a: ArrayLike, b: ArrayLike, *, draws: int = 100_000, seed: Seed = 0
) -> Randomised:
    """Two-sided paired randomisation test of the mean difference ``a - b``.

    Parameters
    ----------
    a, b
        A measure of two models on the same queries; pairs with a NaN are passed over.
    draws
        How many random swaps to try where there are too many to try them all.

    Returns
    -------
    Randomised
        With ``p_value = (1 + as large ones) / (1 + draws)``: the swap that was seen counts
        as one of the draws, so the value is never 0 and never too small.
    """
    difference = _differences(a, b)
    # A pair without a difference adds 0 to every swap.
    moved = difference[difference != 0]
    exact = len(moved) <= EXACT_PAIRS
    partial = _partial_sums(moved)
    if exact:
        codes = np.arange(2 ** len(moved), dtype="<u8").view(np.uint8).reshape(-1, 8)
        blocks: Iterator[NDArray[np.uint8]] = iter([codes[:, : len(partial)]])
        tried = len(codes)
    else:
        tried = check_k(draws)
        blocks = _random_bytes(tried, len(partial), np.random.default_rng(seed))
    # Sums of the same numbers in another order differ in their last digits.
    bound = abs(partial[:, 0].sum()) - 1e-12 * np.abs(moved).sum()
    extreme = sum(_count_extreme(block, partial, bound) for block in blocks)
    p_value = extreme / tried if exact else (1 + extreme) / (1 + tried)
    return Randomised(float(difference.mean()), p_value, len(difference), tried, exact)


def bootstrap_interval(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    level: float = 0.95,
    draws: int = 10_000,
    seed: Seed = 0,
) -> Interval:
    """Percentile bootstrap interval of the mean of ``a``, or of the paired ``a - b``.

    Queries are drawn with replacement, both models' values of a query together; pairs
    with a NaN are passed over.
    """
    if not 0 < level < 1:
        raise BadInput(f"The level of an interval lies between 0 and 1, not {level}.")
    values = _differences(a, np.zeros(np.shape(a)) if b is None else b)
    rng, count = np.random.default_rng(seed), len(values)
    step = max(1, BLOCK_BYTES // (8 * count))
    means = np.empty(check_k(draws))
    for at in range(0, draws, step):
        part = means[at : at + step]
        part[:] = values[rng.integers(0, count, (len(part), count))].mean(axis=1)
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(values.mean()), float(low), float(high), level)


def _differences(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise BadInput(
            f"The values of the two models must be paired, one row each of one length, "
            f"not of shapes {x.shape} and {y.shape}."
        )
    if np.isinf(x).any() or np.isinf(y).any():
        raise BadInput("The values of a model hold infinity; leave those queries out.")
    pairs = ~(np.isnan(x) | np.isnan(y))
    if not pairs.any():
        raise BadInput("There is no query with a value for both models; judge some first.")
    difference: NDArray[np.float64] = x[pairs] - y[pairs]
    return difference


def _partial_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of each eight values under all 256 patterns of signs.

    A swap of all values is then one byte an eight, and its sum a walk through this table:
    an eighth of the additions and a sixty-fourth of the memory of a matrix of signs.
    """
    eights = -(-len(values) // 8)
    padded = np.zeros((eights, 8))
    padded.ravel()[: len(values)] = values
    bits = np.arange(256)[:, None] >> np.arange(8) & 1
    return padded @ (1.0 - 2.0 * bits).T


def _random_bytes(draws: int, width: int, rng: np.random.Generator) -> Iterator[NDArray[np.uint8]]:
    step = max(1, BLOCK_BYTES // width)
    for at in range(0, draws, step):
        yield rng.integers(0, 256, (min(step, draws - at), width), dtype=np.uint8)


@njit(cache=True, nogil=True)
def _count_extreme(codes, partial, bound):  # type: ignore[no-untyped-def]
    extreme = 0
    for draw in range(codes.shape[0]):
        total = 0.0
        for eight in range(codes.shape[1]):
            total += partial[eight, codes[draw, eight]]
        if abs(total) >= bound:
            extreme += 1
    return extreme
