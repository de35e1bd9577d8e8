"""Similarities of word histograms that people designed by hand: what a learned table must beat.

Each takes histograms of queries and of documents and gives all scores, one row a query.

- tf-idf cosine (Sivic and Zisserman, 2003), and binary idf, which forgets the counts;
- burstiness (Jegou, Douze and Schmid, 2009): a word's later occurrences count less, by the
  square root of the count on both sides, or inside the document alone (intra-image);
- negative evidence (Jegou and Chum, 2012): words that both lack count too, by subtracting the
  mean vector, or after PCA with whitening;
- query-adaptive asymmetric dissimilarity (Zhu, Jegou and Satoh, 2013): what the query has and
  the document lacks weighs otherwise than the reverse, by a factor that the query decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise.types import BadInput, FloatArray

Scores = NDArray[np.float64]
DEEPEST = 20
"""Counts beyond this are taken as this in the asymmetric dissimilarity."""


def cosine(queries: Any, documents: Any, idf: FloatArray, *, power: float = 1.0) -> Scores:
    """Cosine of counts^power times idf: 1 is tf-idf, .5 tames bursts, 0 is binary idf."""
    return _dense(_unit(_weighted(queries, idf, power)) @ _unit(_weighted(documents, idf, power)).T)


def intra_burst(queries: Any, documents: Any, idf: FloatArray) -> Scores:
    """Each place of the query adds idf^2 times the root of the word's count in the document."""
    return _dense(_weighted(queries, idf, 1.0) @ _unit(_weighted(documents, idf, 0.5)).T)


class NegativeEvidence:
    """Cosine after the mean of many pictures is subtracted.

    Parameters
    ----------
    sample
        Histograms of other pictures, which the mean is taken from.
    """

    def __init__(self, sample: Any, idf: FloatArray, *, power: float = 1.0) -> None:
        self.idf, self.power = idf, power
        rows = _unit(_weighted(sample, idf, power))
        if not rows.shape[0]:
            raise BadInput("The mean of no pictures is not known; give a sample.")
        self.mean = np.asarray(rows.mean(axis=0)).ravel()

    def __call__(self, queries: Any, documents: Any) -> Scores:
        """All scores."""
        q, d = (_unit(_weighted(x, self.idf, self.power)) for x in (queries, documents))
        # (q - m).(d - m), and the lengths of q - m and d - m, without making anything dense
        on_q, on_d, square = q @ self.mean, d @ self.mean, float(self.mean @ self.mean)
        inner = _dense(q @ d.T) - on_q[:, None] - on_d[None, :] + square
        sizes = [
            np.sqrt(np.maximum(_squares(x) - 2 * on + square, 1e-12))
            for x, on in ((q, on_q), (d, on_d))
        ]
        return np.asarray(inner / sizes[0][:, None] / sizes[1][None, :])


class Whitened:
    """Cosine after PCA to a few dimensions, each brought to the same variance.

    Parameters
    ----------
    sample
        Histograms of other pictures, which the axes are learned from.
    dim
        Dimensions kept.
    """

    def __init__(
        self, sample: Any, idf: FloatArray, *, dim: int = 256, power: float = 1.0, seed: int = 0
    ) -> None:
        self.idf, self.power = idf, power
        rows = _unit(_weighted(sample, idf, power))
        dim = min(dim, rows.shape[0] - 1, rows.shape[1])
        if dim < 1:
            raise BadInput("PCA needs at least two pictures; give a larger sample.")
        self.mean = np.asarray(rows.mean(axis=0)).ravel()
        values, axes = _centred_axes(rows, self.mean, dim, np.random.default_rng(seed))
        self.axes = axes / np.maximum(values, 1e-9 * values[0])

    def __call__(self, queries: Any, documents: Any) -> Scores:
        """All scores."""
        q, d = (self._encoded(x) for x in (queries, documents))
        return np.asarray(q @ d.T)

    def _encoded(self, counts: Any) -> NDArray[np.float64]:
        rows = _unit(_weighted(counts, self.idf, self.power)) @ self.axes - self.mean @ self.axes
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(length > 0, length, 1))


def _centred_axes(
    rows: sparse.csr_array, mean: FloatArray, dim: int, rng: np.random.Generator, rounds: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Largest singular values of ``rows - mean`` and their axes, by random projection."""
    found = rng.normal(size=(rows.shape[1], min(dim + 16, *rows.shape)))
    for _ in range(rounds + 1):
        left, _ = np.linalg.qr(rows @ found - mean @ found)
        found = rows.T @ left - np.outer(mean, left.sum(axis=0))
        found, spread = np.linalg.qr(found)
    _, values, turn = np.linalg.svd(spread.T)
    return values[:dim], (found @ turn.T)[:, :dim]


def asymmetric(
    queries: Any, documents: Any, idf: FloatArray, *, alpha: float = 0.5, power: float = 1.0
) -> Scores:
    """Minus ``|d| - alpha rho(q) |min(q, d)|`` in L1, where rho(q) brings both to one mean.

    ``rho(q)`` is the sum of ``|d|`` over the sum of ``|min(q, d)|``, over all documents.
    """
    q, d = (sparse.csr_array(x) for x in (queries, documents))
    common = np.zeros((q.shape[0], d.shape[0]))
    deepest = int(min(DEEPEST, q.data.max(initial=0), d.data.max(initial=0)))
    for level in range(1, deepest + 1):  # min(a, b) = how many levels both reach
        step = level**power - (level - 1) ** power
        common += step * _dense(_reaching(q, level, idf) @ _reaching(d, level, None).T)
    length = np.asarray(_weighted(d, idf, power).sum(axis=1)).ravel()
    rho = length.sum() / np.maximum(common.sum(axis=1, keepdims=True), 1e-12)
    return np.asarray(alpha * rho * common - length[None, :])


def _reaching(counts: sparse.csr_array, level: int, idf: FloatArray | None) -> sparse.csr_array:
    value = (counts.data >= level).astype(np.float64)
    if idf is not None:
        value *= idf[counts.indices]
    out = sparse.csr_array((value, counts.indices, counts.indptr), shape=counts.shape, copy=True)
    out.eliminate_zeros()
    return out


def _weighted(counts: Any, idf: FloatArray, power: float) -> sparse.csr_array:
    c = sparse.csr_array(counts)
    if c.shape[1] != len(idf):
        raise BadInput(f"The histograms have {c.shape[1]} words, but there are {len(idf)} weights.")
    data = c.data.astype(np.float64) ** power * idf[c.indices]
    return sparse.csr_array((data, c.indices, c.indptr), shape=c.shape)


def _unit(rows: sparse.csr_array) -> sparse.csr_array:
    length = np.sqrt(_squares(rows))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    data = rows.data * np.repeat(scale, np.diff(rows.indptr))
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def _squares(rows: sparse.csr_array) -> NDArray[np.float64]:
    return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()


def _dense(product: Any) -> Scores:
    return np.asarray(product.toarray(), dtype=np.float64)
