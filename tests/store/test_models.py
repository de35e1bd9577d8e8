"""Models: numbers in, the same numbers out; one active; history only grows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise.store import Store, verify
from likewise.store.models import FILE
from likewise.types import BadInput, DataProblem, NotFound

ARRAYS = {
    "w": np.random.default_rng(0).standard_normal((3, 4)),
    "rows": np.arange(5),
    "flags": np.array([True, False]),
    "half": np.ones((2, 2), dtype=np.float16),
    "turned": np.arange(6.0).reshape(2, 3).T,
    "one": np.float32(3.5),
    "none": np.zeros((0, 4), dtype=np.float32),
    "big": np.arange(3, dtype=">f8"),
}
CARD = {"method": "dummy", "gap": float("nan"), "n": np.int64(3), "held_out": {"map": 0.5}}


def dummy(store: Store, name: str = "Dummy model", space: str = "s") -> int:
    return store.models.add(name, ARRAYS, CARD, space=space).id


def test_arrays_and_card_round_trip(store: Store) -> None:
    arrays, card = store.models.load(dummy(store))
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].shape == np.shape(array)
        np.testing.assert_array_equal(arrays[name], array)
    assert card == {"method": "dummy", "gap": None, "n": 3, "held_out": {"map": 0.5}}


def test_space_files_round_trip(store: Store) -> None:
    store.spaces.put("fingerprint", ARRAYS, CARD)
    store.spaces.put("fingerprint", {}, {})
    arrays, card = store.spaces.get("fingerprint")
    np.testing.assert_array_equal(arrays["w"], ARRAYS["w"])
    assert card["n"] == 3
    with pytest.raises(NotFound, match="space other"):
        store.spaces.get("other")
    store.models.add("m", {}, {}, space="fingerprint")
    with pytest.raises(BadInput, match="so it is kept"):
        store.spaces.remove("fingerprint")
    store.spaces.put("second", ARRAYS, {})
    store.spaces.remove("second")
    assert store.catalogue.column("SELECT fingerprint FROM spaces") == ["fingerprint"]
    assert len(list(store.spaces.folder.iterdir())) == 1
    assert verify(store.folder) == []


def test_activate_and_roll_back(store: Store) -> None:
    assert store.models.active() is None
    with pytest.raises(NotFound, match="nothing to go back to"):
        store.models.rollback()
    a, b, c = (dummy(store, name) for name in "abc")
    store.models.activate(a, person="ann", reason="better")
    store.models.activate(b)
    store.models.activate(c)

    def active() -> int | None:
        now = store.models.active()
        return now.id if now else None

    seen = [active()]
    for _ in range(4):
        store.models.rollback()
        seen.append(active())
    assert seen == [c, b, a, None, None]
    store.models.activate(b)
    store.models.activate(None)
    assert active() is None
    store.models.rollback()
    assert active() == b
    assert len(store.models.history()) == 3 + 4 + 3
    assert store.models.history()[0].reason == "better"
    store.models.activate(a, slot="words")
    assert active() == b


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(["a", "b", "back"]), max_size=12))
def test_rollback_agrees_with_a_stack(store: Store, acts: list[str]) -> None:
    slot = f"slot-{len(store.models.all())}"
    ids = {name: dummy(store, name) for name in "ab"}
    stack: list[int | None] = [None]
    for act in acts:
        if act == "back":
            if not store.models.history(slot):
                continue
            store.models.rollback(slot=slot)
            stack = stack[:-1] or [None]
        else:
            store.models.activate(ids[act], slot=slot)
            stack.append(ids[act])
        now = store.models.active(slot)
        assert (now.id if now else None) == stack[-1]


@pytest.mark.parametrize("target", ["exported", "exported.safetensors"])
def test_export_and_import(store: Store, tmp_path: Path, target: str) -> None:
    model = dummy(store)
    out = store.models.export(model, tmp_path / target)
    with pytest.raises(BadInput, match="there already"):
        store.models.export(model, tmp_path / target)
    file = out if out.is_file() else out / FILE
    arrays, envelope = store.models.unpacked(file.read_bytes(), "it")
    np.testing.assert_array_equal(arrays["w"], ARRAYS["w"])
    assert (envelope["name"], envelope["space"]) == ("Dummy model", "s")
    assert envelope["card"] == store.models.get(model).card


def test_foreign_files_are_refused(store: Store) -> None:
    from safetensors.numpy import save

    for data in (b"\x93NUMPY" * 50, b"\xff" * 64, b""):
        with pytest.raises(DataProblem, match="safetensors"):
            store.models.unpacked(data, "it")
    with pytest.raises(DataProblem, match="no card"):
        store.models.unpacked(save({"w": np.ones(3)}), "it")


def test_a_damaged_model_is_not_loaded_nor_activated(store: Store) -> None:
    model = dummy(store)
    path = store.models.folder / store.models.get(model).file
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    for call in (store.models.load, store.models.activate):
        with pytest.raises(DataProblem, match="checksum"):
            call(model)
    assert store.models.active() is None
    path.unlink()
    with pytest.raises(DataProblem, match="missing"):
        store.models.load(model)


def test_what_cannot_be_stored_is_refused(store: Store) -> None:
    with pytest.raises(BadInput, match="numbers only"):
        store.models.add("m", {"w": np.array(["a"])}, {}, space="s")
    with pytest.raises(BadInput, match="not object"):
        store.models.add("m", {}, {"x": object()}, space="s")
    with pytest.raises(BadInput, match="needs a name"):
        store.models.add(" ", {}, {}, space="s")
    with pytest.raises(NotFound, match="no model 9"):
        store.models.get(9)
