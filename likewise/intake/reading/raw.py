"""RAW files of cameras: their embedded preview, or developed where there is none that serves."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

_MAGIC = (b"FUJIFILMCCD-RAW", b"IIU\x00", b"IIRO", b"IIRS", b"MMOR", b"FOVb", b"\x00MRM")
_TIFF = (b"II*\x00", b"MM\x00*")
_DNG_VERSION, _MAKE, _SUB_IFDS, _COMPRESSION = 0xC612, 0x010F, 0x014A, 0x0103
_CAMERA_COMPRESSIONS = (32767, 34713, 65000, 65535)
_ORIENTATION = 0x0112
UNKNOWN = "LibRaw does not know this kind of RAW file; put a JPEG of the same name beside it."
_EXIF_OF_FLIP = {3: 3, 5: 8, 6: 6}


class Developed(NamedTuple):
    """A view of a RAW file, the size of the whole picture, and its EXIF where it is a TIFF."""

    image: Image.Image
    size: tuple[int, int]
    exif: Image.Exif | None


def open_raw(data: bytes, side: int, most: int) -> Developed | None:
    """A view of a RAW file, at least ``side`` pixels long where the file has that many.

    None where the bytes are of no RAW file; ValueError where they are damaged, NotImplementedError
    where LibRaw does not know their kind and no preview of any size is in them.  A picture
    of more than ``most`` pixels raises :class:`PIL.Image.DecompressionBombError`.
    """
    exif = _camera_tags(data) if data.startswith(_TIFF) else None
    if exif is None and not (data.startswith(_MAGIC) or data[4:11] == b"ftypcrx"):
        return None
    import rawpy  # only folders that hold such files need it

    try:
        raw = rawpy.imread(io.BytesIO(data))
    except rawpy.LibRawFileUnsupportedError:
        if exif is not None and _DNG_VERSION not in exif:
            return None  # an ordinary TIFF of a camera or a scanner
        raise NotImplementedError(UNKNOWN) from None
    with raw:
        width, height = raw.sizes.width, raw.sizes.height
        if width * height > most:
            raise Image.DecompressionBombError
        try:
            image = preview = _preview(rawpy, raw)
            if image is None or max(image.size) < min(side, max(width, height)):
                half = max(width, height) >= 2 * side
                image = Image.fromarray(raw.postprocess(half_size=half, use_camera_wb=True))
        except rawpy.LibRawFileUnsupportedError:  # its data, packed in JPEG XL for instance
            if preview is None:
                raise NotImplementedError(UNKNOWN) from None
            image = preview
        except rawpy.LibRawError as error:
            raise ValueError(f"its RAW data: {error.args[0].decode().lower()}") from None
        sideways = raw.sizes.flip in (5, 6)
    return Developed(image, (height, width) if sideways else (width, height), exif)


def _preview(rawpy: Any, raw: Any) -> Image.Image | None:
    """The embedded preview, which says how it is to be turned; None where there is none."""
    try:
        preview = raw.extract_thumb()
    except (rawpy.LibRawNoThumbnailError, rawpy.LibRawUnsupportedThumbnailError):
        return None
    if preview.format == rawpy.ThumbFormat.JPEG:
        image: Image.Image = Image.open(io.BytesIO(preview.data), formats=("JPEG", "MPO"))
    else:
        image = Image.fromarray(np.asarray(preview.data))
    exif = image.getexif()
    exif[_ORIENTATION] = exif.get(_ORIENTATION) or _EXIF_OF_FLIP.get(raw.sizes.flip, 1)
    return image


def _camera_tags(data: bytes) -> Image.Exif | None:
    """The tags of a TIFF, if a camera may have written it as RAW."""
    exif = Image.Exif()
    with suppress(Exception):
        exif.load(data)
        by_camera = _SUB_IFDS in exif or exif.get(_COMPRESSION) in _CAMERA_COMPRESSIONS
        if _DNG_VERSION in exif or (_MAKE in exif and by_camera):
            return exif
    return None
