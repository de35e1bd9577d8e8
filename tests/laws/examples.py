"""One small example of every registered similarity, for the laws that all must keep.

A new similarity adds one function here; a law fails as long as it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from likewise.learners import Plain
from likewise.learners.bilinear import Bilinear
from likewise.learners.top_precision import TopPrecision
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


def top_precision(rng: np.random.Generator, dtype: Any) -> Example:
    space, x = blocks(rng, dtype)
    d = space.dim
    factors = (rng.normal(size=(d, 2)), rng.normal(size=(d, 2)))
    similarity = TopPrecision(space, rng.normal(size=(d, d)), factors, "fast")
    return Example(similarity, list(x[:3]), x)


def bilinear(rng: np.random.Generator, dtype: Any) -> Example:
    space, x = blocks(rng, dtype)
    plain = Plain(space, dict(zip(space.names, (1.0, 0.7, 0.0))))
    shape = (9, space.dim)
    if rng.random() < 0.5:
        similarity = Bilinear(plain, x[:9], diagonals=rng.normal(size=shape), M=4)
    else:
        half = rng.normal(size=(space.dim, space.dim))
        similarity = Bilinear(plain, x[:9], directions=rng.normal(size=shape), half=half, M=4)
    return Example(similarity, [x[0], x[20], x[21]], x)


def metric(rng: np.random.Generator, dtype: Any) -> Example:
    space, x = blocks(rng, dtype)
    weights = rng.random(space.dim) * (rng.random(space.dim) < 0.8) + 1e-3
    return Example(Metric(Squared(space), weights), list(x[:3]), x)


EXAMPLES: dict[str, Callable[[np.random.Generator, Any], Example]] = {
    "plain": plain,
    "bilinear": bilinear,
    "top-precision": top_precision,
    "metric": metric,
}
