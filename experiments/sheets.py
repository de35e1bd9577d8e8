"""Contact sheets of several rows, each with a title, its pictures framed by what they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from likewise.layout.sheet import INK, PAPER, contact_sheet, fitted, font_of, line_height

FRAMES = {"query": (38, 70, 140), "relevant": (38, 140, 84), "not": (200, 62, 54)}
"""Colour of the frame by mark; a picture without a mark has none."""


class SheetRow(NamedTuple):
    """Pictures that stand together under one title, with captions and marks or without."""

    pictures: Sequence[Any]
    title: str
    captions: Sequence[str] = ()
    marks: Sequence[str] = ()


def sheet_of_rows(
    rows: Sequence[SheetRow], path: Path, *, columns: int, cell: int, quality: int = 88
) -> Image.Image:
    """The rows one below the other, as one image file."""
    gap, font = max(3, cell // 16), font_of(max(9, cell // 12))
    head = line_height(font) + gap
    parts = []
    for row in rows:
        marks = row.marks or [""] * len(row.pictures)
        pictures = [framed(picture, mark, cell) for picture, mark in zip(row.pictures, marks)]
        parts.append(contact_sheet(pictures, captions=row.captions, columns=columns, cell=cell))
    height = sum(part.height - 2 * gap + head for part in parts) + 3 * gap
    sheet = Image.new("RGB", (max(part.width for part in parts), height), PAPER)
    pen, top = ImageDraw.Draw(sheet), gap
    for row, part in zip(rows, parts):
        text = fitted(row.title, font, sheet.width - 3 * gap)
        sheet.paste(part, (0, top + head - gap))
        pen.text((gap + gap // 2, top + gap // 3), text, INK, font)
        top += part.height - 2 * gap + head
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path, optimize=True, quality=quality)
    return sheet


def framed(picture: Any, mark: str, cell: int) -> Any:
    """A picture with a frame in the colour of its mark, together as large as a cell."""
    if not mark:
        return picture
    wide = max(2, cell // 32)
    image = Image.fromarray(np.ascontiguousarray(picture)).convert("RGB")
    image.thumbnail((cell - 2 * wide, cell - 2 * wide), Image.Resampling.LANCZOS)
    out = Image.new("RGB", (image.width + 2 * wide, image.height + 2 * wide), FRAMES[mark])
    out.paste(image, (wide, wide))
    return out
