"""A board as one image: every picture where it stands, the query framed at the centre."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from experiments.sheets import FRAMES
from likewise.layout.board import CENTRE, SIDE
from likewise.types import BadInput

PAPER = (250, 249, 246)


def draw_board(
    pictures: Sequence[Any],
    positions: Any,
    path: str | Path | None = None,
    *,
    query: Any = None,
    size: int = 900,
    side: float = SIDE,
) -> Image.Image:
    """Draw pictures at their positions in a box of ``size`` pixels.

    Parameters
    ----------
    pictures, positions
        Arrays or PIL images, and where each stands in the box of side one.
    path
        Where to write it; the ending decides the format.
    query
        The query's picture, framed at the centre.
    side
        Side of a picture as a share of the box.
    """
    if len(pictures) != len(positions):
        raise BadInput("There must be one position for each picture.")
    board = Image.new("RGB", (size, size), PAPER)
    cell = max(8, round(size * side) - 2)
    for picture, place in zip(pictures, positions):
        _paste(board, _image(picture), place, cell, None)
    if query is not None:
        _paste(board, _image(query), CENTRE, cell, FRAMES["query"])
    if path is not None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        board.save(path)
    return board


def _image(picture: Any) -> Image.Image:
    if isinstance(picture, Image.Image):
        return picture.convert("RGB")
    return Image.fromarray(np.ascontiguousarray(picture)).convert("RGB")


def _paste(board: Image.Image, image: Image.Image, place: Any, cell: int, frame: Any) -> None:
    image = image.copy()
    image.thumbnail((cell, cell), Image.Resampling.LANCZOS)
    left = round(float(place[0]) * board.width - image.width / 2)
    top = round(float(place[1]) * board.height - image.height / 2)
    if frame is not None:
        edge = Image.new("RGB", (image.width + 8, image.height + 8), frame)
        board.paste(edge, (left - 4, top - 4))
    board.paste(image, (left, top))
