"""Generations: visible all at once, never served when they do not match."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from likewise.files import sha256_of
from likewise.store import Generation, Store, checks, verify
from likewise.types import BadInput


def publish(store: Store, text: str = "codes", line: str = "main", space: str = "s") -> Generation:
    with store.generations.build() as aside:
        (aside / "codes.bin").write_text(text)
        (aside / "ids.bin").write_text("1 2 3")
        return store.generations.publish(
            aside, space=space, kind="flat", segment=0, items=3, line=line, settings={"nprobe": 4}
        )


def test_nothing_then_the_newest(store: Store) -> None:
    assert store.generations.current() is None
    first = publish(store)
    second = publish(store, "other")
    assert store.generations.current() == second
    assert second.number > first.number
    assert second.settings == {"nprobe": 4}
    assert (second.folder / "codes.bin").read_text() == "other"
    assert store.generations.unusable(second, "s") == ""


def test_the_last_two_of_each_line_stay(store: Store) -> None:
    numbers = [publish(store, str(i)).number for i in range(4)]
    other = publish(store, line="model-7")
    kept = {path.name for path in store.generations.folder.iterdir()}
    assert kept == {f"{n:06d}" for n in [*numbers[-2:], other.number]}
    assert store.generations.current() != other
    assert store.generations.current("model-7") == other
    store.generations.withdraw("main")
    assert store.generations.current() is None
    assert store.generations.current("model-7") == other
    assert publish(store).number > other.number


def damage_file(folder: Path) -> None:
    (folder / "codes.bin").write_text("codez")


def cut_file(folder: Path) -> None:
    (folder / "codes.bin").write_text("")


def lose_file(folder: Path) -> None:
    (folder / "ids.bin").unlink()


def add_file(folder: Path) -> None:
    (folder / "more.bin").write_text("x")


def lose_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def forge_manifest(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["space"] = "t"
    (folder / "manifest.json").write_text(json.dumps(manifest))


def lose_all(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


@pytest.mark.parametrize(
    "harm",
    [damage_file, cut_file, lose_file, add_file, lose_manifest, forge_manifest, lose_all],
)
def test_a_mismatch_is_reported_and_only_costs_time(
    store: Store, folder: Path, harm: object
) -> None:
    made = publish(store)
    harm(made.folder)  # type: ignore[operator]
    assert store.generations.unusable(made, "s").endswith(".")
    assert {f.severity for f in verify(folder)} == {"cache"}
    assert store.generations.unusable(publish(store), "s") == ""


def test_size_and_time_vouch_for_nothing(store: Store) -> None:
    made = publish(store)
    file = made.folder / "codes.bin"
    before = file.stat()
    file.write_text("CODES")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "codes.bin" in store.generations.unusable(made, "s")


def test_a_process_compares_a_file_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made = publish(store)
    read: list[str] = []
    monkeypatch.setattr(checks, "sha256_of", lambda path: read.append(path.name) or sha256_of(path))
    monkeypatch.setattr(checks, "_compared", {})
    for _ in range(3):
        assert store.generations.unusable(made, "s") == ""
    assert sorted(read) == ["codes.bin", "ids.bin"]
    assert store.generations.unusable(made, "s", again=True) == ""
    assert len(read) == 4


def test_what_is_large_is_compared_in_the_background(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = publish(store, "x" * 100)
    go_on = threading.Event()

    def slowly(path: Path) -> str:
        assert path.name == "ids.bin" or go_on.wait(60)
        return sha256_of(path)

    monkeypatch.setattr(checks, "sha256_of", slowly)
    monkeypatch.setattr(checks, "_compared", {})
    monkeypatch.setattr(checks, "AT_ONCE", 50)
    going = store.generations.check(made, "s")
    assert not going.is_over
    assert store.generations.check(made, "s") is going
    go_on.set()
    assert going.wait() == ""
    assert store.generations.check(made, "s").is_over
    (made.folder / "codes.bin").write_text("y" * 100)
    assert "codes.bin" in store.generations.check(made, "s").wait()
    assert store.generations.check(made, "s").is_over  # known to be damaged: not read again


def test_another_space_is_refused(store: Store) -> None:
    assert "another space" in store.generations.unusable(publish(store), "t")


def test_what_is_not_published_is_not_there(store: Store) -> None:
    with store.generations.build() as aside:
        (aside / "codes.bin").write_text("x")
    assert list(store.generations.folder.iterdir()) == []
    with store.generations.build() as aside, pytest.raises(BadInput, match="at least one file"):
        store.generations.publish(aside, space="s", kind="flat", segment=0, items=0)
    with store.generations.build() as aside:
        (aside / "elsewhere").symlink_to(store.folder)
        with pytest.raises(BadInput, match="plain files"):
            store.generations.publish(aside, space="s", kind="flat", segment=0, items=0)
    assert store.generations.current() is None


def test_files_in_folders_are_checked_too(store: Store) -> None:
    with store.generations.build() as aside:
        (aside / "inner").mkdir()
        (aside / "inner" / "codes.bin").write_text("x")
        made = store.generations.publish(aside, space="s", kind="flat", segment=0, items=0)
    assert store.generations.unusable(made, "s") == ""
    (made.folder / "inner" / "codes.bin").write_text("y")
    assert "inner/codes.bin" in store.generations.unusable(made, "s")


def test_a_failed_publication_leaves_the_old_one(store: Store) -> None:
    made = publish(store)

    def fail() -> None:
        with store.transaction():
            publish(store, "new")
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fail()
    assert store.generations.current() == made
    assert store.generations.unusable(made, "s") == ""
    assert [p.name for p in store.generations.folder.iterdir()] == [made.folder.name]


def test_left_overs_are_swept(folder: Path) -> None:
    with Store.open(folder, create=True) as store:
        made = publish(store)
        (store.generations.folder / "000099").mkdir()
        (store.generations.folder / ".tmp-77").mkdir()
    with Store.open(folder, write=True) as store:
        assert [p.name for p in store.generations.folder.iterdir()] == [made.folder.name]
