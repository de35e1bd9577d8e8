"""Backup while a writer works, restore, verify."""

from __future__ import annotations

import re
import shutil
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

from likewise import files
from likewise.store import Store, backup, restore, verify
from likewise.types import BadInput, DataProblem, Judgement, NotFound, QueryRef
from tests.store.conftest import add, embed


def fill(store: Store) -> None:
    add(store, [b"a.jpg", b"b \xff\n.jpg", b"c.jpg"])
    embed(store)
    upload = store.uploads.put(b"an uploaded picture")
    store.judgements.add(
        [
            Judgement(QueryRef("item", "a.jpg"), ("c.jpg",), "label", 1.0, 3.0),
            Judgement(QueryRef("upload", upload), ("a.jpg",), "click", 2.0, 4.0),
        ]
    )
    model = store.models.add("m", {"w": np.arange(3.0)}, {"n": 1}, space="s")
    store.models.activate(model.id)
    store.spaces.put("s", {"pca": np.eye(3)}, {})
    store.settings.set("w0", [1, 2])
    with store.generations.build() as aside:
        (aside / "x").write_bytes(b"cache")
        store.generations.publish(aside, space="s", kind="flat", segment=1, items=3)


def contents_of(folder: Path) -> tuple[object, ...]:
    with Store.open(folder) as store:
        ids = store.segments.contents("deep")
        return (
            [(i.id, i.path, i.sha256) for i in store.items.many(range(1, 10))],
            store.segments.read("deep", ids).tolist(),
            list(store.judgements),
            [store.uploads.get(sha256) for sha256 in store.uploads.all()],
            [(m.id, m.name, store.models.load(m.id)[0]["w"].tolist()) for m in store.models.all()],
            store.models.active(),
            store.spaces.get("s")[0]["pca"].tolist(),
            store.settings.get("w0"),
        )


@pytest.mark.parametrize("link", [False, True])
def test_there_and_back(store: Store, folder: Path, tmp_path: Path, link: bool) -> None:
    fill(store)
    copied = backup(folder, tmp_path / "backup", link=link)
    assert copied.files == 8  # with the index and its manifest
    assert contents_of(tmp_path / "backup") == contents_of(folder)
    restore(tmp_path / "backup", tmp_path / "deep" / "restored")
    assert contents_of(tmp_path / "deep" / "restored") == contents_of(folder)
    with Store.open(tmp_path / "deep" / "restored", write=True) as again:
        made = again.generations.current()
        assert made is not None
        assert again.generations.unusable(made, "s") == ""
        assert again.items.counts()["indexed"] == 3
        add(again, [b"it goes on.jpg"])
        embed(again)
    assert verify(tmp_path / "deep" / "restored") == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["backup", "data", "deep"]
    # What happens to the original does not reach the backup.
    store.forget([1])
    assert verify(tmp_path / "backup") == []


def test_a_backup_is_one_state_while_a_writer_works(
    store: Store, folder: Path, tmp_path: Path
) -> None:
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            with store.transaction():
                add(store, [b"%d-%d" % (number, i) for i in range(5)])
                embed(store)
                store.settings.set("batches", number + 1)
            number += 1
            if number % 4 == 0:
                store.segments.purge(store.segments.contents("deep")[:1])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for i in range(3):
            backup(folder, tmp_path / f"backup{i}")
    finally:
        stop.set()
        writer.join()
    for i in range(3):
        assert verify(tmp_path / f"backup{i}") == []
        with Store.open(tmp_path / f"backup{i}") as copy:
            assert sum(copy.items.counts().values()) == 5 * copy.settings.get("batches", 0)


def test_a_backup_does_without_an_index_that_goes_meanwhile(
    store: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store)
    real = files.copy_file

    def copy(source: Path, target: Path, *, link: bool = False) -> None:
        real(source, target, link=link)
        if source.name == "x":
            store.generations.withdraw()

    monkeypatch.setattr(files, "copy_file", copy)
    backup(folder, tmp_path / "backup")
    assert verify(tmp_path / "backup") == []
    assert not (tmp_path / "backup" / "generations").exists()
    with Store.open(tmp_path / "backup") as copied:
        assert copied.generations.current() is None


def test_the_table_of_a_server_is_not_taken_along(
    store: Store, folder: Path, tmp_path: Path
) -> None:
    fill(store)
    with store.generations.build() as aside:
        (aside / "x").write_bytes(b"cache")
        store.generations.publish(
            aside, space="s", kind="postgres", segment=1, items=3, settings={"table": "t"}
        )
    backup(folder, tmp_path / "backup")
    with Store.open(tmp_path / "backup") as copied:
        assert copied.generations.all() == []


def test_what_is_overwritten_while_it_is_copied_is_copied_again(
    store: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store)
    real, forgotten = shutil.copyfile, []

    def copyfile(source: Path, target: Path) -> None:
        if Path(source).suffix == ".seg" and not forgotten:
            forgotten.append(store.forget([1]))
            source = next((folder / "segments").iterdir())  # opened before it lost its name
        real(source, target)

    monkeypatch.setattr(shutil, "copyfile", copyfile)
    backup(folder, tmp_path / "backup")
    assert forgotten
    assert verify(tmp_path / "backup") == []
    with Store.open(tmp_path / "backup") as copied:
        assert len(copied.segments.contents("deep")) == 2


def test_nothing_is_overwritten(store: Store, folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    backup(folder, target)  # an empty folder is fine
    for call in (lambda: backup(folder, target), lambda: restore(target, folder)):
        with pytest.raises(BadInput, match="not empty"):
            call()
    with pytest.raises(NotFound, match="not a backup"):
        restore(folder, tmp_path / "x")
    with pytest.raises(NotFound, match="no catalogue"):
        backup(tmp_path / "nowhere", tmp_path / "y")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data", "target"]


def test_damage_is_neither_backed_up_nor_restored(
    store: Store, folder: Path, tmp_path: Path
) -> None:
    fill(store)
    backup(folder, tmp_path / "good")
    for place, call in (
        (folder, lambda: backup(folder, tmp_path / "bad")),
        (tmp_path / "good", lambda: restore(tmp_path / "good", tmp_path / "bad")),
    ):
        (segment,) = (place / "segments").iterdir()
        data = bytearray(segment.read_bytes())
        data[3] ^= 1
        segment.write_bytes(data)
        with pytest.raises(DataProblem, match="checksum"):
            call()
        segment.unlink()
        with pytest.raises(DataProblem, match="is missing"):
            call()
    assert not (tmp_path / "bad").exists()


def test_a_full_disk_leaves_no_half_backup(
    store: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(DataProblem, match="no room left"):
        backup(folder, tmp_path / "backup")
    assert [p.name for p in tmp_path.iterdir()] == ["data"]


HARM = {
    "a page": None,
    "DELETE FROM segments": "do not hold|does not hold",
    "UPDATE judged SET item = 99": "points at a row",
    "DELETE FROM models": "points at a row",
    "DELETE FROM uploads": "uploads that are not kept",
    "DELETE FROM words": "Full-text search",
    "UPDATE segments SET layout = '{}'": "disagree",
}


@pytest.mark.parametrize("harm", HARM)
def test_verify_finds_what_is_broken(store: Store, folder: Path, harm: str) -> None:
    fill(store)
    store.close()
    assert verify(folder) == []
    path = folder / "catalogue.sqlite"
    if harm == "a page":
        data = bytearray(path.read_bytes())
        for at in range(4096 * 3, len(data), 4096):
            data[at : at + 64] = b"\xee" * 64
        path.write_bytes(data)
        assert verify(folder)[0].severity == "damage"
        return
    db = sqlite3.connect(path)
    db.execute(harm)
    db.commit()
    db.close()
    sentences = " ".join(f.sentence for f in verify(folder))
    assert re.search(HARM[harm] or "", sentences)


def test_verify_finds_lost_files_of_every_kind(store: Store, folder: Path) -> None:
    fill(store)
    store.close()
    for name in ("segments", "models", "spaces", "uploads"):
        for path in sorted((folder / name).iterdir()):
            data = path.read_bytes()
            path.unlink()
            assert any("missing" in f.sentence for f in verify(folder)), path
            path.write_bytes(data)
    assert verify(folder) == []
    (folder / "catalogue.sqlite").unlink()
    assert verify(folder)[0].severity == "damage"
