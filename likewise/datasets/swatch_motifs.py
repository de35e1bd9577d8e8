"""The motifs of the swatches, each a few signed distances turned into coverage.

A motif sees a plane whose unit is one repeat of the pattern (pixels, cells, coverage: the first
part of this file), and gives layers, painted in order: how much of each pixel a layer covers (0 to
1, antialiased by the pixel's own size) and with which tone.  A layer with tone ``GROUND`` uncovers
the ground again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Field = NDArray[Any]
"""One float32 a pixel (numpy's stubs lose the width of a float in mixed sums)."""
Cells = NDArray[np.int32]
Layer = tuple[Field, int]

GROUND, MAIN, DEEP, SOFT, ACCENT = -1, 0, 1, 2, 3
CELLS = 1024
"""Length of a random table: the small accidents repeat after 32 cells both ways."""


@dataclass(frozen=True)
class Plane:
    """Where each pixel lies, in repeats of the pattern, and how large a pixel is there."""

    u: Field
    v: Field
    pixel: float

    def cover(self, distance: Field) -> Field:
        """Coverage of the shape whose signed distance is given (negative inside)."""
        share: Field = np.clip(np.float32(0.5) - distance / np.float32(self.pixel), 0.0, 1.0)
        return share


@dataclass(frozen=True)
class Lattice:
    """The cell of each pixel: its own coordinates (centre 0), and its number below ``CELLS``."""

    x: Field
    y: Field
    cell: Cells

    def draw(self, table: NDArray[Any]) -> NDArray[Any]:
        """One value a cell from a random table, repeated over the plane."""
        return np.take(table, self.cell)

    def vary(self, low: float, high: float, rng: np.random.Generator) -> Field:
        """A number a cell, evenly between ``low`` and ``high``."""
        return self.draw(rng.uniform(low, high, CELLS).astype(np.float32))

    def choose(self, rng: np.random.Generator, *shares: float) -> NDArray[Any]:
        """A choice a cell: 0, 1, ... with these probabilities."""
        return self.draw(rng.choice(len(shares), CELLS, p=shares).astype(np.int8))


def numbers(i: Field, j: Field) -> Cells:
    """Cell numbers of whole column and row numbers, repeating after 32 both ways."""
    return ((i.astype(np.int32) & 31) << 5) | (j.astype(np.int32) & 31)


def fraction(t: Field) -> Field:
    """``t % 1``, but several times faster."""
    return t - np.floor(t)


def lattice(p: Plane, stagger: bool, rng: np.random.Generator, wobble: float = 0.05) -> Lattice:
    """Square cells, every second row shifted by half a cell if staggered, none quite in place."""
    j = np.floor(p.v)
    u = p.u + np.float32(0.5) * odd(j) if stagger else p.u
    i = np.floor(u)
    cell = Lattice(u - i - np.float32(0.5), p.v - j - np.float32(0.5), numbers(i, j))
    if not wobble:
        return cell
    dx, dy = cell.vary(-wobble, wobble, rng), cell.vary(-wobble, wobble, rng)
    return Lattice(cell.x - dx, cell.y - dy, cell.cell)


def odd(row: Field) -> Field:
    """1 in odd rows, 0 in even ones."""
    return (row.astype(np.int32) & 1).astype(np.float32)


def turned(cell: Lattice, turns: Field) -> tuple[Field, Field]:
    """Coordinates in each cell, turned by the angle that the table has for it."""
    c, s = cell.draw(np.cos(turns)), cell.draw(np.sin(turns))
    return c * cell.x + s * cell.y, c * cell.y - s * cell.x


def angles(low: float, high: float, rng: np.random.Generator) -> Field:
    """A table of angles, one a cell."""
    return rng.uniform(low, high, CELLS).astype(np.float32)


def split(cover: Field, choice: NDArray[Any], tones: tuple[int, ...]) -> list[Layer]:
    """The cells of one coverage shared out among several tones."""
    return [(cover * (choice == k), tone) for k, tone in enumerate(tones)]


def bands(p: Plane, t: Field, sett: list[tuple[float, float, int]]) -> list[Layer]:
    """Bands (centre, half width, tone) along ``t``, repeated with period 1."""
    layers: list[Layer] = []
    for centre, wide, tone in sett:
        away = np.abs(fraction(t + np.float32(0.5 - centre)) - np.float32(0.5))
        layers.append((p.cover(away - np.float32(wide)), tone))
    return layers


_TAU = np.float32(2 * np.pi)

_BAND_STYLES: tuple[list[tuple[float, float, int]], ...] = (
    [(0.5, 0.25, MAIN)],
    [(0.35, 0.22, MAIN), (0.78, 0.06, DEEP)],
    [(0.5, 0.30, MAIN), (0.5, 0.10, SOFT)],
    [(0.25, 0.16, MAIN), (0.75, 0.16, DEEP)],
    [(0.3, 0.20, MAIN), (0.62, 0.035, DEEP), (0.75, 0.035, DEEP), (0.88, 0.035, DEEP)],
)


def _style(rng: np.random.Generator, count: int) -> int:
    return int(rng.integers(count))


def stripes(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Straight bands."""
    return bands(p, p.u, _BAND_STYLES[_style(rng, 5)])


def waves(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Bands that swing like water."""
    height, length = np.float32(rng.uniform(0.2, 0.3)), np.float32(rng.uniform(0.45, 0.7))
    return bands(p, p.v + height * np.sin(_TAU * length * p.u), _BAND_STYLES[_style(rng, 4)])


def chevrons(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Zigzag bands."""
    zigzag = np.abs(fraction(p.u * np.float32(rng.uniform(0.6, 0.85))) - np.float32(0.5))
    steep = np.float32(rng.uniform(1.1, 1.5))
    return bands(Plane(p.u, p.v, p.pixel * 1.4), p.v + steep * zigzag, _BAND_STYLES[_style(rng, 4)])


def checks(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Gingham, or a two-tone chessboard."""
    (a, _), (b, _) = bands(p, p.u, [(0.5, 0.25, MAIN)])[0], bands(p, p.v, [(0.5, 0.25, MAIN)])[0]
    if _style(rng, 2):
        return [(np.float32(0.42) * a, MAIN), (np.float32(0.42) * b, MAIN), (a * b, MAIN)]
    board = a + b - 2 * a * b
    return (
        [(board, MAIN), (board * (np.floor(p.u) % 2 == 0), DEEP)]
        if _style(rng, 2)
        else [(board, MAIN)]
    )


def plaid(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Tartan: broad and thin bands both ways, the cross threads showing through in a twill."""
    sett = [(0.32, 0.20, MAIN), (0.32, 0.035, SOFT), (0.80, 0.075, DEEP)]
    line = float(rng.uniform(0.6, 0.68))
    sett.append((line, 0.016, ACCENT))
    fine = np.float32(max(p.pixel * 4.5, 0.03))
    twill = np.float32(0.5) + np.float32(0.38) * np.sin(_TAU * (p.u + p.v) / fine)
    warp = [(a * np.float32(0.82), tone) for a, tone in bands(p, p.u, sett)]
    return warp + [(a * twill, tone) for a, tone in bands(p, p.v, sett)]


def dots(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Polka dots, some of them with a heart or as small rings."""
    cell = lattice(p, bool(_style(rng, 2)), rng)
    size = np.float32(rng.uniform(0.24, 0.34)) * (1 + cell.vary(-0.08, 0.08, rng))
    r = np.hypot(cell.x, cell.y)
    choice = cell.choose(rng, 0.6, 0.25, 0.15)
    layers = split(p.cover(r - size), choice, (MAIN, DEEP, SOFT))
    style = _style(rng, 3)
    if style == 1:
        layers.append((p.cover(r - size * np.float32(0.45)), GROUND))
    if style == 2:
        layers = [(p.cover(r - size), MAIN), (p.cover(r - size * np.float32(0.4)), SOFT)]
    return layers


def rings(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Concentric rings, like the cut end of a log."""
    cell = lattice(p, bool(_style(rng, 2)), rng, 0.03)
    r = np.hypot(cell.x, cell.y) * (
        1 + np.float32(0.04) * np.sin(3 * np.arctan2(cell.y, cell.x) + cell.vary(0, 6.28, rng))
    )
    tones = (
        (MAIN, GROUND, DEEP, GROUND, MAIN) if _style(rng, 2) else (DEEP, SOFT, MAIN, GROUND, DEEP)
    )
    radii = np.linspace(0.47, 0.09, 5)
    return [
        (p.cover((r - np.float32(radius)).astype(np.float32)), t) for radius, t in zip(radii, tones)
    ]


def flowers(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Blossoms of five to eight petals with a heart."""
    cell = lattice(p, True, rng, 0.07)
    petals = int(rng.integers(5, 9))
    x, y = turned(cell, angles(0, 6.28, rng))
    r, angle = np.hypot(x, y), np.arctan2(y, x)
    size = np.float32(rng.uniform(0.41, 0.47)) * (1 - cell.vary(0, 0.2, rng))
    lobe = np.abs(np.cos(np.float32(petals / 2) * angle))
    edge = size * (np.float32(0.52) + np.float32(0.48) * np.sqrt(lobe))
    choice = cell.choose(rng, 0.65, 0.2, 0.15)
    bloom = p.cover((r - edge) * np.float32(0.8))
    veins = p.cover((r - edge * np.float32(0.62)) * np.float32(0.8)) * lobe
    return [
        *split(bloom, choice, (MAIN, DEEP, SOFT)),
        (veins * np.float32(0.35), DEEP),
        (p.cover(r - size * np.float32(0.27)), ACCENT),
        (p.cover(np.abs(r - size * np.float32(0.27)) - size * np.float32(0.03)), DEEP),
    ]


def leaves(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Pointed leaves with a vein, alone or in sprigs of three."""
    cell = lattice(p, True, rng, 0.05)
    base = np.float32(rng.uniform(0, 6.28))
    odd_rows = (np.arange(CELLS) & 1).astype(np.float32)
    x, y = turned(cell, base + angles(-0.5, 0.5, rng) + np.float32(1.9) * odd_rows)
    choice = cell.choose(rng, 0.6, 0.25, 0.15)
    if _style(rng, 2):
        return _leaf(p, x, y, 0.46, 0.22, choice)
    layers: list[Layer] = []
    for side in (-0.95, 0.95):
        c, s = np.float32(np.cos(side)), np.float32(np.sin(side))
        bx = x + np.float32(0.26)
        layers += _leaf(p, c * bx + s * y - np.float32(0.25), c * y - s * bx, 0.25, 0.12, choice)
    return layers + _leaf(p, x - np.float32(0.08), y, 0.36, 0.13, choice)


def _leaf(
    p: Plane, x: Field, y: Field, length: float, width: float, choice: NDArray[Any]
) -> list[Layer]:
    along = x / np.float32(length)
    # A little fuller towards the stalk than towards the tip.
    rim = np.float32(width) * (1 - along * along) * (1 - np.float32(0.28) * along)
    blade = p.cover((np.abs(y) - rim).astype(np.float32) * np.float32(0.85))
    blade = blade * (np.abs(along) < 1)
    vein = p.cover((np.abs(y) - np.float32(0.012)).astype(np.float32)) * blade
    half_blade = blade * (y > 0)
    return [
        *split(blade, choice, (MAIN, DEEP, SOFT)),
        (half_blade * np.float32(0.22), DEEP),
        (vein * (along < np.float32(0.75)), GROUND),
    ]


def stars(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Stars of five, six or eight points."""
    cell = lattice(p, True, rng, 0.07)
    points = int(rng.choice([5, 6, 8]))
    x, y = turned(cell, angles(-0.4, 0.4, rng))
    size = np.float32(0.44) * (1 - cell.vary(0, 0.35, rng))
    sector = np.float32(np.pi / points)
    angle = np.abs((np.arctan2(x, -y) + sector) % (2 * sector) - sector)
    r = np.hypot(x, y)
    inner = np.float32(0.45 if points < 8 else 0.6) * size
    # Distance to the line from a point of the star to the notch beside it.
    nx, ny = inner * np.sin(sector), size - inner * np.cos(sector)
    norm = np.hypot(nx, ny)
    d = ((r * np.cos(angle) - size) * nx + r * np.sin(angle) * ny) / norm
    choice = cell.choose(rng, 0.6, 0.25, 0.15)
    facet = p.cover(d) * (((np.arctan2(x, -y) % (2 * sector)) < sector) * np.float32(0.28))
    return [*split(p.cover(d), choice, (MAIN, DEEP, SOFT)), (facet, DEEP)]


def hexagons(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Honeycomb: filled cells, or rims with a heart."""
    cell = _hex(p)
    x, y = np.abs(cell.x), np.abs(cell.y)
    rim = np.maximum(x, x * np.float32(0.5) + y * np.float32(0.8660254))
    if _style(rng, 2):
        choice = cell.choose(rng, 0.45, 0.25, 0.2, 0.1)
        return split(p.cover(rim - np.float32(0.455)), choice, (MAIN, DEEP, SOFT, GROUND))
    heart = cell.choose(rng, 0.5, 0.5)
    return [
        (p.cover(rim - np.float32(0.46)), MAIN),
        (p.cover(rim - np.float32(0.34)), GROUND),
        (p.cover(rim - np.float32(0.22)) * heart, DEEP),
    ]


def _hex(p: Plane) -> Lattice:
    """Nearest centre of a hexagonal lattice: the nearer of two rectangular lattices."""
    tall = np.float32(1.7320508)
    ia, ja = np.rint(p.u), np.rint(p.v / tall)
    ib, jb = np.floor(p.u), np.floor(p.v / tall)
    ax, ay = p.u - ia, p.v - ja * tall
    bx, by = p.u - ib - np.float32(0.5), p.v - (jb + np.float32(0.5)) * tall
    first = ax * ax + ay * ay < bx * bx + by * by
    cell = numbers(np.where(first, ia, ib), np.where(first, 2 * ja, 2 * jb + 1))
    return Lattice(np.where(first, ax, bx), np.where(first, ay, by), cell)


def triangles(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Rows of triangles, pointing up and down."""
    tall = np.float32(0.92)
    row = np.floor(p.v / tall)
    y = p.v / tall - row
    u = p.u + np.float32(0.5) * odd(row)
    x = fraction(u)
    up = (np.abs(x - np.float32(0.5)) - y * np.float32(0.5)) * np.float32(0.88)
    gap = np.float32(rng.uniform(0.02, 0.06))
    base = (y - (1 - gap)) * tall
    cell = Lattice(x, y, numbers(np.floor(u), row))
    choice = cell.choose(rng, 0.6, 0.25, 0.15)
    layers = split(p.cover(np.maximum(up + gap, base)), choice, (MAIN, DEEP, SOFT))
    if _style(rng, 2):
        layers.append((p.cover(np.maximum(gap - up, gap - y * tall)), DEEP))
    return layers


def scales(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Overlapping fans in rows, the lower rows lying on the upper ones."""
    step = np.float32(0.5)
    row = np.floor(p.v / step)
    radius = np.full_like(p.u, np.inf)
    cell = np.zeros_like(p.u, dtype=np.int32)
    for up in (0, 1, 2):  # which fan is on top: look from the lowest row upwards
        fan = row - np.float32(up - 1)
        u = p.u + np.float32(0.5) * odd(fan)
        centre = np.floor(u)
        r = np.hypot(u - centre - np.float32(0.5), p.v - (fan + 1) * step)
        free = np.isinf(radius) & (r < np.float32(0.56 if up == 2 else 0.5))
        radius = np.where(free, r, radius)
        cell = np.where(free, numbers(centre, fan), cell)
    radius = np.minimum(radius, np.float32(0.5))
    choice = Lattice(p.u, p.v, cell).choose(rng, 0.7, 0.15, 0.15)
    fill = p.cover(radius - np.float32(0.455))
    layers = split(fill, choice, (MAIN, DEEP, SOFT))
    if _style(rng, 2):
        layers.append((p.cover(np.abs(radius - np.float32(0.33)) - np.float32(0.022)), GROUND))
        layers.append((p.cover(radius - np.float32(0.2)), DEEP))
    else:
        layers.append((p.cover(radius - np.float32(0.24)) * np.float32(0.55), SOFT))
    return layers


def bricks(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Running bond: long bricks, each row shifted by half a brick."""
    tall = np.float32(rng.uniform(0.42, 0.52))
    row = np.floor(p.v / tall)
    u = p.u + np.float32(0.5) * odd(row)
    cell = Lattice(p.u, p.v, numbers(np.floor(u), row))
    joint, corner = np.float32(0.03), np.float32(rng.uniform(0.02, 0.07))
    x = np.abs(fraction(u) - np.float32(0.5)) - (np.float32(0.5) - joint - corner)
    y = np.abs((p.v / tall - row) - np.float32(0.5)) * tall - (tall / 2 - joint - corner)
    d = np.hypot(np.maximum(x, 0), np.maximum(y, 0)) + np.minimum(np.maximum(x, y), 0) - corner
    choice = cell.choose(rng, 0.4, 0.2, 0.25, 0.15)
    cover = p.cover(d.astype(np.float32))
    layers = split(cover, choice, (MAIN, DEEP, SOFT, MAIN))
    return [*layers, (cover * (choice == 3) * np.float32(0.5), DEEP)]


def diamonds(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Argyle: a harlequin of two tones under thin crossing lines."""
    cell = lattice(p, False, rng, 0.0)
    slim = np.float32(rng.uniform(1.0, 1.25))
    d = (np.abs(cell.x) * slim + np.abs(cell.y) - np.float32(0.47)) * np.float32(0.7)
    layers: list[Layer] = split(p.cover(d), (cell.cell ^ (cell.cell >> 5)) & 1, (MAIN, DEEP))
    if _style(rng, 2):
        a = np.abs(fraction(p.u - p.v) - np.float32(0.5)) * np.float32(0.7)
        b = np.abs(fraction(p.u + p.v) - np.float32(0.5)) * np.float32(0.7)
        line = np.float32(max(0.012, p.pixel * 0.5))
        return [*layers, (p.cover(np.minimum(a, b) - line), SOFT)]
    return [*layers, (p.cover(d + np.float32(0.14)), SOFT), (p.cover(d + np.float32(0.22)), MAIN)]


def terrazzo(p: Plane, rng: np.random.Generator) -> list[Layer]:
    """Stone chips: cells around scattered points, some left out."""
    dx, dy = (rng.uniform(0.12, 0.88, CELLS).astype(np.float32) for _ in range(2))
    iu, jv = np.floor(p.u), np.floor(p.v)
    x, y = p.u - iu, p.v - jv
    first, second = np.full_like(p.u, 81.0), np.full_like(p.u, 81.0)
    cell = np.zeros_like(p.u, dtype=np.int32)
    for oi in (-1, 0, 1):
        for oj in (-1, 0, 1):
            number = numbers(iu + np.float32(oi), jv + np.float32(oj))
            a = np.take(dx, number) + np.float32(oi) - x
            b = np.take(dy, number) + np.float32(oj) - y
            r = a * a + b * b
            second = np.minimum(second, np.maximum(first, r))
            cell = np.where(r < first, number, cell)
            first = np.minimum(first, r)
    first, second = np.sqrt(first), np.sqrt(second)
    gap = np.float32(rng.uniform(0.12, 0.2))
    cover = p.cover(np.maximum((gap - (second - first)) * np.float32(0.6), first - np.float32(0.5)))
    choice = Lattice(p.u, p.v, cell).choose(rng, 0.4, 0.2, 0.16, 0.06, 0.18)
    return split(cover, choice, (MAIN, DEEP, SOFT, ACCENT, GROUND))


Motif = Callable[[Plane, np.random.Generator], list[Layer]]

MOTIFS: dict[str, Motif] = {
    motif.__name__: motif
    for motif in (
        *(stripes, waves, chevrons, checks, plaid, dots, rings, flowers),
        *(leaves, stars, hexagons, triangles, scales, bricks, diamonds, terrazzo),
    )
}
"""Every motif by its name in the truth."""

UPRIGHT = frozenset({"checks", "plaid", "scales", "bricks", "triangles", "diamonds"})
"""Motifs that people expect to stand straight; they are turned by a degree or two at most."""
