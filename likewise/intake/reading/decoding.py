"""File bytes to picture: an allow-list of formats, sniffed from the bytes, within stated limits.

Runs in child processes (see ``workers``): whatever a file does to the decoder, it
does to the child.  Every refusal is a :class:`Unreadable` with one reason a person
can act on.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms, ImageOps, UnidentifiedImageError

from likewise.intake import HEIF_BRANDS
from likewise.intake.reading.metadata import Metadata, read_metadata
from likewise.intake.reading.raw import Developed, open_raw

FORMATS = ("JPEG", "MPO", "PNG", "GIF", "WEBP", "AVIF", "BMP", "DIB", "TIFF", "HEIF", "JXL")
"""Pillow's names of what is opened at all; RAW files besides, and JXL with an extra."""

MAX_PIXELS = 256_000_000
"""A picture of which more have to be decoded is refused from its header.

The largest phone cameras have 200 M.  A JPEG is decoded at a fraction of its size, so that a
panorama of 400 M is none too many.
"""

WORK_SIDE = 512
"""Longer side of the picture that features are computed on."""

THUMBNAIL_SIDE = 256


class Unreadable(Exception):
    """The file is no picture that can be used; the message is the one reason."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A decoded picture: pixels for the features, a thumbnail, and facts."""

    pixels: NDArray[np.uint8]
    thumbnail: bytes
    width: int
    height: int
    format: str
    metadata: Metadata = field(default_factory=Metadata)


def decode(data: bytes, *, gps: bool = False, thumbnail: bool = True) -> Picture:
    """Decode one file's bytes: main picture, EXIF orientation, sRGB, shrunk to the working size."""
    if not data:
        raise Unreadable("The file is empty.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        Image.MAX_IMAGE_PIXELS = None if data.startswith(b"\xff\xd8\xff") else MAX_PIXELS
        try:
            raw = open_raw(data, WORK_SIDE, MAX_PIXELS)
            if raw is not None:
                return _decode_open(raw.image, gps, thumbnail, raw)
            with Image.open(io.BytesIO(data), formats=_known_formats()) as image:
                return _decode_open(image, gps, thumbnail)
        except Unreadable:
            raise
        except NotImplementedError as error:
            raise Unreadable(str(error)) from None
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            raise Unreadable(
                f"The picture declares more than {MAX_PIXELS // 1_000_000} million pixels."
            ) from None
        except UnidentifiedImageError:
            raise Unreadable(_not_a_picture(data)) from None
        except MemoryError:
            raise Unreadable("Decoding needs more memory than one picture may take.") from None
        except Exception as error:  # decoders raise anything at all on damaged data
            text = " ".join(str(error).split())[:160] or type(error).__name__
            raise Unreadable(f"The picture is damaged ({text}).") from None


def _decode_open(
    image: Image.Image, gps: bool, thumbnail: bool, raw: Developed | None = None
) -> Picture:
    width, height = image.size
    kind = "JPEG" if image.format == "MPO" else (image.format or "?")
    if width < 1 or height < 1:
        raise Unreadable("The picture has no pixels.")
    metadata = read_metadata(image, gps=gps, exif=raw and raw.exif)
    if raw is None or image.format:
        # A JPEG is decoded at a fraction of its size where that still gives the working size, and
        # a HEIC by its own thumbnail where that is as large.
        share = min(1.0, WORK_SIDE / max(image.size))
        image.draft("RGB", (max(1, int(width * share)), max(1, int(height * share))))
    if image.width * image.height > MAX_PIXELS:
        raise Image.DecompressionBombError
    turned, on_its_side = _oriented(_loaded(image, max(width, height)))
    if raw is not None:
        kind, (width, height) = "RAW", raw.size
    elif on_its_side:
        width, height = height, width
    rgb = _to_srgb(_shrink_early(turned))
    small = _fit(rgb, WORK_SIDE)
    pixels = np.asarray(small, dtype=np.uint8)
    return Picture(
        pixels=np.ascontiguousarray(pixels),
        thumbnail=encode_jpeg(_fit(small, THUMBNAIL_SIDE)) if thumbnail else b"",
        width=width,
        height=height,
        format=kind,
        metadata=metadata,
    )


def _loaded(image: Image.Image, side: int) -> Image.Image:
    """A picture with its pixels; a JPEG at an eighth of its size by a shorter way, where it can."""
    if image.format in ("JPEG", "MPO") and image.mode in ("RGB", "L") and side >= 8 * WORK_SIDE:
        from likewise.intake.reading.eighth import eighth  # heavy, and few need it

        pixels = eighth(image.fp.getvalue())  # type: ignore[attr-defined]
        if pixels is not None and image.info.get("adobe_transform") != 0:
            small = Image.fromarray(pixels)
            small.info = image.info
            return small
    image.load()
    return image


def encode_jpeg(image: Image.Image, quality: int = 85) -> bytes:
    """A fresh JPEG of the pixels alone: no metadata survives."""
    out = io.BytesIO()
    image.convert("RGB").save(out, "JPEG", quality=quality)
    return out.getvalue()


def crop_pixels(
    pixels: NDArray[np.uint8], crop: tuple[float, float, float, float]
) -> NDArray[np.uint8]:
    """The part of a picture inside ``(left, top, right, bottom)``, at least one pixel each way."""
    height, width = pixels.shape[:2]
    left, top, right, bottom = crop
    x0 = min(int(left * width), width - 1)
    y0 = min(int(top * height), height - 1)
    x1 = max(x0 + 1, round(right * width))
    y1 = max(y0 + 1, round(bottom * height))
    return np.ascontiguousarray(pixels[y0:y1, x0:x1])


def _oriented(image: Image.Image) -> tuple[Image.Image, bool]:
    """The picture upright, and whether it lay on its side."""
    try:
        on_its_side = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        return ImageOps.exif_transpose(image) or image, on_its_side
    except Exception:  # broken EXIF must not cost the picture
        return image, False


def _shrink_early(image: Image.Image) -> Image.Image:
    """Box-reduce what is far too large before colour work; palettes and bits wait for RGB."""
    factor = min(max(image.size) // (2 * WORK_SIDE), min(image.size))
    if factor >= 2 and image.mode in ("RGB", "RGBA", "L", "LA", "CMYK"):
        return image.reduce(factor)
    return image


def _fit(image: Image.Image, side: int) -> Image.Image:
    """An RGB picture shrunk by averaging: over two pixels each way where these are enough."""
    import cv2  # heavy, and a search does not need it

    longest = max(image.size)
    if longest <= side:
        return image
    size = [max(1, round(s * side / longest)) for s in image.size]
    how = cv2.INTER_LINEAR if longest <= 2 * side else cv2.INTER_AREA  # much faster
    small = cv2.resize(np.asarray(image), size, interpolation=how)
    return Image.fromarray(np.asarray(small, np.uint8))


def _to_srgb(image: Image.Image) -> Image.Image:
    profile = image.info.get("icc_profile")
    if image.mode.startswith("I") or image.mode == "F":
        image = _to_8_bit(image)
    if profile and image.mode in ("RGB", "RGBA", "CMYK", "L"):
        try:
            alpha = image.getchannel("A") if image.mode == "RGBA" else None
            base = image.convert("RGB") if image.mode == "RGBA" else image
            converted = ImageCms.applyTransform(base, _from_profile(profile, base.mode))
            if converted is not None:
                image = converted
                if alpha is not None:
                    image.putalpha(alpha)
        except Exception:  # a broken profile: the numbers are taken as sRGB
            pass
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        white = Image.new("RGBA", rgba.size, (255, 255, 255, 255))
        return Image.alpha_composite(white, rgba).convert("RGB")
    return image.convert("RGB")


@lru_cache(8)  # a camera writes the same one into every picture
def _from_profile(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform:
    source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    return ImageCms.buildTransform(source, ImageCms.createProfile("sRGB"), mode, "RGB")


def _to_8_bit(image: Image.Image) -> Image.Image:
    """16-bit and float grey to 8 bits: by the format's range, or stretched where there is none."""
    a = np.asarray(image, dtype=np.float64)
    a = np.nan_to_num(a, nan=0.0, posinf=0.0, neginf=0.0)
    if image.mode.startswith("I;16"):
        a = a / 257.0
    else:
        top = a.max() if a.size else 0.0
        scale = 1.0 if 1.0 < top <= 255.0 else (255.0 / top if top > 0 else 1.0)
        a = np.maximum(a, 0) * scale
    return Image.fromarray(np.clip(a + 0.5, 0, 255).astype(np.uint8))


@lru_cache(1)
def _known_formats() -> tuple[str, ...]:
    import pillow_heif

    # One thread, since every core has a child; only the main picture and its thumbnails.
    pillow_heif.register_heif_opener(decode_threads=1, depth_images=False, aux_images=False)
    with contextlib.suppress(ImportError):
        importlib.import_module("pillow_jxl")
    Image.init()
    return tuple(f for f in FORMATS if f in Image.OPEN)


def _not_a_picture(data: bytes) -> str:
    head: Any = data[:512].lstrip().lower()
    if data.startswith((b"\xff\x0a", b"\x00\x00\x00\x0cJXL ")) and "JXL" not in _known_formats():
        return "JPEG XL pictures need an extra: pip install 'likewise[jxl]'."
    if data[4:8] == b"ftyp" and data[8:12] in HEIF_BRANDS:
        return "The HEIC picture is damaged."
    if data.startswith((b"II*\x00", b"MM\x00*")):
        return "The TIFF or RAW file is damaged, or of a kind that is not opened."
    if head.startswith((b"<svg", b"<?xml")):
        return "SVG drawings are not opened; export the drawing as PNG."
    if head.startswith((b"<!doctype", b"<html")):
        return "The file is a web page, not a picture."
    return (
        "The bytes are not of a format that is opened (JPEG, HEIC, RAW, PNG, GIF, WebP, AVIF, BMP, "
        "TIFF)."
    )
