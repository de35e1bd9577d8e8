"""Benchmarks of the collection run at toy size."""

from __future__ import annotations

from benchmarks import after_a_mark, cold, ingest, words
from experiments.report import Report


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


def test_cold():
    report = Report("cold", quick=True)
    cold.main(report)
    assert report.rows[0]["ratio"] > 0
    assert report.rows[1]["p50_ms"] > 0


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
