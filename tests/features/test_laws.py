"""Laws of every block of features, whatever it looks at."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from likewise.features import BOTH, DEFAULT, REGISTRY, feature_set
from likewise.features.deep import Network
from likewise.features.pictures import Batch
from likewise.types import BadInput, Features
from tests.features.pictures import noise, odd_ones, plain, scene

NETWORK = Network()
LIGHT = [name for name in REGISTRY if name not in ("deep", "logits")]
# Local features are a list of places, whose bytes cannot be compared one by one.
HOLISTIC = [name for name in LIGHT if name != "local"]


def made(name: str) -> Features:
    return REGISTRY[name](*[NETWORK] * (name in BOTH))


@pytest.fixture(params=list(REGISTRY))
def feature(request: pytest.FixtureRequest) -> Features:
    return made(request.param)


def test_is_what_the_contract_says(feature: Features) -> None:
    assert isinstance(feature, Features)
    out = feature([scene(0), scene(1, 40, 30)])
    assert out.dtype == np.float32
    assert out.shape == (2, feature.dim)
    assert np.abs(out[0] - out[1]).max() > 1e-4


def test_name_is_the_key() -> None:
    assert all(made(name).name == name for name in REGISTRY)


def test_batch_equals_one_by_one(feature: Features) -> None:
    pictures = [scene(0), noise(1), scene(2, 200, 100), plain(200, 10, 10)]
    together = feature(pictures)
    alone = np.concatenate([feature([picture]) for picture in pictures])
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=2e-5)


def test_same_call_same_numbers(feature: Features) -> None:
    pictures = [scene(3), scene(4)]
    np.testing.assert_array_equal(feature(pictures), feature(pictures))


def test_odd_pictures_have_finite_vectors(feature: Features) -> None:
    out = feature(list(odd_ones().values()))
    assert out.shape == (len(odd_ones()), feature.dim)
    assert np.isfinite(out).all()


def test_no_picture_no_row(feature: Features) -> None:
    out = feature([])
    assert out.shape == (0, feature.dim)
    assert out.dtype == np.float32


def test_the_callers_pictures_are_left_alone(feature: Features) -> None:
    picture = scene(5, 128, 128)
    before = picture.copy()
    feature([picture])
    np.testing.assert_array_equal(picture, before)
    assert picture.flags.writeable


@pytest.mark.parametrize("name", HOLISTIC)
def test_size_hardly_matters(name: str) -> None:
    big, other = scene(6, 480, 512), scene(7, 480, 512)
    small = big.reshape(240, 2, 256, 2, 3).mean(axis=(1, 3)).round().astype(np.uint8)
    a, b, c = made(name)([big, small, other])
    assert np.linalg.norm(a - b) < 0.25 * np.linalg.norm(a - c)


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((4, 4, 3), np.float32),
        np.zeros((0, 4, 3), np.uint8),
    ],
    ids=["flat", "alpha", "float", "empty"],
)
def test_what_is_no_picture_is_refused(bad: Any) -> None:
    with pytest.raises(BadInput, match="Picture 1 is"):
        Batch([noise(0), bad])


# --------------------------------------------------------------------------
# Sets


def test_set_equals_its_parts() -> None:
    pictures = [scene(0), noise(1, 30, 40)]
    names = tuple(REGISTRY)
    out = feature_set(names)(pictures)
    assert tuple(out) == names
    for name in names:
        np.testing.assert_array_equal(out[name], made(name)(pictures))


def test_one_pass_gives_both_deep_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = Network.both
    monkeypatch.setattr(Network, "both", lambda *a: calls.append(1) or real(*a))
    feature_set(("deep", "colour", "logits"))([scene(0)])
    assert len(calls) == 1


def test_blocks_and_version() -> None:
    default = feature_set()
    assert tuple(default.blocks) == DEFAULT == default.names
    assert default.version == feature_set(DEFAULT).version
    others = [
        feature_set(DEFAULT[:-1]),
        feature_set(DEFAULT[::-1]),
        feature_set(("deep-lite0-int8", "logits-lite0-int8", *DEFAULT[2:])),
    ]
    assert len({default.version, *(o.version for o in others)}) == 4


def test_a_set_travels_to_another_process() -> None:
    blocks = feature_set(("deep", "texture"))
    expected = blocks([scene(1)])
    there = pickle.loads(pickle.dumps(blocks))
    for name, rows in there([scene(1)]).items():
        np.testing.assert_array_equal(rows, expected[name])


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ([], "at least one"),
        ("deep", "list of names"),
        (["deep", "smell"], "'smell'; choose among deep"),
        (["colour", "colour"], "'colour' is named twice"),
    ],
)
def test_bad_names_are_told(names: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        feature_set(names)


def test_bad_settings_are_told() -> None:
    with pytest.raises(BadInput, match="threads must be"):
        feature_set(DEFAULT, threads=0)
    with pytest.raises(BadInput, match="arithmetic is one of float32, int8"):
        feature_set(("deep-lite0-int4",))
    with pytest.raises(BadInput, match="network is one of lite0, lite1, lite2"):
        feature_set(("deep-lite9",))
