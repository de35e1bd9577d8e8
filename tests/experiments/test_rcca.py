"""The experiments with words run at toy size, and their rows say what they promise."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import rcca_flickr8k, words_swatches
from experiments.click_log import simulate, toy, truth, vocabulary_of
from experiments.report import Report

METHODS = {
    "cca",
    "cca-weighted",
    "pamir",
    "psi",
    "psi-cca",
    "rcca",
    "rcca-identity",
    "rcca-weighted",
}


def test_clicks_fall_where_they_are_said_to():
    world = toy(0)
    vocabulary = vocabulary_of(world.train)
    log = simulate(world.train, vocabulary, 1000, 0)
    assert len(log.triplets) == 1000
    own = log.item == world.train.own[log.query]
    assert 0.5 < log.times[own].sum() / log.times.sum() < 0.85
    grades = truth(world.test, world.test, vocabulary)
    assert (grades[np.arange(len(grades)), world.test.own] == 3).all()
    assert set(np.unique(grades)) <= {0.0, 2.0, 3.0}


def test_every_method_tries_as_many_settings():
    grids = rcca_flickr8k.grids()
    assert set(grids) == METHODS
    assert {len(settings) for _, settings in grids.values()} == {6}


def test_rcca_flickr8k_at_toy_size(tmp_path):
    report = Report("rcca_flickr8k", quick=True, settings={"out": str(tmp_path)})
    rcca_flickr8k.main(report)
    for task in ("test", "crowd"):
        rows = {
            row["method"]: row
            for row in report.rows
            if row.get("task") == task and "seed" not in row
        }
        assert set(rows) == METHODS
        assert all(0 <= row["ndcg10"] <= 1 for row in rows.values())
        assert rows["rcca"]["ndcg10"] > 0.8
        assert all("p_value" in row for name, row in rows.items() if name != "rcca")
    pictures = {row["method"] for row in report.rows if row.get("task") == "picture"}
    assert {"cosine", "pca", "cca", "psi", "rcca"} <= pictures
    assert {row["figure"] for row in report.rows if "figure" in row} == {5, 6}
    plots = {"rcca-dimensions.png", "rcca-triplets.png"}
    assert {p.name for p in tmp_path.iterdir()} == plots | {"rcca-words.jpg", "rcca-pictures.jpg"}


@pytest.mark.slow
def test_words_find_swatches_without_captions_after_training_only():
    report = Report("words_swatches", quick=True)
    words_swatches.main(report)
    rows = [row for row in report.rows if row["among"] == "without caption"]
    for kind in ("colour", "motif", "both"):
        found = {row["method"]: row["p10"] for row in rows if row["queries"] == kind}
        best = next(row["best"] for row in rows if row["queries"] == kind)
        assert found["full text (before)"] == 0
        assert best / 3 < found["after captions"] <= best
