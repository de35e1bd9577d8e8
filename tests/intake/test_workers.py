"""Children that decode: whatever a file does, it does to itself only."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import likewise
from likewise.datasets import swatches
from likewise.features import REGISTRY, feature_set
from likewise.intake import child, confine, workers
from likewise.intake.reading.decoding import Unreadable, decode
from likewise.intake.workers import Describer, Task, describe, read_file
from likewise.types import DataProblem
from tests.intake.test_decoding import photo, png_header, saved


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Children that do not give way to others, so that a crowded machine tests them too."""
    monkeypatch.setattr(workers, "work", _work_eagerly)


def _work_eagerly(*given):
    os.nice = lambda by: 0
    child.work(*given)


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


def test_a_crash_or_a_hang_costs_its_own_file_only(pictures):
    tasks = [Task(i, p) for i, p in enumerate(pictures)]
    tasks.insert(5, Task(100, b"crash", b"made"))
    tasks.insert(12, Task(101, b"hang", b"made"))
    outcomes = {o.key: o for o in describe(tasks, [], processes=2, seconds=1, decoder=_fragile)}
    assert set(outcomes) == {t.key for t in tasks}
    assert "crashed" in outcomes[100].problem
    assert "longer than 1 seconds" in outcomes[101].problem
    assert all(not outcomes[i].problem for i in range(20))


def _fragile(task: Task, gps: bool):
    if task.path == b"crash":
        os.abort()
    while task.path == b"hang":
        pass
    while task.path == b"sleep":
        time.sleep(60)
    return workers.decode_task(task, gps)


def test_a_file_whose_child_neither_computes_nor_ends_is_given_up_after_some_tries(monkeypatch):
    children = started(monkeypatch)
    describer = Describer([], seconds=0.2, decoder=_fragile)
    try:
        outcome = describer(Task(1, b"sleep", b"made"))
    finally:
        describer.close()
    assert "longer than 0.2 seconds" in outcome.problem
    assert len(children) == 5  # once with others, three times alone, and one that is left


def started(monkeypatch) -> list:
    """A list that every child is put on when it is started."""
    children = []

    class Noted(workers._Child):
        def __init__(self, *given):
            super().__init__(*given)
            children.append(self)

    monkeypatch.setattr(workers, "_Child", Noted)
    return children


def _dies(task: Task, gps: bool):
    """Die of the signal that stands in place of a path."""
    if task.path.isdigit():
        os.kill(os.getpid(), int(task.path))
    return workers.decode_task(task, gps)


@pytest.mark.parametrize(("number", "deaths"), [(signal.SIGSEGV, 3), (signal.SIGKILL, 4)])
def test_a_file_is_blamed_only_after_it_was_tried_alone(pictures, monkeypatch, number, deaths):
    children = started(monkeypatch)
    tasks = [Task(i, p) for i, p in enumerate(pictures)]
    tasks.insert(5, Task(100, b"%d" % number, b"made"))
    outcomes = list(describe(tasks, [], processes=1, decoder=_dies))
    assert [o.key for o in outcomes if o.problem] == [100]
    assert outcomes[-1].key == 100  # when nobody else was at work
    assert ("index --retry" if number == signal.SIGKILL else "crashed") in outcomes[-1].problem
    assert len(children) == deaths + 1  # and the last one was fresh


@pytest.mark.parametrize("how", ["killed", "stopped"])
@pytest.mark.parametrize("when", ["starting", "waiting", "decoding", "computing"])
def test_what_others_do_to_a_child_is_not_the_fault_of_a_picture(pictures, monkeypatch, how, when):
    """The signal comes just when the child says that it does this."""
    number = signal.SIGKILL if how == "killed" else signal.SIGSTOP
    wanted = {"starting": workers.STARTS, "waiting": workers.WAITS, "decoding": 3,
              "computing": workers.COMPUTES}[when]  # fmt: skip
    sent = []
    turn = workers._Child.turn

    def disturbed(self, doing):
        turn(self, doing)
        if doing == wanted and not sent:
            sent.append(self.process.pid)
            os.kill(self.process.pid, number)

    monkeypatch.setattr(workers._Child, "turn", disturbed)
    describer = Describer(["colour"], decoder=_slow)
    try:
        outcomes = [describer(Task(i, p)) for i, p in enumerate(pictures[:5])]
    finally:
        describer.close()
    assert sent
    assert [o.key for o in outcomes if o.picture is not None] == [0, 1, 2, 3, 4]


def _slow(task: Task, gps: bool):
    """Decode so slowly that a signal is sure to come before the end."""
    time.sleep(0.05)
    return workers.decode_task(task, gps)


def test_a_child_that_hangs_while_it_starts_or_computes_is_ended(pictures, monkeypatch):
    monkeypatch.setattr(workers, "FEATURE_SECONDS", 0.2)
    monkeypatch.setattr(workers, "work", _hangs_in_features)
    (outcome,) = describe([Task(1, pictures[0])], [], processes=1)
    assert outcome.problem == "Computing its features took longer than 0.2 seconds."
    monkeypatch.setattr(workers, "START_SECONDS", 0.2)
    monkeypatch.setattr(workers, "FRUITLESS", 3)
    monkeypatch.setattr(workers, "work", _hangs_at_start)
    with pytest.raises(DataProblem, match="ended 3 times before they read one"):
        list(describe([Task(1, pictures[0])], [], processes=1))


def _hangs_in_features(pipe, *_):
    pipe.send(workers.WAITS)
    while True:
        chunk = pipe.recv()
        for task in chunk:
            pipe.send(task.key)
        pipe.send(workers.COMPUTES)
        while True:
            pass


def _hangs_at_start(pipe, *_):
    while True:
        pass


@pytest.mark.parametrize(
    ("count", "signals", "features"),
    [(60, 6, ("colour",)), pytest.param(1000, 50, None, marks=pytest.mark.slow)],
)
def test_signals_from_outside_cost_no_picture(tmp_path, monkeypatch, count, signals, features):
    """Children are killed and stopped at random while pictures come in."""
    monkeypatch.setattr(workers, "work", child.work)  # a start costs what it really costs
    folder = tmp_path / "pictures"
    swatches(count, size=64, seed=1).write(folder, jobs=1)
    shutil.copytree(folder, tmp_path / "again")
    children, chance = started(monkeypatch), np.random.default_rng(0)
    due = set(chance.choice(np.arange(1, count), signals, replace=False).tolist())
    sent = []

    def progress(done: int, total: int) -> None:
        """Send one signal per mark that was passed."""
        for mark in [mark for mark in due if mark <= done]:
            due.discard(mark)
            victim = chance.choice([c for c in children if c.process.is_alive()])
            number = [signal.SIGKILL, signal.SIGSTOP][int(chance.integers(2))]
            os.kill(victim.process.pid, number)
            sent.append(number)

    taken = []
    undisturbed = [("pictures", None)] * (count >= 1000)
    for name, tell in [*undisturbed, ("again", progress)]:
        with likewise.open(tmp_path / name, create=True) as collection:
            began = time.monotonic()
            report = collection.index(features=features, processes=2, progress=tell)
            taken.append(time.monotonic() - began)
            assert (report.embedded, report.problems) == (count, 0)
            assert collection.status()["items"]["indexed"] == count
    assert len(sent) == signals
    if count >= 1000:
        print(f"undisturbed {taken[0]:.1f} s, disturbed {taken[1]:.1f} s, {len(children)} children")
        assert taken[1] < 3 * taken[0], taken


# -- confinement -----------------------------------------------------------------

needs_confinement = pytest.mark.skipif(
    not confine.is_possible(), reason="this system offers no seccomp"
)


@needs_confinement
def test_a_child_can_neither_write_nor_use_the_network(tmp_path, pictures):
    target = tmp_path / "kept.txt"
    target.write_text("kept")
    task = Task(1, pictures[0], data=os.fsencode(tmp_path))
    (outcome,) = describe([task], ["colour"], processes=1, decoder=_burglar)
    assert outcome.problem == "All refused."
    assert target.read_text() == "kept"


def _burglar(task: Task, gps: bool):
    """Try what a decoder has no business with; Unreadable carries the answer to the test."""
    assert task.data is not None
    folder = os.fsdecode(task.data)
    parent = os.getppid()
    attempts = {
        "network": lambda: socket.socket(),
        "local socket": lambda: socket.socket(socket.AF_UNIX),
        "new file": lambda: Path(folder, "new.txt").write_text(""),
        "append": lambda: os.open(folder + "/kept.txt", os.O_APPEND | os.O_WRONLY),
        "change": lambda: os.open(folder + "/kept.txt", os.O_RDWR),
        "empty": lambda: os.truncate(folder + "/kept.txt", 0),
        "delete": lambda: os.unlink(folder + "/kept.txt"),
        "move": lambda: os.rename(folder + "/kept.txt", folder + "/moved.txt"),
        "folder": lambda: os.mkdir(folder + "/new"),
        "link": lambda: os.symlink("a", folder + "/link"),
        "mode": lambda: os.chmod(folder + "/kept.txt", 0),
        "signal": lambda: os.kill(parent, 0),
        "limits": lambda: resource.prlimit(parent, resource.RLIMIT_CPU),
        "fork": lambda: os.fork() or os._exit(0),
        "program": lambda: os.execv("/bin/true", ["true"]),
        "memory": lambda: os.open(f"/proc/{parent}/mem", os.O_RDWR),
    }
    done = []

    def try_all() -> None:
        for name, attempt in attempts.items():
            try:
                attempt()
                done.append(name)
            except PermissionError:
                pass

    try_all()
    thread = threading.Thread(target=try_all)  # threads stay possible, and are confined too
    thread.start()
    thread.join()
    with open(folder + "/kept.txt") as file:
        assert file.read() == "kept"
    raise Unreadable("Not refused: " + ", ".join(done) if done else "All refused.")


def test_a_child_cannot_make_its_parent_run_anything(tmp_path, pictures, monkeypatch):
    """Its answers come as pickles, of which only plain values are read."""
    monkeypatch.setattr(workers, "GRACE", 0.5)  # it lives on, so nobody need wait for its end
    task = Task(1, pictures[0], crop=(0, 0, 1, 1))
    (outcome,) = describe([task], [], processes=1, decoder=_trojan)
    assert "crashed on this file" in outcome.problem
    assert not Path(os.fsdecode(pictures[0]) + ".made").exists()


class Horse:
    """A value that makes a folder where it is read."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def _trojan(task: Task, gps: bool):
    picture = workers.decode_task(task, gps)
    return replace(picture, format=Horse(os.fsdecode(task.path) + ".made"))


@needs_confinement
def test_features_are_the_same_in_confinement(pictures):
    """Every block, networks with their threads among them."""
    names = [*REGISTRY]
    tasks = [Task(i, p) for i, p in enumerate(pictures[:3])]
    confined = {o.key: o for o in describe(tasks, names, processes=1)}
    pixels = [decode(read_file(path)).pixels for path in pictures[:3]]
    free = feature_set(names)(pixels)
    for key in range(3):
        for name in names:
            np.testing.assert_array_equal(confined[key].features[name], free[name][key])


@needs_confinement
def test_a_network_from_elsewhere_is_parsed_in_confinement(tmp_path, pictures, monkeypatch):
    monkeypatch.setattr(workers, "work", _work_with_an_open_eye)
    for name in ("net.onnx", "net.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(DataProblem, match="parsed in confinement"):
        list(describe([Task(1, pictures[0])], ["colour", f"onnx:{tmp_path}/net.onnx"], processes=1))


def _work_with_an_open_eye(*given):
    """Say whether writing was refused already when the network's files are looked at."""
    from likewise.features import onnx_file

    def parse(path, *_):
        with pytest.raises(PermissionError):
            path.write_text("changed")
        raise ValueError("parsed in confinement")

    onnx_file.read_json = onnx_file.open_network = parse
    child.work(*given)


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
