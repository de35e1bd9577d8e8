"""The buildings experiment and the benchmark of the inverted file, at toy size."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import inverted
from experiments import qin_buildings
from experiments.qin_buildings import PAPER, Set, average_precision, top_four
from experiments.report import Report


def test_every_method_is_measured_in_both_worlds() -> None:
    report = Report("qin_buildings", quick=True, settings={"splits": 1})
    qin_buildings.main(report)
    for world in ("alone", "distractors", "alone bursty", "distractors bursty"):
        rows = {r["method"]: r for r in report.rows if r["world"] == world}
        assert set(PAPER) < set(rows)
        assert sum(rows[name]["wins"] for name in PAPER) == 1
        assert all(0 < r["map"] <= 1 and 0 <= r["top4"] <= 4 for r in rows.values())
        assert "binary idf" in rows
        assert {"table n=1", "table n=2", "table n=3"} < set(rows)
    clear = [r for r in report.rows if r["world"] == "alone"]
    assert all(r["map"] > 0.5 for r in clear)  # one view in sixteen objects is far below
    bursty = {r["method"]: r["map"] for r in report.rows if r["world"] == "distractors bursty"}
    assert bursty["learned table"] > bursty["tf-idf cosine"]


def test_measures_are_those_of_a_sorted_list() -> None:
    rng = np.random.default_rng(0)
    labels = np.r_[np.repeat(np.arange(6), 4), np.full(10, -1)]
    scores = rng.integers(0, 5, (24, 34)).astype(float)  # many ties
    queries = np.arange(24)
    found = []
    for row, q in zip(scores, queries):
        order = [i for i in np.argsort(-row, kind="stable") if i != q]
        good = np.flatnonzero(labels[order] == labels[q])
        found.append(np.mean(np.arange(1, 4) / (good + 1)))
    assert average_precision(scores, labels, queries)[0] == pytest.approx(np.mean(found))
    perfect = (labels[:24, None] == labels[None]).astype(float)
    assert average_precision(perfect, labels, queries) == (1.0, 1.0)
    assert top_four(perfect, labels, queries) == 4
    lonely = Set(None, np.array([0, 0, 1, -1]))  # type: ignore[arg-type]
    assert lonely.queries.tolist() == [0, 1]


def test_the_benchmark_compares_exact_engines() -> None:
    report = Report("inverted", quick=True)
    inverted.main(report)
    assert {r["recall"] for r in report.rows if "recall" in r} == {1.0}
    assert all(r["bytes_per_posting"] < 6 for r in report.rows if "bytes_per_posting" in r)
    assert {r["peer"] for r in report.rows if "peer" in r} == {"qdrant-edge", "scipy CSR"}
