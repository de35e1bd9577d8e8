"""Segments: what goes in comes out, files before rows, purging leaves no trace."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise.store import Result, Store, verify
from likewise.store import segments as segment_module
from likewise.types import BadInput, DataProblem, NotFound
from tests.store.conftest import add, embed, vectors


def contents(store: Store, count: int) -> list[int]:
    add(store, [b"%05d.jpg" % i for i in range(count)])
    return [p.content for p in store.contents.pending(count)]


def test_rows_come_back_in_any_order_from_several_segments(store: Store) -> None:
    ids = contents(store, 30)
    x = np.random.default_rng(0).standard_normal((30, 7)).astype(np.float32)
    for part in (slice(20, 30), slice(0, 5), slice(5, 20)):
        store.segments.append(ids[part], {"deep": x[part], "colour": x[part, :3]})
    order = np.random.default_rng(1).permutation(30)
    assert np.array_equal(store.segments.read("deep", np.array(ids)[order]), x[order])
    assert np.array_equal(store.segments.read("colour", ids), x[:, :3])
    assert store.segments.contents("deep").tolist() == sorted(ids)
    assert store.segments.blocks() == {"deep": (7, 30), "colour": (3, 30)}
    assert store.segments.read("deep", []).shape == (0, 7)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_the_newest_vector_of_a_content_counts(store: Store, data: st.DataObject) -> None:
    add(store, [b"%d.jpg" % i for i in range(12)])
    ids = [item.content or 0 for item in store.items.many(range(1, 13))]
    truth: dict[int, np.ndarray] = {}
    for step in range(data.draw(st.integers(1, 4))):
        chosen = data.draw(st.lists(st.sampled_from(ids), min_size=1, unique=True))
        x = np.full((len(chosen), 2), step, dtype=np.float32)
        store.segments.append(chosen, {"b": x})
        truth.update(zip(chosen, x))
    for content, row in truth.items():
        assert np.array_equal(store.segments.read("b", [content])[0], row)


def test_half_precision_is_half_the_room_and_close(store: Store) -> None:
    ids = contents(store, 50)
    x = np.random.default_rng(0).standard_normal((50, 64))
    store.segments.append(ids, {"full": x})
    store.segments.append(ids, {"half": x}, dtype="float16")
    full, half = (segment.size for segment in store.segments.all())
    assert half < 0.7 * full
    assert store.segments.read("half", ids).dtype == np.float32
    np.testing.assert_allclose(store.segments.read("half", ids), x, rtol=1e-3, atol=1e-4)


def test_blocks_of_one_segment_may_be_kept_in_different_ways(store: Store) -> None:
    ids = contents(store, 3)
    rows = np.random.default_rng(0).integers(0, 256, (3, 40))
    store.segments.append(ids, {"bytes": rows, "deep": rows / 7}, dtype={"bytes": "uint8"})
    (segment,) = store.segments.all()
    assert {name: place.dtype for name, place in segment.blocks.items()} == {
        "bytes": "uint8",
        "deep": "float32",
    }
    np.testing.assert_array_equal(store.segments.read("bytes", ids), rows)
    store.segments.purge(ids[:1])
    np.testing.assert_array_equal(store.segments.read("bytes", ids[1:]), rows[1:])


@pytest.mark.parametrize(
    ("rows", "kind", "sentence"),
    [
        (np.full((2, 3), np.nan), "float32", "NaN"),
        (np.full((2, 3), 1e6), "float16", "more than float16"),
        (np.full((2, 3), 1e39), "float32", "more than float32"),
        (np.ones((1, 3)), "float32", "1 rows for 2"),
        (np.ones((2, 4)), "float32", "other features"),
        (np.ones((2, 3)), "float64", "float16 or float32"),
        (np.full((2, 3), 0.5), "uint8", "no bytes"),
        (np.full((2, 3), 256), "uint8", "no bytes"),
        ([["a"], ["b"]], "float32", "must be numbers"),
    ],
)
def test_bad_vectors_are_refused_and_leave_nothing(
    store: Store, rows: object, kind: str, sentence: str
) -> None:
    ids = contents(store, 3)
    store.segments.append(ids[2:], {"deep": np.ones((1, 3))})
    files = sorted(store.segments.folder.iterdir())
    with pytest.raises(BadInput, match=sentence):
        store.segments.append(ids[:2], {"deep": rows}, dtype=kind)
    assert sorted(store.segments.folder.iterdir()) == files


def test_other_bad_calls(store: Store) -> None:
    ids = contents(store, 2)
    with pytest.raises(BadInput, match="at least one content"):
        store.segments.append([], {"deep": np.ones((0, 3))})
    with pytest.raises(BadInput, match="once"):
        store.segments.append([ids[0], ids[0]], {"deep": np.ones((2, 3))})
    with pytest.raises(NotFound, match="no vectors of block"):
        store.segments.read("deep", ids)
    store.segments.append(ids[:1], {"deep": np.ones((1, 3))})
    with pytest.raises(NotFound, match="1 of 2"):
        store.segments.read("deep", ids)
    assert store.segments.missing("deep").tolist() == ids[1:]
    with pytest.raises(BadInput, match="once"):
        store.contents.record([Result(ids[1]), Result(ids[1])])
    with pytest.raises(NotFound, match="1 of these contents"):
        store.segments.append([ids[1], 999], {"deep": np.ones((2, 3))})
    assert len(list(store.segments.folder.iterdir())) == 1


def test_what_was_forgotten_during_the_work_is_left_out(store: Store) -> None:
    add(store, [b"a", b"b", b"c", b"bad"])
    pending = store.contents.pending()
    store.forget([pending[1].item])
    results = [Result(p.content) for p in pending[:3]] + [Result(pending[3].content, problem="No.")]
    store.contents.record(results, {"deep": np.diag([1.0, 2.0, 3.0])})
    kept = [pending[0].content, pending[2].content]
    assert store.segments.contents("deep").tolist() == kept
    assert np.array_equal(store.segments.read("deep", kept), [[1, 0, 0], [0, 0, 3]])
    assert store.items.counts()["problem"] == 1
    assert verify(store.folder) == []


def test_the_file_is_on_the_disk_before_the_commit_that_names_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = contents(store, 2)
    events: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        events.append("folder" if path.is_dir() else "file")
        real(descriptor)

    writer = store.catalogue._the_writer()
    writer.set_trace_callback(lambda sql: events.append("commit") if sql == "COMMIT" else None)
    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc to see which file is synced")
    store.segments.folder.mkdir(exist_ok=True)
    monkeypatch.setattr(os, "fsync", fsync)
    store.segments.append(ids, {"deep": np.ones((2, 3))})
    assert events == ["file", "folder", "commit"]


def test_a_failed_transaction_leaves_neither_row_nor_file(store: Store) -> None:
    ids = contents(store, 4)
    store.segments.append(ids[:2], {"deep": np.zeros((2, 3))})
    files = sorted(store.segments.folder.iterdir())

    def fail() -> None:
        with store.transaction():
            store.segments.append(ids, {"deep": np.ones((4, 3))})
            assert store.segments.read("deep", ids).sum() == 12
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fail()
    assert sorted(store.segments.folder.iterdir()) == files
    assert store.segments.read("deep", ids[:2]).sum() == 0
    # The next one gets the number of the one that failed; the old map must not answer for it.
    store.segments.append(ids, {"deep": np.full((4, 3), 2.0)})
    assert store.segments.read("deep", ids).sum() == 24


def test_purge_and_drop_rewrite_and_remove(store: Store) -> None:
    ids = contents(store, 9)
    x = np.arange(27, dtype=np.float32).reshape(9, 3)
    for part in (slice(0, 3), slice(3, 6), slice(6, 9)):
        store.segments.append(ids[part], {"deep": x[part], "old": x[part]})
    files = {path.name for path in store.segments.folder.iterdir()}
    assert store.segments.purge([ids[0], ids[3], ids[4], ids[5]]) == 2
    left = {path.name for path in store.segments.folder.iterdir()}
    assert len(left) == 2
    assert len(left & files) == 1
    kept = [ids[i] for i in (1, 2, 6, 7, 8)]
    assert store.segments.contents("deep").tolist() == kept
    assert np.array_equal(store.segments.read("deep", kept), x[[1, 2, 6, 7, 8]])
    assert store.segments.drop("old") == 2
    assert store.segments.blocks() == {"deep": (3, 5)}
    assert verify(store.folder) == []
    assert len(store.contents.pending()) == 4
    assert store.segments.drop("deep") == 2
    assert list(store.segments.folder.iterdir()) == []
    assert len(store.contents.pending()) == 9


def test_files_that_nobody_names_are_swept_by_the_next_writer(folder: Path) -> None:
    with Store.open(folder, create=True) as store:
        add(store, [b"a"])
        embed(store)
        orphans = [store.segments.folder / "00000099-dead.seg", store.segments.folder / ".tmp-1"]
        for orphan in orphans:
            orphan.write_bytes(b"never named")
    with Store.open(folder):
        assert all(orphan.exists() for orphan in orphans)
    with Store.open(folder, write=True) as store:
        assert not any(orphan.exists() for orphan in orphans)
        assert len(store.segments.contents("deep")) == 1


def test_a_reader_follows_a_purge(store: Store, folder: Path) -> None:
    add(store, [b"a", b"b", b"c"])
    pending = embed(store)
    ids = [p.content for p in pending]
    with Store.open(folder) as reader:
        assert len(reader.segments.contents("deep")) == 3
        with reader.snapshot():
            # Its state is old and the file is gone, but the rows that are left are the same.
            assert reader.items.counts()["embedded"] == 3
            store.segments.purge([ids[1]])
            got = reader.segments.read("deep", [ids[2], ids[0]])
        expected = vectors(pending)
        assert np.array_equal(got, expected[[2, 0]])
        with pytest.raises(NotFound):
            reader.segments.read("deep", ids)


def test_damage_is_found(store: Store, folder: Path) -> None:
    add(store, [b"a", b"b"])
    embed(store)
    (path,) = store.segments.folder.iterdir()
    data = path.read_bytes()
    path.write_bytes(data[:-40] + bytes([data[-40] ^ 1]) + data[-39:])
    assert verify(folder)[0].severity == "damage"
    path.write_bytes(data[:50])
    assert verify(folder)
    with Store.open(folder) as reader, pytest.raises(DataProblem, match="cut short"):
        reader.segments.read("deep", reader.segments.contents("deep"))
    path.unlink()
    assert any("missing" in f.sentence for f in verify(folder))
    with Store.open(folder) as reader, pytest.raises(DataProblem, match="missing"):
        reader.segments.read("deep", reader.segments.contents("deep"))
    path.write_bytes(data)
    assert verify(folder) == []


def test_a_full_disk_costs_the_batch_only(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, [b"a"])
    embed(store)
    add(store, [b"b"])
    real = segment_module.write_file

    def full(path: Path, chunks: object) -> tuple[str, int]:
        path.with_name(".tmp-half").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(segment_module, "write_file", full)
    with pytest.raises(DataProblem, match="no room left"):
        embed(store)
    assert store.items.find("b").state == "seen"
    assert verify(folder) == []
    monkeypatch.setattr(segment_module, "write_file", real)
    embed(store)
    assert store.items.counts()["embedded"] == 2
