"""Own networks: what the JSON says is what is done, and what it lacks is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from likewise.features import feature_set
from likewise.features.onnx_file import OnnxFile
from likewise.types import BadInput, DataProblem, Features, NotFound
from tests.features.pictures import noise, odd_ones, plain, scene

SETTINGS: dict[str, Any] = {
    "size": [4, 6],
    "resize": "squash",
    "crop": False,
    "mean": [0.5, 0.25, 0.0],
    "std": [0.5, 0.5, 2.0],
    "layout": "NCHW",
    "output": "mean",
    "normalise": False,
}


def network(folder: Path, layout: str = "NCHW", size: tuple[int, int] = (4, 6)) -> Path:
    """A network whose vector is the mean of each channel, and one output that is none."""
    axes = [2, 3] if layout == "NCHW" else [1, 2]
    shape = [3, *size] if layout == "NCHW" else [*size, 3]
    graph = helper.make_graph(
        [
            helper.make_node("ReduceMean", ["x"], ["mean"], axes=axes, keepdims=0),
            helper.make_node("ReduceMean", ["x"], ["all"], axes=[0, 1, 2, 3], keepdims=0),
        ],
        "mean",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *shape])],
        [
            helper.make_tensor_value_info("mean", TensorProto.FLOAT, ["n", 3]),
            helper.make_tensor_value_info("all", TensorProto.FLOAT, []),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "net.onnx"
    onnx.save(model, str(path))
    return path


def opened(folder: Path, **changes: Any) -> OnnxFile:
    settings = {**SETTINGS, **changes}
    path = network(folder, settings["layout"])
    path.with_suffix(".json").write_text(json.dumps(settings))
    return OnnxFile(path)


def test_mean_and_deviation_are_applied(tmp_path: Path) -> None:
    feature = opened(tmp_path)
    assert isinstance(feature, Features)
    out = feature([plain(255, 51, 102), plain(0, 0, 0)])
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, [[1, -0.1, 0.2], [-1, -0.5, 0]], atol=1e-6)
    assert feature.dim == 3


def test_layouts_agree(tmp_path: Path) -> None:
    pictures = [scene(0), *odd_ones().values()]
    first = opened(tmp_path)(pictures)
    np.testing.assert_allclose(opened(tmp_path, layout="NHWC")(pictures), first, atol=1e-5)


def test_shortest_takes_the_centre(tmp_path: Path) -> None:
    picture = plain(255, 0, 0, 40, 200)
    picture[:, 70:130] = (0, 0, 255)  # 40 x 60 in the middle: the shape of the input
    out = opened(tmp_path, resize="shortest", crop=True, mean=[0, 0, 0], std=[1, 1, 1])([picture])
    np.testing.assert_allclose(out, [[0, 0, 1]], atol=0.05)  # the filter blends a pixel


def test_every_interpolation_gives_finite_vectors_for_odd_pictures(tmp_path: Path) -> None:
    for name in ("bicubic", "bilinear", "area"):
        feature = opened(tmp_path, interpolation=name, resize="shortest", crop=True)
        assert np.isfinite(feature(list(odd_ones().values()))).all()


def test_normalised_rows_have_unit_length(tmp_path: Path) -> None:
    out = opened(tmp_path, normalise=True)([scene(0), noise(1)])
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1, rtol=1e-5)


def test_no_picture_no_row(tmp_path: Path) -> None:
    assert opened(tmp_path)([]).shape == (0, 3)


def test_version_follows_network_and_settings(tmp_path: Path) -> None:
    versions = {opened(tmp_path).version, opened(tmp_path).version}
    assert len(versions) == 1
    versions |= {opened(tmp_path, normalise=True).version, opened(tmp_path, layout="NHWC").version}
    assert len(versions) == 3


def test_part_of_a_set(tmp_path: Path) -> None:
    feature = opened(tmp_path)
    blocks = feature_set(["texture", f"onnx:{feature.path}"])
    assert blocks.blocks == {"texture": 18, feature.name: 3}
    np.testing.assert_array_equal(blocks([scene(0)])[feature.name], feature([scene(0)]))


@pytest.mark.parametrize("key", list(SETTINGS))
def test_what_the_json_lacks_is_named(tmp_path: Path, key: str) -> None:
    path = network(tmp_path)
    rest = {k: v for k, v in SETTINGS.items() if k != key}
    path.with_suffix(".json").write_text(json.dumps(rest))
    with pytest.raises(BadInput, match=f"lacks {key};"):
        _ = OnnxFile(path).dim


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("size", 0),
        ("size", [224]),
        ("size", "224"),
        ("size", True),
        ("size", 10**6),
        ("resize", "stretch"),
        ("crop", True),
        ("crop", "no"),
        ("mean", [1, 2]),
        ("mean", ["a", "b", "c"]),
        ("std", [0, 1, 1]),
        ("layout", "CHW"),
        ("output", ""),
        ("normalise", 1),
        ("interpolation", "magic"),
        ("colour", "RGB"),
    ],
)
def test_wrong_settings_are_told(tmp_path: Path, key: str, value: Any) -> None:
    with pytest.raises(BadInput, match=key):
        _ = opened(tmp_path, **{key: value}).dim


@pytest.mark.parametrize(
    ("text", "says"), [("[]", "one JSON object"), ("{", "no valid JSON"), ("\udcff", "read|JSON")]
)
def test_broken_json_is_told(tmp_path: Path, text: str, says: str) -> None:
    path = network(tmp_path)
    path.with_suffix(".json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadInput, match=says):
        _ = OnnxFile(path).dim


def test_missing_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no ONNX file"):
        OnnxFile(tmp_path / "none.onnx")
    with pytest.raises(NotFound, match=r"net.json is missing"):
        OnnxFile(network(tmp_path))


def test_network_and_json_that_disagree_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no output 'other'; it has mean, all"):
        opened(tmp_path, output="other")([scene(0)])
    with pytest.raises(BadInput, match="one vector of floats"):
        opened(tmp_path, output="all")([scene(0), scene(1)])
    with pytest.raises(BadInput, match="check size and layout"):
        opened(tmp_path, size=9)([scene(0)])


def test_a_damaged_network_is_told(tmp_path: Path) -> None:
    feature = opened(tmp_path)
    feature.path.write_bytes(b"not a network")
    with pytest.raises(DataProblem, match="no ONNX network"):
        feature([scene(0)])
