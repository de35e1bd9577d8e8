"""Shape: a pyramid of histograms of edge directions (PHoG, 680-d); see docs/features.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import cv2
import numba
import numpy as np
from numpy.typing import NDArray

from likewise.features.pictures import SIDE, Batch, Picture, pooled_cells

BINS = 8
LEVELS = (1, 2, 4, 8)


class Shape:
    """Histograms of edge directions in 85 cells."""

    name: ClassVar[str] = "shape"
    version = "phog-1"
    dim = BINS * sum(side * side for side in LEVELS)

    def __call__(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """One row of 680 a picture."""
        grey = Batch.of(pictures).grey(SIDE)
        finest = np.empty((len(grey), LEVELS[-1], LEVELS[-1], BINS))
        for i, image in enumerate(grey):
            smooth = cv2.GaussianBlur(image, (0, 0), 1.0)
            along_x = cv2.Scharr(smooth, cv2.CV_32F, 1, 0, scale=1 / 32)
            along_y = cv2.Scharr(smooth, cv2.CV_32F, 0, 1, scale=1 / 32)
            finest[i] = _votes(along_x, along_y, LEVELS[-1])
        rows = [pooled_cells(finest, side) for side in LEVELS]
        out = np.concatenate(rows, axis=1)
        total = out.sum(axis=1, keepdims=True)
        # rounding noise of a flat picture is no edge
        out = np.where(total > 1e-3, out / np.maximum(total, 1e-3), 0.0)
        return out.astype(np.float32)


@numba.njit(cache=True)
def _votes(along_x: Any, along_y: Any, side: int) -> Any:
    """Magnitudes by direction, linearly shared between the two nearest bins, a cell each."""
    height, width = along_x.shape
    out = np.zeros((side, side, BINS))
    for y in range(height):
        row = y * side // height
        for x in range(width):
            gx, gy = along_x[y, x], along_y[y, x]
            magnitude = np.sqrt(gx * gx + gy * gy)
            place = np.arctan2(gy, gx) * (BINS / np.pi) + BINS
            low = np.floor(place)
            share = place - low
            column = x * side // width
            first = int(low) % BINS
            out[row, column, first] += magnitude * (1.0 - share)
            out[row, column, (first + 1) % BINS] += magnitude * share
    return out
