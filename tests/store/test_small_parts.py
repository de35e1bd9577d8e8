"""Jobs, sessions, settings and thumbnails."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from likewise.store import Store
from likewise.types import BadInput, NotFound


def test_a_job_from_queue_to_end(store: Store) -> None:
    job = store.jobs.create("ingest", {"folder": "x"}, total=10)
    assert (job.state, job.payload) == ("queued", {"folder": "x"})
    assert job.seconds_left is None
    store.jobs.move(job.id, "running")
    store.jobs.progress(job.id, 4, 10, rate=2.0, problems=1, message="Reading", mark={"after": 4})
    now = store.jobs.get(job.id)
    assert (now.done, now.total, now.problems, now.message, now.mark) == (
        4,
        10,
        1,
        "Reading",
        {"after": 4},
    )
    assert now.seconds_left == pytest.approx(3.0)
    store.jobs.ask(job.id, "paused")
    assert store.jobs.get(job.id).wanted == "paused"
    store.jobs.move(job.id, "paused")
    assert store.jobs.get(job.id).wanted == ""
    store.jobs.move(job.id, "running")
    store.jobs.progress(job.id, 10, 10)
    assert store.jobs.get(job.id).mark == {"after": 4}
    assert store.jobs.move(job.id, "done", "All read.").message == "All read."
    with pytest.raises(BadInput, match="is done and cannot become running"):
        store.jobs.move(job.id, "running")
    with pytest.raises(BadInput, match="paused or cancelled"):
        store.jobs.ask(job.id, "faster")
    with pytest.raises(NotFound, match="no job 99"):
        store.jobs.get(99)


def test_a_job_that_does_not_run_is_cancelled_at_once(store: Store) -> None:
    job = store.jobs.create("learn")
    store.jobs.ask(job.id, "cancelled")
    assert store.jobs.get(job.id).state == "cancelled"


def test_the_next_writer_finds_interrupted_jobs_paused(folder: Path) -> None:
    with Store.open(folder, create=True) as store:
        job = store.jobs.create("ingest")
        store.jobs.move(job.id, "running")
        store.jobs.progress(job.id, 5, 9, mark={"after": 5})
    with Store.open(folder) as reader:
        assert reader.jobs.get(job.id).state == "running"
    with Store.open(folder, write=True) as store:
        found = store.jobs.get(job.id)
        assert (found.state, found.done, found.mark) == ("paused", 5, {"after": 5})
        assert store.jobs.all()[0] == found


def test_rounds_branch_and_their_trails_are_kept(store: Store) -> None:
    session = store.sessions.start(person="ann", payload={"board": 20})
    first = store.sessions.add_round(session.id, {"shown": [1, 2]}, seconds={"look": 1.5})
    left = store.sessions.add_round(session.id, {"shown": [3]}, parent=first.id)
    right = store.sessions.add_round(session.id, {"shown": [4]}, parent=first.id)
    last = store.sessions.add_round(session.id, {"shown": [5]}, parent=right.id)
    assert store.sessions.trail(last.id) == [first, right, last]
    assert store.sessions.rounds(session.id) == [first, left, right, last]
    assert (last.depth, first.seconds) == (2, {"look": 1.5})
    other = store.sessions.start()
    with pytest.raises(BadInput, match="another session"):
        store.sessions.add_round(other.id, {}, parent=first.id)
    ended = store.sessions.finish(session.id, {"found": 5})
    assert (ended.state, ended.outcome) == ("finished", {"found": 5})
    with pytest.raises(BadInput, match="has ended"):
        store.sessions.add_round(session.id, {})
    with pytest.raises(BadInput, match="ended already"):
        store.sessions.finish(session.id)
    assert store.sessions.finish(other.id, abandoned=True).state == "abandoned"
    assert [s.id for s in store.sessions.all(state="finished")] == [session.id]
    with pytest.raises(NotFound, match="no session"):
        store.sessions.get(99)
    with pytest.raises(NotFound, match="no round"):
        store.sessions.round(99)


def test_settings(store: Store) -> None:
    assert store.settings.get("w0") is None
    assert store.settings.get("w0", 3) == 3
    for value in ([1.5, 2.0], {"a": None}, "text \U0001f431", False):
        store.settings.set("w0", value)
        assert store.settings.get("w0") == value
    store.settings.remove("w0")
    assert store.settings.get("w0") is None


JPEG, WEBP = b"\xff\xd8\xff rest", b"RIFF....WEBP"


def test_thumbnails(store: Store) -> None:
    key = "ab" * 32
    assert store.thumbnails.get(key, "s") is None
    store.thumbnails.put(key, "s", JPEG)
    path = store.thumbnails.put(key, "m", WEBP)
    assert (store.thumbnails.get(key, "s"), store.thumbnails.get(key, "m")) == (JPEG, WEBP)
    store.thumbnails.close()
    path.write_bytes(b"")  # what a power cut may leave
    assert store.thumbnails.get(key, "m") is None
    store.thumbnails.put(key, "m", JPEG)
    assert store.thumbnails.get(key, "m") == JPEG
    store.thumbnails.remove([key])
    assert store.thumbnails.get(key, "s") is None
    with pytest.raises(BadInput, match="JPEG or WebP"):
        store.thumbnails.put(key, "s", b"<html>")
    for bad in ("../../x", "AB" * 32, ""):
        with pytest.raises(BadInput, match="SHA-256"):
            store.thumbnails.get(bad, "s")


def test_a_damaged_file_of_a_cache_counts_as_absent(store: Store) -> None:
    key = "ab" * 32
    store.maps.put(key, {"ids": np.arange(9)}, {"bits": 3})
    store.maps.put_page(key, JPEG)
    paths = [*store.maps.folder.iterdir(), store.thumbnails.put(key, "s", JPEG)]
    found = store.maps.latest()
    assert found is not None
    assert (found[1]["ids"].tolist(), found[2]) == (list(range(9)), {"bits": 3})
    assert store.maps.page(key) == store.thumbnails.get(key, "s") == JPEG
    store.thumbnails.close()
    for path in paths:
        data = bytearray(path.read_bytes())
        data[4] ^= 1
        path.write_bytes(data)
    assert store.maps.latest() is store.maps.page(key) is store.thumbnails.get(key, "s") is None
    (store.thumbnails.folder / "ab").mkdir()
    (store.thumbnails.folder / "ab" / f"{key}.s").write_bytes(JPEG)  # as earlier versions wrote it
    assert store.thumbnails.get(key, "s") == JPEG
    store.thumbnails.remove([key])
    assert store.thumbnails.get(key, "s") is None


def test_many_thumbnails_are_few_files(store: Store) -> None:
    keys = [f"{number:064x}" for number in range(300)]
    for key in keys:
        store.thumbnails.put(key, "small", JPEG + key.encode())
    assert [path.name for path in store.thumbnails.folder.iterdir()] == ["pictures.sqlite"]
    with Store.open(store.folder) as reader:
        assert reader.thumbnails.get(keys[7], "small") == JPEG + keys[7].encode()
        store.thumbnails.remove([keys[7]])
        assert reader.thumbnails.get(keys[7], "small") is None
    assert keys[7].encode() not in store.thumbnails.pack.read_bytes(), "no byte of it stays"


def test_no_damaged_thumbnail_is_shown(store: Store) -> None:
    """Bytes are flipped all over the file: a picture is right, or it is made anew."""
    keys = [f"{number:064x}" for number in range(40)]
    for key in keys:
        store.thumbnails.put(key, "small", JPEG + key.encode())
    store.thumbnails.close()
    whole = store.thumbnails.pack.read_bytes()
    rng, lost = np.random.default_rng(0), 0
    for at in rng.integers(0, len(whole), 60).tolist():
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        store.thumbnails.close()
        store.thumbnails.pack.write_bytes(damaged)
        for key in keys:
            found = store.thumbnails.get(key, "small")
            assert found in (None, JPEG + key.encode())
            lost += found is None
    assert lost, "otherwise the test could not fail"
    store.thumbnails.put(keys[0], "small", JPEG)
    assert store.thumbnails.get(keys[0], "small") == JPEG
