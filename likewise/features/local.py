"""Local features: RootSIFT descriptors of the strongest corners and blobs, by OpenCV.

A picture is at most ``limit`` places, strongest first.  Each has a SIFT descriptor (Lowe,
IJCV 2004) of 128 bytes; its square root after dividing by its sum is RootSIFT (Arandjelovic
and Zisserman, CVPR 2012), whose Euclidean distance is the Hellinger distance of the
histograms.  Bytes are kept, and the root is taken when it is needed: a quarter of the room.

As a block of features a picture is one row of bytes: how many places there are (2 bytes),
then for each place 128 bytes of descriptor, then for each place its position (2 + 2 bytes,
as shares of width and height), with zeros where there are fewer places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from likewise.features.pictures import GREY, Batch, Picture
from likewise.types import BadInput

LIMIT = 400
"""Places of a picture that the block keeps."""

SIZE = 128
"""Bytes of a descriptor."""

_SHARE = 65535


class LocalFeatures(NamedTuple):
    """Places (x, y as shares of width and height), strongest first, and 128 bytes of SIFT each."""

    places: NDArray[np.float32]
    descriptors: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.places)


def local_features(picture: Picture, limit: int = LIMIT) -> LocalFeatures:
    """The strongest places of a picture; none where it is flat or tiny."""
    if limit < 1:
        raise BadInput(f"At least one place of a picture must be kept, not {limit}.")
    height, width = picture.shape[:2]
    empty = LocalFeatures(np.zeros((0, 2), np.float32), np.zeros((0, SIZE), np.uint8))
    if min(height, width) < 8:  # the detector's smallest octave
        return empty
    grey = np.rint(picture @ GREY).astype(np.uint8)
    sift: Any = cv2.SIFT.create()
    points = sift.detect(grey, None)
    # OpenCV's own limit leaves the order open; equal strength falls to the place.
    order = sorted(points, key=lambda p: (-p.response, p.pt[1], p.pt[0], p.angle))[:limit]
    if not order:
        return empty
    kept, found = sift.compute(grey, order)
    size = np.array([width, height], dtype=np.float32)
    places = np.array([p.pt for p in kept], dtype=np.float32) / size
    descriptors = np.clip(np.rint(found), 0, 255).astype(np.uint8)
    return LocalFeatures(np.clip(places, 0, 1), descriptors)


def root_sift(descriptors: NDArray[Any]) -> NDArray[np.float32]:
    """RootSIFT of descriptors: unit rows, or zero where a descriptor is."""
    x = np.asarray(descriptors, dtype=np.float32)
    if x.ndim != 2 or x.shape[1] != SIZE:
        raise BadInput(f"Descriptors are rows of {SIZE} numbers, not of shape {x.shape}.")
    total = x.sum(axis=1, keepdims=True)
    out: NDArray[np.float32] = np.sqrt(x / np.where(total > 0, total, 1))
    return out


def pack(found: LocalFeatures, limit: int = LIMIT) -> NDArray[np.uint8]:
    """One picture's places as one row of bytes."""
    n = min(len(found), limit)
    out = np.zeros(2 + limit * (SIZE + 4), np.uint8)
    out[:2] = np.frombuffer(np.array(n, "<u2").tobytes(), np.uint8)
    out[2 : 2 + n * SIZE] = found.descriptors[:n].ravel()
    shares = np.rint(found.places[:n] * _SHARE).astype("<u2")
    at = 2 + limit * SIZE
    out[at : at + 4 * n] = np.frombuffer(shares.tobytes(), np.uint8)
    return out


def unpack(row: NDArray[Any]) -> LocalFeatures:
    """The places that :func:`pack` wrote down (as bytes, or as floats of the same value)."""
    data = np.asarray(row).astype(np.uint8)
    limit, rest = divmod(len(data) - 2, SIZE + 4)
    n = int(data[:2].view("<u2")[0]) if limit > 0 and not rest else -1
    if not 0 <= n <= limit:
        raise BadInput("These bytes are no local features; index the pictures again.")
    descriptors = data[2 : 2 + n * SIZE].reshape(n, SIZE).copy()
    at = 2 + limit * SIZE
    shares = data[at : at + 4 * n].copy().view("<u2").reshape(n, 2)
    return LocalFeatures((shares / np.float32(_SHARE)).astype(np.float32), descriptors)


class Local:
    """Local features as a block: see the module's text for the layout of a row."""

    name: ClassVar[str] = "local"
    version = f"sift-{LIMIT}-1"
    dim = 2 + LIMIT * (SIZE + 4)

    def __call__(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """One row of byte values a picture."""
        batch = Batch.of(pictures)
        out = np.zeros((len(batch), self.dim), dtype=np.float32)
        for row, picture in zip(out, batch):
            row[:] = pack(local_features(picture))
        return out
