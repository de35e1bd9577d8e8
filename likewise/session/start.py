"""Where a session can begin: representatives of the whole collection, or a random hundred.

A query that is far from the target is what most searches fail of (Han et al., section 6), so a
session without a query begins with a view of everything there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.session.holdings import Holdings, Rounds, rows_of
from likewise.solvers.kmeans import kmeans, medoids
from likewise.types import FloatArray, IdArray

SAMPLE = 20_000
"""Items that representatives are chosen among."""

NEAREST = 5
"""Kept sessions whose metrics a new session starts from."""


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


class Kept(NamedTuple):
    """What a kept session leaves to later ones: where it ended, and the metric learned."""

    query: FloatArray
    weights: FloatArray


def kept_metrics(rounds: Rounds, holdings: Holdings, *, limit: int = 1000) -> list[Kept]:
    """The metrics of finished sessions whose owners agreed to keep them."""
    found = []
    for session in rounds.all(state="finished", limit=limit):
        outcome: Mapping[str, Any] = session.outcome
        if not outcome.get("kept") or outcome.get("query") is None:
            continue
        row = int(rows_of(holdings, [outcome["query"]])[0])
        weights = np.asarray(outcome["weights"], np.float64)
        if row >= 0 and len(weights) == holdings.vectors.shape[1]:
            found.append(Kept(holdings.vectors[row], weights))
    return found


def inherited(
    kept: Sequence[Kept],
    query: FloatArray | None,
    start: FloatArray,
    *,
    nearest: int = NEAREST,
) -> FloatArray:
    """Weights to begin with: the mean metric of the nearest kept sessions, or ``start``.

    Each metric is brought to the same sum on the scale of ``start`` first, so that none
    outweighs the others.  Without a query all kept sessions are as near.
    """
    usable = [one for one in kept if one.weights.any()]
    if not usable:
        return start
    if query is not None and len(usable) > nearest:
        gap = [float(((one.query - query) ** 2) @ start) for one in usable]
        usable = [usable[k] for k in np.argsort(gap, kind="stable")[:nearest]]
    scale = np.where(start > 0, start, 1.0)
    parts = [one.weights / float((one.weights / scale).sum()) for one in usable]
    mean: FloatArray = np.mean(parts, axis=0) * float((start > 0).sum())
    return mean
