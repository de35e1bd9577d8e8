"""What a person did to a board, in order, or one sentence about why it cannot be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from likewise.layout.board import CENTRE
from likewise.session.settings import Board, Place
from likewise.types import BadInput


def ordered(moved: Sequence[int] | Mapping[int, Place]) -> list[int]:
    """The moved items, nearest first: as listed, or by where they were put around the query."""
    if not isinstance(moved, Mapping):
        return [int(item) for item in dict.fromkeys(moved)]

    def far(item: int) -> float:  # hypot rounds otherwise in the page, which orders by this too
        x, y = (side - middle for side, middle in zip(moved[item], CENTRE))
        return math.sqrt(x * x + y * y)

    return [int(item) for item in sorted(moved, key=lambda item: (far(item), item))]


def check_moves(
    board: Board, moved: Sequence[int], discarded: Sequence[int], pinned: Sequence[int]
) -> None:
    """Refuse what was not on the board, and what was both moved and thrown out."""
    shown = {*board.shown, board.query}
    for item in (*moved, *discarded, *pinned):
        if item not in shown:
            raise BadInput(
                f"Item {item} is not on the board; only pictures that are shown can be moved."
            )
    both = set(moved) & set(discarded)
    if both:
        raise BadInput(f"Item {min(both)} cannot be both moved and discarded.")
