"""Several folders, on any drive, in one collection."""

from __future__ import annotations

import os
import shutil

import pytest
from typer.testing import CliRunner

import likewise
from likewise.cli import app
from likewise.datasets import swatches
from likewise.intake import scanning
from likewise.types import BadInput, NotFound

FEATURES = ("colour",)


@pytest.fixture
def two(tmp_path):
    """A collection of 15 pictures, and 15 others in another place."""
    every = tmp_path / "every"
    swatches(30, size=48, seed=5).write(every, jobs=1)
    own, other = tmp_path / "own", tmp_path / "drive" / "photos"
    own.mkdir()
    (other / "deep").mkdir(parents=True)
    for at, file in enumerate(sorted(every.glob("*.jpg"))):
        file.rename((own if at < 15 else other if at < 25 else other / "deep") / file.name)
    return own, other


def index(collection, **options):
    return collection.index(features=FEATURES, processes=1, **options)


def test_pictures_of_both_are_found_shown_with_their_root_and_opened(two):
    own, other = two
    with likewise.open(own, create=True) as collection:
        index(collection)
        collection.add(other)
        report = index(collection)
        assert (report.new, len(collection)) == (15, 30)
        assert collection.status()["roots"] == [str(own), str(other)]
        name = f"{other}/swatch-0020.jpg"
        item = collection.item(name)
        assert item.file == name
        assert collection.file(item.id).read_bytes() == (other / "swatch-0020.jpg").read_bytes()
        assert collection.search(name, k=3).ids.size == 3
        assert collection.thumbnail(item.id)[:2] == b"\xff\xd8"
        assert index(collection).new == 0
        deep = [collection.item(f"{other}/deep/{f}") for f in sorted(os.listdir(other / "deep"))]
        assert len(deep) == 5


def test_a_drive_that_is_away_keeps_its_pictures(two, tmp_path):
    own, other = two
    with likewise.open(own, create=True) as collection:
        collection.add(other)
        index(collection)
        (tmp_path / "drive").rename(tmp_path / "away")
        report = index(collection)
        assert (report.unreachable, report.removed, len(collection)) == (15, 0, 30)
        assert str(other) in report.unreadable_folders[0]
        other.mkdir(parents=True)  # the empty folder where it was mounted
        stat = os.stat
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                scanning.os,
                "stat",
                lambda path, **how: _on_another_disk(stat(path, **how), path, other),
            )
            assert index(collection).unreachable == 15
        shutil.rmtree(tmp_path / "drive")
        (tmp_path / "away").rename(tmp_path / "drive")
        report = index(collection)
        assert (report.unreachable, report.embedded, report.new) == (0, 0, 0)


def _on_another_disk(facts, path, root):
    if path != os.fsencode(root):
        return facts
    return os.stat_result([*facts[:2], facts.st_dev + 1, *facts[3:]])


def test_a_drive_that_comes_back_elsewhere_is_known_by_its_contents(two, tmp_path):
    own, other = two
    with likewise.open(own, create=True) as collection:
        collection.add(other)
        index(collection)
        item = collection.item(f"{other}/swatch-0020.jpg").id
        collection.mark(1, [item])
        (tmp_path / "drive").rename(tmp_path / "mnt")
        index(collection)
        moved = tmp_path / "mnt" / "photos"
        collection.add(moved)
        report = index(collection)
        assert (report.renamed, report.embedded, report.unreachable) == (15, 0, 0)
        assert len(collection) == 30
        assert collection.item(item).file == f"{moved}/swatch-0020.jpg"
        assert collection.status()["roots"] == [str(own), str(moved)]
        assert collection.status()["unreachable"] == 0


def test_one_that_is_gone_for_good_can_be_left(two):
    own, other = two
    with likewise.open(own, create=True) as collection:
        collection.add(other)
        index(collection)
        shutil.rmtree(other)
        assert index(collection).unreachable == 15
        report = index(collection, accept_missing=True)
        assert (report.removed, len(collection)) == (15, 15)
        assert collection.status()["roots"] == [str(own)]


def test_one_that_was_added_is_removed_and_comes_back_with_its_marks(two, tmp_path):
    own, other = two
    (other / "broken.jpg").write_bytes(b"no picture")
    with likewise.open(own, create=True) as collection:
        collection.add(other)
        index(collection)
        item = collection.item(f"{other}/swatch-0020.jpg").id
        asked = collection.item("swatch-0001.jpg").id
        collection.mark(asked, [item])
        with pytest.raises(NotFound, match="was not added"):
            collection.remove(own)
        (tmp_path / "drive").rename(tmp_path / "away")  # also while it is out of reach
        assert index(collection).unreachable == 16
        assert collection.remove(other) == 16
        assert (len(collection), collection.status()["roots"]) == (15, [str(own)])
        assert not collection.problems()
        told = collection.status()
        assert (told["unreachable"], told["unreachable_folders"]) == (0, [])
        assert not any(p.startswith("/") for p in collection.search(asked, k=30).paths)
        with pytest.raises(NotFound, match="no folder was"):
            collection.remove(other)
        report = index(collection)
        assert (report.removed, report.unreachable, report.unreadable_folders) == (0, 0, [])
        (tmp_path / "away").rename(tmp_path / "drive")
        collection.add(other)
        report = index(collection)
        assert (report.embedded, len(collection)) == (0, 30)  # nothing is described again
        assert collection.item(f"{other}/swatch-0020.jpg").id == item
        assert collection.search(asked, k=3).marks == 1


def test_a_folder_whose_name_another_begins_with_stays(two, tmp_path):
    own, other = two
    beside = other.with_name(other.name + "2")
    shutil.copytree(other / "deep", beside)
    with likewise.open(own, create=True) as collection:
        collection.add(other)
        collection.add(beside)
        index(collection)
        assert collection.remove(other) == 15
        assert index(collection).removed == 0
        assert collection.status()["roots"] == [str(own), str(beside)]
        assert len(collection) == 20


def test_a_drive_pulled_out_in_the_middle_makes_nothing_unreadable(two, tmp_path, monkeypatch):
    own, other = two
    with likewise.open(own, create=True) as collection:
        index(collection)
        collection.add(other)
        walk = scanning._walk

        def pulled(*given):
            for at, seen in enumerate(walk(*given)):
                if at == 4 and given[1]:
                    (tmp_path / "drive").rename(tmp_path / "away")
                yield seen

        with monkeypatch.context() as patch:
            patch.setattr(scanning, "_walk", pulled)
            report = index(collection)
        assert (report.problems, report.embedded, len(collection)) == (0, 0, 15)
        assert report.unreachable > 0
        (tmp_path / "away").rename(tmp_path / "drive")
        assert index(collection).embedded == 15
        assert not collection.problems()


def test_the_same_folder_twice_or_one_inside_another_is_refused(two, tmp_path):
    own, other = two
    link = tmp_path / "link"
    link.symlink_to(other)
    with likewise.open(own, create=True) as collection:
        collection.add(other)
        for bad, says in (
            (own, "already"), (other, "already"), (link, "already"), (f"{other}/.", "already"),
            (other / "deep", "inside"), (other.parent, "twice"), (tmp_path, "twice"),
        ):  # fmt: skip
            with pytest.raises(BadInput, match=says):
                collection.add(bad)
        with pytest.raises(NotFound):
            collection.add(tmp_path / "none")
        assert len(collection.status()["roots"]) == 2
        (own / "shortcut").symlink_to(other)  # leads to what is there already
        assert index(collection).new == 30


def test_by_command_a_folder_is_added_and_indexed(two):
    own, other = two
    run = CliRunner().invoke
    assert run(app, ["index", str(own), "--features", "colour"]).exit_code == 0
    told = run(app, ["add", str(other), "--collection", str(own)])
    assert told.exit_code == 0, told.output
    assert "15 new pictures" in told.output
    assert run(app, ["add", str(other), "--collection", str(own)]).exit_code == 2
    assert str(other) in run(app, ["status", "--collection", str(own)]).output
    assert run(app, ["remove", str(own), "--collection", str(own), "--json"]).exit_code != 0
    told = run(app, ["remove", str(other), "--collection", str(own)])
    assert (told.exit_code, "15 pictures are searched no more" in told.output) == (0, True)
    assert run(app, ["remove", str(other), "--collection", str(own)]).exit_code != 0


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_card_of_one_name_pattern_is_scanned(two, count):
    own, other = two
    for at in range(count):
        (other / f"DSC{at % 10_000:05d}.JPG").write_bytes(b"\xff\xd8\xff" + at.to_bytes(4, "big"))
    found = scanning.scan(os.fsencode(own), None, [os.fsencode(other)])
    assert len(found.files) == 30 + count
    assert len({f.path for f in found.files}) == 30 + count
