"""Benchmarks of the collection run at toy size."""

from __future__ import annotations

import pytest

from benchmarks import after_a_mark, feel, ingest, words
from experiments.report import Report


@pytest.mark.slow
def test_ingest(tmp_path):
    report = Report("ingest", quick=True)
    ingest.main(report)
    peers = [row for row in report.rows if row["method"] == "bare loop"]
    ours = [row for row in report.rows if row["method"] == "likewise"]
    assert [row["processes"] for row in ours] == [row["processes"] for row in peers] == [1, 2]
    for row in ours:
        assert (row["items"], row["decoded_again"]) == (20, 0)
        assert row["ratio"] > 0
        assert row["rss_mib"] > 0
    stages = {row["stage"] for row in report.rows if row["method"] == "stage"}
    assert {"read", "hash", "decode", "thumbnail", "features"} <= stages


def test_feel():
    report = Report("feel", quick=True)
    feel.main(report)
    told = {row["what"]: row for row in report.rows}
    assert set(feel.GOALS) - set(told) == {"growth, neighbours", "growth, duplicates"}
    assert told["statements"]["ratio"] <= feel.GOALS["statements"]
    assert told["lost pairs of duplicates"]["ratio"] == 0
    feel.growth(report, {"neighbours": {100: 1.0, 10_000: 100.0}})
    assert report.rows[-1]["ratio"] == pytest.approx(1.0)


# These stand above their goals, as docs/operations.md says, and are held where they are.
MISSED = {"Python call": 10.0, "HTTP": 6.0, "index, plain query": 3.0}


@pytest.mark.slow
def test_nothing_a_person_feels_takes_twice_its_goal():
    report = Report("feel", settings={"items": [10_000, 100_000]})
    feel.main(report)
    slow = [
        row
        for row in report.rows
        if row["goal"] and row["ratio"] > 2 * MISSED.get(row["what"], row["goal"])
    ]
    assert not slow


def test_after_a_mark():
    report = Report("after_a_mark", quick=True)
    after_a_mark.main(report)
    assert {row["method"] for row in report.rows} >= {"plain", "after a mark", "after an undo"}
    assert all(row["cpu_ms"] > 0 for row in report.rows)


def test_words():
    report = Report("words", quick=True)
    words.main(report)
    assert [row["method"] for row in report.rows] == [
        "load the table",
        "picture",
        "word",
        "two words",
    ]
    assert all(row["cpu_ms"] > 0 for row in report.rows)
