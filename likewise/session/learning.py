"""From orders of pictures to a metric: what a session learns from, and what it then listens to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from likewise.learners.metric import balanced_scale, solve_scaled
from likewise.session.holdings import Holdings
from likewise.session.settings import Settings
from likewise.types import BadInput, FloatArray, IdArray

REMEMBERED = 1000
"""Pictures in orders, latest first, that a metric is learned from."""
SAMPLE = 20_000
"""Items that tell how far a dimension spreads."""


class Order(NamedTuple):
    """Orders to learn from: squared differences to the query, the query's zero row at the head.

    Rows of the chain with one rank have no order among each other.
    """

    chain: FloatArray
    discarded: FloatArray
    ranks: IdArray


Learn = Callable[[Sequence[Order], FloatArray], tuple[FloatArray, tuple[str, ...]]]
"""(orders, latest last; the metric so far) -> (the new metric, notes)."""


def metric_learner(
    scale: FloatArray,
    blocks: Mapping[str, slice],
    settings: Settings,
    prior: FloatArray | None = None,
) -> Learn:
    """The learner of the settings: weights on the balanced scale, of the blocks it may use.

    ``prior`` is a metric that is known to serve here, and that the learned one stays close to.
    """
    own = only(scale, blocks, settings.learn_on)

    def learn(orders: Sequence[Order], before: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
        used = orders if settings.accumulate else orders[-1:]
        return from_orders(used, own, before, settings, prior=before if settings.pull else prior)

    return learn


def balanced(holdings: Holdings) -> FloatArray:
    """Weights that give every block the same say."""
    scale = balanced_scale(holdings.vectors, holdings.blocks)
    return scale if scale.any() else np.ones_like(scale)  # else all items are alike


def from_orders(
    orders: Sequence[Order],
    scale: FloatArray,
    before: FloatArray,
    settings: Settings | None = None,
    *,
    prior: FloatArray | None = None,
) -> tuple[FloatArray, tuple[str, ...]]:
    """The metric that keeps the orders, and notes; ``before`` where none does."""
    told = settings or Settings()
    rows, near, far = stacked(orders, told.pairs)
    _, weights, notes = solve_scaled(
        rows, near, far, scale, before, C=told.C, prior=prior, signed=told.signed, tol=1e-4
    )
    return weights, notes


def stacked(
    orders: Sequence[Order], pairs: Literal["neighbours", "all"] = "neighbours"
) -> tuple[FloatArray, IdArray, IdArray]:
    """Rows of the latest orders below each other, and which row is nearer than which.

    A discarded picture is farther than the last of its chain, and so than all of it.
    ``neighbours`` compares each rank with the next, ``all`` with all that follow.
    """
    rows, near, far, start = [], [], [], 0
    for order in orders[::-1]:
        chain, thrown = len(order.chain), len(order.discarded)
        if start and start + chain + thrown > REMEMBERED:
            break
        ranks = np.r_[order.ranks, np.full(thrown, order.ranks.max() + 1)]
        ranks = np.unique(ranks, return_inverse=True)[1]  # one apart, whoever has gone
        step = ranks - ranks[:, None]
        i, j = np.nonzero(step == 1 if pairs == "neighbours" else step > 0)
        near.append(start + i)
        far.append(start + j)
        rows += [order.chain, order.discarded]
        start += chain + thrown
    return np.vstack(rows), np.concatenate(near), np.concatenate(far)


def only(
    weights: FloatArray, blocks: Mapping[str, slice], names: tuple[str, ...] | None
) -> FloatArray:
    """The weights of some blocks, zero elsewhere."""
    if names is None:
        return weights
    out = np.zeros_like(weights)
    for name in names:
        if name not in blocks:
            raise BadInput(f"There is no block {name!r}; there are {', '.join(blocks)}.")
        out[blocks[name]] = weights[blocks[name]]
    return out


def block_shares(
    weights: FloatArray, spread: FloatArray, blocks: Mapping[str, slice]
) -> dict[str, float]:
    """Share of each block in the mean squared distance between two items, largest first.

    ``spread`` is the mean squared difference of two items in each dimension.
    """
    parts = {name: float((weights[part] * spread[part]).sum()) for name, part in blocks.items()}
    total = sum(parts.values())
    shares = {name: part / total if total > 0 else 0.0 for name, part in parts.items()}
    return dict(sorted(shares.items(), key=lambda one: -one[1]))


def in_words(shares: Mapping[str, float]) -> str:
    """``colour 71 %, shape 20 %, texture 9 %``: whole percents that sum to 100."""
    if not any(shares.values()):
        return "no block of features"
    names = list(shares)
    exact = np.array([100 * shares[name] for name in names])
    whole = np.floor(exact).astype(int)
    for at in np.argsort(whole - exact, kind="stable")[: 100 - int(whole.sum())]:
        whole[at] += 1
    order = sorted(range(len(names)), key=lambda at: (-whole[at], at))
    return ", ".join(f"{names[at]} {whole[at]} %" for at in order if whole[at])


def mean_spread(vectors: FloatArray) -> FloatArray:
    """Twice the variance of each dimension, on evenly spaced rows."""
    x = vectors
    if len(x) > SAMPLE:
        x = x[np.linspace(0, len(x) - 1, SAMPLE).astype(np.int64)]
    out: FloatArray = 2.0 * x.var(axis=0, dtype=np.float64) if len(x) else np.zeros(x.shape[1])
    return out
