"""A folder of pictures becomes a data set with its folders as classes."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from experiments.sets import load_folder
from likewise.types import BadInput, DataProblem, NotFound


def put(root, name: str, grey: int) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (6, 4), grey).save(path)


def test_class_folders_become_labels(tmp_path) -> None:
    for name, grey in (
        ("cats/b.png", 20),
        ("cats/deep/a.PNG", 30),
        ("dogs/a.bmp", 40),
        ("z.png", 50),
    ):
        put(tmp_path, name, grey)
    put(tmp_path, ".hidden/x.png", 1)
    (tmp_path / "cats" / "notes.txt").write_text("no picture")
    (tmp_path / "cats" / ".x.png").write_bytes(b"")
    found = load_folder(tmp_path)
    assert found.names == ("cats/b.png", "cats/deep/a.PNG", "dogs/a.bmp", "z.png")
    assert [found.class_names[i] for i in found.labels] == ["cats", "cats", "dogs", ""]
    assert [p[0, 0, 1] for p in found.pictures] == [20, 30, 40, 50]
    assert all(p.shape == (4, 6, 3) for p in found.pictures)
    assert not found.is_test.any()


def test_train_and_test_are_the_split(tmp_path) -> None:
    for name in ("train/red/1.png", "train/blue/2.png", "test/red/3.png"):
        put(tmp_path, name, 9)
    found = load_folder(tmp_path)
    assert found.is_test.tolist() == [True, False, False]
    assert [found.class_names[i] for i in found.labels] == ["red", "blue", "red"]


def test_test_alone_is_a_class(tmp_path) -> None:
    put(tmp_path, "test/1.png", 9)
    assert load_folder(tmp_path).class_names == ("test",)
    assert not load_folder(str(tmp_path)).is_test.any()


def test_upright_as_the_camera_was_held(tmp_path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn
    Image.fromarray(np.zeros((4, 10, 3), np.uint8)).save(tmp_path / "a.jpg", exif=exif)
    assert load_folder(tmp_path).pictures[0].shape == (10, 4, 3)


def test_no_folder_no_pictures_no_picture(tmp_path) -> None:
    with pytest.raises(NotFound, match="no folder"):
        load_folder(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="No picture"):
        load_folder(tmp_path)
    (tmp_path / "broken.jpg").write_bytes(b"not a picture")
    found = load_folder(tmp_path)
    with pytest.raises(DataProblem, match=r"broken\.jpg"):
        found.pictures[0]
    (tmp_path / "broken.jpg").unlink()
    with pytest.raises(DataProblem, match="cannot be read"):
        found.pictures[0]
