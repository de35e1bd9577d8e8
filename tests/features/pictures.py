"""Pictures with known content, for the tests of features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]


def plain(red: int, green: int, blue: int, height: int = 128, width: int = 128) -> Picture:
    return np.full((height, width, 3), (red, green, blue), dtype=np.uint8)


def noise(seed: int, height: int = 128, width: int = 128) -> Picture:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (height, width, 3), dtype=np.uint8)


def waves(cycles_x: float, cycles_y: float, side: int = 128) -> Picture:
    """A grey wave with so many cycles along x and y."""
    y, x = np.mgrid[:side, :side] / side
    grey = 127.5 + 100 * np.cos(2 * np.pi * (cycles_x * x + cycles_y * y))
    return np.repeat(grey[..., None], 3, axis=2).round().astype(np.uint8)


def scene(seed: int, height: int = 90, width: int = 140) -> Picture:
    """Smooth coloured blobs: something like a photograph."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    out = np.zeros((height, width, 3))
    for _ in range(12):
        centre = rng.uniform(0, (height, width))
        reach = rng.uniform(5, 40)
        blob = np.exp(-((y - centre[0]) ** 2 + (x - centre[1]) ** 2) / reach**2)
        out += blob[..., None] * rng.uniform(-150, 200, 3)
    return (out + 90).clip(0, 255).astype(np.uint8)


def odd_ones() -> dict[str, Picture]:
    """Pictures that are legal but hardly pictures."""
    return {
        "one pixel": plain(3, 200, 100, 1, 1),
        "row": noise(1, 1, 512),
        "column": noise(2, 512, 1),
        "strip": noise(3, 2, 500),
        "tiny": noise(4, 3, 2),
        "black": plain(0, 0, 0, 50, 70),
        "white": plain(255, 255, 255, 300, 20),
        "grey": plain(127, 127, 127, 128, 128),
        "one white point": _point(),
    }


def _point() -> Picture:
    out = plain(0, 0, 0)
    out[64, 64] = 255
    return out
