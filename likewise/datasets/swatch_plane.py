"""The plane that motifs are drawn on: pixels in repeats of the pattern, cells, and coverage."""

from __future__ import annotations

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
