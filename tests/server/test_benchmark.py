"""The benchmark runs at toy size: no 5xx, answers from published generations."""

from __future__ import annotations

from benchmarks.server import main
from experiments.report import Report


def test_the_benchmark_runs():
    report = Report("server", quick=True)
    main(report)
    assert [r["method"] for r in report.rows] == ["in process", "http", "http, idle", "http, busy"]
    assert all(r["p50_ms"] > 0 for r in report.rows)
