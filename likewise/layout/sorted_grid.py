"""A sorted grid: every picture in a cell of its own, similar pictures beside each other.

Linear assignment sorting: the grid's vectors are smoothed with a window that shrinks, and the
pictures of each tile are assigned anew to the tile's cells so that they fit the smoothed vectors
best.  Tiles shift from step to step, so pictures travel as far as they need, and a step costs
little more than the number of pictures.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter
from scipy.optimize import linear_sum_assignment

from likewise.types import BadInput, FloatArray, IdArray, as_matrix

TILE = 14
"""Cells along the side of a tile; its assignment is solved exactly."""

SHRINK = 0.85
DIMENSIONS = 16
"""Leading axes of the vectors that similarity is judged by."""


def sorted_grid(x: Any, *, columns: int | None = None) -> IdArray:
    """Which picture stands where, in a grid as square as can be unless ``columns`` are given.

    Gives rows x columns of row numbers of ``x``; -1 where a cell stays empty, which only the last
    ones of the last row do.  The same for the same input: nothing is drawn at random.
    """
    points = as_matrix(x, name="pictures").astype(np.float64)
    n = len(points)
    wide = int(np.ceil(np.sqrt(n))) if columns is None else columns
    if n == 0 or wide < 1:
        raise BadInput("A grid needs at least one picture and one column.")
    high = -(-n // wide)
    axes = _leading(points)
    grid = _opening(axes, high, wide)
    radius = max(high, wide) / 2
    step = 0
    while radius >= 1 and n > 1:
        target = _smoothed(grid, axes, int(radius))
        for rows, cols in _tiles(high, wide, step):
            _assign(grid, axes, target, rows, cols)
        radius, step = radius * SHRINK, step + 1
    return grid


def _leading(points: FloatArray) -> FloatArray:
    """Coordinates along the leading axes, their signs fixed so that runs agree."""
    centred = points - points.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    keep = min(DIMENSIONS, len(s))
    top = np.abs(u[:, :keep]).argmax(axis=0)
    out: FloatArray = u[:, :keep] * s[:keep] * np.where(u[top, np.arange(keep)] < 0, -1.0, 1.0)
    return out


def _opening(axes: FloatArray, high: int, wide: int) -> IdArray:
    """Rows by the first axis, within a row by the second."""
    n = len(axes)
    grid = np.full((high, wide), -1, np.int64)
    first = np.argsort(axes[:, 0], kind="stable")
    second = axes[:, 1] if axes.shape[1] > 1 else axes[:, 0]
    for row in range(high):
        part = first[row * wide : min(n, (row + 1) * wide)]
        grid[row, : len(part)] = part[np.argsort(second[part], kind="stable")]
    return grid


def _smoothed(grid: IdArray, axes: FloatArray, radius: int) -> FloatArray:
    """Mean of the vectors in a window around each cell; empty cells do not count."""
    held = (grid >= 0).astype(np.float64)
    values = axes[np.maximum(grid, 0)] * held[..., None]
    size = 2 * radius + 1
    mean = uniform_filter(values, size=(size, size, 1), mode="reflect")
    weight = uniform_filter(held, size=size, mode="reflect")
    out: FloatArray = mean / np.maximum(weight, 1e-9)[..., None]
    return out


def _tiles(high: int, wide: int, step: int) -> list[tuple[slice, slice]]:
    """The grid cut into tiles, shifted by half a tile in every other step and direction."""
    shift = (step % 2) * (TILE // 2), (step // 2 % 2) * (TILE // 2)

    def cuts(length: int, offset: int) -> list[slice]:
        edges = sorted({0, length, *range(offset, length, TILE)})
        return [slice(a, b) for a, b in pairwise(edges)]

    return [(rows, cols) for rows in cuts(high, shift[0]) for cols in cuts(wide, shift[1])]


def _assign(grid: IdArray, axes: FloatArray, target: FloatArray, rows: slice, cols: slice) -> None:
    """The pictures of one tile in the cells that they fit best; empty cells stay where they are."""
    part = grid[rows, cols]
    held = part >= 0
    pictures, cells = part[held], target[rows, cols][held]
    own = axes[pictures]
    cost = (own**2).sum(axis=1)[:, None] - 2 * own @ cells.T + (cells**2).sum(axis=1)[None, :]
    source, place = linear_sum_assignment(cost)
    settled = np.empty_like(pictures)
    settled[place] = pictures[source]
    part[held] = settled  # a view: this writes into the grid
