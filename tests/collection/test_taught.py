"""What was taught is kept in mind: only what is new is read, and an undo rereads one query."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

import likewise
from likewise.store.catalogue import Catalogue
from likewise.types import Judgement, QueryRef


@pytest.fixture
def steps(monkeypatch):
    """Steps of SQLite's machine on connections that read, so that what is walked is counted."""
    counted = [0]
    connect = Catalogue._connect

    def tick() -> int:
        counted[0] += 1
        return 0

    def watched(self, uri: str) -> sqlite3.Connection:
        db = connect(self, uri)
        db.set_progress_handler(tick, 1)
        return db

    monkeypatch.setattr(Catalogue, "_connect", watched)
    return counted


def say(collection, marks: int, clicks: int) -> None:
    """So many marks and clicks on queries other than the first item."""
    paths = [collection.item(i).file for i in range(1, 49)]
    said = [
        Judgement(QueryRef("item", paths[2 + n % 40]), (paths[(7 * n + 5) % 48],), "label", n % 2)
        for n in range(marks)
    ]
    said += [
        Judgement(QueryRef("item", paths[0]), (paths[n % 48],), "click") for n in range(clicks)
    ]
    collection.log.add(said)


def walked(collection, steps) -> int:
    before = steps[0]
    collection.search(1, k=5)
    return steps[0] - before


@pytest.mark.parametrize("act", ["mark", "undo"])
def test_the_search_after_a_mark_reads_only_what_is_new(steps, folder, act):
    counts = []
    for marks, clicks in ((20, 0), (2_000, 2_000)):
        with likewise.open(folder, write=True) as collection:
            say(collection, marks, clicks)
            record = collection.mark(1, [3])[0]
            collection.search(1)
            if act == "mark":
                collection.mark(1, [4])
            else:
                collection.undo(record)
            counts.append(walked(collection, steps))
    assert counts[1] < counts[0] * 1.2 + 20


def test_a_process_that_starts_does_not_walk_clicks(steps, folder):
    counts = []
    with likewise.open(folder, write=True) as collection:
        say(collection, 50, 0)
    for clicks in (0, 3_000):
        with likewise.open(folder, write=True) as collection:
            say(collection, 0, clicks)
        with likewise.open(folder) as collection:
            counts.append(walked(collection, steps))
    assert counts[1] < counts[0] * 1.2 + 20


def test_marks_kept_in_mind_are_those_of_the_log(collection):
    query = collection.query(1)
    records = collection.mark(query, [2, 3, 4])
    other = collection.mark(collection.query(text="red"), [5])
    assert collection.teaching.marks(query) == {2: 1.0, 3: 1.0, 4: 1.0}
    collection.mark(query, [3], False)
    undo = collection.log.undo(records[0])
    assert collection.teaching.marks(query) == {3: 0.0, 4: 1.0}
    collection.log.undo(undo)
    collection.undo(other[0])
    assert collection.teaching.marks(query) == {2: 1.0, 3: 0.0, 4: 1.0}
    assert set(collection.teaching.taught.queries()) == {("look", "item:1")}
    with contextlib.suppress(ZeroDivisionError), collection.transaction():
        collection.mark(query, [7])
        assert 7 in collection.teaching.marks(query)
        raise ZeroDivisionError
    assert 7 not in collection.teaching.marks(query)
    assert collection.mark(query, [8])
    assert set(collection.teaching.marks(query)) == {2, 3, 4, 8}


def test_another_process_sees_what_was_said_meanwhile(collection, folder):
    with likewise.open(folder) as reader:
        assert reader.teaching.marks(reader.query(1)) == {}
        record = collection.mark(1, [2, 3])[0]
        assert reader.teaching.marks(reader.query(1)) == {2: 1.0, 3: 1.0}
        collection.undo(record)
        assert reader.teaching.marks(reader.query(1)) == {3: 1.0}


def test_the_last_one_that_counts_is_taken_back(collection):
    first, second = collection.mark(1, [2, 3])
    collection.click(1, 4)
    for _ in range(120):
        collection.undo(collection.click(1, 5))
    assert collection.undo() == second + 1
    assert [collection.undo(), collection.undo()] == [second, first]
    with pytest.raises(likewise.types.NotFound):
        collection.undo()
