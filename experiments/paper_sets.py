"""The data sets of Kuang et al. as vectors and class labels, and the measures of a search in them.

What the experiments on query-dependent similarity share: unit vectors after a centred PCA,
queries apart from the database, and scores made and ranked in blocks of queries, so that no
matrix of all queries by all items is ever held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.relevance import Relevance
from experiments.score_ranking import rank
from experiments.sets import load_mnist
from likewise.evaluation import (
    Ranked,
    interpolated_precision,
    measure,
)
from likewise.solvers.kmeans import kmeans, medoids
from likewise.spaces import Blocks, BlockSpec, unit_rows

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]

BLOCK = 500
"""Queries whose scores are held at a time."""


@dataclass(frozen=True, eq=False)
class PaperSet:
    """A database of unit vectors and queries that are not in it, both with class labels."""

    items: Floats
    item_labels: Ints
    queries: Floats
    query_labels: Ints

    @classmethod
    def split(cls, vectors: Floats, labels: Ints, queries: int, seed: int) -> PaperSet:
        """Some vectors, drawn at random, ask; the others are the database."""
        rng = np.random.default_rng(seed)
        ask = np.zeros(len(vectors), dtype=bool)
        ask[rng.choice(len(vectors), queries, replace=False)] = True
        return cls(vectors[~ask], labels[~ask], vectors[ask], labels[ask])


def pca_unit(raw: Floats, dim: int, *, unit_first: bool, fit_on: Any = slice(None)) -> Floats:
    """Centred PCA, then unit length: one block of the default space."""
    spec = BlockSpec(dim, unit_first=unit_first)
    space = Blocks.fit({"raw": raw[fit_on]}, {"raw": spec}, sample=len(raw))
    return space.transform({"raw": raw}).astype(np.float32)


def mnist(dim: int = 260, *, fit_on_training: bool = False) -> tuple[Floats, Ints, Any]:
    """MNIST as the paper has it: unit pixels, centred PCA to 260, unit length.

    Returns vectors, labels and which pictures are of the test part.
    """
    data = load_mnist()
    raw = data.images.reshape(len(data), -1).astype(np.float32)
    fit_on = ~data.is_test if fit_on_training else slice(None)
    vectors = pca_unit(raw, dim, unit_first=True, fit_on=fit_on)
    return vectors, data.labels, data.is_test


def planted(count: int, dim: int = 24, classes: int = 6, *, seed: int = 0) -> tuple[Floats, Ints]:
    """Unit vectors of a few overlapping classes, each told apart by dimensions of its own.

    The dimensions that do not matter to a class are loud in it: a weighting that depends on the
    query can find more than the cosine does.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count)
    own = rng.random((classes, dim)) < 0.4
    centres = (rng.normal(size=(classes, dim)) * own).astype(np.float32)
    loud = np.where(own, 0.5, 1.2).astype(np.float32)
    vectors = rng.standard_normal((count, dim), dtype=np.float32)
    vectors *= loud[labels]
    vectors += centres[labels]
    return unit_rows(vectors), labels


def reference_rows(items: Floats, count: int, seed: int) -> Ints:
    """Medoids of a k-means of the database: the reference queries."""
    centres = kmeans(items, count, iterations=10, max_points_per_centre=64, seed=seed).centres
    return medoids(items, centres)


def measured(
    surrogates: Floats,
    data: PaperSet,
    names: Sequence[str] = ("map", "p1", "p300"),
    *,
    block: int = BLOCK,
) -> dict[str, Floats]:
    """Measures of an exhaustive search, one number a query each.

    ``curve`` gives the interpolated precision at 21 levels of recall, a row a query.
    """
    vectors = np.asarray(surrogates, dtype=np.float32)
    parts = []
    for at in range(0, len(vectors), block):
        scores = vectors[at : at + block] @ data.items.T
        parts.append(of_scores(scores, data, slice(at, at + block), names))
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def of_scores(
    scores: Floats, data: PaperSet, asked: slice, names: Sequence[str]
) -> dict[str, Floats]:
    """The same from the scores of some of the queries."""
    relevance = Relevance.from_labels(data.query_labels[asked], data.item_labels)
    ranked = rank(scores, relevance)
    return {name: _measure(ranked, name) for name in names}


def _measure(ranked: Ranked, name: str) -> Floats:
    return interpolated_precision(ranked, 21) if name == "curve" else measure(ranked, name)


def means(values: dict[str, Floats]) -> dict[str, float]:
    """Means over the queries, of the measures with one number each."""
    return {name: float(np.nanmean(column)) for name, column in values.items() if column.ndim == 1}
