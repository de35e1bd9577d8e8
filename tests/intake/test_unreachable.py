"""A folder that cannot be looked into has not lost its pictures."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import likewise
from likewise.datasets import swatches
from likewise.intake import scanning
from likewise.types import DataProblem


@pytest.fixture
def disk(tmp_path):
    """A folder on another device than the collection's."""
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second device here")
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Twenty pictures, and eleven below ``sub``: more than may go missing without a question."""
    top = tmp_path_factory.mktemp("made") / "pictures"
    swatches(31, size=64, seed=1).write(top, jobs=1)
    (top / "sub").mkdir()
    for file in sorted(top.glob("*.jpg"))[:11]:
        file.rename(top / "sub" / file.name)
    assert index(top)[2] == 31
    return top


@pytest.fixture
def folder(made, tmp_path):
    """A copy of the indexed folder, to be changed at will."""
    return Path(shutil.copytree(made, tmp_path / "pictures"))


def index(folder: Path, **options):
    with likewise.open(folder, create=True) as collection:
        report = collection.index(features=("colour",), processes=1, **options)
        return report, collection.status(), len(collection)


def refuse(monkeypatch, call: str, name: bytes, number: int) -> None:
    """Let the system refuse one name (root may list everything, so permissions do not help)."""
    real = os.scandir

    class Entry:
        def __init__(self, entry):
            self.name, self.path, self.is_symlink = entry.name, entry.path, entry.is_symlink
            self.real = entry

        def stat(self):
            if call == "stat" and self.path.endswith(name):
                raise OSError(number, os.strerror(number))
            return self.real.stat()

    class Listing:
        def __init__(self, where):
            if call == "scandir" and where.endswith(name):
                raise OSError(number, os.strerror(number))
            with real(where) as listing:
                self.entries = [Entry(entry) for entry in listing]

        def __enter__(self):
            return iter(self.entries)

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(scanning, "os", SimpleNamespace(**{**vars(os), "scandir": Listing}))


@pytest.mark.parametrize(("call", "number"), [("scandir", errno.EACCES), ("stat", errno.EIO)])
def test_a_folder_that_cannot_be_listed_keeps_its_pictures(folder, monkeypatch, call, number):
    refuse(monkeypatch, call, b"sub", number)
    report, status, findable = index(folder)
    assert (report.removed, report.unreachable, findable) == (0, 11, 31)
    assert (status["unreachable"], status["items"]["indexed"]) == (11, 31)
    where = "sub" if call == "scandir" else "."
    assert status["unreachable_folders"] == [f"{where}: {os.strerror(number)}"]
    assert report.unreadable_folders == status["unreachable_folders"]
    monkeypatch.undo()
    report, status, findable = index(folder)
    assert (status["unreachable"], status["unreachable_folders"], findable) == (0, [], 31)


def test_files_that_are_really_gone_leave_beside_a_folder_that_cannot_be_listed(
    folder, monkeypatch
):
    sorted(folder.glob("*.jpg"))[0].unlink()
    refuse(monkeypatch, "scandir", b"sub", errno.EIO)
    report, _, findable = index(folder)
    assert (report.removed, report.unreachable, findable) == (1, 11, 30)


def test_a_collection_whose_own_folder_cannot_be_listed_is_left_as_it_is(folder, monkeypatch):
    refuse(monkeypatch, "scandir", os.fsencode(folder), errno.EIO)
    with pytest.raises(DataProblem, match="cannot be reached"):
        index(folder)


@pytest.mark.parametrize("what", ["folder", "file"])
def test_pictures_behind_a_dead_link_stay(folder, what):
    elsewhere = folder.with_name("elsewhere")
    elsewhere.mkdir()
    (folder / "never").symlink_to("nowhere")  # says nothing of any picture: not a word about it
    if what == "folder":
        (folder / "sub").rename(elsewhere / "sub")
        (folder / "sub").symlink_to(elsewhere / "sub")
    else:
        for file in sorted((folder / "sub").glob("*.jpg")):
            file.rename(elsewhere / file.name)
            file.symlink_to(elsewhere / file.name)
    report, _, findable = index(folder)
    assert (report.unreadable_folders, findable) == ([], 31)
    elsewhere.rename(folder.with_name("away"))
    report, status, findable = index(folder)
    assert (report.removed, report.unreachable, findable) == (0, 11, 31)
    assert len(status["unreachable_folders"]) == (1 if what == "folder" else 11)
    assert not any("never" in line for line in status["unreachable_folders"])


@pytest.mark.parametrize("left", ["an empty folder", "another disk", "nothing"])
def test_pictures_of_a_disk_that_is_away_stay(folder, disk, left):
    """A link leads to the disk, so that no test needs to mount one."""
    usb = folder / "usb"
    shutil.move(folder / "sub", disk / "sub")
    usb.symlink_to(disk)
    index(folder)
    usb.unlink()
    if left == "an empty folder":
        usb.mkdir()
    elif left == "another disk":
        usb.mkdir()
        shutil.copy(sorted(folder.glob("*.jpg"))[0], usb / "other.jpg")
    new = int(left == "another disk")
    for _ in range(2):  # the second scan has not forgotten that there was a disk
        report, status, findable = index(folder)
        assert (report.removed, report.unreachable, findable) == (0, 11, 31 + new)
        assert "usb: The disk that was here is away" in status["unreachable_folders"][0]
    report, status, findable = index(folder, accept_missing=True)
    assert (report.removed, report.unreachable, findable) == (11, 0, 20 + new)
    assert index(folder)[1]["unreachable_folders"] == []


def test_a_disk_with_a_new_number_is_the_same_disk(folder, disk, tmp_path):
    """Where some of its pictures are there, those that are not were deleted."""
    shutil.move(folder / "sub", disk / "sub")
    usb = folder / "usb"
    usb.symlink_to(disk)
    index(folder)
    usb.unlink()
    shutil.copytree(disk, usb)  # copies keep their times, so the same files on another device
    sorted((usb / "sub").iterdir())[0].unlink()
    report, _, findable = index(folder)
    assert (report.removed, report.unreachable, findable) == (1, 0, 30)


def test_waiting_pictures_out_of_reach_go_on_waiting(folder):
    with likewise.open(folder, write=True) as collection:
        segments = collection.store.segments
        segments.set_aside(segments.contents("colour").tolist())
        assert collection.status()["waiting"] == 31
    hidden = folder / "sub"
    target = folder.with_name("target")
    hidden.rename(target)
    hidden.symlink_to(folder.with_name("nowhere"))
    report, status, _ = index(folder)
    assert (report.problems, status["items"]["problem"]) == (0, 0)
    hidden.unlink()
    target.rename(hidden)
    assert index(folder)[2] == 31


def test_a_folder_with_another_name_needs_no_question(folder):
    (folder / "sub").rename(folder / "other")
    report, _, findable = index(folder)
    assert (report.renamed, report.removed, findable) == (11, 0, 31)


def test_a_fifth_of_a_collection_is_not_let_go_without_a_question(folder):
    for file in sorted((folder / "sub").iterdir()):
        file.unlink()
    with pytest.raises(DataProblem, match="11 of them are missing; nothing was changed"):
        index(folder)
    assert index(folder, accept_missing=True)[0].removed == 11
