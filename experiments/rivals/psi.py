"""Polynomial semantic indexing (Bai et al., NIPS 2009) of degree two: ``s = (t U) (x V)'``.

Two low-rank maps learned from triplets by the margin ranking loss, without a regulariser: ranked
CCA's descent with W held at the identity and nothing that pulls back to the start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise.learners.clicks import Clicks
from likewise.solvers.rcca import Model, Settings, rcca, scaled
from likewise.spaces import Blocks
from likewise.types import Preferences


def random_start(words: int, dims: int, dim: int, seed: int = 0) -> Model:
    """Normal random maps."""
    rng = np.random.default_rng(seed)
    return Model(rng.normal(size=(words, dim)), np.eye(dim), rng.normal(size=(dims, dim)))


def fit_psi(
    space: Blocks,
    X: Any,
    preferences: Preferences,
    queries: Any,
    *,
    start: Model,
    margin: float = 1.0,
    step: float = 0.01,
    rounds: int = 1,
    round_size: int = 100_000,
    held_out: tuple[ArrayLike, ...] | None = None,
    seed: int = 0,
) -> Clicks:
    """Learn both maps from ``start``: :func:`random_start`, or CCA's maps with W the identity.

    Parameters
    ----------
    margin
        The start is scaled so that the triplets' score differences are so large on average.
    """
    p = preferences
    triplets = (p.query, p.better, p.worse, p.weight)
    how = Settings(
        step=step, mu=0.0, gamma=0.0, eta=0.0, learn_w=False, rounds=rounds,
        round_size=round_size, seed=seed,
    )  # fmt: skip
    first = scaled(start, queries, X, triplets, margin)
    return Clicks(space, *rcca(queries, X, triplets, first, how, held_out=held_out).model)
