"""The experiment on offers runs at toy size and tells every column of the issue."""

from __future__ import annotations

from experiments import offered
from experiments.report import Report


def test_offered():
    report = Report("offered", quick=True)
    offered.main(report)
    rows = [row for row in report.rows if "least" not in row]
    assert {row["method"] for row in rows} == {"ours", "nearest", "refused"}
    wanted = {"data", "queries", "offered", "fit", "recall", "p50_ms"}
    assert all(wanted <= set(row) for row in rows)
    curve = [row for row in report.rows if "least" in row]
    assert len(curve) == len(offered.CURVE)
    recall = [row["recall"] for row in curve]
    assert recall[0] >= recall[-1]
