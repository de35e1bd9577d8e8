"""Colour: which colours, where they are, and how they cluster; see docs/features.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from likewise.features.pictures import SIDE, Batch, Picture, pooled_cells

COLOURS = 36
DISTANCES = (1, 3, 5, 7)
LEVELS = ((1, 0.25), (2, 0.25), (4, 0.5))
"""Cells a side and weight of each level of the pyramid."""


class HsvHistogram:
    """Share of pixels in each of 36 colours."""

    name: ClassVar[str] = "hsv_histogram"
    version = "hsv36-1"
    dim = COLOURS

    def __call__(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """One row of 36 a picture."""
        cells = _cells(quantised(Batch.of(pictures)), 1)
        return cells.reshape(-1, self.dim).astype(np.float32)


class SpatialColour:
    """Share of pixels in each of 36 colours, in 1 + 4 + 16 cells."""

    name: ClassVar[str] = "spatial_colour"
    version = "hsv36-pyramid-1"
    dim = COLOURS * sum(side * side for side, _ in LEVELS)

    def __call__(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """One row of 756 a picture: the whole, then quarters, then sixteenths, row by row."""
        colours = quantised(Batch.of(pictures))
        finest = _cells(colours, LEVELS[-1][0])
        rows = [weight * pooled_cells(finest, side) for side, weight in LEVELS]
        return np.concatenate(rows, axis=1).astype(np.float32)


class Correlogram:
    """Probability that a colour is met again at four distances."""

    name: ClassVar[str] = "correlogram"
    version = "hsv36-correlogram-1"
    dim = COLOURS * len(DISTANCES)

    def __call__(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """One row of 144 a picture: 36 colours at distance 1, then at 3, 5 and 7."""
        colours = quantised(Batch.of(pictures))
        return np.concatenate([_again(colours, d) for d in DISTANCES], axis=1)


class Colour(Correlogram):
    """The colour block of the default space: the correlogram, the best of the three."""

    name: ClassVar[str] = "colour"


def quantised(batch: Batch) -> NDArray[np.uint8]:
    """The number of its colour (0-35) for every pixel: n x 128 x 128."""
    colours: NDArray[np.uint8] = _quantise(batch.squashed(SIDE))
    return colours


def _cells(colours: NDArray[np.uint8], side: int) -> NDArray[np.float64]:
    """Histograms of side x side cells as shares of the whole picture: n x side x side x 36."""
    counts: NDArray[np.int64] = _count(colours, side)
    shares: NDArray[np.float64] = np.divide(counts, colours.shape[1] * colours.shape[2])
    return shares


@numba.njit(cache=True)
def _quantise(pictures: Any) -> Any:
    """Hue, saturation and value of each pixel, and its bin."""
    n, height, width, _ = pictures.shape
    out = np.empty((n, height, width), dtype=np.uint8)
    for i in range(n):
        for y in range(height):
            for x in range(width):
                r = np.int32(pictures[i, y, x, 0])
                g = np.int32(pictures[i, y, x, 1])
                b = np.int32(pictures[i, y, x, 2])
                most, least = max(r, g, b), min(r, g, b)
                spread = most - least
                if most < 51:  # value < .2
                    out[i, y, x] = 0
                    continue
                if 5 * spread < most:  # saturation < .2
                    out[i, y, x] = min(1 + 7 * (most - 51) // 204, 7)
                    continue
                if most == r:
                    hue = 60.0 * (g - b) / spread
                elif most == g:
                    hue = 120.0 + 60.0 * (b - r) / spread
                else:
                    hue = 240.0 + 60.0 * (r - g) / spread
                if hue < 0.0:
                    hue += 360.0
                if hue < 22.0 or hue >= 330.0:
                    h = 0
                elif hue < 45.0:
                    h = 1
                elif hue < 70.0:
                    h = 2
                elif hue < 155.0:
                    h = 3
                elif hue < 186.0:
                    h = 4
                elif hue < 278.0:
                    h = 5
                else:
                    h = 6
                s = 1 if 100 * spread >= 65 * most else 0
                v = 1 if 10 * most >= 7 * 255 else 0
                out[i, y, x] = 8 + 4 * h + 2 * s + v
    return out


@numba.njit(cache=True)
def _count(colours: Any, side: int) -> Any:
    n, height, width = colours.shape
    out = np.zeros((n, side, side, COLOURS), dtype=np.int64)
    for i in range(n):
        for y in range(height):
            row = y * side // height
            for x in range(width):
                out[i, row, x * side // width, colours[i, y, x]] += 1
    return out


@numba.njit(cache=True)
def _again(colours: Any, distance: int) -> Any:
    """Share of the ring at this distance that has the pixel's own colour, a colour at a time.

    Equal neighbours are counted a pixel first, in rows that the compiler turns into vector
    instructions, and only then added up by colour.  A pair is seen from both ends, so half
    of the ring's offsets are enough.  Rings that leave the picture count as far as they are
    inside.
    """
    n, height, width = colours.shape
    out = np.zeros((n, COLOURS), dtype=np.float32)
    same = np.empty((height, width), dtype=np.uint8)
    size = np.zeros((height, width), dtype=np.int64)
    for dy in range(distance + 1):
        for dx in range(-distance, distance + 1):
            if max(dy, abs(dx)) == distance and (dy > 0 or dx > 0):
                left, right = max(0, -dx), min(width, width - dx)
                for y in range(height - dy):
                    for x in range(left, right):
                        size[y, x] += 1
                        size[y + dy, x + dx] += 1
    for i in range(n):
        picture = colours[i]
        same[:] = 0
        for dy in range(distance + 1):
            for dx in range(-distance, distance + 1):
                if max(dy, abs(dx)) == distance and (dy > 0 or dx > 0):
                    left, right = max(0, -dx), min(width, width - dx)
                    for y in range(height - dy):
                        here = picture[y, left:right]
                        there = picture[y + dy, left + dx : right + dx]
                        count = same[y, left:right]
                        for x in range(len(here)):
                            count[x] += np.uint8(here[x] == there[x])
        met = np.zeros(COLOURS, dtype=np.int64)
        seen = np.zeros(COLOURS, dtype=np.int64)
        for y in range(height):
            for x in range(width):
                met[picture[y, x]] += same[y, x]
                seen[picture[y, x]] += size[y, x]
        for c in range(COLOURS):
            if seen[c] > 0:
                out[i, c] = 2.0 * met[c] / seen[c]  # each pair was counted from one end
    return out
