"""The experiments of teaching at toy size: the rows that they promise, and what must hold."""

from __future__ import annotations

import numpy as np

from experiments import carry_over, marks, taught_swatches
from experiments.report import Report


def test_marks_has_every_method_at_every_number_of_marks(capsys):
    report = Report("marks", quick=True)
    marks.main(report)
    methods = {"plain", "rocchio", "mean difference", "svm", "rerank 100", "ours"}
    for count, space in {(row["marks"], row["space"]) for row in report.rows}:
        own = [row for row in report.rows if (row["marks"], row["space"]) == (count, space)]
        rows = {row["method"]: row for row in own}
        assert methods <= set(rows)
        assert rows["ours"]["residual_map"] > rows["plain"]["residual_map"]
        assert all(0 < row["p_value"] <= 1 for name, row in rows.items() if name != "ours")
    assert {"residual_map", "p1", "p10"} <= set(report.rows[0])


def test_carry_over_has_every_method_in_both_spaces_and_teaches(capsys):
    report = Report("carry_over", quick=True, settings={"forms": True})
    carry_over.main(report)
    for space in ("codes", "phi"):
        rows = [row for row in report.rows if row["space"] == space]
        plain = rows[0]
        assert plain["method"] == "plain"
        for count in {row["marks"] for row in rows} - {0}:
            own = {row["method"]: row for row in rows if row["marks"] == count}
            assert {
                "oasis",
                "before",
                "ours",
                "ours-local",
                "ours-tastes",
                "diagonal",
                "auto",
            } <= set(own)
            assert own["ours"]["map"] > own["before"]["map"] > plain["map"]
            assert own["ours"]["p1"] > plain["p1"]
            assert own["ours"]["p_value"] < 0.01
        assert own["ours-local"]["map"] > own["ours"]["map"]
    about = {"data", "intent", "space", "marks", "mistakes", "method", "map", "p1", "p10"}
    assert about <= set(report.rows[-1])


def test_mistakes_turn_marks_round(capsys):
    (person,) = carry_over.persons(Report("carry_over", quick=True))
    right, wrong = (carry_over.teach(person, 20, mistakes, 0) for mistakes in (0.0, 0.05))
    assert np.array_equal(right.shown, wrong.shown)
    assert 0 < (right.good != wrong.good).mean() < 0.15


def test_taught_swatches_draws_both_sheets(tmp_path, capsys):
    report = Report("taught_swatches", quick=True, settings={"out": str(tmp_path)})
    taught_swatches.main(report)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["taught-after.jpg", "taught-before.jpg"]
    gain = {}
    for kind in ("colour", "motif"):
        rows = {row["method"]: row for row in report.rows if row["by"] == kind}
        gain[kind] = rows["taught"]["map"] - rows["plain"]["map"]
    assert np.mean(list(gain.values())) > 0
