"""Colours of the swatches: named hues and grounds in OKLCH, each design with its own few tones.

OKLCH (lightness, chroma, hue) is close to what the eye sees, so tones that are made by
equal steps look like equal steps, and a colour keeps its name when it is made paler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

COLOURS: dict[str, tuple[float, float, float]] = {
    "red": (0.57, 0.19, 25.0), "orange": (0.70, 0.16, 56.0), "yellow": (0.82, 0.15, 90.0),
    "olive": (0.58, 0.10, 114.0), "green": (0.58, 0.13, 150.0), "teal": (0.58, 0.095, 195.0),
    "blue": (0.59, 0.14, 252.0), "navy": (0.36, 0.10, 266.0), "purple": (0.52, 0.15, 305.0),
    "pink": (0.74, 0.13, 356.0), "brown": (0.46, 0.075, 52.0), "grey": (0.60, 0.008, 260.0)
}  # fmt: skip
"""The colour names of the truth, as (lightness, chroma, hue in degrees)."""

GROUNDS: dict[str, tuple[float, float, float]] = {
    "white": (0.975, 0.004, 95.0), "cream": (0.950, 0.030, 92.0), "sand": (0.880, 0.038, 80.0),
    "blush": (0.915, 0.034, 22.0), "mist": (0.920, 0.018, 228.0), "sage": (0.880, 0.030, 142.0),
    "charcoal": (0.305, 0.010, 260.0), "midnight": (0.295, 0.050, 272.0)
}  # fmt: skip
"""What the motif lies on."""

# Pairs in which the motif would be hard to see, or would look muddy.
_UNSUITED: dict[str, tuple[str, ...]] = {
    "red": ("midnight",), "orange": (), "yellow": ("white", "cream", "sand", "sage", "blush"),
    "olive": ("sage", "midnight"), "green": ("sage",), "teal": ("sage",), "blue": ("charcoal",),
    "navy": ("charcoal", "midnight"), "purple": ("charcoal", "sage"),
    "pink": ("blush", "sage", "sand"), "brown": ("charcoal", "midnight"), "grey": ("sage", "sand")
}  # fmt: skip

# What a small accent (a flower's heart, a plaid's thin line) may be.
_ACCENTS: tuple[tuple[float, float, float], ...] = (
    (0.84, 0.13, 86.0), (0.96, 0.020, 92.0), (0.74, 0.12, 40.0), (0.80, 0.07, 195.0)
)  # fmt: skip

_TO_LMS = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
_TO_RGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


@dataclass(frozen=True)
class Palette:
    """Linear-light RGB of a design: the ground, and the tones that the motif uses."""

    ground: NDArray[np.float32]
    tones: NDArray[np.float32]
    """One row each: main, deep, soft, accent."""


def suited_grounds(colour: str) -> tuple[str, ...]:
    """Grounds on which a colour is plainly seen."""
    return tuple(name for name in GROUNDS if name not in _UNSUITED[colour])


def palette(colour: str, ground: str, rng: np.random.Generator) -> Palette:
    """The tones of one design: its named colour, nudged, with a deep, a soft and an accent tone."""
    lightness, chroma, hue = COLOURS[colour]
    lightness += rng.uniform(-0.025, 0.025)
    chroma *= rng.uniform(0.85, 1.08)
    hue += rng.uniform(-6.0, 6.0)
    dark_ground = GROUNDS[ground][0] < 0.5
    # On a dark ground every tone is lifted a little, or the deep one would drown in it.
    lift = 0.06 if dark_ground else 0.0
    deep = (lightness - 0.13 + lift, chroma * 0.95, hue - 5.0)
    soft = (lightness + (0.90 - lightness) * 0.52, chroma * 0.58, hue + 8.0)
    accent = _ACCENTS[int(rng.integers(len(_ACCENTS)))]
    tones = [(lightness + lift, chroma, hue), deep, soft, accent]
    return Palette(_linear(GROUNDS[ground]), np.stack([_linear(tone) for tone in tones]))


def _linear(lch: tuple[float, float, float]) -> NDArray[np.float32]:
    """Linear-light sRGB of an OKLCH colour, its chroma reduced until it can be shown."""
    lightness, chroma, hue = lch
    angle = np.deg2rad(hue)
    for share in np.linspace(1.0, 0.0, 21):
        a, b = share * chroma * np.cos(angle), share * chroma * np.sin(angle)
        rgb = _TO_RGB @ (_TO_LMS @ np.array([lightness, a, b])) ** 3
        if rgb.min() >= -1e-3 and rgb.max() <= 1.001:
            break
    clipped: NDArray[np.float32] = np.clip(rgb, 0.0, 1.0).astype(np.float32)
    return clipped


def _srgb_table() -> NDArray[np.uint8]:
    x = np.linspace(0.0, 1.0, 4096)
    y = np.where(x <= 0.0031308, 12.92 * x, 1.055 * np.maximum(x, 1e-9) ** (1 / 2.4) - 0.055)
    table: NDArray[np.uint8] = np.rint(y * 255).astype(np.uint8)
    return table


_SRGB = _srgb_table()


def to_srgb(linear: NDArray[Any]) -> NDArray[np.uint8]:
    """Linear light in [0, 1] to sRGB bytes, through a table."""
    levels = np.clip(linear * np.float32(4095.0) + np.float32(0.5), 0, 4095).astype(np.int16)
    encoded: NDArray[np.uint8] = np.take(_SRGB, levels)
    return encoded
