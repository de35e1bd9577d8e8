"""Pictures on their way into features: checked once, resized once for all who want the same size.

Resizing is the same everywhere: shrinking averages over areas (so that nothing aliases),
enlarging interpolates, each axis by itself, so that a strip of 1 x 512 pixels works like any
other picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from likewise.types import BadInput

Picture = NDArray[np.uint8]

SIDE = 128
"""Side of the square that colour, texture, shape and Gist look at."""

GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)
"""Luma of sRGB values (ITU-R BT.601), as television and JPEG have it."""


class Batch(Sequence[Picture]):
    """Checked pictures that remember their resized forms as long as the batch lives.

    Every feature wraps what it is given by :meth:`of`; a set of features wraps once, and so
    all of them share the work.
    """

    def __init__(self, pictures: Sequence[Picture]) -> None:
        self._pictures = [_checked(picture, i) for i, picture in enumerate(pictures)]
        self._made: dict[tuple[str, int], NDArray[np.uint8]] = {}
        self._grey: dict[int, NDArray[np.float32]] = {}

    @classmethod
    def of(cls, pictures: Sequence[Picture]) -> Batch:
        """The batch itself, or a new one around the pictures."""
        return pictures if isinstance(pictures, Batch) else cls(pictures)

    def __len__(self) -> int:
        return len(self._pictures)

    @overload
    def __getitem__(self, index: int) -> Picture: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Picture]: ...
    def __getitem__(self, index: int | slice) -> Picture | Sequence[Picture]:
        return self._pictures[index]

    def __iter__(self) -> Iterator[Picture]:
        return iter(self._pictures)

    def squashed(self, side: int = SIDE) -> NDArray[np.uint8]:
        """All pictures as one n x side x side x 3 array (shrunk by area, enlarged linearly)."""
        return self._resized("area", side)

    def bicubic(self, side: int) -> NDArray[np.uint8]:
        """The same with an antialiased bicubic filter, as deep networks are trained with."""
        return self._resized("bicubic", side)

    def grey(self, side: int = SIDE) -> NDArray[np.float32]:
        """Luma of :meth:`squashed` in [0, 1]."""
        if side not in self._grey:
            grey: NDArray[np.float32] = (self.squashed(side) @ (GREY / 255)).astype(np.float32)
            grey.setflags(write=False)
            self._grey[side] = grey
        return self._grey[side]

    def _resized(self, filter_name: str, side: int) -> NDArray[np.uint8]:
        key = (filter_name, side)
        if key not in self._made:
            resize = squash if filter_name == "area" else squash_bicubic
            out = np.empty((len(self), side, side, 3), dtype=np.uint8)
            for i, picture in enumerate(self._pictures):
                out[i] = resize(picture, side, side)
            out.setflags(write=False)
            self._made[key] = out
        return self._made[key]


def squash(picture: Picture, height: int, width: int) -> Picture:
    """Resize to exactly this size: areas are averaged, missing pixels interpolated."""
    h, w = picture.shape[:2]
    if (min(h, height), min(w, width)) != (h, w):
        small = (min(w, width), min(h, height))
        picture = np.asarray(cv2.resize(picture, small, interpolation=cv2.INTER_AREA), np.uint8)
    if picture.shape[:2] != (height, width):
        large = (width, height)
        picture = np.asarray(cv2.resize(picture, large, interpolation=cv2.INTER_LINEAR), np.uint8)
    return picture


def squash_bicubic(picture: Picture, height: int, width: int) -> Picture:
    """Resize to exactly this size by a bicubic filter that widens when it shrinks."""
    image = Image.fromarray(picture).resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(image)


def pooled_cells(cells: NDArray[np.float64], side: int) -> NDArray[np.float64]:
    """Histograms (n x fine x fine x bins) added up over side x side larger cells, flattened."""
    n, fine, _, bins = cells.shape
    step = fine // side
    merged = cells.reshape(n, side, step, side, step, bins).sum(axis=(2, 4))
    flat: NDArray[np.float64] = merged.reshape(n, side * side * bins)
    return flat


def _checked(picture: Picture, number: int) -> Picture:
    picture = np.asarray(picture)
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8 or not picture.size:
        raise BadInput(
            f"Picture {number} is {picture.dtype} of shape {picture.shape}; "
            "decode it to height x width x 3 of uint8 first."
        )
    return np.ascontiguousarray(picture)
