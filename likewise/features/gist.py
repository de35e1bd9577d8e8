"""Gist: energy of oriented filters on a 4 x 4 grid (320-d); see docs/features.md."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from likewise.features.pictures import SIDE, Batch, Picture

ORIENTATIONS = (8, 8, 4)
GRID = 4
MARGIN = 16
FINEST = 0.3
CHUNK = 16


class Gist:
    """Average energy of 20 oriented filters in 16 cells."""

    name: ClassVar[str] = "gist"
    version = "gist-1"
    dim = sum(ORIENTATIONS) * GRID * GRID

    def __call__(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        """One row of 320 a picture."""
        grey = Batch.of(pictures).grey(SIDE)
        out = np.empty((len(grey), sum(ORIENTATIONS), GRID * GRID), dtype=np.float32)
        for at in range(0, len(grey), CHUNK):
            out[at : at + CHUNK] = _energies(prefiltered(grey[at : at + CHUNK]))
        return out.reshape(len(grey), self.dim)


def prefiltered(grey: NDArray[np.float32]) -> NDArray[np.float32]:
    """Luma without slow shading and with even local contrast, mirrored into a margin."""
    wide = [(0, 0), (MARGIN, MARGIN), (MARGIN, MARGIN)]
    image = np.pad(np.log1p(255.0 * grey), wide, mode="symmetric").astype(np.float32)
    blur = _blur(image.shape[1])
    sharp = image - _filtered(image, blur)
    deviation = np.sqrt(np.maximum(_filtered(sharp * sharp, blur), 0.0))
    return np.asarray(sharp / (np.float32(0.2) + deviation), dtype=np.float32)


def _filtered(image: NDArray[np.float32], gain: NDArray[np.float32]) -> NDArray[np.float32]:
    spectrum = fft.rfft2(image, axes=(1, 2))
    spectrum *= gain[:, : spectrum.shape[2]]
    out: NDArray[np.float32] = fft.irfft2(spectrum, s=image.shape[1:], axes=(1, 2))
    return out


@lru_cache(maxsize=4)
def _blur(side: int) -> NDArray[np.float32]:
    cycles = fft.fftfreq(side) * SIDE
    square = cycles[:, None] ** 2 + cycles[None, :] ** 2
    gain: NDArray[np.float32] = np.exp(-np.log(2) * square / 4.0**2).astype(np.float32)
    gain.setflags(write=False)
    return gain


def _energies(images: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean magnitude of every filter's response in every cell: n x 20 x 16."""
    spectrum = fft.fft2(images, axes=(1, 2))
    parts = []
    for scale, count in enumerate(ORIENTATIONS):
        raster, margin = images.shape[1] >> scale, MARGIN >> scale
        cut = _cut(spectrum, raster)
        for gain in bank(raster, count):
            response = np.abs(fft.ifft2(cut * gain, axes=(1, 2)))
            inside = response[:, margin : raster - margin, margin : raster - margin]
            cell = inside.shape[1] // GRID
            means = inside.reshape(len(images), GRID, cell, GRID, cell).mean(axis=(2, 4))
            parts.append(means.reshape(len(images), -1))
    return np.stack(parts, axis=1)


def _cut(spectrum: NDArray[np.complex64], raster: int) -> NDArray[np.complex64]:
    """The low frequencies of a spectrum, as the spectrum of a coarser raster."""
    side, half = spectrum.shape[1], raster // 2
    keep = np.r_[0:half, side - half : side]
    scale = np.float32((raster / side) ** 2)
    return spectrum[:, keep[:, None], keep[None, :]] * scale


@lru_cache(maxsize=8)
def bank(raster: int, count: int) -> NDArray[np.float32]:
    """The filters of one scale, in cycles a pixel of its own raster: count x raster x raster."""
    cycles = fft.fftfreq(raster)
    frequency = np.hypot(cycles[:, None], cycles[None, :])
    angle = np.arctan2(cycles[:, None], cycles[None, :])
    turn = angle - np.pi * np.arange(count)[:, None, None] / count
    turn = (turn + np.pi) % (2 * np.pi) - np.pi
    radial = np.exp(-3.5 * (frequency / FINEST - 1) ** 2)
    radial[0, 0] = 0.0  # no answer to a constant
    gain: NDArray[np.float32] = (radial * np.exp(-np.pi * (count / 4) ** 2 * turn**2)).astype(
        np.float32
    )
    gain.setflags(write=False)
    return gain
