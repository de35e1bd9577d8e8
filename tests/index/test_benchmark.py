"""The benchmark runs at toy size and says what it promises to say."""

from __future__ import annotations

import pytest

from benchmarks.index import main
from experiments.report import Report


def test_quick_run() -> None:
    report = Report("index", quick=True, settings={"hnsw": True})
    main(report)
    beside = [row for row in report.rows if "peer" in row]
    assert {(row["peer"], row["batch"]) for row in beside} == {
        (peer, batch) for peer in ("faiss flat", "faiss ivf") for batch in (1, 100)
    }
    for row in beside:
        assert row["overlap"] == 1.0
        assert row["ratio"] == pytest.approx(row["p50_ms"] / row["peer_ms"])
    kinds = [row for row in report.rows if "recall" in row]
    assert len(kinds) == 12
    for row in kinds:
        assert row["recall"] >= (0.8 if "hnsw" in row["method"] else 0.97)
        assert row["p50_ms"] > 0
