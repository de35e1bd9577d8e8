"""JPEG at an eighth of its size from the means of its blocks: as Pillow, or not at all."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageFile

from likewise.intake.reading.decoding import Unreadable, decode
from likewise.intake.reading.eighth import eighth
from tests.intake.test_decoding import photo, saved


def by_pillow(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        image.draft(None, (max(1, image.width // 8), max(1, image.height // 8)))
        return np.asarray(image.convert("RGB")).astype(int)


@pytest.mark.parametrize(
    ("how", "apart"),
    [
        ({"subsampling": 0}, 0),
        ({"subsampling": 1}, 3),  # colour is interpolated here, and not there
        ({"subsampling": 2}, 3),
        ({"optimize": True, "quality": 98, "subsampling": 0}, 0),
        ({"quality": 5, "subsampling": 0}, 0),
        ({"restart_marker_blocks": 7, "subsampling": 0}, 0),
        ({"restart_marker_rows": 1}, 3),
    ],
)
def test_the_same_pixels_as_pillow(how, apart):
    for size in ((1333, 870), (64, 9), (8, 8), (1, 1))[: None if apart == 0 else 1]:
        data = saved(photo(*size), "JPEG", **{"quality": 90, **how})
        found, known = eighth(data), by_pillow(data)
        assert found.shape == known.shape
        assert np.abs(found - known).max() <= 1 or np.abs(found - known).mean() < apart


def test_grey_is_the_same_to_the_last_bit():
    data = saved(photo(200, 100).convert("L"), "JPEG")
    assert np.array_equal(eighth(data), by_pillow(data))


def test_other_kinds_are_left_to_pillow():
    assert eighth(saved(photo(), "JPEG", progressive=True)) is None
    assert eighth(saved(photo().convert("CMYK"), "JPEG")) is None
    assert eighth(saved(photo(), "JPEG", keep_rgb=True)) is None
    assert eighth(saved(photo(), "PNG")) is None


def test_damaged_ones_are_never_more_than_refused():
    data = saved(photo(120, 80), "JPEG")
    start = data.index(b"\xff\xda")
    for cut in range(0, len(data) - 40, 97):
        assert eighth(data[:cut]) is None
    rng = np.random.default_rng(0)
    for at in [*range(start + 14), *rng.integers(start, len(data), 200).tolist()]:
        hurt = bytearray(data)
        hurt[at] = rng.integers(256)
        found = eighth(bytes(hurt))
        assert found is None or found.shape[2] == 3


def test_a_large_jpeg_goes_this_way_and_stands_upright(monkeypatch):
    exif = Image.Exif()
    exif[0x0112], exif[0x0110] = 6, "Camera"
    image = photo(4200, 300)
    data = saved(image, "JPEG", exif=exif, quality=90)
    usual = decode(data)
    assert (usual.width, usual.height, usual.metadata.camera) == (300, 4200, "Camera")
    monkeypatch.setattr(ImageFile.ImageFile, "load", None)  # nobody decodes all of it
    again = decode(data, thumbnail=False)
    assert np.array_equal(again.pixels, usual.pixels)
    monkeypatch.undo()
    monkeypatch.setattr("likewise.intake.reading.eighth.eighth", lambda data: None)
    other = decode(data)
    assert np.abs(other.pixels.astype(int) - usual.pixels).mean() < 1.5
    monkeypatch.undo()
    with pytest.raises(Unreadable, match="damaged"):
        decode(data[: len(data) // 2])
