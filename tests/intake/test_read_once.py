"""A file is read once: its digest, its vectors and its facts are of the same bytes."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

import likewise
from likewise.datasets import swatches
from likewise.intake import ingest, workers
from likewise.intake.workers import Task, describe, digest_of, short
from tests.intake.test_decoding import photo


@pytest.fixture
def folder(tmp_path) -> Path:
    top = tmp_path / "pictures"
    swatches(20, size=48, seed=1).write(top, jobs=1)
    return top


def index(folder: Path, processes: int = 1, **options):
    with likewise.open(folder, create=True) as collection:
        report = collection.index(features=("colour",), processes=processes, **options)
        names = [i.path.decode() for i in collection.items.many(range(1, 100))]
        return report, names


def test_the_parent_reads_no_file_and_ids_follow_the_scan(folder, monkeypatch):
    def refuse(path):
        raise AssertionError(f"the parent read {path}")

    monkeypatch.setattr(ingest, "digest_of", refuse)
    report, names = index(folder, processes=2)
    assert (report.embedded, names) == (20, sorted(p.name for p in folder.glob("*.jpg")))


def test_a_child_tells_the_digest_of_what_it_decoded_or_could_not(tmp_path):
    good, bad = tmp_path / "good.jpg", tmp_path / "bad.jpg"
    photo().save(good)
    bad.write_bytes(b"no picture")
    digests = [hashlib.sha256(file.read_bytes()).digest() for file in (good, bad)]
    known = frozenset({short(digests[0])})
    tasks = [Task(0, os.fsencode(good)), Task(1, os.fsencode(bad)), Task(2, b"/nowhere.jpg")]
    tasks.append(Task(3, os.fsencode(good), known=known))
    outcomes = {o.key: o for o in describe(tasks, ["colour"], processes=1)}
    assert [outcomes[key].sha256 for key in range(4)] == [*digests, b"", digests[0]]
    assert [bool(outcomes[key].problem) for key in range(4)] == [False, True, True, False]
    assert [bool(outcomes[key].features) for key in range(4)] == [True, False, False, False]


def test_copies_are_described_once_whichever_came_first(folder, monkeypatch):
    files = sorted(folder.glob("*.jpg"))
    for file in files[:5]:
        shutil.copy(file, folder / f"a copy of {file.name}")
    described = []

    def watched(tasks, *given, **options):
        for outcome in describe(tasks, *given, **options):
            described.append(outcome)
            yield outcome

    monkeypatch.setattr(ingest, "describe", watched)
    report, names = index(folder)
    assert (report.new, report.embedded, len(names)) == (25, 20, 25)
    files[5].rename(folder / "renamed.jpg")
    shutil.copy(files[6], folder / "one more.jpg")
    described.clear()
    report, _ = index(folder)
    assert (report.renamed, report.embedded, len(described)) == (1, 0, 2)
    assert not any(outcome.features for outcome in described)


def test_many_contents_of_one_size_are_told_apart_by_the_parent(folder, monkeypatch):
    for at in range(6):
        photo(40, 30, seed=at).save(folder / f"{at}.bmp")
    index(folder)
    shutil.copy(folder / "3.bmp", folder / "copy.bmp")
    photo(40, 30, seed=9).save(folder / "new.bmp")
    asked = []
    monkeypatch.setattr(ingest, "MANY", 2)
    monkeypatch.setattr(ingest, "digest_of", lambda path: asked.append(path) or digest_of(path))
    report, _ = index(folder)
    assert (report.new, report.embedded, len(asked)) == (2, 1, 2)


def test_what_was_paused_goes_on_without_a_second_read(folder):
    def enough() -> bool:
        enough.left -= 1
        return enough.left < 0

    enough.left = 10
    report, _ = index(folder, should_stop=enough)
    assert (report.finished, report.embedded) == (False, 11)
    report, names = index(folder)
    assert (report.new, report.embedded, len(names)) == (9, 9, 20)


def _crashes(task, gps):
    if task.path.endswith(b"swatch-0003.jpg"):
        os._exit(3)
    return workers.decode_task(task, gps)


def test_a_file_that_crashes_its_child_is_a_known_content_too(folder, monkeypatch):
    def crashing(*given, **options):
        return describe(*given, **options, decoder=_crashes)

    monkeypatch.setattr(ingest, "describe", crashing)
    report, _ = index(folder)
    assert (report.embedded, report.problems) == (19, 1)
    monkeypatch.undo()
    report, _ = index(folder)
    assert (report.new, report.embedded) == (0, 0)
    report, _ = index(folder, retry=True)
    assert (report.embedded, report.problems) == (1, 0)
