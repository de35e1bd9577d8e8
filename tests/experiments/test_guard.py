"""The experiment on the guard at toy size: its rows, and what must hold."""

from __future__ import annotations

from experiments import guard
from experiments.report import Report


def test_better_models_pass_and_worse_ones_do_not(capsys):
    report = Report("guard", quick=True)
    guard.main(report)
    rows = [row for row in report.rows if "rule" in row]
    assert {row["rule"] for row in rows} == {"before", "disagreement"}
    assert {row["pressed"] for row in rows} == {"once", "every-10"}
    assert {row["queries"] for row in rows} == set(guard.SIZES)
    end = {
        row["model"]: row
        for row in rows
        if (row["rule"], row["pressed"], row["queries"]) == ("disagreement", "every-10", 200)
    }
    assert len(end) == 10
    for model, row in end.items():
        if row["true_map"] > 0.05:
            assert row["passed"] == 1, model
        if model == "null" or row["true_map"] < -0.01:
            assert row["passed"] <= 0.15, model  # of 40 replicates
        assert 0 <= row["asked"] < 100
    assert {row["which"] for row in report.rows if "which" in row} <= {"all", "passed", "refused"}
