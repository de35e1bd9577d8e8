"""One small example of every registered similarity, for the laws that all must keep.

A new similarity adds one function here; a law fails as long as it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from likewise.learners import Plain
from likewise.learners.bilinear import Bilinear
from likewise.learners.clicks import Clicks
from likewise.learners.metric import Metric
from likewise.learners.top_precision import TopPrecision
from likewise.learners.word_table import WordTable
from likewise.spaces import Blocks, BlockSpec, Squared, Words
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
    similarity = TopPrecision(space, rng.normal(size=(d, d)), "fast")
    return Example(similarity, list(x[:3]), x)


def bilinear(rng: np.random.Generator, dtype: Any) -> Example:
    space, x = blocks(rng, dtype)
    plain = Plain(space, dict(zip(space.names, (1.0, 0.7, 0.0))))
    shape = (9, space.dim)
    if rng.random() < 0.5:
        similarity = Bilinear(plain, x[:9], diagonals=rng.normal(size=shape), M=4)
    else:
        half = rng.normal(size=(space.dim, space.dim))
        groups = {"members": x[:12], "sizes": [1, 2, 1, 1, 3, 1, 1, 1, 1]}
        led = rng.normal(size=shape)
        tastes = rng.normal(size=(9, len(space.names))) if rng.random() < 0.5 else None
        similarity = Bilinear(
            plain, x[:9], directions=led, half=half, tastes=tastes, M=4, **groups
        )  # fmt: skip
    return Example(similarity, [x[0], x[20], x[21]], x)


def metric(rng: np.random.Generator, dtype: Any) -> Example:
    space, x = blocks(rng, dtype)
    weights = rng.random(space.dim) * (rng.random(space.dim) < 0.8) + 1e-3
    return Example(Metric(Squared(space), weights), list(x[:3]), x)


def clicks(rng: np.random.Generator, dtype: Any) -> Example:
    """Texts as sparse rows, and a picture."""
    space, x = blocks(rng, dtype)
    parts = rng.normal(size=(20, 4)), rng.normal(size=(4, 4)), rng.normal(size=(space.dim, 4))
    vocabulary = {"words": np.frombuffer(b"red\nblue", np.uint8)}, {"size": 2}
    similarity = Clicks(space, *parts, vocabulary=vocabulary)
    texts = sparse.csr_array(np.where(rng.random((2, 20)) < 0.2, 1.0, 0.0))
    return Example(similarity, [texts[[0]], texts[[1]], x[0]], x)


def word_table(rng: np.random.Generator, dtype: Any) -> Example:
    """Counts up to 5, one picture and one query without any word, tau both ways."""
    counts = sparse.csr_array((rng.integers(-6, 6, (30, 25)).clip(0)).astype(dtype))
    counts = sparse.csr_array(counts.multiply((np.arange(30) > 0)[:, None]))
    tau = ("binary-idf", "root-idf", "one")[rng.integers(3)]
    space = Words(rng.random(25) * 3, levels=3, tau=tau)
    n, bins = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    table = rng.normal(size=(bins, n + 1, n + 1))
    similarity = WordTable(space, table, rng.integers(0, bins, 25), rng.random(25))
    return Example(similarity, [counts[[0]], counts[[1]], counts[[2]]], counts)


EXAMPLES: dict[str, Callable[[np.random.Generator, Any], Example]] = {
    "plain": plain,
    "clicks": clicks,
    "bilinear": bilinear,
    "top-precision": top_precision,
    "metric": metric,
    "word-table": word_table,
}
