"""A board as one picture, for the docs."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.board_picture import draw_board
from likewise.layout.board import arrange
from likewise.types import BadInput
from tests.layout.test_board import pictures


def test_a_board_is_drawn(tmp_path):
    board = arrange(pictures(n=5))
    tiles = [np.full((20, 30, 3), 40 * i, np.uint8) for i in range(5)]
    image = draw_board(tiles, board, tmp_path / "b.png", query=tiles[0], size=300)
    assert image.size == (300, 300)
    assert (tmp_path / "b.png").stat().st_size > 0
    with pytest.raises(BadInput, match="one position"):
        draw_board([], [[0.5, 0.5]])
