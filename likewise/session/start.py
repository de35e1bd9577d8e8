"""Where a session can begin: representatives of the whole collection, or a random hundred.

A query that is far from the target is what most searches fail of (Han et al., section 6), so a
session without a query begins with a view of everything there is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.session.holdings import Holdings, rows_of
from likewise.solvers.kmeans import kmeans, medoids
from likewise.types import FloatArray, IdArray

SAMPLE = 20_000
"""Items that representatives are chosen among."""


def representatives(
    holdings: Holdings, weights: FloatArray, count: int, *, without: Any = (), seed: int = 0
) -> IdArray:
    """Ids of items that stand for all others: the medoids of ``count`` clusters.

    Parameters
    ----------
    weights
        The metric under which items are clustered.
    without
        Ids that were shown already.
    """
    free = np.ones(len(holdings.ids), bool)
    gone = rows_of(holdings, without)
    free[gone[gone >= 0]] = False
    rows = np.flatnonzero(free)
    if len(rows) <= count:
        return holdings.ids[rows]
    if len(rows) > SAMPLE:
        rows = np.sort(np.random.default_rng(seed).choice(rows, SAMPLE, replace=False))
    x = holdings.vectors[rows] * np.sqrt(weights).astype(np.float32)
    centres = kmeans(x, count, seed=seed).centres
    chosen = medoids(x, centres)
    return holdings.ids[rows[np.sort(chosen)]]


def random_hundred(
    holdings: Holdings, count: int = 100, *, without: Any = (), seed: int = 0
) -> IdArray:
    """Ids of ``count`` items drawn at random, none shown before (section 5.2 of the paper)."""
    free = np.ones(len(holdings.ids), bool)
    gone = rows_of(holdings, without)
    free[gone[gone >= 0]] = False
    rows = np.flatnonzero(free)
    drawn = np.random.default_rng(seed).permutation(rows)[:count]
    ids: IdArray = holdings.ids[np.sort(drawn)]
    return ids
