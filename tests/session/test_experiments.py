"""The experiments and the benchmark of target search, at toy size."""

from __future__ import annotations

import pytest

from benchmarks import metric_recall
from benchmarks import round as benchmark
from experiments import drags, han_corel, kept_sessions, layout_quality
from experiments.report import Report
from experiments.session_controls import at_random


def toy(name: str, tmp_path) -> Report:
    return Report(name, quick=True, settings={"out": str(tmp_path)})


def test_a_round_is_measured_step_by_step(tmp_path):
    report = toy("round", tmp_path)
    benchmark.main(report)
    (row,) = report.rows
    assert row["p50_ms"] <= row["p99_ms"]
    steps = row["learn_ms"] + row["match_ms"] + row["layout_ms"]
    assert 0 < steps < 1.5 * row["p99_ms"]
    assert row["ratio"] == pytest.approx(row["p50_ms"] / row["peer_ms"])


def test_the_approximate_path_is_measured_on_learned_metrics(tmp_path):
    report = toy("metric_recall", tmp_path)
    metric_recall.main(report)
    recall = {row["method"]: row["recall"] for row in report.rows}
    assert recall["flat"] > 0.99
    assert 0.5 < recall["faiss, cells"] <= 1


def test_the_board_covers_less_than_smacof(tmp_path):
    report = toy("layout_quality", tmp_path)
    layout_quality.main(report)
    rows = {row["method"]: row for row in report.rows}
    assert rows["board (default)"]["overlap"] < rows["smacof"]["overlap"]
    assert rows["board on a grid"]["overlap"] == pytest.approx(0, abs=1e-9)
    assert (tmp_path / "board.jpg").exists()


def test_searches_of_every_method_are_counted(tmp_path):
    report = toy("han_corel", tmp_path)
    han_corel.main(report)
    methods = {row["method"] for row in report.rows}
    assert methods >= {"as in the paper", "ranking-SVM", "random", "uniform weights"}
    assert any("default" in method for method in methods)
    assert all(row["low"] <= row["found10"] <= row["high"] for row in report.rows)
    assert at_random(101, 10, sessions=4000, most=10).share(5) == pytest.approx(0.5, abs=0.03)
    assert (tmp_path / "han_fig3.png").exists()
    assert (tmp_path / "han_fig4.png").exists()


def test_what_a_person_does_beside_choosing_is_compared_search_by_search(tmp_path):
    report = toy("drags", tmp_path)
    drags.main(report)
    rows = [row for row in report.rows if row["start"] == "all"]
    assert len(rows) == 2 * len(drags.PERSONS) * len(drags.METHODS)
    for row in rows:
        assert 1 <= row["rounds"] <= drags.MOST + 1
        if row["method"] == "choose":
            assert (row["saved"], row["p_value"]) == (0, 1)
            assert row["gestures"] <= row["rounds"]
    parts = [row for row in report.rows if row["start"] != "all"]
    assert sum(row["searches"] for row in parts) == sum(row["searches"] for row in rows)


def test_kept_sessions_are_compared_pair_by_pair(tmp_path):
    report = toy("kept_sessions", tmp_path)
    kept_sessions.main(report)
    assert [row["kept"] > 0 for row in report.rows] == [False, True, False, True, True, True]
    assert all(0 < row["p_value"] <= 1 for row in report.rows if row["kept"])
    plain, senseless = report.rows[0], report.rows[4]
    assert not senseless["believed"]  # and so nothing changes
    assert senseless["rounds"] == plain["rounds"]
