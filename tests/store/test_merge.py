"""Small segments become large ones: nothing read changes, whoever reads, whenever it stops."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise import files
from likewise.store import Store, segment_map, verify
from likewise.store import segments as segment_module
from tests.store.conftest import add
from tests.store.test_damage import flip, without_sums
from tests.store.test_segments import contents


def in_batches(store: Store, ids: list[int], x: np.ndarray, size: int) -> None:
    for start in range(0, len(ids), size):
        part = slice(start, start + size)
        store.segments.append(ids[part], {"deep": x[part], "half": x[part, :2]})


def test_runs_of_small_segments_become_one(store: Store, folder: Path) -> None:
    ids = contents(store, 100)
    x = np.random.default_rng(0).standard_normal((100, 7)).astype(np.float32)
    in_batches(store, ids, x, 5)
    assert store.segments.merge() == 19
    (segment,) = store.segments.all()
    assert [path.name for path in store.segments.folder.iterdir()] == [segment.file]
    assert segment.id == store.segments.last() == 20
    order = np.random.default_rng(1).permutation(100)
    assert np.array_equal(store.segments.read("deep", np.array(ids)[order]), x[order])
    assert np.array_equal(store.segments.read("half", ids), x[:, :2])
    assert verify(folder) == []
    assert store.segments.merge() == 0
    assert store.segments.append(ids[:1], {"deep": x[:1]}) == 21


def test_few_or_large_segments_stay(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = contents(store, 120)
    x = np.zeros((120, 3), np.float32)
    in_batches(store, ids[:21], x, 3)
    assert store.segments.merge() == 0  # seven
    monkeypatch.setattr("likewise.store.segment_map.MOST", 40)
    in_batches(store, ids[21:96], x[21:], 3)
    in_batches(store, ids[96:], x[96:], 24)
    store.segments.merge()
    held = [len(segment.contents) for segment in store.segments.all()]
    assert held == [39, 39, 3, 3, 3, 3, 3, 3, 24]


KINDS = (("a",), ("b",), ("a", "b"))


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_merge_changes_nothing_that_anybody_sees(store: Store, data: st.DataObject) -> None:
    """Any order of blocks, vectors that came twice, an index somewhere in between."""
    add(store, [b"%d.jpg" % i for i in range(6)])
    ids = [item.content or 0 for item in store.items.many(range(1, 7))]
    for block in ("a", "b"):
        if block in store.segments.blocks():
            store.segments.drop(block)
    store.generations.withdraw()
    steps = data.draw(st.integers(1, 12))
    publish = data.draw(st.integers(0, steps))
    truth: dict[tuple[str, int], float] = {}
    for step in range(steps):
        if step == publish:
            with store.generations.build() as aside:
                (aside / "index").write_bytes(b"index")
                store.generations.publish(
                    aside, space="s", kind="flat", segment=store.segments.last(), items=0
                )
        blocks = data.draw(st.sampled_from(KINDS))
        chosen = data.draw(st.lists(st.sampled_from(ids), min_size=1, unique=True))
        rows = np.full((len(chosen), 1), step, np.float32)
        store.segments.append(chosen, dict.fromkeys(blocks, rows))
        truth.update({(block, c): float(step) for block in blocks for c in chosen})
    states = [item.state for item in store.items.many(range(1, 7))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_map, "ENOUGH", 2)
        store.segments.merge()
    assert {
        (block, c): float(store.segments.read(block, [c])[0, 0])
        for block in store.segments.blocks()
        for c in store.segments.contents(block).tolist()
    } == truth
    assert [item.state for item in store.items.many(range(1, 7))] == states
    assert verify(store.folder) == []


@pytest.mark.parametrize("how", ["rotten", "missing", "old and rotten", "old and missing"])
def test_damage_met_by_a_merge_costs_its_own_pictures_only(
    store: Store, folder: Path, how: str
) -> None:
    ids = contents(store, 27)
    x = np.arange(81, dtype=np.float32).reshape(27, 3)
    in_batches(store, ids, x, 3)
    bad = store.segments.all()[4]
    path = store.segments.folder / bad.file
    path.unlink() if "missing" in how else flip(path, bad.size // 2)
    if "old" in how:
        without_sums(folder)
    store.segments.without_damage(store.segments.merge)
    assert [p.content for p in store.contents.pending()] == ids[12:15]
    rest = [*range(12), *range(15, 27)]
    assert np.array_equal(store.segments.read("deep", np.array(ids)[rest]), x[rest])
    assert all(segment.sums for segment in store.segments.all())
    assert verify(folder) == []


def merge_until(folder: Path, step: int) -> bool:
    """Merge in a child that dies at its n-th write, sync, rename or statement; False if it did."""
    child = os.fork()
    if child == 0:
        calls = 0

        def or_die(real: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls == step:
                    os._exit(9)
                return real(*args, **kwargs)

            return call

        store = Store.open(folder, write=True)
        files.sync_file, files.sync_folder = or_die(files.sync_file), or_die(files.sync_folder)
        os.replace = or_die(os.replace)
        segment_module.remove_file = or_die(segment_module.remove_file)
        store.catalogue._the_writer().set_trace_callback(or_die(lambda _: None))
        store.segments.merge()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_merge_that_is_killed_anywhere_loses_nothing(store: Store, folder: Path) -> None:
    ids = contents(store, 24)
    x = np.arange(72, dtype=np.float32).reshape(24, 3)
    in_batches(store, ids, x, 3)
    store.close()
    step, finished, after_the_commit = 0, False, 0
    while not finished:
        step += 1
        finished = merge_until(folder, step)
        assert verify(folder) == []
        with Store.open(folder, write=True) as opened:
            assert np.array_equal(opened.segments.read("deep", ids), x)
            held = {segment.file for segment in opened.segments.all()}
            assert {path.name for path in opened.segments.folder.iterdir()} == held
            if len(held) == 1 and not finished:
                after_the_commit += 1
                opened.segments.drop("deep")
                opened.segments.drop("half")
                in_batches(opened, ids, x, 3)
    assert after_the_commit > 5
    assert step > after_the_commit + 10


def test_readers_go_on_beside_merges(store: Store, folder: Path) -> None:
    ids = contents(store, 64)
    x = np.random.default_rng(0).standard_normal((64, 5)).astype(np.float32)
    in_batches(store, ids, x, 4)
    wrong: list[object] = []
    reads = [0, 0]
    done = threading.Event()

    def read(own: Store, which: int) -> None:
        try:
            while not done.is_set() or not reads[which]:
                with own.snapshot():
                    for _ in range(5):
                        assert np.array_equal(own.segments.read("deep", ids), x)
                reads[which] += 1
        except BaseException as error:
            wrong.append(error)

    with Store.open(folder) as other:
        threads = [
            threading.Thread(target=read, args=(own, which))
            for which, own in enumerate((store, other))
        ]
        for thread in threads:
            thread.start()
        for _ in range(6):
            store.segments.merge()
            in_batches(store, ids, x, 4)
        done.set()
        for thread in threads:
            thread.join()
    assert not wrong
    assert min(reads) > 0


FEW_FILES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
import numpy as np
import likewise
from likewise.collection.lines.building import ensure_space, keep_space
from likewise.collection.network import settled
from likewise.store import Seen
folder, count = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
blocks = ("colour", "texture", "shape", "gist", "deep")
with likewise.open(folder, create=True) as collection:
    store = collection.store
    names = [b"%06d.jpg" % i for i in range(count)]
    with store.transaction():
        store.items.see([Seen(n, 1, 1, n.rjust(32)) for n in names])
        for start in range(1, count + 1, 64):
            ids = range(start, min(start + 64, count + 1))
            rows = {block: rng.standard_normal((len(ids), 8)) for block in blocks}
            store.segments.append(ids, rows, dtype="float16")
    settled(store, blocks)
    with store.transaction():
        keep_space(store, ensure_space(store), early=False)
    before = len(store.segments.all())
    print(before, len(collection.look.view()), "pictures before the index")
    assert collection.build() == 1
    assert len(store.segments.all()) < before / 10
    answer = collection.search("000007.jpg", k=5, pin=True)
    assert answer.results[0].path == "000007.jpg" and len(answer.results) == 5, answer
    assert answer.degraded == "", answer.degraded
    assert store.items.counts()["indexed"] == count
"""


@pytest.mark.parametrize(
    "count", [10_000, pytest.param(100_000, marks=pytest.mark.slow)], ids=["tenth", "whole"]
)
def test_any_number_of_segments_gets_along_with_few_open_files(tmp_path: Path, count: int) -> None:
    command = [sys.executable, "-c", FEW_FILES, str(tmp_path), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{count} pictures" in done.stdout
