"""The collection map: every item a point, similar items near each other, made once a generation.

Items are too many to lay out one by one in seconds, so landmarks (the centres of k-means of a
sample) are laid out by t-SNE, and every item stands among its nearest landmarks, the nearer the
closer.  With few items each is its own landmark.  Of the rows only some are in memory at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.solvers.kmeans import kmeans
from likewise.types import BadInput, FloatArray, as_matrix

LANDMARKS = 1000
NEAREST = 4
CHUNK = 8192
SAMPLE = 50_000
"""Items, evenly spaced, that landmarks are found among."""


def collection_map(
    x: Any, *, weights: Any = 1.0, landmarks: int = LANDMARKS, seed: int = 0
) -> FloatArray:
    """Positions of all items in a box of side one; the same seed gives the same map.

    ``x`` has one row an item and may be a file in memory; ``weights`` are of each column.
    """
    if not len(x):
        raise BadInput("A map needs at least one item.")
    if landmarks < 3:
        raise BadInput(f"A map needs at least 3 landmarks, not {landmarks}.")
    points = _reduced(x, weights)
    if len(points) > landmarks:
        some = points[:: -(-len(points) // SAMPLE)]
        centres = kmeans(some, landmarks, iterations=10, seed=seed).centres
    else:
        centres = np.unique(points, axis=0)  # duplicates stand on one spot
    placed = _placed(centres, seed)
    return _boxed(_among(points, centres, placed))


def _reduced(x: Any, weights: Any, dims: int = 32) -> FloatArray:
    """Leading axes: enough for a map, and k-means is faster."""

    def rows(which: Any) -> FloatArray:
        return as_matrix(x[which], name="items").astype(np.float32) * np.float32(weights)

    sample = rows(np.linspace(0, len(x) - 1, min(len(x), 5000)).astype(np.int64))
    mean = sample.mean(axis=0)
    axes = np.eye(sample.shape[1], dtype=np.float32)
    if len(axes) > dims:
        axes = np.linalg.eigh((sample - mean).T @ (sample - mean))[1][:, ::-1][:, :dims]
    out = np.empty((len(x), axes.shape[1]), np.float32)
    for start in range(0, len(x), CHUNK):
        out[start : start + CHUNK] = (rows(slice(start, start + CHUNK)) - mean) @ axes
    return out


def _placed(centres: FloatArray, seed: int) -> FloatArray:
    n = len(centres)
    start = np.zeros((n, 2))
    if n == 1:
        return start
    u, s, _ = np.linalg.svd(centres - centres.mean(axis=0), full_matrices=False)
    axes = min(2, len(s))
    top = np.abs(u[:, :axes]).argmax(axis=0)
    start[:, :axes] = u[:, :axes] * s[:axes] * np.sign(u[top, np.arange(axes)])
    if n < 12:  # too few for neighbourhoods: their leading axes say it all
        return start
    from sklearn.manifold import TSNE  # heavy, and a search does not need it
    from threadpoolctl import threadpool_limits

    spread = float(start[:, 0].std()) or 1.0
    tsne = TSNE(2, perplexity=min(30.0, (n - 1) / 3), init=start / spread * 1e-4, random_state=seed)
    # Its threads wait for each other at every step; on a busy machine one alone is far faster.
    with threadpool_limits(limits=1):
        out: FloatArray = tsne.fit_transform(np.asarray(centres, np.float32)).astype(np.float64)
    return out


def _among(points: FloatArray, centres: FloatArray, placed: FloatArray) -> FloatArray:
    """Mean position of the nearest landmarks, each weighing by the inverse fourth power."""
    k = min(NEAREST, len(centres))
    out = np.empty((len(points), 2))
    length = (centres**2).sum(axis=1)
    for start in range(0, len(points), CHUNK):
        part = points[start : start + CHUNK]
        d = (part**2).sum(axis=1)[:, None] - 2 * part @ centres.T + length
        near = np.argpartition(d, k - 1, axis=1)[:, :k]
        gap = np.maximum(np.take_along_axis(d, near, axis=1), 1e-9 * float(length.mean()) + 1e-30)
        weight = (gap.min(axis=1, keepdims=True) / gap) ** 2
        weight /= weight.sum(axis=1, keepdims=True)
        out[start : start + CHUNK] = np.einsum("ij,ijk->ik", weight, placed[near])
    return out


def _boxed(y: FloatArray) -> FloatArray:
    low, high = y.min(axis=0), y.max(axis=0)
    size = float((high - low).max())
    if size == 0:
        return np.full_like(y, 0.5)
    out: FloatArray = (y - (low + high) / 2) / size + 0.5
    return out
