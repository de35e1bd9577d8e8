"""Children that decode: whatever a file does, it does to itself only."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

from likewise.collection import workers
from likewise.collection.workers import Describer, Task, describe
from tests.collection.test_decoding import photo, png_header, saved


@pytest.fixture
def pictures(tmp_path):
    paths = []
    for i in range(20):
        path = tmp_path / f"{i}.jpg"
        photo(60 + i, 40, seed=i).save(path)
        paths.append(os.fsencode(path))
    return paths


def test_every_task_has_exactly_one_outcome(pictures, tmp_path):
    bad = tmp_path / "bad.png"
    bad.write_bytes(png_header(50_000, 50_000))
    tasks = [Task(i, p) for i, p in enumerate(pictures)]
    tasks += [Task(100, os.fsencode(bad)), Task(101, b"/nowhere/at/all.jpg")]
    outcomes = {o.key: o for o in describe(tasks, ["colour"], processes=2)}
    assert set(outcomes) == {t.key for t in tasks}
    assert "million pixels" in outcomes[100].problem
    assert "cannot be opened" in outcomes[101].problem
    good = [outcomes[i] for i in range(20)]
    assert all(o.picture is not None and not o.problem for o in good)
    assert [o.picture.width for o in good] == [60 + i for i in range(20)]
    assert all(np.isfinite(o.features["colour"]).all() for o in good)


def test_a_crash_or_a_hang_costs_its_own_file_only(pictures, monkeypatch, tmp_path):
    crash, hang = tmp_path / "crash.jpg", tmp_path / "hang.jpg"
    photo().save(crash)
    photo().save(hang)
    tasks = [Task(i, p) for i, p in enumerate(pictures)]
    tasks.insert(5, Task(100, os.fsencode(crash)))
    tasks.insert(12, Task(101, os.fsencode(hang)))
    started = time.monotonic()
    outcomes = {o.key: o for o in describe(tasks, [], processes=2, seconds=6, decoder=_fragile)}
    assert set(outcomes) == {t.key for t in tasks}
    assert "crashed" in outcomes[100].problem
    assert "longer than 6 seconds" in outcomes[101].problem
    assert all(not outcomes[i].problem for i in range(20))
    assert time.monotonic() - started < 60


def _fragile(task: Task, gps: bool):
    if task.path.endswith(b"crash.jpg"):
        os.abort()
    if task.path.endswith(b"hang.jpg"):
        time.sleep(60)
    return workers.decode_task(task, gps)


def test_a_picture_that_needs_too_much_memory_is_refused(tmp_path):
    path = tmp_path / "large.png"
    Image.new("1", (15_900, 15_900)).save(path)  # small file, 250 million pixels
    (outcome,) = describe([Task(1, os.fsencode(path))], [], processes=1, decoder=_greedy)
    assert "memory" in outcome.problem


def _greedy(task: Task, gps: bool):
    return np.ones(3 << 28)  # 6 GiB, above what a child may add


def test_a_fifo_does_not_block(tmp_path):
    path = tmp_path / "pipe.jpg"
    os.mkfifo(path)
    (outcome,) = describe([Task(1, os.fsencode(path))], [], processes=1)
    assert outcome.problem == "This is not a regular file."


def test_a_describer_keeps_its_child_and_takes_bytes_and_crops():
    describer = Describer(["colour"])
    try:
        image = Image.new("RGB", (40, 40), (255, 0, 0))
        image.paste((0, 0, 255), (20, 0, 40, 40))
        data = saved(image, "PNG")
        whole = describer(Task(1, data=data))
        left = describer(Task(2, data=data, crop=(0, 0, 0.5, 1)))
        red = describer(Task(3, data=saved(Image.new("RGB", (9, 9), (255, 0, 0)), "PNG")))
        assert np.allclose(left.features["colour"], red.features["colour"], atol=1e-3)
        assert not np.allclose(whole.features["colour"], red.features["colour"], atol=1e-2)
        assert describer(Task(4, data=b"no picture")).problem
    finally:
        describer.close()


SCRIPT = """
import likewise
with likewise.open("pictures", create=True) as collection:
    report = collection.index(features=("colour",), processes=2)
    print(report.embedded, len(collection.search(1, k=2).results))
"""


@pytest.mark.parametrize("way", ["file", "standard input"])
def test_a_script_without_a_guard_runs_once(way, tmp_path):
    """Children import the parent's main module unless they are kept from it."""
    (tmp_path / "pictures").mkdir()
    for i in range(3):
        photo(60 + i, 40, seed=i).save(tmp_path / "pictures" / f"{i}.jpg")
    (tmp_path / "mine.py").write_text(SCRIPT)
    command, given = (
        ([sys.executable, "mine.py"], "") if way == "file" else ([sys.executable], SCRIPT)
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        command, input=given, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("3 2\n", "")
