"""Plain similarity: a fixed weight a block, nothing learned; what every model must beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.spaces import Blocks
from likewise.types import BadInput, FloatArray, Surrogate, as_matrix, as_vector


class CodesAlone:
    """What a similarity has that needs no number of an item beside its code."""

    def side_columns(self, items: Any) -> dict[str, FloatArray]:
        """None."""
        return {}


class Plain(CodesAlone):
    """score(q, x) = sum over blocks b of w0_b (q_b . x_b): a weighted sum of block cosines."""

    kind: ClassVar[str] = "plain"

    def __init__(self, space: Blocks, weights: Mapping[str, float] | None = None) -> None:
        self.space = space
        self.weights = dict(weights) if weights is not None else dict.fromkeys(space.names, 1.0)
        self.w0 = space.spread(self.weights)
        if not np.isfinite(self.w0).all() or not (self.w0 >= 0).all() or not self.w0.any():
            raise BadInput("Block weights must be finite, not negative, and not all zero.")

    def surrogate(self, query: Any) -> Surrogate:
        """w0 o q."""
        q = as_vector(query, dim=self.space.dim)
        return Surrogate(self.w0.astype(q.dtype) * q, space=self.space.fingerprint, plain=True)

    def surrogates(self, queries: Any) -> FloatArray:
        """The surrogate vectors of many queries at once, one row each."""
        q = as_matrix(queries, dim=self.space.dim, name="queries")
        return np.asarray(self.w0.astype(q.dtype) * q)

    def score(self, query: Any, items: Any) -> FloatArray:
        """The weighted sum of block cosines, block by block."""
        q, x = as_vector(query, dim=self.space.dim), self.space.encode(items)
        total = np.zeros(len(x))
        for name, part in self.space.slices.items():
            total += self.weights.get(name, 0.0) * (
                x[:, part].astype(float) @ q[part].astype(float)
            )
        return total

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The weights by block."""
        return {}, {"weights": self.weights}

    @classmethod
    def from_arrays(
        cls, space: Blocks, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]
    ) -> Plain:
        """The similarity that :meth:`to_arrays` described."""
        return cls(space, settings["weights"])
