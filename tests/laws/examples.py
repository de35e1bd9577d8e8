"""One small example of every registered similarity, for the laws that all must keep.

A new similarity adds one function here; a law fails as long as it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from likewise.learners import Plain
from likewise.learners.metric import Metric
from likewise.spaces import Blocks, BlockSpec, Squared
from likewise.types import Similarity


class Example(NamedTuple):
    """A similarity with queries and items in the forms it takes."""

    similarity: Similarity
    queries: list[Any]
    items: Any


def blocks(rng: np.random.Generator, dtype: Any, n: int = 40) -> tuple[Blocks, Any]:
    """A small fitted space of three blocks, and picture vectors in it."""
    features = {
        "deep": rng.normal(size=(n, 12)).astype(dtype),
        "colour": rng.random(size=(n, 8)).astype(dtype),
        "texture": rng.normal(size=(n, 5)).astype(dtype),
    }
    specs = {"deep": BlockSpec(6), "colour": BlockSpec(4, power=0.5), "texture": BlockSpec(3)}
    space = Blocks.fit(features, specs)
    return space, space.transform(features)


def plain(rng: np.random.Generator, dtype: Any) -> Example:
    space, x = blocks(rng, dtype)
    weights = dict(zip(space.names, rng.random(3) + 0.1))
    return Example(Plain(space, weights), list(x[:3]), x)


def metric(rng: np.random.Generator, dtype: Any) -> Example:
    space, x = blocks(rng, dtype)
    weights = rng.random(space.dim) * (rng.random(space.dim) < 0.8) + 1e-3
    return Example(Metric(Squared(space), weights), list(x[:3]), x)


EXAMPLES: dict[str, Callable[[np.random.Generator, Any], Example]] = {
    "plain": plain,
    "metric": metric,
}
