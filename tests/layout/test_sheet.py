"""Contact sheets: every picture has its place and its line, in rows a frame and a title."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from experiments.sheets import FRAMES, SheetRow, sheet_of_rows
from likewise.layout.sheet import contact_sheet
from likewise.types import BadInput


def plain(red: int, green: int, blue: int, shape: tuple[int, int] = (40, 40)) -> np.ndarray:
    return np.full((*shape, 3), (red, green, blue), dtype=np.uint8)


def count(sheet: Image.Image, colour: tuple[int, int, int]) -> int:
    return int((np.asarray(sheet) == colour).all(axis=2).sum())


COLOURS = [(10, 20, 30), (200, 10, 10), (10, 200, 10), (90, 90, 0), (0, 90, 90)]


def test_every_picture_is_there_whole() -> None:
    pictures = [plain(*c) for c in COLOURS]
    sheet = contact_sheet(pictures, columns=2, cell=40)
    assert [count(sheet, c) for c in COLOURS] == [1600] * 5


def test_pictures_are_in_reading_order() -> None:
    sheet = np.asarray(contact_sheet([plain(*c) for c in COLOURS], columns=2, cell=40))
    places = [np.argwhere((sheet == c).all(axis=2)).mean(axis=0) for c in COLOURS]
    rows, columns = np.array(places).T
    assert rows[0] == rows[1] < rows[2] == rows[3] < rows[4]
    assert columns[0] == columns[2] == columns[4] < columns[1] == columns[3]


def test_a_picture_keeps_its_shape() -> None:
    sheet = contact_sheet([plain(200, 0, 0, (100, 50))], cell=40)
    assert count(sheet, (200, 0, 0)) == 40 * 20


@pytest.mark.parametrize("mark", sorted(FRAMES))
def test_marks_are_frames(mark, tmp_path) -> None:
    row = SheetRow([plain(1, 2, 3), plain(4, 5, 6)], "", marks=["", mark])
    sheet = sheet_of_rows([row], tmp_path / "sheet.png", columns=2, cell=40)
    assert count(sheet, FRAMES[mark]) > 150
    assert count(sheet, (1, 2, 3)) == 1600
    assert count(sheet, (4, 5, 6)) > 1200
    assert sum(count(sheet, colour) for name, colour in FRAMES.items() if name != mark) == 0


def test_titles_and_captions_take_room_and_leave_ink(tmp_path) -> None:
    pictures = [plain(250, 249, 246)] * 3
    captions = ["a", "b", "a long caption " * 9]
    bare = contact_sheet(pictures, cell=64)
    told = contact_sheet(pictures, captions=captions, cell=64)
    rows = [SheetRow(pictures, title) for title in ("red stripes", "", "blue dots")]
    headed = sheet_of_rows(rows, tmp_path / "rows.png", columns=8, cell=64)
    assert told.height > bare.height
    assert headed.height > 2 * bare.height
    assert np.asarray(bare).min() > 200
    assert np.asarray(told).min() < 130
    assert np.asarray(headed).min() < 120
    assert told.width == bare.width == headed.width


def test_grey_arrays_and_images_serve_as_well(tmp_path) -> None:
    for name in ("sheet.png", "deep/sheet.jpg"):
        sheet = contact_sheet(
            [np.zeros((9, 9), np.uint8), Image.new("RGBA", (9, 9)), plain(1, 1, 1)], tmp_path / name
        )
        with Image.open(tmp_path / name) as stored:
            assert stored.size == sheet.size


def test_the_callers_image_is_left_as_it_is() -> None:
    image = Image.new("RGB", (300, 200))
    contact_sheet([image], cell=32)
    assert image.size == (300, 200)


@pytest.mark.parametrize(
    ("pictures", "options"),
    [
        ([], {}),
        ([plain(0, 0, 0)], {"columns": 0}),
        ([plain(0, 0, 0)], {"captions": ["a", "b"]}),
        ([plain(0, 0, 0).astype(float)], {}),
        ([np.zeros((4, 4, 2), np.uint8)], {}),
    ],
)
def test_bad_input_is_refused(pictures, options) -> None:
    with pytest.raises(BadInput):
        contact_sheet(pictures, **options)
