"""How many cells to look into: found on a sample, for plain queries and for learned ones.

A surrogate of a learned similarity is no item of the collection: weights stretch some
directions and silence others, and a number of probes that serves plain queries may be too
small for it.  So the sample has items, and items under random diagonal weights of the kinds
that learning gives; what the harder half needs is what is kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.types import BadInput, FloatArray, IdArray

RECALL, AT = 0.99, 50
"""The recall that is aimed at, and the number of hits it is measured on."""
SAMPLE = 256
"""Queries a half of the sample."""


class Goal(NamedTuple):
    """A recall to reach on so many hits."""

    recall: float = RECALL
    k: int = AT

    def checked(self) -> Goal:
        """Itself, if it can be reached at all."""
        if not 0 < self.recall <= 1 or self.k < 1:
            raise BadInput(
                f"A recall lies above 0 and up to 1 and is measured on at least one hit, "
                f"not {self.recall} on {self.k}."
            )
        return self


def learned_like(items: FloatArray, dim: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Items under random weights: log-normal, clipped at zero, and one weight a block, in turn.

    ``items`` may have side columns after the first ``dim``; those get coefficients of any
    sign, of the size of a query's number.
    """
    weights = np.ones(items.shape)
    n = len(items)
    weights[0::3, :dim] = np.exp(rng.standard_normal((len(range(0, n, 3)), dim)))
    weights[1::3, :dim] = np.maximum(0.0, 0.5 + rng.standard_normal((len(range(1, n, 3)), dim)))
    for row in range(2, n, 3):
        cuts = np.sort(rng.integers(0, dim + 1, rng.integers(1, 8)))
        bounds = np.concatenate([[0], cuts, [dim]])
        weights[row, :dim] = np.repeat(
            np.exp(1.5 * rng.standard_normal(len(bounds) - 1)), np.diff(bounds)
        )
    queries = items * weights
    size = np.sqrt(np.square(queries[:, :dim]).mean(axis=1, keepdims=True))
    queries[:, dim:] = size * rng.standard_normal((n, items.shape[1] - dim))
    return queries.astype(np.float32)


def probes_for(ranks: IdArray, recall: float) -> int:
    """Smallest number of probes that finds this share of the true hits.

    Parameters
    ----------
    ranks
        For each query (row) and each of its true hits, the rank (from 0) of the cell in
        which the hit lies: with ``p`` probes it is found when its rank is below ``p``.
    recall
        The share to reach; two standard errors of the sample are kept in hand, because queries
        that are no items are a little harder than the sample.
    """
    most = int(ranks.max(initial=0)) + 1
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        found = (ranks < middle).mean(axis=1)
        in_hand = 2 * found.std() / math.sqrt(len(found))
        if found.mean() - in_hand >= recall:
            high = middle
        else:
            low = middle + 1
    return low


def recall_of(found: FloatArray, true: FloatArray) -> float:
    """Share of true hits found, by score: a hit that ties with the last true one counts."""
    floor = true[:, -1:]
    near = 1e-5 * np.maximum(np.abs(true).max(axis=1, keepdims=True), 1e-30)
    return float((found >= floor - near).mean())
