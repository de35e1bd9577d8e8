"""Opening: who may write, who may read, what versions and permissions allow."""

from __future__ import annotations

import contextlib
import mmap  # noqa: F401  (numpy imports it late, and the child that gives up its rights cannot)
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.store import Result, Store, doctor, migrations, verify
from likewise.store.catalogue import Catalogue
from likewise.store.doctor import is_mended
from likewise.types import BadInput, Busy, DataProblem, NotFound
from tests.store.conftest import add, embed, seen

FORK = multiprocessing.get_context("forkserver")


def in_child(function: Any, *arguments: Any) -> list[Any]:
    """Run ``function(pipe, *arguments)`` in a fresh process; gives all that it sent."""
    FORK.set_forkserver_preload(["tests.store.test_opening"])
    ours, theirs = FORK.Pipe(duplex=False)
    child = FORK.Process(target=function, args=(theirs, *arguments))
    child.start()
    theirs.close()
    heard = []
    with contextlib.suppress(EOFError):
        while True:
            heard.append(ours.recv())
    child.join()
    ours.close()
    child.close()
    return heard


# -- who writes ----------------------------------------------------------------


def _try_to_write(pipe: Connection, folder: str) -> None:
    try:
        with Store.open(folder, write=True):
            pipe.send("opened")
    except Busy as error:
        pipe.send(str(error))


def test_the_second_writer_is_told_who_holds_it(store: Store, folder: Path) -> None:
    with pytest.raises(Busy, match=rf"Process {os.getpid()} on \S+ .* has been writing"):
        Store.open(folder, write=True)
    (answer,) = in_child(_try_to_write, str(folder))
    assert f"Process {os.getpid()} " in answer
    assert "wait until it is done or stop it" in answer
    with Store.open(folder) as reader:  # readers need no lock
        assert reader.items.counts()["seen"] == 0
    assert any(str(os.getpid()) in fact.value for fact in doctor(folder) if fact.name == "writer")
    store.close()
    assert in_child(_try_to_write, str(folder)) == ["opened"]


def test_a_worker_that_outlives_a_killed_writer_does_not_keep_the_lock(folder: Path) -> None:
    script = textwrap.dedent(
        f"""
        import os, sys, time
        from likewise.store import Store
        store = Store.open({str(folder)!r}, create=True)
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        print(child, flush=True)
        time.sleep(60)
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        worker = int(writer.stdout.readline())
        try:
            with pytest.raises(Busy):
                Store.open(folder, write=True)
            writer.kill()
            writer.wait()
            _open_soon(folder)
        finally:
            os.kill(worker, signal.SIGKILL)


def _open_soon(folder: Path) -> None:
    # The worker lets go of the lock as its first act, which may come after the writer's last.
    until = time.monotonic() + 10
    while True:
        try:
            Store.open(folder, write=True).close()
            return
        except Busy:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def test_writing_needs_a_writer(store: Store, folder: Path) -> None:
    with Store.open(folder) as reader:
        with pytest.raises(BadInput, match="opened for reading"):
            reader.settings.set("a", 1)
        with pytest.raises(BadInput, match="opened for reading"):
            add(reader, [b"a"])
    with store.snapshot(), pytest.raises(BadInput, match="leave it before writing"):
        store.settings.set("a", 1)


def test_nothing_there_is_said_so(tmp_path: Path) -> None:
    for write in (False, True):
        with pytest.raises(NotFound, match="index a folder"):
            Store.open(tmp_path / "nothing", write=write)
        with pytest.raises(NotFound, match="no catalogue"):
            Store.open(tmp_path, write=write)
    assert not (tmp_path / "nothing").exists()


# -- what a reader sees -----------------------------------------------------------


def _write_batches(pipe: Connection, folder: str, size: int) -> None:
    with Store.open(folder, write=True) as store:
        pipe.send("open")
        for batch in range(10_000):
            with store.transaction():
                store.items.see([seen(b"%d-%d" % (batch, i)) for i in range(size)])
                waiting = store.contents.pending(size)
                store.contents.record(
                    [Result(p.content) for p in waiting], {"deep": np.ones((len(waiting), 2))}
                )
                store.settings.set("batches", batch + 1)


def test_readers_see_whole_transactions_while_one_writes(folder: Path) -> None:
    Store.open(folder, create=True).close()
    ours, theirs = FORK.Pipe(duplex=False)
    writer = FORK.Process(target=_write_batches, args=(theirs, str(folder), 5))
    writer.start()
    assert ours.poll(30)
    wrong: list[str] = []
    counts: list[int] = []
    until = time.monotonic() + 1.5

    def read(store: Store) -> None:
        while time.monotonic() < (until if len(set(counts)) > 2 else until + 30):
            with store.snapshot():
                batches = store.settings.get("batches", 0)
                items = store.items.counts()["embedded"]
                time.sleep(0.002)
                rows = sum(len(s.contents) for s in store.segments.all())
                found = store.segments.contents("deep")
                if rows:
                    store.segments.read("deep", found)
            if not items == rows == len(found) == 5 * batches:
                wrong.append(f"{batches} batches, {items} items, {rows} rows")
            counts.append(items)

    with Store.open(folder) as shared:
        threads = [threading.Thread(target=read, args=(shared,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    writer.kill()
    writer.join()
    assert wrong == []
    assert len(set(counts)) > 2
    assert verify(folder) == []


def test_threads_of_one_process_may_write(store: Store) -> None:
    def work(name: int) -> None:
        for i in range(5):
            add(store, [b"%d/%d" % (name, i)])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.items.counts()["seen"] == 20


# -- versions ---------------------------------------------------------------------


@pytest.mark.parametrize("version", range(len(migrations.STEPS)))
def test_an_old_catalogue_walks_the_missing_steps(folder: Path, version: int) -> None:
    folder.mkdir()
    db = sqlite3.connect(folder / "catalogue.sqlite", isolation_level=None)
    migrations.migrate(db, folder, migrations.STEPS[:version])
    if version:
        db.execute("INSERT INTO settings VALUES ('kept', '7')")
    db.close()
    if version < migrations.READABLE:
        with pytest.raises(DataProblem, match="older likewise"):
            Store.open(folder)
    else:  # what is missing changes only how it is written
        with Store.open(folder) as reader:
            assert reader.settings.get("kept") == 7
            assert reader.items.counts()["indexed"] == 0
    with Store.open(folder, write=True) as store:
        add(store, [b"a"])
        embed(store)
        assert store.settings.get("kept") == (7 if version else None)
    with Store.open(folder) as reader:
        assert reader.items.counts()["embedded"] == 1
    assert verify(folder) == []


def test_a_step_that_fails_changes_nothing(folder: Path) -> None:
    Store.open(folder, create=True).close()
    db = sqlite3.connect(folder / "catalogue.sqlite", isolation_level=None)
    broken = (*migrations.STEPS, "CREATE TABLE half (a); CREATE TABLE settings (b);")
    with pytest.raises(sqlite3.OperationalError):
        migrations.migrate(db, folder, broken)
    assert migrations.version_of(db) == len(migrations.STEPS)
    assert not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'half'").fetchone()
    db.close()
    Store.open(folder, write=True).close()


def test_newer_and_foreign_catalogues_are_refused(folder: Path, tmp_path: Path) -> None:
    Store.open(folder, create=True).close()
    path = folder / "catalogue.sqlite"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 999")
    db.close()
    for write in (False, True):
        with pytest.raises(DataProblem, match="newer likewise"):
            Store.open(folder, write=write)
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE recipes (a)")
    db.commit()
    db.close()
    for write in (False, True):
        with pytest.raises(DataProblem, match="not a catalogue of likewise"):
            Store.open(folder, write=write)
    path.write_bytes(b"no database at all " * 1000)
    for write in (False, True):
        with pytest.raises(DataProblem, match="damaged"):
            Store.open(folder, write=write)


# -- permissions and room ----------------------------------------------------------


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A data folder that another user can reach."""
    parent = Path(tempfile.mkdtemp())
    parent.chmod(0o755)
    try:
        yield parent / "data"
    finally:
        for path in [parent, *parent.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
        shutil.rmtree(parent)


def _read_only(pipe: Connection, folder: str) -> None:
    if os.getuid() == 0:
        os.setuid(65534)
    with Store.open(folder) as reader:
        pipe.send(reader.items.counts()["embedded"])
        pipe.send(reader.segments.read("deep", reader.segments.contents("deep")).shape)
        pipe.send(reader.words.search("a", 3).ids.tolist())
    pipe.send(verify(folder))
    pipe.send([fact.well for fact in doctor(folder) if fact.name == "permission"])
    for arguments in ({"write": True}, {"create": True}):
        try:
            Store.open(folder, **arguments)
        except DataProblem as error:
            pipe.send(str(error))


def test_a_read_only_folder_can_be_read_and_not_written(open_to_all: Path) -> None:
    with Store.open(open_to_all, create=True) as store:
        (item,) = add(store, [b"a"])
        embed(store)
    for path in [open_to_all, *open_to_all.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    embedded, shape, found, findings, permission, *refusals = in_child(_read_only, str(open_to_all))
    assert (embedded, shape, found, findings, permission) == (1, (1, 4), [item], [], [False])
    assert len(refusals) == 2
    assert all("cannot be written" in sentence for sentence in refusals)


def _fill(pipe: Connection, folder: str) -> None:
    import resource

    room = (Path(folder) / "catalogue.sqlite").stat().st_size + 200_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    with Store.open(folder, write=True) as store:
        try:
            for batch in range(10_000):
                add(store, [b"%d-%d" % (batch, i) for i in range(50)])
                pipe.send(batch)
        except DataProblem as error:
            pipe.send(str(error))
        pipe.send(sum(store.items.counts().values()))


def test_a_full_disk_keeps_what_was_acknowledged(folder: Path) -> None:
    Store.open(folder, create=True).close()
    *batches, sentence, count = in_child(_fill, str(folder))
    assert "no room left" in sentence
    assert count == 50 * len(batches)
    assert batches
    with Store.open(folder, write=True) as store:
        assert store.items.counts()["seen"] == count
        add(store, [b"there is room again"])
    assert verify(folder) == []


def _inherit(pipe: Connection, folder: str) -> None:
    with Store.open(folder, create=True) as store:
        inner, outer = FORK.Pipe()
        child = os.fork()
        if child == 0:
            try:
                store.items.counts()
            except BadInput as error:
                outer.send(str(error))
            os._exit(0)
        pipe.send(inner.recv())
        os.waitpid(child, 0)
        add(store, [b"the parent goes on"])
        pipe.send(store.items.counts()["seen"])


def test_a_forked_child_must_open_for_itself(folder: Path) -> None:
    sentence, count = in_child(_inherit, str(folder))
    assert "open it again" in sentence
    assert count == 1


def test_the_pragmas_are_what_we_promise(store: Store) -> None:
    with store.transaction() as db:
        found = {
            name: db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "secure_delete", "foreign_keys")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "foreign_keys": 1}
    reader = Catalogue(store.folder, write=False)
    with reader.reading() as db, pytest.raises(sqlite3.OperationalError):
        db.execute("DELETE FROM items")
    reader.close()


@pytest.mark.parametrize(
    ("version", "mended"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 53, 0), True),
    ],
)
def test_which_sqlite_is_sound(version: tuple[int, ...], mended: bool) -> None:
    assert is_mended(version) is mended


def test_doctor_speaks_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    facts = {fact.name: fact for fact in doctor(tmp_path / "a" / "b")}
    assert set(facts) == {"SQLite", "disk", "permission", "open files", "writer"}
    assert facts["permission"].well
    assert all(fact.advice.endswith(".") for fact in facts.values() if not fact.well)
