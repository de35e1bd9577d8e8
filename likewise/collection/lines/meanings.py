"""What words mean in picture space: the look's codes, fitted to what features tell.

The columns that words have weights over (how sure the network is of each of its 1,000 classes, as
the root of the softmax; how much of each of 36 colours there is) are regressed on the codes that
the index holds, over the collection.  A word then is a vector of the same space as a picture: it
needs no memory per item and no index of its own, and it adds to pictures, marks and models.  The
regression is no part of the space and of its fingerprint, so models live on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.collection.lines.line import View
from likewise.features import block_of
from likewise.features.class_words import CLASSES, COLOURS, COLUMNS
from likewise.store import Store
from likewise.types import FloatArray, IdArray, Surrogate

FILE = "meanings.npy"
SAMPLE = 8_000
"""Pictures that the regression looks at."""
RIDGE = 1e-4
BLOCKS = {"logits": CLASSES, "colour": 4 * COLOURS}
"""Features that have columns, as they are stored, and how many numbers each must have."""


class Meanings:
    """Directions in picture space, each with mean 0 and spread 1 over the collection."""

    def __init__(self, table: NDArray[np.float32], space: str, count: int) -> None:
        self._columns, self._mean = table[:COLUMNS], table[COLUMNS].astype(np.float64)
        self.covariance = table[COLUMNS + 1 :].astype(np.float64)
        # The fewer pictures, the less their covariance tells of directions in which few vary.
        self.space, self._doubt = space, float(np.trace(self.covariance)) / max(count, 1)
        self._inverses: dict[float, FloatArray] = {}

    def of_columns(self, columns: IdArray, weights: FloatArray) -> Surrogate | None:
        """The direction of a weighted sum of columns; None where nothing varies along it."""
        return self._unit(weights @ self._columns[columns].astype(np.float64))

    def strength(self, columns: IdArray, weights: FloatArray) -> float:
        """What one unit of a direction's score is worth, as a share of all that could be seen."""
        whole = weights / np.linalg.norm(weights)
        return self.spread(whole @ self._columns[columns].astype(np.float64))

    def parts(self, columns: IdArray, weights: FloatArray, code: Any) -> FloatArray:
        """What each column adds to a picture's score in :meth:`of_columns`."""
        vectors = weights[:, None] * self._columns[columns].astype(np.float64)
        spread = self.spread(vectors.sum(axis=0))
        added: FloatArray = vectors @ (np.asarray(code, np.float64) - self._mean)
        return added / spread if spread > 0 else added * 0.0

    def of_pictures(
        self, codes: Any, ridge: float = RIDGE, weights: Any = None
    ) -> Surrogate | None:
        """The direction in which pictures stand out from the collection (Fisher's)."""
        return self.between(
            np.average(np.asarray(codes, np.float64), 0, weights)[None], None, ridge
        )

    def between(self, codes: Any, others: Any | None, ridge: float) -> Surrogate | None:
        """The direction that tells pictures from others (from the collection where None)."""
        far = self._mean if others is None else np.asarray(others, np.float64).mean(axis=0)
        apart = np.asarray(codes, np.float64).mean(axis=0) - far
        if ridge not in self._inverses:
            ridged = self.covariance + (ridge + self._doubt) * np.eye(len(far))
            self._inverses[ridge] = np.linalg.inv(ridged)
        return self._unit(self._inverses[ridge] @ apart)

    def scaled(self, surrogate: Surrogate) -> Surrogate:
        """A surrogate with mean 0 and spread 1 over the collection; as it is where it has none."""
        return self._unit(np.asarray(surrogate.vector, np.float64)) or surrogate

    def spread(self, vector: FloatArray) -> float:
        """How far a vector spreads the collection's scores."""
        return math.sqrt(max(float(vector @ self.covariance @ vector), 0.0))

    def _unit(self, vector: FloatArray) -> Surrogate | None:
        spread = self.spread(vector)
        if not spread > 1e-9:
            return None
        vector = vector / spread
        return Surrogate(vector, -float(vector @ self._mean), space=self.space)


def targets(features: Mapping[str, Any], count: int) -> NDArray[np.float32]:
    """The columns of pictures, from raw features by block; zeros for a block that is missing."""
    out = np.zeros((count, COLUMNS), np.float32)
    if "logits" in features:
        sure = np.asarray(features["logits"], np.float32)
        sure = np.exp(sure - sure.max(axis=1, keepdims=True))
        out[:, :CLASSES] = np.sqrt(sure / sure.sum(axis=1, keepdims=True))
    if "colour" in features:
        out[:, CLASSES:] = np.asarray(features["colour"]).reshape(count, -1, COLOURS).mean(axis=1)
    return out


def fitted(codes: Any, columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """The table of :class:`Meanings`: a row per column, the mean code, the codes' covariance."""
    x = np.asarray(codes, np.float32)
    mean = x.mean(axis=0, dtype=np.float64).astype(np.float32)
    x = x - mean
    covariance = (x.T @ x) / len(x)
    shared = (x.T @ (columns - columns.mean(axis=0))) / len(x)
    ridge = RIDGE * np.eye(x.shape[1])
    rows = np.linalg.solve(covariance.astype(np.float64) + ridge, shared)
    return np.concatenate([rows.T, mean[None], covariance]).astype(np.float32)


def fit(store: Store, codes: Any, contents: IdArray) -> NDArray[np.float32] | None:
    """The table from a collection's codes and stored features; None where words have no columns."""
    blocks = _blocks(store)
    if blocks is None or not len(contents):
        return None
    rows = _sample(len(contents))

    def read(some: IdArray) -> dict[str, Any]:
        return {block_of(block): store.segments.read(block, some) for block in blocks}

    sound, features = store.segments.sound(contents[rows], read)
    rows = rows[sound]
    return fitted(codes[rows], targets(features, len(rows))) if len(rows) else None


def _blocks(store: Store) -> list[str] | None:
    """Blocks that words can have columns over; one of another size is somebody's own.

    None where words mean nothing here: no such block, and no network that reads them itself.
    """
    chosen, known = store.settings.get("features") or (), store.segments.blocks()
    found = [b for b in chosen if known.get(b, (0,))[0] == BLOCKS.get(block_of(b), -1)]
    return found if found or any(block_of(name) == "clip" for name in chosen) else None


def _sample(count: int) -> IdArray:
    """Places of pictures, evenly spaced."""
    return np.unique(np.linspace(0, count - 1, min(count, SAMPLE)).astype(np.int64))


def of_view(store: Store, view: View) -> Meanings | None:
    """The meanings of a view: those beside its index, or fitted now where it has none."""
    found = store.generations.current(view.line.stored) if view.generation else None
    if found is not None and found.number == view.generation and (found.folder / FILE).exists():
        return Meanings(np.load(found.folder / FILE), view.space, len(view))
    if not len(view) or _blocks(store) is None:
        return None
    rows = _sample(len(view))
    table = fit(store, view.rows(view.ids[rows]), view.contents[rows])
    return None if table is None else Meanings(table, view.space, len(view))
