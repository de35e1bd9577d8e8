"""Contact sheets: pictures in rows and columns, captioned, as one image file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from likewise.types import BadInput

PAPER, INK, FAINT = (250, 249, 246), (44, 44, 48), (112, 112, 118)


def contact_sheet(
    pictures: Sequence[Any],
    path: str | Path | None = None,
    *,
    captions: Sequence[str] = (),
    columns: int = 8,
    cell: int = 144,
) -> Image.Image:
    """Pictures (uint8 arrays or PIL images) side by side on one sheet, a caption below each.

    The ending of ``path`` decides the format; so many ``columns`` stand beside each other; each
    picture keeps its shape and is fitted into a square of ``cell`` pixels.
    """
    count = len(pictures)
    if not count or columns < 1 or cell < 8:
        raise BadInput("A sheet needs a picture, a column and cells of at least 8 pixels.")
    if len(captions) not in (0, count):
        raise BadInput(f"{count} pictures need as many captions or none, not {len(captions)}.")
    gap, font = max(3, cell // 16), font_of(max(9, cell // 12))
    high = cell + gap + (line_height(font) + gap // 2 if any(captions) else 0)
    wide = min(columns, count)
    size = (2 * gap + wide * (cell + gap), 3 * gap + -(-count // columns) * high)
    sheet = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(sheet)
    for place, picture in enumerate(pictures):
        row, column = divmod(place, columns)
        left, top = gap + gap // 2 + column * (cell + gap), gap + row * high
        image = _image(picture)
        image.thumbnail((cell, cell), Image.Resampling.LANCZOS)
        sheet.paste(image, (left + (cell - image.width) // 2, top + (cell - image.height) // 2))
        if captions and captions[place]:
            text = fitted(captions[place], font, cell)
            middle = left + cell / 2 - font.getlength(text) / 2
            pen.text((middle, top + cell + gap // 2), text, FAINT, font)
    if path is not None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        sheet.save(path, optimize=True, quality=88)
    return sheet


def _image(picture: Any) -> Image.Image:
    if not isinstance(picture, Image.Image):
        array = np.asarray(picture)
        if array.dtype != np.uint8 or (array.ndim, array.shape[2:]) not in ((2, ()), (3, (3,))):
            raise BadInput(
                f"A picture on a sheet is height x width x 3 bytes, not {array.shape} of "
                f"{array.dtype}."
            )
        picture = Image.fromarray(np.ascontiguousarray(array))
    image: Image.Image = picture.convert("RGB")
    return image


def font_of(size: int) -> ImageFont.FreeTypeFont:
    """The font that comes with Pillow: the same on every machine."""
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


def line_height(font: ImageFont.FreeTypeFont) -> int:
    """Pixels from one line to the next."""
    return sum(font.getmetrics())


def fitted(text: str, font: ImageFont.FreeTypeFont, width: float) -> str:
    """The text on one line, shortened with dots until it fits."""
    text = " ".join(text.split())
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(text + "...") > width:
        text = text[:-1]
    return text.rstrip() + "..."
