"""Files as phones and cameras write them: HEIC, RAW, JPEG XL, 16 bits, panoramas, pairs.

HEIC files are written by pillow-heif, DNG files by hand; others where LIKEWISE_RAW names a folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pillow_heif
import pytest
from PIL import Image, ImageCms

import likewise
from benchmarks.camera_files import dng, heic, tiff16
from likewise.intake.reading import decoding
from likewise.intake.reading.decoding import Unreadable, decode
from likewise.intake.scanning import scan
from likewise.intake.workers import Task, describe
from tests.intake.test_decoding import photo, saved


def distance(pixels, image: Image.Image) -> float:
    """Mean difference of two pictures of one shape, of 255."""
    small = image.convert("RGB").resize(pixels.shape[1::-1], Image.Resampling.BICUBIC)
    return float(np.abs(pixels.astype(int) - np.asarray(small).astype(int)).mean())


def test_heic_is_opened_with_its_facts():
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = "Likewise", "Phone"
    exif.get_ifd(0x8769)[0x9003] = "2022:01:02 03:04:05"
    image = photo(900, 600)
    p = decode(heic(image, exif=exif.tobytes()))
    assert (p.width, p.height, p.format) == (900, 600, "HEIF")
    assert (p.metadata.camera, p.metadata.taken) == ("Likewise Phone", "2022-01-02T03:04:05")
    assert p.pixels.shape == (341, 512, 3)
    assert distance(p.pixels, image) < 4


def test_a_turned_heic_is_upright():
    exif = Image.Exif()
    exif[0x0112] = 6
    p = decode(heic(photo(90, 60), exif=exif.tobytes()))
    assert (p.width, p.height) == (60, 90)
    assert distance(p.pixels, photo(90, 60).rotate(-90, expand=True)) < 6


def test_the_main_one_of_twenty_pictures_in_a_heic_counts():
    others = [photo(64, 64, seed=at) for at in range(20)]
    main = photo(120, 80, seed=99)
    p = decode(heic(others[0], *others[1:10], main, *others[10:], primary_index=10))
    assert (p.width, p.height) == (120, 80)
    assert distance(p.pixels, main) < 6


def test_a_heic_shows_its_thumbnail_where_that_is_large_enough(monkeypatch):
    image = photo(1200, 800)
    file = heic(image, thumbnails=[800])
    p = decode(file)
    assert (p.width, p.height) == (1200, 800)
    assert distance(p.pixels, image) < 4
    monkeypatch.setattr(pillow_heif.as_plugin._LibHeifImageFile, "load", _refuse_large)
    assert decode(file).pixels.shape == p.pixels.shape


def _refuse_large(self):
    if max(self.size) > 1000:
        raise AssertionError("the whole picture was decoded")
    return Image.Image.load(self) if self.fp is None else _load(self)


_load = pillow_heif.as_plugin._LibHeifImageFile.load


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_cut_heic_is_damaged(share):
    data = heic(photo(900, 600))
    with pytest.raises(Unreadable, match="damaged"):
        decode(data[: int(len(data) * share)])


def test_jpeg_xl_is_opened_where_a_package_reads_it(monkeypatch):
    pillow_jxl = pytest.importorskip("pillow_jxl")
    assert pillow_jxl
    data = saved(photo(), "JXL")
    p = decode(data)
    assert (p.width, p.height, p.format) == (90, 60, "JXL")
    assert distance(p.pixels, photo()) < 8
    monkeypatch.setattr(decoding, "_known_formats", lambda: ("JPEG",))
    with pytest.raises(Unreadable, match=r"likewise\[jxl\]"):
        decode(data)


# -- RAW ------------------------------------------------------------------------


def test_a_raw_file_is_shown_by_its_preview():
    image, other = photo(1200, 800), photo(700, 466, seed=5)
    p = decode(dng(np.asarray(image), saved(other, "JPEG", quality=95)))
    assert (p.width, p.height, p.format) == (1200, 800, "RAW")
    assert p.metadata.camera == "Likewise Paper Camera"
    assert p.metadata.taken == "2021-03-04T05:06:07"
    assert distance(p.pixels, other) < 5  # the preview, not what the sensor saw
    with Image.open(decoding.io.BytesIO(p.thumbnail)) as small:
        assert max(small.size) == 256


@pytest.mark.parametrize("preview", [(), (120, 80)])
def test_a_raw_file_without_a_preview_that_serves_is_developed(preview):
    image = photo(1200, 800)
    small = saved(photo(*preview, seed=5), "JPEG") if preview else b""
    p = decode(dng(np.asarray(image), small))
    assert (p.width, p.height, p.format) == (1200, 800, "RAW")
    assert p.pixels.shape == (341, 512, 3)
    close = np.asarray(image.resize((512, 341))).astype(float).ravel()
    assert np.corrcoef(close, p.pixels.astype(float).ravel())[0, 1] > 0.97


def test_a_kind_that_cannot_be_developed_shows_its_small_preview_or_says_what_to_do(monkeypatch):
    import rawpy

    class Unknown:
        """A file that was opened, and cannot be developed."""

        def __init__(self, raw):
            self.raw = raw

        def __getattr__(self, name):
            return getattr(self.raw, name)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.raw.close()

        def postprocess(self, **_):
            raise rawpy.LibRawFileUnsupportedError(b"Unsupported file format or not RAW file")

    opened = rawpy.imread
    small = photo(120, 80, seed=5)
    files = [dng(np.asarray(photo(1200, 800)), p) for p in (saved(small, "JPEG", quality=95), b"")]
    monkeypatch.setattr(rawpy, "imread", lambda data: Unknown(opened(data)))
    p = decode(files[0])
    assert (p.width, p.height, p.format) == (1200, 800, "RAW")
    assert distance(p.pixels, small) < 5
    with pytest.raises(Unreadable, match="put a JPEG of the same name beside it"):
        decode(files[1])


@pytest.mark.slow
@pytest.mark.skipif("LIKEWISE_RAW" not in os.environ, reason="LIKEWISE_RAW names no folder")
def test_raw_files_of_others_are_opened_or_told_why_not():
    """For instance those of the source package of dngpy 0.1.3, below extern/sample_files."""
    files = sorted(Path(os.environ["LIKEWISE_RAW"]).rglob("*.[dD][nN][gG]"))
    assert files
    for file in files:
        picture = decode(file.read_bytes())
        assert picture.format == "RAW"
        assert picture.thumbnail[:2] == b"\xff\xd8"


@pytest.mark.parametrize("with_preview", [True, False])
def test_a_turned_raw_file_is_upright(with_preview):
    image = photo(1200, 800)
    preview = saved(image.resize((600, 400)), "JPEG") if with_preview else b""
    p = decode(dng(np.asarray(image), preview, orientation=6))
    assert (p.width, p.height) == (800, 1200)
    close = np.asarray(image.rotate(-90, expand=True).resize((341, 512))).astype(float).ravel()
    assert np.corrcoef(close, p.pixels.astype(float).ravel())[0, 1] > 0.97


@pytest.mark.parametrize("preview", [b"", saved(photo(600, 400), "JPEG")])
@pytest.mark.parametrize("share", [0.001, 0.5, 0.95])
def test_a_cut_raw_file_is_damaged(preview, share):
    data = dng(np.asarray(photo(600, 400)), preview)
    with pytest.raises(Unreadable, match="damaged"):
        decode(data[: int(len(data) * share)])


def test_a_tiff_with_a_camera_s_name_is_a_tiff():
    exif = Image.Exif()
    exif[0x010F] = "Likewise"
    assert decode(saved(photo(), "TIFF", exif=exif)).format == "TIFF"


def test_sixteen_bits_per_colour_keep_their_tones():
    image = photo(300, 200)
    p = decode(tiff16(np.asarray(image).astype(np.uint16) * 257))
    assert p.format == "TIFF"
    assert distance(p.pixels, image) < 1


def test_a_profile_that_many_pictures_share_is_read_once_and_one_of_no_use_is_passed_over():
    plain = Image.new("RGB", (20, 20), (200, 100, 50))
    srgb, lab = (
        ImageCms.ImageCmsProfile(ImageCms.createProfile(name)).tobytes() for name in ("sRGB", "LAB")
    )
    decoding._from_profile.cache_clear()
    for _ in range(2):
        same = decode(saved(plain, "JPEG", icc_profile=srgb, quality=100))
        assert np.abs(same.pixels.astype(int) - [200, 100, 50]).max() <= 4
    assert decoding._from_profile.cache_info().hits == 1
    odd = decode(saved(plain, "PNG", icc_profile=lab))
    assert np.array_equal(odd.pixels[0, 0], [200, 100, 50])


def test_a_panorama_of_400_megapixels_is_opened_as_jpeg_and_refused_with_a_reason_else(monkeypatch):
    monkeypatch.setattr(decoding, "MAX_PIXELS", 256_000)
    wide = photo(2000, 200)  # a thousandth of both, so that the test is quick
    p = decode(saved(wide, "JPEG"))
    assert (p.width, p.height) == (2000, 200)
    assert p.pixels.shape == (51, 512, 3)
    with pytest.raises(Unreadable, match="million pixels"):
        decode(saved(wide, "PNG"))


@pytest.mark.slow
@pytest.mark.parametrize("progressive", [False, True])
def test_a_panorama_of_full_size_stays_within_the_memory_of_a_child(tmp_path, progressive):
    file = tmp_path / "wide.jpg"
    photo(40_000, 10_000).save(file, quality=80, progressive=progressive)
    (outcome,) = describe([Task(1, os.fsencode(file))], ["colour"], processes=1, seconds=120)
    if progressive:  # all of it has to be kept until its last scan
        assert "more memory" in outcome.problem or "damaged" in outcome.problem
    else:
        assert (outcome.picture.width, outcome.picture.height) == (40_000, 10_000)
        assert np.isfinite(outcome.features["colour"]).all()


# -- in a collection ------------------------------------------------------------


def test_confined_children_open_them_all(tmp_path):
    image = photo(700, 500)
    files = {
        "a.heic": heic(image),
        "b.dng": dng(np.asarray(image)),
        "c.nef": dng(np.asarray(image), saved(image, "JPEG")),
        "d.avif": saved(image, "AVIF"),
        "e.dng": dng(np.asarray(image))[:5000],
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    tasks = [Task(at, os.fsencode(tmp_path / name)) for at, name in enumerate(files)]
    outcomes = {o.key: o for o in describe(tasks, ["colour"], processes=1)}
    kinds = [o.picture and o.picture.format for _, o in sorted(outcomes.items())]
    assert kinds == ["HEIF", "RAW", "RAW", "AVIF", None]
    assert "damaged" in outcomes[4].problem


def test_one_shot_is_one_item(tmp_path):
    image = photo(60, 40)
    (tmp_path / "sub").mkdir()
    for name in ("IMG_1.CR2", "IMG_1.JPG", "img_2.heic", "IMG_2.DNG", "IMG_3.NEF", "sub/IMG_1.DNG"):
        data = heic(image) if name.endswith("heic") else saved(image, "JPEG")
        (tmp_path / name).write_bytes(data)
    for name in ("IMG_1.MOV", "clip"):  # the film of a Live Photo, with and without an ending
        (tmp_path / name).write_bytes(b"\x00\x00\x00\x14ftypqt  " + bytes(40))
    found = [file.path for file in scan(os.fsencode(tmp_path)).files]
    assert found == [b"IMG_1.JPG", b"IMG_3.NEF", b"img_2.heic", b"sub/IMG_1.DNG"]


def test_a_folder_of_a_phone_and_a_camera_is_indexed_without_a_problem(tmp_path):
    (tmp_path / "a.HEIC").write_bytes(heic(photo(80, 60, seed=1)))
    (tmp_path / "a.mov").write_bytes(b"\x00\x00\x00\x14ftypqt  ")
    (tmp_path / "b.dng").write_bytes(dng(np.asarray(photo(80, 60, seed=2))))
    with likewise.open(tmp_path, create=True) as collection:
        report = collection.index(features=("colour",), processes=1)
        assert (report.found, report.embedded, report.problems) == (2, 2, 0)
        assert {i.format for i in collection.items.many([1, 2])} == {"HEIF", "RAW"}
        (tmp_path / "b.jpg").write_bytes(saved(photo(80, 60, seed=2), "JPEG"))
        report = collection.index(processes=1)
        assert (report.new, report.removed, len(collection)) == (1, 1, 2)
