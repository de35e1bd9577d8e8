"""RAW, HEIC and 16-bit TIFF files made in a few lines: directories of tags, pixels as they are."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pillow_heif
from numpy.typing import NDArray
from PIL import Image

BYTE, TEXT, SHORT, LONG, RATIO, SIGNED = 1, 2, 3, 4, 5, 10
_CODES = {BYTE: "B", SHORT: "H", LONG: "L", RATIO: "L", SIGNED: "l"}

Tags = Mapping[int, tuple[int, str | Sequence[float]]]


def tiff(tags: Tags, strip: bytes, sub: tuple[Tags, bytes] | None = None) -> bytes:
    """A little-endian TIFF of one strip; ``sub`` is a directory below the first one."""
    out = bytearray(b"II*\x00" + bytes(4))
    first, strips = dict(tags), [strip]
    where: list[int] = []
    if sub is not None:
        first[0x014A] = (LONG, [_directory(out, *sub, where)])
        strips = [sub[1], strip]
    struct.pack_into("<L", out, 4, _directory(out, first, strip, where))
    for place, data in zip(where, strips):
        struct.pack_into("<L", out, place, len(out))
        out += data + bytes(len(data) % 2)
    return bytes(out)


def _directory(out: bytearray, tags: Tags, strip: bytes, where: list[int]) -> int:
    every = {**tags, 0x0111: (LONG, [0]), 0x0117: (LONG, [len(strip)])}
    entries = []
    for tag, (kind, value) in sorted(every.items()):
        count = len(value)
        if isinstance(value, str):
            data, count = value.encode() + b"\x00", count + 1
        else:
            numbers = list(value)
            if kind in (RATIO, SIGNED):
                numbers = [part for x in value for part in (round(x * 10_000), 10_000)]
            data = struct.pack(f"<{len(numbers)}{_CODES[kind]}", *numbers)
        if len(data) > 4:
            place = len(out)
            out += data + bytes(len(data) % 2)
            data = struct.pack("<L", place)
        entries.append(struct.pack("<HHL", tag, kind, count) + data.ljust(4, b"\x00"))
    at = len(out)
    where.append(at + 2 + 12 * sorted(every).index(0x0111) + 8)
    out += struct.pack("<H", len(entries)) + b"".join(entries) + bytes(4)
    return at


def dng(picture: NDArray[np.uint8], preview: bytes = b"", orientation: int = 1) -> bytes:
    """A DNG whose sensor saw this picture through a Bayer filter, with a JPEG preview or without.

    The red, green and blue of the sensor are those of sRGB: white stays white.
    """
    height, width = picture.shape[:2]
    linear = (picture.astype(np.float64) / 255) ** 2.2 * 60_000
    sensor = np.empty((height, width), "<u2")
    sensor[0::2, 0::2] = linear[0::2, 0::2, 0]
    sensor[0::2, 1::2] = linear[0::2, 1::2, 1]
    sensor[1::2, 0::2] = linear[1::2, 0::2, 1]
    sensor[1::2, 1::2] = linear[1::2, 1::2, 2]
    common: Tags = {
        0x010F: (TEXT, "Likewise"),
        0x0110: (TEXT, "Paper Camera"),
        0x0112: (SHORT, [orientation]),
        0x0132: (TEXT, "2021:03:04 05:06:07"),
        0xC612: (BYTE, [1, 4, 0, 0]),
        0xC614: (TEXT, "Likewise Paper Camera"),
        0xC621: (
            SIGNED,
            [3.2406, -1.5372, -0.4986, -0.9689, 1.8758, 0.0415, 0.0557, -0.204, 1.057],
        ),
        0xC628: (RATIO, [1.0, 1.0, 1.0]),
        0xC65A: (SHORT, [21]),
    }
    raw: Tags = {
        0x00FE: (LONG, [0]),
        0x0100: (LONG, [width]),
        0x0101: (LONG, [height]),
        0x0102: (SHORT, [16]),
        0x0103: (SHORT, [1]),
        0x0106: (SHORT, [32803]),
        0x0115: (SHORT, [1]),
        0x0116: (LONG, [height]),
        0x011C: (SHORT, [1]),
        0x828D: (SHORT, [2, 2]),
        0x828E: (BYTE, [0, 1, 1, 2]),
        0xC61A: (SHORT, [0]),
        0xC61D: (SHORT, [60_000]),
    }
    if not preview:
        return tiff({**common, **raw}, sensor.tobytes())
    wide, high = jpeg_size(preview)
    shown: Tags = {
        0x00FE: (LONG, [1]),
        0x0100: (LONG, [wide]),
        0x0101: (LONG, [high]),
        0x0102: (SHORT, [8, 8, 8]),
        0x0103: (SHORT, [7]),
        0x0106: (SHORT, [6]),
        0x0115: (SHORT, [3]),
        0x0116: (LONG, [high]),
        0x011C: (SHORT, [1]),
    }
    return tiff({**common, **shown}, preview, (raw, sensor.tobytes()))


def jpeg_size(data: bytes) -> tuple[int, int]:
    """Width and height of a baseline JPEG."""
    at = data.index(b"\xff\xc0")
    high, wide = struct.unpack(">HH", data[at + 5 : at + 9])
    return wide, high


def tiff16(picture: NDArray[np.uint16]) -> bytes:
    """An RGB TIFF with 16 bits per channel."""
    height, width = picture.shape[:2]
    tags: Tags = {
        0x0100: (LONG, [width]),
        0x0101: (LONG, [height]),
        0x0102: (SHORT, [16, 16, 16]),
        0x0103: (SHORT, [1]),
        0x0106: (SHORT, [2]),
        0x0115: (SHORT, [3]),
        0x0116: (LONG, [height]),
        0x011C: (SHORT, [1]),
    }
    return tiff(tags, picture.astype("<u2").tobytes())


def heic(image: Image.Image, *more: Image.Image, **options: Any) -> bytes:
    """A HEIC file of one picture or of several."""
    file = pillow_heif.from_pillow(image)
    for other in more:
        file.add_from_pillow(other)
    out = io.BytesIO()
    file.save(out, **{"quality": 90, **options})
    return out.getvalue()
