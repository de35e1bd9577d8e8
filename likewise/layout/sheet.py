"""Contact sheets: pictures in rows and columns, framed and captioned, as one image file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from likewise.types import BadInput

Mark = Literal["", "query", "relevant", "not"]

FRAMES: dict[str, tuple[int, int, int]] = {
    "query": (38, 70, 140),
    "relevant": (38, 140, 84),
    "not": (200, 62, 54),
}
"""Colour of the frame by mark; a picture without a mark has none."""

_PAPER, _INK, _FAINT = (250, 249, 246), (44, 44, 48), (112, 112, 118)


@dataclass(frozen=True)
class SheetRow:
    """Pictures that stand together under one title.

    Parameters
    ----------
    pictures
        Arrays (height x width x 3 or height x width, uint8) or PIL images.
    title
        A line above them; empty for none.
    captions
        A line below each, or none at all.
    marks
        ``query``, ``relevant``, ``not`` or empty for each, or none at all.
    """

    pictures: Sequence[Any]
    title: str = ""
    captions: Sequence[str] = ()
    marks: Sequence[Mark] = ()

    def __post_init__(self) -> None:
        for name, values in (("captions", self.captions), ("marks", self.marks)):
            if len(values) not in (0, len(self.pictures)):
                raise BadInput(
                    f"A row of {len(self.pictures)} pictures needs as many {name} or none, "
                    f"not {len(values)}."
                )
        unknown = sorted({mark for mark in self.marks if mark and mark not in FRAMES})
        if unknown:
            raise BadInput(f"A mark is query, relevant, not or empty, not {unknown[0]!r}.")


def contact_sheet(
    pictures: Sequence[Any] | Sequence[SheetRow],
    path: str | Path | None = None,
    *,
    columns: int = 8,
    cell: int = 144,
    captions: Sequence[str] = (),
    marks: Sequence[Mark] = (),
    title: str = "",
    quality: int = 88,
) -> Image.Image:
    """Pictures side by side on one sheet.

    Parameters
    ----------
    pictures
        Pictures (arrays or PIL images), or rows of them (:class:`SheetRow`), each with its
        own title, captions and marks.
    path
        Where to write the sheet; the ending (.png, .jpg) decides the format.
    columns
        Pictures beside each other; what does not fit goes to the next line.
    cell
        Side of the square that a picture is fitted into, in pixels; it keeps its shape.
    captions, marks
        As in :class:`SheetRow`, when plain pictures are given.
    title
        A line at the head of the sheet.
    quality
        Of a JPEG file.

    Returns
    -------
    PIL.Image.Image
        The sheet.
    """
    if columns < 1 or cell < 8:
        raise BadInput("A sheet needs at least one column and cells of at least 8 pixels.")
    rows = _rows(pictures, captions, marks)
    lines = [line for row in rows for line in _lines(row, columns)]
    gap = max(3, cell // 16)
    small, large = _font(max(9, cell // 12)), _font(max(13, cell // 8))
    heights = [_height(line, cell, gap, small) for line in lines]
    head = 2 * gap + _line_height(large) if title else 0
    used = max((len(line.pictures) for line in lines), default=1)
    width = 2 * gap + used * (cell + gap)
    sheet = Image.new("RGB", (width, head + 3 * gap + sum(heights)), _PAPER)
    pen = ImageDraw.Draw(sheet)
    if title:
        pen.text((2 * gap, 2 * gap), _fit(title, large, width - 4 * gap), _INK, large)
    top = head + gap
    for line, height in zip(lines, heights):
        _draw_line(sheet, pen, line, top, cell, gap, small)
        top += height
    if path is not None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        options: dict[str, Any] = (
            {"optimize": True} if path.suffix.lower() == ".png" else {"quality": quality}
        )
        sheet.save(path, **options)
    return sheet


def _rows(
    pictures: Sequence[Any], captions: Sequence[str], marks: Sequence[Mark]
) -> list[SheetRow]:
    if not len(pictures):
        raise BadInput("A contact sheet needs at least one picture.")
    given = [picture for picture in pictures if isinstance(picture, SheetRow)]
    if not given:
        return [SheetRow(pictures, "", captions, marks)]
    if len(given) < len(pictures) or captions or marks:
        raise BadInput("A sheet is made of rows or of pictures; captions belong to the rows.")
    return given


def _lines(row: SheetRow, columns: int) -> list[SheetRow]:
    """A row cut into lines that fit; the title stays with the first."""
    return [
        SheetRow(
            row.pictures[at : at + columns],
            row.title if at == 0 else "",
            row.captions[at : at + columns],
            row.marks[at : at + columns],
        )
        for at in range(0, max(1, len(row.pictures)), columns)
    ]


def _height(line: SheetRow, cell: int, gap: int, font: ImageFont.FreeTypeFont) -> int:
    above = _line_height(font) + gap if line.title else 0
    below = _line_height(font) + gap // 2 if any(line.captions) else 0
    return above + cell + below + gap


def _draw_line(
    sheet: Image.Image,
    pen: ImageDraw.ImageDraw,
    line: SheetRow,
    top: int,
    cell: int,
    gap: int,
    font: ImageFont.FreeTypeFont,
) -> None:
    if line.title:
        room = sheet.width - 3 * gap
        pen.text((gap + gap // 2, top + gap // 3), _fit(line.title, font, room), _INK, font)
        top += _line_height(font) + gap
    for place, picture in enumerate(line.pictures):
        left = gap + gap // 2 + place * (cell + gap)
        image = _image(picture)
        image.thumbnail((cell, cell), Image.Resampling.LANCZOS)
        x, y = left + (cell - image.width) // 2, top + (cell - image.height) // 2
        mark = line.marks[place] if line.marks else ""
        if mark:
            wide = max(2, gap // 2)
            box = (x - wide, y - wide, x + image.width + wide - 1, y + image.height + wide - 1)
            pen.rounded_rectangle(box, radius=wide, fill=FRAMES[mark])
        sheet.paste(image, (x, y))
        if line.captions and line.captions[place]:
            text = _fit(line.captions[place], font, cell)
            middle = left + cell / 2 - font.getlength(text) / 2
            pen.text((middle, top + cell + gap // 2), text, _FAINT, font)


def _image(picture: Any) -> Image.Image:
    if isinstance(picture, Image.Image):
        return picture.convert("RGB")
    array: NDArray[Any] = np.asarray(picture)
    if (
        array.dtype != np.uint8
        or array.ndim not in (2, 3)
        or (array.ndim == 3 and array.shape[2] != 3)
    ):
        raise BadInput(
            f"A picture on a sheet is height x width x 3 bytes, not {array.shape} of {array.dtype}."
        )
    image = Image.fromarray(np.ascontiguousarray(array)).convert("RGB")
    return image


def _font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)  # comes with Pillow: the same on every machine
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


def _line_height(font: ImageFont.FreeTypeFont) -> int:
    ascent, descent = font.getmetrics()
    return ascent + descent


def _fit(text: str, font: ImageFont.FreeTypeFont, width: float) -> str:
    """The text, shortened with dots until it fits."""
    text = " ".join(text.split())
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(text + "...") > width:
        text = text[:-1]
    return text.rstrip() + "..."
