"""Drawing one swatch: a motif on a warped plane, painted in linear light, then given a surface.

Nothing here is drawn with a pen: a picture is a sum of fields over its pixels, so it is
antialiased without supersampling and takes a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from likewise.datasets.swatch_motifs import GROUND, MOTIFS, UPRIGHT, Field, Layer, Plane
from likewise.datasets.swatch_palettes import Palette, palette, to_srgb

SCALES: dict[str, tuple[float, float]] = {
    "small": (11.0, 13.5), "medium": (6.0, 7.2), "large": (3.0, 3.6)
}  # fmt: skip
"""Repeats of the motif along the longer side, from and to."""

Surface = tuple[Field, Field]
"""What a texture gives: light (times every channel) and wear (times every coverage)."""


@dataclass(frozen=True)
class Design:
    """All that one swatch is drawn from."""

    motif: str
    colour: str
    ground: str
    scale: str
    texture: str
    aspect: float
    number: int
    """Which of the designs of a seed this is; the small accidents of the hand depend on it."""


def draw(design: Design, size: int, seed: int) -> NDArray[np.uint8]:
    """The picture of a design, its longer side ``size`` pixels, as height x width x 3 sRGB."""
    width = size if design.aspect >= 1 else max(1, round(size * design.aspect))
    height = size if design.aspect <= 1 else max(1, round(size / design.aspect))
    # One stream each, so that another motif or texture leaves the other accidents as they are.
    hand, pattern, surface, colours = (
        np.random.default_rng([seed, design.number, k]) for k in range(4)
    )
    plane = _plane(design, height, width, size, hand)
    layers = MOTIFS[design.motif](plane, pattern)
    light, wear = TEXTURES[design.texture](height, width, size / 256, surface)
    paint = _paint(layers, wear, palette(design.colour, design.ground, colours))
    if design.texture in _RAISED:
        light = light * _shadow(layers, max(1, round(size / 128)))
    light = light * _room(height, width, hand)
    return np.ascontiguousarray(to_srgb(paint * light).transpose(1, 2, 0))


def _plane(design: Design, height: int, width: int, size: int, rng: np.random.Generator) -> Plane:
    """Pixel centres in repeats of the motif: turned, shifted, and bent a little by hand."""
    repeats = rng.uniform(*SCALES[design.scale])
    if design.motif in UPRIGHT:
        angle = np.deg2rad(rng.uniform(-2.0, 2.0))
    else:
        angle = rng.choice([0.0, 0.0, np.pi / 4, np.pi / 2]) + np.deg2rad(rng.uniform(-4, 4))
    y, x = np.meshgrid(
        np.arange(height, dtype=np.float32) + np.float32(0.5 - height / 2),
        np.arange(width, dtype=np.float32) + np.float32(0.5 - width / 2), indexing="ij", sparse=True
    )  # fmt: skip
    unit, c, s = np.float32(repeats / size), np.float32(np.cos(angle)), np.float32(np.sin(angle))
    # 100 keeps cell numbers positive; the shift decides what stands in the middle.
    shift = rng.uniform(100.0, 101.0, 2).astype(np.float32)
    # The hand errs by about as much of the sheet whatever the repeat, and never by much of one.
    bend = np.float32(min(0.035, 0.006 * repeats))
    u = unit * (c * x + s * y) + shift[0] + bend * _cloud(height, width, 4, rng)
    v = unit * (c * y - s * x) + shift[1] + bend * _cloud(height, width, 4, rng)
    return Plane(u, v, float(unit))


def _paint(layers: list[Layer], wear: Field, colours: Palette) -> Field:
    """The layers one over the other, one plane a channel (numpy is slow on a last axis of 3)."""
    paint = np.empty((3, *wear.shape), dtype=np.float32)
    paint[:] = colours.ground[:, None, None]
    for cover, tone in layers:
        ink = colours.ground if tone == GROUND else colours.tones[tone]
        share = cover.astype(np.float32, copy=False)
        share = share if tone == GROUND else share * wear
        for channel, level in zip(paint, ink):
            channel += share * (level - channel)
    return paint


def _shadow(layers: list[Layer], depth: int) -> Field:
    """A soft shadow that the motif casts down and to the right, as cut paper does."""
    solid: Field = np.zeros_like(layers[0][0], dtype=np.float32)
    for cover, tone in layers:
        solid = solid * (1 - cover) if tone == GROUND else solid + cover * (1 - solid)
    cast = np.zeros_like(solid)
    for step in range(1, 2 * depth + 1):
        cast[step:, step:] += solid[:-step, :-step]
    cast /= 2 * depth
    shade: Field = 1 - np.float32(0.30) * np.clip(cast - solid, 0, 1)
    return shade


def _room(height: int, width: int, rng: np.random.Generator) -> Field:
    """Light of the room: brighter towards one side, with a trace of cloth that is not flat."""
    dx, dy = rng.uniform(-0.05, 0.05, 2).astype(np.float32)
    y = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
    x = np.linspace(-1, 1, width, dtype=np.float32)[None, :]
    fall = np.float32(0.03) * (x * x + y * y)
    room: Field = 1 + dx * x + dy * y - fall + np.float32(0.012) * _cloud(height, width, 3, rng)
    return room


# --------------------------------------------------------------------------
# Textures


def _cloud(height: int, width: int, cells: int, rng: np.random.Generator) -> Field:
    """Smooth noise of about unit variance: ``cells`` knots a side, joined by cubics."""
    return _stretch(rng.standard_normal((cells + 2, cells + 2), dtype=np.float32), height, width)


def _stretch(knots: Field, height: int, width: int) -> Field:
    picture = Image.fromarray(knots).resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(picture, dtype=np.float32)


def _grain(height: int, width: int, rng: np.random.Generator) -> Field:
    return rng.standard_normal((height, width), dtype=np.float32)


def _knots(length: int, pixels: float) -> int:
    return max(2, round(length / pixels))


def _smooth(height: int, width: int, unit: float, rng: np.random.Generator) -> Surface:
    light = 1 + np.float32(0.006) * _grain(height, width, rng)
    return light, np.ones((height, width), dtype=np.float32)


def _paper(height: int, width: int, unit: float, rng: np.random.Generator) -> Surface:
    """Rag paper: a relief of several sizes lit from one side."""
    bump: Field = np.float32(0.5) * _grain(height + 1, width + 1, rng)
    for pixels, weight in ((3.0, 1.3), (7.0, 1.6)):
        knots = rng.standard_normal(
            (_knots(height, pixels * unit), _knots(width, pixels * unit)), dtype=np.float32
        )
        bump = bump + np.float32(weight) * _stretch(knots, height + 1, width + 1)
    slope = bump[1:, 1:] - bump[:-1, :-1]
    blot = np.float32(0.016) * _cloud(height, width, 9, rng)
    light: Field = 1 + np.float32(0.034) * slope + blot
    return light, np.full((height, width), 0.97, dtype=np.float32)


def _woven(height: int, width: int, unit: float, rng: np.random.Generator) -> Surface:
    """Plain weave: each thread lies over one neighbour and under the next; threads differ."""
    thread = np.float32(max(3.0, rng.uniform(4.0, 5.5) * unit))
    y = np.arange(height, dtype=np.float32)[:, None] / thread
    x = np.arange(width, dtype=np.float32)[None, :] / thread
    y = y + np.float32(0.10) * _cloud(height, width, 8, rng)
    x = x + np.float32(0.10) * _cloud(height, width, 8, rng)
    row, column = np.floor(y), np.floor(x)
    across_y, across_x = y - row - np.float32(0.5), x - column - np.float32(0.5)
    i, j = row.astype(np.int32) & 255, column.astype(np.int32) & 255
    over = (i ^ j) & 1 == 0  # the crosswise thread is on top
    round_thread = np.where(over, across_y, across_x)
    dive = np.where(over, across_x, across_y)
    tint = rng.normal(0, 0.045, (2, 256)).astype(np.float32)
    light = np.float32(1.05) - np.float32(0.75) * round_thread**2 - np.float32(0.35) * dive**2
    light = light + np.where(over, np.take(tint[0], i), np.take(tint[1], j))
    light = light + np.float32(0.018) * _grain(height, width, rng)
    return light.astype(np.float32), np.full((height, width), 0.96, dtype=np.float32)


def _speckled(height: int, width: int, unit: float, rng: np.random.Generator) -> Surface:
    """Recycled paper: dark and pale flecks of several sizes."""
    light: Field = 1 + np.float32(0.012) * _grain(height, width, rng)
    for pixels, level, weight in ((1.6, 2.75, -0.55), (2.6, 2.85, -0.40), (2.0, 2.8, 0.35)):
        shape = (_knots(height, pixels * unit), _knots(width, pixels * unit))
        fleck = _stretch((_grain(*shape, rng) > level).astype(np.float32), height, width)
        light = light + np.float32(weight) * np.clip(fleck, 0, 1)
    return light, np.full((height, width), 0.96, dtype=np.float32)


def _brushed(height: int, width: int, unit: float, rng: np.random.Generator) -> Surface:
    """A dry brush drawn along one direction: streaks in light, and paint that thins out."""
    fine = rng.standard_normal(
        (_knots(height, 1.6 * unit), _knots(width, 70 * unit) + 2), dtype=np.float32
    )
    broad = rng.standard_normal(
        (_knots(height, 6 * unit), _knots(width, 130 * unit) + 2), dtype=np.float32
    )
    streak: Field = np.float32(0.6) * _stretch(fine, height, width)
    streak = streak + np.float32(0.5) * _stretch(broad, height, width)
    wear = np.clip(np.float32(0.93) + np.float32(0.30) * np.minimum(streak, 0), 0.35, 1)
    return 1 + np.float32(0.035) * streak, wear


def _washed(height: int, width: int, unit: float, rng: np.random.Generator) -> Surface:
    """Watercolour: pigment gathers here and thins out there."""
    pool: Field = np.float32(0.6) * _cloud(height, width, 7, rng)
    pool = pool + np.float32(0.4) * _cloud(height, width, 17, rng)
    wear = np.clip(np.float32(0.76) + np.float32(0.17) * pool, 0.35, 1)
    light = 1 + np.float32(0.010) * _grain(height, width, rng)
    return light, wear


TEXTURES: dict[str, Callable[[int, int, float, np.random.Generator], Surface]] = {
    "smooth": _smooth, "paper": _paper, "woven": _woven, "speckled": _speckled, "brushed": _brushed,
    "washed": _washed
}  # fmt: skip
"""Every surface by its name in the truth."""

_RAISED = frozenset({"smooth", "paper"})
