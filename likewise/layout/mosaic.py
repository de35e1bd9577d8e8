"""A map as a mosaic: every item in a cell of its own, and an order in which the cells fill.

Seen from afar there is no room for a hundred thousand pictures, so each level of a pyramid of
grids (1, 2, 4, ... cells along the side) shows one item a cell: the one nearest to the middle of
the cell, unless the level above has put one there.  What is shown stays when one comes nearer,
and others appear around it.  On the finest level all are shown, none upon another.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.later import njit
from likewise.types import BadInput, IdArray, as_matrix


class Mosaic(NamedTuple):
    """Items in the order in which they appear: coarse levels first, neighbours near each other.

    ``order`` has row numbers of the positions, ``cells`` column and row of each on the finest grid,
    which has 2**``bits`` cells along the side, and ``levels`` the coarsest level that shows each.
    """

    order: IdArray
    cells: NDArray[np.uint16]
    levels: NDArray[np.uint8]
    bits: int


def mosaic(positions: Any) -> Mosaic:
    """Cells and levels of items from their positions in a box of side one."""
    places = as_matrix(positions, name="positions", dim=2)
    n = len(places)
    if not n:
        raise BadInput("A mosaic needs at least one item.")
    bits = max(1, int(np.ceil(np.log2(max(n, 2)) / 2)) + 1)  # between 4 and 16 cells an item
    if bits > 16:
        raise BadInput(f"A mosaic of {n:,} items is more than a page can show.")
    side = 1 << bits
    cells = np.clip(np.floor(places * side), 0, side - 1).astype(np.int64)
    settled = _settle(cells, np.zeros((side, side), np.bool_))
    levels = _levels(settled, bits)
    order = np.lexsort((_curve(settled, bits), levels)).astype(np.int64)
    return Mosaic(order, settled[order].astype(np.uint16), levels[order], bits)


@njit(cache=True, nogil=True)
def _settle(cells, taken):  # type: ignore[no-untyped-def]
    """Give every item its cell, or the nearest one that nobody has."""
    side = taken.shape[0]
    out = cells.copy()
    for at in range(len(cells)):
        x0, y0 = cells[at, 0], cells[at, 1]
        best, bx, by = -1, x0, y0
        ring = 0
        # A ring farther out may still hold a nearer cell than a corner of this one.
        while ring <= 2 * side and (best < 0 or ring * ring < best):
            for dx in range(-ring, ring + 1):
                inner = abs(dx) < ring
                for dy in range(-ring, ring + 1, 2 * ring if inner else 1):
                    x, y = x0 + dx, y0 + dy
                    far = dx * dx + dy * dy
                    if (
                        0 <= x < side
                        and 0 <= y < side
                        and not taken[y, x]
                        and (best < 0 or far < best)
                    ):
                        best, bx, by = far, x, y
            ring += 1
        out[at, 0], out[at, 1] = bx, by
        taken[by, bx] = True
    return out


def _levels(cells: IdArray, bits: int) -> NDArray[np.uint8]:
    """The coarsest level that shows each item."""
    unseen = 255
    levels = np.full(len(cells), unseen, np.uint8)
    for level in range(bits + 1):
        shift = bits - level
        own = (cells[:, 1] >> shift << level) + (cells[:, 0] >> shift)
        held = np.zeros(4**level, bool)
        held[own[levels != unseen]] = True
        waiting = np.flatnonzero((levels == unseen) & ~held[own])
        middle = ((cells[waiting] >> shift << shift) + (1 << shift) / 2) - 0.5
        off = ((cells[waiting] - middle) ** 2).sum(axis=1)
        nearest = waiting[np.lexsort((off, own[waiting]))]
        _, first = np.unique(own[nearest], return_index=True)
        levels[nearest[first]] = level
    return levels


def _curve(cells: IdArray, bits: int) -> IdArray:
    """Place of each cell along the Z-order curve, on which neighbours are mostly near."""
    out = np.zeros(len(cells), np.int64)
    for bit in range(bits):
        out |= ((cells[:, 0] >> bit) & 1) << (2 * bit)
        out |= ((cells[:, 1] >> bit) & 1) << (2 * bit + 1)
    return out
