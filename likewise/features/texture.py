"""Texture: energy of a wavelet transform, by scale and direction (18-d); see docs/features.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.features.pictures import SIDE, Batch, Picture

LEVELS = 3
_ROOT = np.sqrt(3.0)
LOW = np.array([1 + _ROOT, 3 + _ROOT, 3 - _ROOT, 1 - _ROOT]) / (4 * np.sqrt(2))
HIGH = LOW[::-1] * np.array([1, -1, 1, -1])

Images = NDArray[np.float32]


class Texture:
    """Mean and deviation of nine wavelet subbands."""

    name: ClassVar[str] = "texture"
    version = "wavelet-d4-1"
    dim = 6 * LEVELS

    def __call__(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """One row of 18 a picture."""
        low = Batch.of(pictures).grey(SIDE)
        out = np.empty((len(low), LEVELS, 3, 2), dtype=np.float32)
        for level in range(LEVELS):
            low, *details = transformed(low)
            for i, detail in enumerate(details):
                out[:, level, i, 0] = np.abs(detail).mean(axis=(1, 2))
                out[:, level, i, 1] = detail.std(axis=(1, 2))
            out[:, level] /= 2.0 ** (level + 1)
        return out.reshape(len(out), self.dim)


def transformed(images: Images) -> tuple[Images, Images, Images, Images]:
    """One level of the transform: (low, horizontal, vertical, diagonal), each half the size."""
    low_y, high_y = _halves(images, axis=1)
    low, vertical = _halves(low_y, axis=2)
    horizontal, diagonal = _halves(high_y, axis=2)
    return low, horizontal, vertical, diagonal


def _halves(images: Images, axis: int) -> tuple[Images, Images]:
    """Low and high half along an axis, periodic at the end."""
    moved = np.moveaxis(images, axis, -1)
    even, odd = moved[..., 0::2], moved[..., 1::2]
    next_even, next_odd = np.roll(even, -1, axis=-1), np.roll(odd, -1, axis=-1)
    taps = (even, odd, next_even, next_odd)
    low, high = (_combined(taps, filter_) for filter_ in (LOW, HIGH))
    return np.moveaxis(low, -1, axis), np.moveaxis(high, -1, axis)


def _combined(taps: tuple[Images, ...], filter_: NDArray[np.float64]) -> Images:
    out: Images = np.zeros_like(taps[0])
    for tap, weight in zip(taps, filter_):
        out += tap * np.float32(weight)
    return out
