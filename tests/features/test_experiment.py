"""The experiment at toy size: rows for every block, every pair, equal weights and the default."""

from __future__ import annotations

import numpy as np

from experiments import features
from experiments.report import Report
from likewise.features import DEFAULT


def test_experiment_runs_at_toy_size() -> None:
    report = Report("features", quick=True, settings={"part": "blocks"})
    features.main(report)
    weights = {row["how"]: row for row in report.rows if row["method"] == "weights"}
    assert {*DEFAULT, "equal", "default", "colour + texture"} <= set(weights)
    assert {row["block"] for row in report.rows if row["method"] == "reduction"} == {"texture"}
    for row in report.rows:
        assert 0 < row["map"] <= 1
        assert 0 <= row["p1"] <= 1
    # a motif is what the network sees, not a colour
    assert weights["deep"]["map"] > weights["colour"]["map"]


def test_rule_takes_the_fastest_of_the_best_that_are_not_too_slow() -> None:
    measured = {
        ("lite0", "float32"): (0.300, 10.0),
        ("lite0", "int8"): (0.299, 6.0),
        ("lite1", "float32"): (0.310, 15.0),
        ("lite1", "int8"): (0.309, 9.0),
        ("lite2", "float32"): (0.340, 21.0),  # the best, and too slow
        ("lite2", "int8"): (0.305, 12.0),
    }
    assert features.by_the_rule(measured) == ("lite1", "int8")
    measured["lite2", "float32"] = (0.340, 20.0)
    assert features.by_the_rule(measured) == ("lite2", "float32")


def test_content_words_are_stems_that_captions_agree_on() -> None:
    dogs = ("A dog runs.", "Two dogs running", "An animal")
    cats = ("A cat sleeps", "the cat is sleeping", "A dog")
    others = ("A boat", "the boats", "sea")
    rows = features.content_words([dogs, dogs, cats, cats, *[others] * 20])
    shared = rows @ rows.T
    assert shared[0, 1] == 2  # dog, run
    assert shared[2, 3] == 2  # cat, sleep
    assert shared[0, 2] == 0
    assert np.array_equal(rows[4], np.zeros(rows.shape[1]))  # a word of most pictures tells nothing
