"""Side columns as extra dimensions, for engines that know inner products only.

A side column becomes one more column of the code, and its coefficient one more number of
the surrogate, so that any coefficient can be asked for without building anew.  Columns are
centred and brought to the size of a code's column first, lest they rule the clustering;
the constant that centring takes away is added to the score again.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likewise.index._base import Asked
from likewise.index._checks import single_precision
from likewise.types import BadInput, FloatArray

# Beyond this a float32 inner product may overflow (queries are kept below it as well).
_LARGEST = 1e15


class Lifted(NamedTuple):
    """Queries for the engine: ``score = factor * (engine's score) + shift``."""

    vectors: NDArray[np.float32]
    factor: NDArray[np.float64] | None
    shift: NDArray[np.float64] | None

    def scores(self, found: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """True scores of what the engine found, without offset."""
        if self.factor is None and self.shift is None:
            return found
        wide = found.astype(np.float64)
        if self.factor is not None:
            wide *= self.factor[:, None]
        if self.shift is not None:
            wide += self.shift[:, None]
        return wide


class SideLift(NamedTuple):
    """How side columns are centred and scaled: ``lifted = (column - mean) / scale``."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, codes: FloatArray, side: NDArray[np.float64]) -> Self:
        """Mean and scale that bring each side column to the size of a code's column."""
        mean = side.mean(axis=0) if len(side) else np.zeros(side.shape[1])
        spread = np.sqrt(np.square(side - mean).mean(axis=0)) if len(side) else np.zeros_like(mean)
        some = np.asarray(codes[:: max(1, len(codes) // 4096)], dtype=np.float64)
        usual = float(np.sqrt(np.square(some).mean())) if some.size else 1.0
        scale = np.where(spread > 0, spread, 1.0) / (usual or 1.0)
        return cls(mean, scale)

    @classmethod
    def of_json(cls, entry: dict[str, Any]) -> Self:
        """What :meth:`as_json` wrote."""
        return cls(np.array(entry["mean"], float), np.array(entry["scale"], float))

    def as_json(self) -> dict[str, Any]:
        """Plain lists for the manifest."""
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist()}

    def codes(self, codes: FloatArray, side: NDArray[np.float64]) -> NDArray[np.float32]:
        """Codes with the lifted side columns beside them, float32; not copied where none are."""
        peak = max(abs(float(codes.max(initial=0))), abs(float(codes.min(initial=0))))
        if peak > _LARGEST:
            raise BadInput(
                f"The codes hold numbers up to {peak:.3g}, too large for single precision; "
                "scale the features or use a flat index."
            )
        if not len(self.mean):
            return np.ascontiguousarray(codes, dtype=np.float32)
        out = np.empty((len(codes), codes.shape[1] + len(self.mean)), np.float32)
        out[:, : codes.shape[1]] = codes
        out[:, codes.shape[1] :] = (side - self.mean) / self.scale
        return out

    def queries(self, asked: Asked) -> Lifted:
        """Queries with the coefficients of the side columns beside them."""
        if not len(self.mean):
            return Lifted(*single_precision(asked.vectors, asked.fits), None)
        full = np.hstack([asked.vectors.astype(np.float64), asked.side * self.scale])
        peak = np.abs(full).max(axis=1)
        fits = bool(((peak < 1e15) & (peak > 1e-15)).all())
        return Lifted(*single_precision(full, fits), asked.side @ self.mean)
