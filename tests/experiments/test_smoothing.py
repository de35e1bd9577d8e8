"""The experiment on neighbours runs at toy size and tells every way beside plain codes."""

from __future__ import annotations

from experiments import smoothing
from experiments.report import Report


def test_every_way_stands_beside_codes_as_they_are(capsys):
    report = Report("smoothing", quick=True)
    smoothing.main(report)
    assert [row["k"] for row in report.rows] == [0, 3, 0, 5]
    for row in report.rows:
        assert 0 < row["map"] < 1
        assert (row["k"] == 0) == ("kept" not in row)
        assert row.get("kept", 0.5) < 1
