"""What kept sessions teach later ones: one metric from the orders of the nearest of them.

A single search says too little for a good metric, and the mean of many metrics that each saw
little is no better.  So the orders themselves are put together, those of the nearest kept
sessions first, and one metric is learned from all of them.  Whether it serves is asked of the
kept sessions too: each is foretold by a metric that was learned without it, and only if those
foretell better than equal say of all blocks does a new session begin with what was learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.session.branch import Branch
from likewise.session.holdings import Holdings, Rounds, rows_of
from likewise.session.learning import Order, from_orders
from likewise.types import FloatArray, Session

READ = 200
"""Kept sessions, latest first, whose orders are read."""

POOLED = 500
"""Pictures in orders, those of the nearest kept sessions first, that a metric is learned from."""

FEWEST = 4
"""Kept sessions with orders that it takes: fewer cannot vouch for each other."""

FOLDS = 2
"""Parts of the kept sessions; each part is foretold by the others."""

SURE = 2.0
"""Standard errors by which the learned metric must foretell better than equal say."""


class Kept(NamedTuple):
    """What a kept session leaves: where it ended, the metric it had learned, what was ordered."""

    query: FloatArray
    weights: FloatArray
    orders: tuple[Order, ...] = ()


def kept_metrics(rounds: Rounds, holdings: Holdings) -> list[Kept]:
    """Metrics and orders of the latest finished sessions whose owners agreed to keep them."""
    found = []
    for session in rounds.all(state="finished", limit=5 * READ):
        outcome: Mapping[str, Any] = session.outcome
        if not outcome.get("kept") or outcome.get("query") is None:
            continue
        row = int(rows_of(holdings, [outcome["query"]])[0])
        weights = np.asarray(outcome["weights"], np.float64)
        if row >= 0 and len(weights) == holdings.vectors.shape[1]:
            orders = _orders(rounds, holdings, session)
            found.append(Kept(holdings.vectors[row], weights, orders))
        if len(found) == READ:
            break
    return found


def _orders(rounds: Rounds, holdings: Holdings, session: Session) -> tuple[Order, ...]:
    """What the branch on which a session ended has put in order."""
    last = session.outcome.get("round")
    trail = rounds.rounds(session.id) if last is None else rounds.trail(int(last))
    began = session.payload.get("vector")
    vector = None if began is None else np.asarray(began, np.float32)
    start = np.asarray(session.payload["start"], np.float64)
    return tuple(Branch.of(trail, holdings, vector, start).orders)


def inherited(
    kept: Sequence[Kept], query: FloatArray | None, scale: FloatArray
) -> FloatArray | None:
    """The metric that the kept sessions nearest to a query agree on; None where it would not serve.

    ``scale`` is the balanced one: equal say of every block that the metric may use.
    """
    usable = [one for one in kept if one.orders]
    if len(usable) < FEWEST:
        return None
    if query is not None:
        gap = [float(np.square(one.query - query) @ scale) for one in usable]
        usable = [usable[at] for at in np.argsort(gap, kind="stable")]
    usable = _affordable(usable)
    gains = []
    for part in range(min(FOLDS, len(usable))):
        known = [one for at, one in enumerate(usable) if at % FOLDS != part]
        metric = _learned(known, scale)
        for one in usable[part::FOLDS]:
            gains.append(_right(one, metric) - _right(one, scale))
    mean, spread = float(np.mean(gains)), float(np.std(gains)) / np.sqrt(len(gains))
    return _learned(usable, scale) if mean > SURE * spread else None


def _affordable(kept: Sequence[Kept]) -> list[Kept]:
    """The first ones, as far as the bound on pictures goes; never too few."""
    size = np.cumsum([sum(len(o.chain) + len(o.discarded) for o in one.orders) for one in kept])
    return list(kept[: max(FEWEST, int(np.searchsorted(size, POOLED, side="right")))])


def _learned(kept: Sequence[Kept], scale: FloatArray) -> FloatArray:
    return from_orders([order for one in kept for order in one.orders], scale, scale)[0]


def _right(one: Kept, weights: FloatArray) -> float:
    """Share of the pairs of a session's orders that a metric puts in the right order."""
    right = pairs = 0.0
    for order in one.orders:
        near = order.chain[1:] @ weights
        far = np.concatenate([near, order.discarded @ weights])
        i, j = np.triu_indices(len(near), 1, len(far))
        right += float((near[i] < far[j]).sum() + 0.5 * (near[i] == far[j]).sum())
        pairs += len(i)
    return right / max(1.0, pairs)
