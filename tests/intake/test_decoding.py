from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo

from likewise.intake.reading.decoding import WORK_SIDE, Unreadable, crop_pixels, decode
from likewise.intake.reading.metadata import MAX_TEXT


def photo(width=90, height=60, seed=0) -> Image.Image:
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 255, (6, 9, 3), dtype=np.uint8)
    return Image.fromarray(base).resize((width, height), Image.Resampling.BICUBIC)


def saved(image: Image.Image, kind: str, **options) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


KINDS = ["JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "AVIF"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_allowed_format_is_opened_by_its_bytes(kind):
    Image.init()
    assert kind in Image.SAVE, f"this Pillow cannot write {kind}"
    p = decode(saved(photo(), kind))
    assert (p.width, p.height, p.format) == (90, 60, kind)
    assert p.pixels.shape == (60, 90, 3)
    error = np.abs(p.pixels.astype(int) - np.asarray(photo()).astype(int)).mean()
    assert error < 25
    with Image.open(io.BytesIO(p.thumbnail)) as small:
        assert small.format == "JPEG"
        assert "exif" not in small.info


@pytest.mark.parametrize("kind", ["PPM", "ICO", "PCX", "TGA", "PDF", "EPS"])
def test_formats_outside_the_list_are_refused(kind):
    with pytest.raises(Unreadable, match="not of a format"):
        decode(saved(photo(), kind))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"x", "not of a format"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
        (b"<!DOCTYPE html><html></html>", "web page"),
        (b"\x00\x00\x00\x18ftypheic" + b"\x00" * 40, "HEIC picture is damaged"),
    ],
)
def test_what_is_no_picture_says_what_it_is(data, words):
    with pytest.raises(Unreadable, match=words):
        decode(data)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
def test_a_cut_file_is_damaged_not_half_shown(kind):
    data = saved(photo(400, 300), kind)
    with pytest.raises(Unreadable):
        decode(data[: len(data) // 2])


def png_header(width: int, height: int) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    row = zlib.compress(b"\x00" * 4096)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", row)
        + chunk(b"IEND", b"")
    )


def test_a_bomb_is_refused_from_its_header():
    with pytest.raises(Unreadable, match="million pixels"):
        decode(png_header(50_000, 50_000))


def test_a_long_strip_is_a_picture():
    strip = Image.new("RGB", (50_000, 50), (200, 10, 10))
    p = decode(saved(strip, "PNG"))
    assert (p.width, p.height) == (50_000, 50)
    assert p.pixels.shape[1] == WORK_SIDE
    assert p.pixels.shape[0] >= 1
    assert np.allclose(p.pixels.reshape(-1, 3).mean(axis=0), [200, 10, 10], atol=2)


def test_orientation_is_applied_and_reported():
    image = photo(90, 60)
    exif = Image.Exif()
    exif[0x0112] = 6
    p = decode(saved(image, "JPEG", exif=exif.tobytes(), quality=95))
    assert (p.width, p.height) == (60, 90)
    expected = np.asarray(image.rotate(-90, expand=True)).astype(int)
    assert np.abs(p.pixels.astype(int) - expected).mean() < 6


def test_another_colour_profile_becomes_srgb():
    lab = Image.new("RGB", (20, 20), (200, 100, 50))
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    same = decode(saved(lab, "PNG", icc_profile=profile))
    assert np.abs(same.pixels.astype(int) - [200, 100, 50]).max() <= 1
    broken = decode(saved(lab, "PNG", icc_profile=b"nonsense"))
    assert np.array_equal(broken.pixels[0, 0], [200, 100, 50])


def test_transparency_lies_on_white():
    image = Image.new("RGBA", (8, 8), (255, 0, 0, 0))
    assert np.array_equal(decode(saved(image, "PNG")).pixels[0, 0], [255, 255, 255])
    palette = Image.new("P", (8, 8), 0)
    palette.putpalette([9, 9, 9] * 256)
    data = saved(palette, "PNG", transparency=0)
    assert np.array_equal(decode(data).pixels[0, 0], [255, 255, 255])


def test_sixteen_bits_and_cmyk_and_bilevel_keep_their_tones():
    deep = Image.fromarray(np.full((8, 8), 257 * 100, dtype=np.uint16))
    assert abs(int(decode(saved(deep, "PNG")).pixels[0, 0, 0]) - 100) <= 1
    cmyk = Image.new("CMYK", (16, 16), (0, 255, 255, 0))
    red = decode(saved(cmyk, "JPEG")).pixels[8, 8].astype(int)
    assert red[0] > 200
    assert red[1] < 60
    bits = decode(saved(Image.new("1", (8, 8), 1), "PNG")).pixels
    assert bits.min() == 255


def test_only_the_first_frame_counts():
    frames = [Image.new("RGB", (16, 16), c) for c in ((255, 0, 0), (0, 0, 255))]
    data = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert np.array_equal(decode(data).pixels[0, 0], [255, 0, 0])


def test_exif_iptc_and_xmp_are_read():
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = "Acme", "Acme One"
    exif[0x010E] = "A red\x00 kite"
    exif.get_ifd(0x8769)[0x9003] = "2021:05:06 07:08:09"
    p = decode(saved(photo(), "JPEG", exif=exif.tobytes()))
    assert p.metadata.camera == "Acme One"
    assert p.metadata.taken == "2021-05-06T07:08:09"
    assert p.metadata.caption.startswith("A red")
    xmp = (
        b"<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF "
        b"xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' "
        b"xmlns:dc='http://purl.org/dc/elements/1.1/'><rdf:Description><dc:subject><rdf:Bag>"
        b"<rdf:li>kite</rdf:li><rdf:li>sky</rdf:li></rdf:Bag></dc:subject></rdf:Description>"
        b"</rdf:RDF></x:xmpmeta>"
    )
    assert decode(saved(photo(), "JPEG", xmp=xmp)).metadata.keywords == ("kite", "sky")
    bomb = b"<!DOCTYPE a [<!ENTITY b 'c'>]>" + xmp
    assert decode(saved(photo(), "JPEG", xmp=bomb)).metadata.keywords == ()


def test_the_place_is_read_only_when_asked_for():
    exif = Image.Exif()
    gps = exif.get_ifd(0x8825)
    gps[1], gps[2], gps[3], gps[4] = "S", (10.0, 30.0, 0.0), "E", (20.0, 0.0, 36.0)
    data = saved(photo(), "JPEG", exif=exif.tobytes())
    assert decode(data).metadata.place is None
    assert decode(data, gps=True).metadata.place == pytest.approx((-10.5, 20.01))


def test_broken_or_huge_metadata_does_not_cost_the_picture():
    data = saved(photo(), "JPEG", exif=b"Exif\x00\x00" + b"MM\x00*" + b"\xff" * 60)
    assert decode(data).width == 90
    notes = PngInfo()
    notes.add_text("Description", "x" * 50_000)
    assert len(decode(saved(photo(), "PNG", pnginfo=notes)).metadata.caption) == MAX_TEXT


def test_a_crop_has_at_least_one_pixel():
    pixels = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    assert np.array_equal(crop_pixels(pixels, (0, 0, 1, 1)), pixels)
    assert np.array_equal(crop_pixels(pixels, (0.5, 0.5, 1, 1)), pixels[2:, 3:])
    assert crop_pixels(pixels, (0.99, 0.99, 1, 1)).shape == (1, 1, 3)
