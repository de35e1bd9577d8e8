"""A network of one's own that sees and reads: layouts of real exports, and what does not fit."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from likewise.features import clip, feature_set
from likewise.features.clip import Clip
from likewise.types import BadInput, DataProblem, Features, NotFound
from tests.features.towers import COLOURS, LAYOUTS, SIDE, WORDS, colour_pictures, tokenizer, towers


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pictures_and_words_meet(tmp_path: Path, layout: str) -> None:
    feature = Clip(towers(tmp_path, layout))
    assert isinstance(feature, Features)
    pictures, names = colour_pictures(60, seed=3)
    seen = feature(pictures)
    read = np.array([feature.read(name) for name in COLOURS])
    np.testing.assert_allclose(np.linalg.norm(seen, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(read, axis=1), 1, rtol=1e-5)
    said = [COLOURS[at] for at in (seen @ read.T).argmax(axis=1)]
    assert np.mean([a == b for a, b in zip(said, names)]) > 0.8
    np.testing.assert_allclose(feature.read("RED"), feature.read("red"))


def test_one_pass_with_other_blocks_and_across_processes(tmp_path: Path) -> None:
    folder = towers(tmp_path)
    blocks = feature_set(["texture", f"clip:{folder}"])
    (_, name) = blocks.names
    assert name.startswith("clip-")
    assert blocks.blocks == {"texture": 18, name: 24}
    pictures, _ = colour_pictures(4, seed=1)
    again = pickle.loads(pickle.dumps(blocks))
    np.testing.assert_array_equal(again(pictures)[name], blocks(pictures)[name])
    assert list(blocks.read("red")) == [name]


def test_the_name_follows_every_file_and_not_the_place(tmp_path: Path) -> None:
    folder = towers(tmp_path / "one")
    name = Clip(folder).name
    other = Path(shutil.copytree(folder, tmp_path / "two"))
    assert Clip(other).name == name
    for file in ("onnx/text_model.onnx", "tokenizer_config.json", "preprocessor_config.json"):
        changed = Path(shutil.copytree(folder, tmp_path / file.replace("/", "-")))
        with (changed / file).open("ab") as opened:
            opened.write(b"\n")
        assert Clip(changed).name != name
    (other / "tokenizer_config.json").write_text("{}")
    with pytest.raises(DataProblem, match="has changed since"):
        Clip(other, name).read("red")


def test_networks_may_lie_beside_the_tokenizer_and_be_small_ones(tmp_path: Path) -> None:
    folder = towers(tmp_path)
    for tower in ("vision_model", "text_model"):
        (folder / f"onnx/{tower}.onnx").rename(folder / f"{tower}_quantized.onnx")
    assert Clip(folder).read("red").shape == (24,)


def test_a_larger_edge_is_cut_to_the_crop(tmp_path: Path) -> None:
    folder = towers(tmp_path)
    file = folder / "preprocessor_config.json"
    told = json.loads(file.read_text())
    file.write_text(json.dumps({**told, "size": {"shortest_edge": 2 * SIDE}}))
    picture = np.zeros((4 * SIDE, 6 * SIDE, 3), np.uint8)
    picture[SIDE : 3 * SIDE, 2 * SIDE : 4 * SIDE] = (200, 30, 40)  # what the crop keeps
    whole = np.full((SIDE, SIDE, 3), (200, 30, 40), np.uint8)
    (cut,) = Clip(folder)([picture])
    file.write_text(json.dumps(told))
    assert cut @ Clip(folder)([whole])[0] > 0.99


def test_long_texts_are_cut_and_empty_ones_are_read(tmp_path: Path) -> None:
    for layout in LAYOUTS:
        feature = Clip(towers(tmp_path / layout, layout))
        assert np.isfinite(feature.read("red " * 10_000)).all()
        assert np.isfinite(feature.read("")).all()
        assert np.isfinite(feature.read("🐶 éléphant 象")).all()


def test_without_the_package_one_sentence_says_so(tmp_path: Path, monkeypatch) -> None:
    folder = towers(tmp_path)
    monkeypatch.setattr(clip, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"pip install 'likewise\[clip\]'"):
        Clip(folder)


@pytest.mark.parametrize(
    "file",
    [
        "onnx/vision_model.onnx",
        "onnx/text_model.onnx",
        "tokenizer.json",
        "preprocessor_config.json",
    ],
)
def test_what_the_folder_lacks_is_named(tmp_path: Path, file: str) -> None:
    folder = towers(tmp_path)
    (folder / file).unlink()
    with pytest.raises(NotFound, match=f"no {file} in"):
        Clip(folder)


def test_what_is_no_such_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="takes a folder with"):
        Clip(tmp_path / "none")


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("onnx/vision_model.onnx", b"none", "no ONNX network"),
        ("onnx/text_model.onnx", b"none", "no ONNX network"),
        ("tokenizer.json", b"{}", "tokenizer.json cannot be read"),
        ("preprocessor_config.json", b"[]", "one JSON object"),
        ("preprocessor_config.json", b'{"size": {"height": "x", "width": 3}}', "size must be"),
        ("preprocessor_config.json", b'{"size": 9}', "check size and layout"),
    ],
)
def test_broken_files_are_told(tmp_path: Path, file: str, content: bytes, says: str) -> None:
    folder = towers(tmp_path)
    (folder / file).write_bytes(content)
    feature = Clip(folder)
    with pytest.raises((BadInput, DataProblem), match=says):
        _ = feature.dim, feature.read("red")


def test_a_foreign_network_is_told(tmp_path: Path) -> None:
    folder = towers(tmp_path)
    shutil.copy(folder / "onnx/vision_model.onnx", folder / "onnx/text_model.onnx")
    with pytest.raises(BadInput, match="asks for pixel_values"):
        Clip(folder).read("red")


def test_a_tokenizer_that_does_not_fit_is_told(tmp_path: Path) -> None:
    folder = towers(tmp_path)
    tokenizer([*WORDS, "more", "words"]).save(str(folder / "tokenizer.json"))
    with pytest.raises(BadInput, match="tokenizer does not fit the network text_model"):
        Clip(folder).read("red")


def test_towers_of_two_exports_are_told(tmp_path: Path) -> None:
    feature = Clip(towers(tmp_path, dim=8))
    assert feature.dim == 24
    with pytest.raises(BadInput, match="24 numbers and texts 8"):
        feature.read("red")
