"""The experiments of teaching at toy size: the rows that they promise, and what must hold."""

from __future__ import annotations

import numpy as np

from experiments import carry_over, marks, taught_swatches
from experiments.report import Report


def test_marks_has_every_method_at_every_number_of_marks(capsys):
    report = Report("marks", quick=True)
    marks.main(report)
    methods = {"plain", "rocchio", "mean difference", "svm", "rerank 100", "ours"}
    for count in {row["marks"] for row in report.rows}:
        rows = {row["method"]: row for row in report.rows if row["marks"] == count}
        assert methods <= set(rows)
        assert rows["ours"]["residual_map"] > rows["plain"]["residual_map"]
        assert all(0 < row["p_value"] <= 1 for name, row in rows.items() if name != "ours")
    assert {"residual_map", "p1", "p10"} <= set(report.rows[0])


def test_carry_over_says_what_the_guard_says(capsys):
    report = Report("carry_over", quick=True)
    carry_over.main(report)
    ours = {row["taught"]: row for row in report.rows if row["method"] == "ours"}
    few, many = min(ours), max(ours)
    assert not ours[few]["activated"]
    assert "too few" in ours[few]["guard"]
    assert ours[few]["needed"] > 0
    assert ours[many]["activated"]
    plain = report.rows[0]
    assert ours[many]["map"] > plain["map"]


def test_taught_swatches_draws_both_sheets(tmp_path, capsys):
    report = Report("taught_swatches", quick=True, settings={"out": str(tmp_path)})
    taught_swatches.main(report)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["taught-after.jpg", "taught-before.jpg"]
    gain = {}
    for kind in ("colour", "motif"):
        rows = {row["method"]: row for row in report.rows if row["by"] == kind}
        gain[kind] = rows["taught"]["map"] - rows["plain"]["map"]
    assert np.mean(list(gain.values())) > 0
