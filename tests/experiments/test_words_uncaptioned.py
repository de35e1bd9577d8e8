"""Words on pictures that nobody described, at toy size."""

from __future__ import annotations

import numpy as np

from experiments import words_asked
from experiments.report import Report
from experiments.words_uncaptioned import KIND, Ranked, caption_words, main, measures


def test_every_method_is_measured_and_grows():
    report = Report("words_uncaptioned", quick=True)
    main(report)
    rows = {
        (r["queries"], r["kind"], r["method"], r["captions"], r["clicks"]): r for r in report.rows
    }
    for method in ("before", "1,000 classes", "reader", "reader+colour", "reader+all"):
        row = rows["words", "all", method, 0, 0]
        assert {"data", "ndcg10", "p10", "map"} <= set(row)
    assert rows["words", "all", "reader+all", 0, 0]["ndcg10"] > 0.7
    opened, before = (rows["words", "all", m, 0, 5]["ndcg10"] for m in ("reader+all", "neither"))
    assert opened > before
    for method in ("ranked CCA", "ranked CCA from the reader"):
        assert {r["passed"] for r in report.rows if r["method"] == method} <= {True, False}
        assert rows["words", "all", method, 50, 0]["ndcg10"] > 0.5
    assert (
        rows["words", "all", "before", 0, 0]["ndcg10"]
        < rows["words", "all", "reader", 0, 0]["ndcg10"]
    )
    assert {key[3] for key in rows} >= {0, 20, 50}
    assert {key[4] for key in rows} == {0, 1, 3, 5}


def test_words_of_captions_and_measures():
    own = [["a dog runs", "the dogs run", "x", "y", "z"]] * 5 + [["a dog", "cat", "", "", ""]]
    words, meant = caption_words(own)
    assert set(words) == {"dog", "runs"} or set(words) == {"dogs", "runs"} or "run" in words
    assert meant.sum(axis=1).tolist() == [5, 5]
    assert KIND["running"] == "action"
    best = Ranked(np.array([2, 0, 1]), np.array([True, False, True]))
    assert measures([best])["ndcg10"] == 1
    assert measures([best])["map"] == 1


def test_the_first_words_of_a_person_are_answered():
    report = Report("words_asked", quick=True)
    words_asked.main(report)
    assert len(report.rows) == 14
    rows = {row["text"]: row for row in report.rows}
    assert rows["beach"]["right20"] == 20
    assert rows["bus"]["elephants"] == 0
    assert all(row["found"] == 20 for row in report.rows)
