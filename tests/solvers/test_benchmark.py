"""The benchmark of the ranking solver runs at toy size, and its rows say what they promise."""

from __future__ import annotations

from benchmarks import ranking
from experiments.report import Report


def test_quick_benchmark_reaches_its_gap():
    report = Report("ranking", quick=True)
    ranking.main(report)
    assert all(row["gap"] <= 1.001e-5 for row in report.rows)
    peers = {row["peer"] for row in report.rows if "ratio" in row}
    assert {"liblinear", "osqp", "clarabel"} <= peers
    assert any("per_second" in row for row in report.rows)
