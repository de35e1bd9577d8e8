"""The top-precision experiments and their benchmark run at toy size and print what they should."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import top_precision as benchmark
from experiments import mtps_mnist, mtps_photos
from experiments.kept import cache_folder
from experiments.photo_features import photo_features, photos
from experiments.report import Report
from experiments.top_precision_contest import METHODS
from likewise.features import DEFAULT


@pytest.fixture(scope="module")
def mnist():
    report = Report("mtps_mnist", quick=True)
    mtps_mnist.main(report)
    return report.rows


def test_mnist_has_a_row_a_method(mnist):
    rows = {row["method"]: row for row in mnist if "split" in row}
    assert list(rows) == ["cosine", *METHODS]
    for row in rows.values():
        assert 0 <= row["top_precision"] <= 1
        assert {"map", "p1", "seconds"} <= set(row)


def test_mnist_is_deterministic(mnist):
    again = Report("mtps_mnist", quick=True)
    mtps_mnist.main(again)
    for first, second in zip(mnist, again.rows):
        assert first.get("top_precision") == second.get("top_precision")


def test_every_method_tries_as_many_settings():
    served, _ = METHODS["mtps-served"]
    counts = {len(tried) for name, (_, tried) in METHODS.items() if name != "mtps-served"}
    assert counts == {len(served.C) * len(served.lam)}


def test_parts_of_a_split_are_disjoint():
    rows = np.arange(100)
    split = mtps_photos.make_split(
        {"deep": np.random.default_rng(0).normal(size=(100, 5))}, rows, (20, 10, 30), 0
    )
    parts = [split.item_labels, split.train[1], split.validation[1], split.test[1]]
    assert sorted(np.concatenate(parts)) == list(rows)


def test_photos_names_the_missing_sets_and_runs_on_swatches(capsys):
    report = Report("mtps_photos", quick=True)
    mtps_photos.main(report)
    assert "Caltech256" in capsys.readouterr().out
    assert {row["paper"] for row in report.rows if "paper" in row} == {0.18, 0.16}
    assert {row["method"] for row in report.rows if "split" in row} == {"cosine", *METHODS}


def test_quick_features_follow_the_pictures_and_keep_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path))
    report = Report("x", quick=True)
    blocks = photo_features("corel5k", report, DEFAULT[2:])
    assert {len(rows) for rows in blocks.values()} == {len(photos("corel5k", report).labels)}
    assert cache_folder() == tmp_path
    assert not list(tmp_path.iterdir())


def test_benchmark_prints_growth_a_peer_and_search():
    report = Report("top_precision", quick=True)
    benchmark.main(report)
    by_method = {row["method"] for row in report.rows}
    assert {"exact", "growth", "search, plain", "search, full", "fig2, oasis"} <= by_method
    assert all(row["gap"] <= 1e-2 for row in report.rows if "gap" in row)
    assert [row["ratio"] for row in report.rows if row.get("peer") == "clarabel"]
