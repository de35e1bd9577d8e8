"""Open files: as many as the system lets us, and a sentence when that is too few."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from likewise.open_files import limit, raise_limit
from likewise.store import Store, doctor
from likewise.store.doctor import _open_files
from likewise.types import DataProblem
from tests.store.conftest import add, embed

resource = pytest.importorskip("resource")


@contextlib.contextmanager
def left(count: int) -> Iterator[None]:
    """Only so many files more can be opened."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/dev/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 8, before[1]))
    held: list[int] = []
    try:
        with contextlib.suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(count):
            os.close(held.pop())
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_reading_vectors_says_what_to_do(store: Store) -> None:
    add(store, [b"a", b"b"])
    embed(store)
    ids = store.segments.contents("deep")
    with left(0), pytest.raises(DataProblem, match=r"Too many files are open .*ulimit -n"):
        store.segments.read("deep", ids)
    assert len(store.segments.read("deep", ids)) == 2


@pytest.mark.parametrize("count", [0, 1])
def test_opening_says_what_to_do_and_never_guesses(store: Store, folder: Path, count: int) -> None:
    """With one file left SQLite opens the catalogue but not its log: that is no read-only disk."""
    add(store, [b"a"])
    with left(count), pytest.raises(DataProblem, match="Too many files are open"):
        Store.open(folder)
    with Store.open(folder) as reader:
        assert len(reader.items.many([1])) == 1


def test_the_limit_is_raised_as_far_as_the_system_lets_us() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, before[1]))
        raise_limit()
        assert limit() == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_every_command_raises_it_before_it_does_anything(tmp_path: Path) -> None:
    program = (
        "import resource, sys\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (99, hard))\n"
        "sys.argv = ['likewise', 'doctor', '-c', sys.argv[1]]\n"
        "from likewise.cli import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert f"{hard:,} at once" in done.stdout, done.stderr


def test_doctor_names_the_limit(tmp_path: Path) -> None:
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    (fact,) = (fact for fact in doctor(tmp_path) if fact.name == "open files")
    assert fact.value.startswith(f"{soft:,} at once")
    few = _open_files((100, 100))
    assert not few.well
    assert "ulimit -n" in few.advice
    assert _open_files((100, 1000)).value == "100 at once, up to 1,000 if asked for"
    assert _open_files(None).well
