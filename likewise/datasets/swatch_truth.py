"""Which swatches a collection holds: balanced designs, and near-duplicates of some of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from likewise.datasets.swatch_art import SCALES, TEXTURES, Design
from likewise.datasets.swatch_motifs import MOTIFS
from likewise.datasets.swatch_palettes import COLOURS, suited_grounds

ChangeKind = Literal["none", "crop", "rotation", "light"]

CHANGES: tuple[ChangeKind, ...] = ("crop", "rotation", "light")
"""How a near-duplicate differs from its original."""

_ASPECTS = (1.0, 4 / 5, 5 / 4, 3 / 4, 4 / 3, 2 / 3)
_ASPECT_SHARES = (0.64, 0.08, 0.08, 0.07, 0.07, 0.06)


@dataclass(frozen=True)
class Change:
    """What was done to an original: cropped (shares), turned, or put in another light."""

    kind: ChangeKind = "none"
    box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
    degrees: float = 0.0
    gains: tuple[float, float, float] = (1.0, 1.0, 1.0)
    gamma: float = 1.0


@dataclass(frozen=True)
class Swatch:
    """The truth of one item.  Items with one ``group`` show one design."""

    design: Design
    group: int
    change: Change


def plan(n: int, seed: int, duplicates: float) -> list[Swatch]:
    """The truth of ``n`` items: every motif, colour, scale and texture about equally often.

    A share ``duplicates`` of the items are near-duplicates, in groups of two to four.
    """
    rng = np.random.default_rng([seed, 1])
    sizes = _group_sizes(n, duplicates, rng)
    items = [
        Swatch(design, group, change)
        for group, (design, size) in enumerate(zip(_designs(len(sizes), rng), sizes))
        for change in (Change(), *(_change(rng) for _ in range(size - 1)))
    ]
    # Shuffled, so that neither a number nor a neighbour tells anything.
    return [items[i] for i in rng.permutation(n)]


def _group_sizes(n: int, duplicates: float, rng: np.random.Generator) -> list[int]:
    copies = min(round(n * duplicates), n // 2)
    sizes = [1] * (n - copies)
    group = 0
    while copies:
        extra = min(copies, int(rng.integers(1, 4)))
        sizes[group] += extra
        copies, group = copies - extra, group + 1
    return sizes


def _designs(count: int, rng: np.random.Generator) -> list[Design]:
    # Motif and colour run through all their pairs before one comes again.
    pairs = [(motif, colour) for motif in MOTIFS for colour in COLOURS]
    order = np.concatenate([rng.permutation(len(pairs)) for _ in range(-(-count // len(pairs)))])
    scales, textures = _balanced(tuple(SCALES), count, rng), _balanced(tuple(TEXTURES), count, rng)
    aspects = rng.choice(_ASPECTS, count, p=_ASPECT_SHARES)
    designs = []
    for number in range(count):
        motif, colour = pairs[order[number]]
        grounds = suited_grounds(colour)
        ground = grounds[int(rng.integers(len(grounds)))]
        designs.append(
            Design(
                *(motif, colour, ground, scales[number], textures[number]),
                aspect=float(aspects[number]),
                number=number,
            )
        )
    return designs


def _balanced(names: tuple[str, ...], count: int, rng: np.random.Generator) -> list[str]:
    order = rng.permutation(np.arange(count) % len(names))
    return [names[i] for i in order]


def _change(rng: np.random.Generator) -> Change:
    kind = CHANGES[int(rng.integers(len(CHANGES)))]
    if kind == "crop":
        share = float(rng.uniform(0.72, 0.9))
        left, top = (float(x) for x in rng.uniform(0, 1 - share, 2))
        return Change(kind, box=(left, top, left + share, top + share))
    if kind == "rotation":
        return Change(kind, degrees=float(rng.uniform(2, 8) * rng.choice([-1, 1])))
    exposure = float(rng.choice([rng.uniform(0.72, 0.88), rng.uniform(1.08, 1.2)]))
    warmth = float(rng.uniform(-0.06, 0.06))
    gains = (exposure * (1 + warmth), exposure, exposure * (1 - warmth))
    return Change(kind, gains=gains, gamma=float(rng.uniform(0.85, 1.15)))


def apply_change(picture: NDArray[np.uint8], change: Change) -> NDArray[np.uint8]:
    """The near-duplicate that a change makes of a picture; the picture is left as it is."""
    if change.kind == "crop":
        return _crop(Image.fromarray(picture), change.box, picture.shape)
    if change.kind == "rotation":
        return _rotate(picture, change.degrees)
    if change.kind == "light":
        levels = np.arange(256)[:, None] / 255
        table = np.clip(levels**change.gamma * np.asarray(change.gains), 0, 1)
        table = np.rint(table * 255).astype(np.uint8)
        return np.stack([table[picture[..., c], c] for c in range(3)], axis=-1)
    return picture.copy()


def _crop(
    picture: Image.Image, box: tuple[float, float, float, float], shape: tuple[int, ...]
) -> NDArray[np.uint8]:
    height, width = shape[:2]
    corners = (box[0] * width, box[1] * height, box[2] * width, box[3] * height)
    cut = picture.resize((width, height), Image.Resampling.BICUBIC, box=corners)
    return np.asarray(cut, dtype=np.uint8)


def _rotate(picture: NDArray[np.uint8], degrees: float) -> NDArray[np.uint8]:
    height, width = picture.shape[:2]
    turned = Image.fromarray(picture).rotate(degrees, Image.Resampling.BICUBIC)
    # The largest box of the same shape that holds no corner from outside the picture.
    angle = np.deg2rad(abs(degrees))
    longer, shorter = max(width, height), min(width, height)
    inside = 1 / (np.cos(angle) + longer / shorter * np.sin(angle))
    # Cubics look two pixels around, so stay that far away from the corners too.
    margin = float(1 - inside) / 2 + 2 / shorter
    return _crop(turned, (margin, margin, 1 - margin, 1 - margin), picture.shape)
