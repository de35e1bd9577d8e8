"""The buildings experiment and the benchmark of the inverted file, at toy size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from benchmarks import inverted
from experiments import qin_buildings, qin_marks
from experiments.qin_buildings import PAPER, Set, average_precision, top_four
from experiments.references import label_pairs
from experiments.report import Report
from experiments.rivals.own_words import AbsencesToo, OwnWordsLearner
from likewise.learners.word_table import WordTable
from likewise.spaces import Words


@pytest.mark.slow
def test_every_method_is_measured_in_both_worlds() -> None:
    report = Report("qin_buildings", quick=True, settings={"splits": 1})
    qin_buildings.main(report)
    for world in ("alone", "distractors", "alone bursty", "distractors bursty"):
        rows = {r["method"]: r for r in report.rows if r["world"] == world}
        assert set(PAPER) < set(rows)
        assert sum(rows[name]["wins"] for name in PAPER) == 1
        assert all(0 < r["map"] <= 1 and 0 <= r["top4"] <= 4 for r in rows.values())
        assert "binary idf" in rows
        assert {"table n=1", "table n=2", "table n=3", "prior alone"} < set(rows)
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


def test_words_may_have_a_say_of_their_own_where_they_are_absent() -> None:
    rng = np.random.default_rng(0)
    counts = sparse.csr_array((rng.random((40, 12)) < 0.4).astype(float))
    space = Words(np.ones(12), levels=1, tau="one")
    has = counts.toarray()[:, 0] > 0
    # What has word 0 is wrong, whatever the query has: that is t(0, 1) of this word.
    said = label_pairs(np.repeat(np.arange(10), 40), np.tile(np.arange(40), 10), np.tile(~has, 10))
    plain = WordTable.binary_idf(space)
    found = {
        kind: kind(plain, n=1, C=10.0, bins=1).fit(counts, said).similarity_.table
        for kind in (OwnWordsLearner, AbsencesToo)
    }
    own, both = found[OwnWordsLearner], found[AbsencesToo]
    np.testing.assert_allclose(own[:, 0, 1], own[0, 0, 1])  # shared by all words
    assert both[0, 0, 1] < both[1:, 0, 1].min()


def test_marks_teach_a_table_and_geometry_orders_the_first_results() -> None:
    report = Report("qin_marks", quick=True)
    qin_marks.main(report)
    names = {row["method"] for row in report.rows}
    assert {"plain", "as served", "n and C chosen", "hard ones mined", "tau of roots"} < names
    scores = np.array([[5.0, 4.0, 3.0, 2.0, 1.0]])
    top, agree = np.array([[0, 1, 2, 3]]), np.array([[9, 30, 12, 99]])
    moved = qin_marks.reordered(scores, top, agree, 3)
    assert np.argsort(-moved[0]).tolist() == [1, 2, 0, 3, 4]


def test_the_benchmark_compares_exact_engines() -> None:
    report = Report("inverted", quick=True)
    inverted.main(report)
    assert {r["recall"] for r in report.rows if "recall" in r} == {1.0}
    assert all(r["bytes_per_posting"] < 6 for r in report.rows if "bytes_per_posting" in r)
    assert {r["peer"] for r in report.rows if "peer" in r} == {"qdrant-edge", "scipy CSR"}
