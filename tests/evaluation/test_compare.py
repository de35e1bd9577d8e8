"""One table and one plot of several models on the same queries."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import measures as benchmark
from experiments.report import Report
from likewise import evaluation as ev
from likewise.types import BadInput


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    relevant = rng.random((60, 100)) < 0.2
    noise = rng.normal(size=(60, 100))
    scores = {name: noise + gain * relevant for name, gain in [("plain", 0.5), ("better", 1.5)]}
    scores["twin"] = scores["plain"] * 2
    return {name: named(own) for name, own in scores.items()}, relevant


def named(scores):
    """A matrix as a run: names that stand in the order of the rows and columns."""
    return {
        f"q{q:02d}": {f"i{i:02d}": float(s) for i, s in enumerate(row) if not np.isnan(s)}
        for q, row in enumerate(np.asarray(scores, float))
    }


def lists(relevant):
    return {q: [i for i, good in row.items() if good] for q, row in named(relevant).items()}


def test_the_better_model_wins_and_the_twin_does_not_differ(models):
    scores, relevant = models[0], lists(models[1])
    table = ev.compare(scores, relevant, draws=2000)
    plain, better, twin = table.rows
    assert [row["method"] for row in table.rows] == ["plain", "better", "twin"]
    assert "p_value" not in plain
    assert better["difference"] == pytest.approx(better["map"] - plain["map"])
    assert 0 < better["low"] < better["difference"] < better["high"]
    assert better["p_value"] == 1 / 2001
    assert (twin["difference"], twin["low"], twin["high"], twin["p_value"]) == (0, 0, 0, 1)
    ranked = ev.rank(scores["better"], relevant)
    for name in ("map", "p1", "p10", "ndcg10"):
        assert better[name] == ev.evaluate(ranked, [name])[name]
    assert "judged_map" not in plain
    turned = ev.compare(scores, relevant, baseline="better", draws=2000)
    assert turned.row("plain")["difference"] == pytest.approx(-better["difference"])


def test_partial_judgements_decide_by_the_judged_items(models):
    scores, relevant = models
    grades = np.where(np.random.default_rng(1).random(relevant.shape) < 0.3, relevant, np.nan)
    table = ev.compare(scores, named(grades), draws=500)
    assert table.by == "judged_map"
    row = table.row("better")
    assert row["difference"] == pytest.approx(row["judged_map"] - table.rows[0]["judged_map"])
    assert {"bpref", "map"} <= set(row)
    assert ev.compare(scores, named(grades), by="p1", draws=500).by == "p1"


def test_ranked_models_compare_alike(models):
    scores, relevant = models[0], lists(models[1])
    want = ev.compare(scores, relevant, draws=300).rows
    ranked = {name: ev.rank(own, relevant) for name, own in scores.items()}
    assert ev.compare(ranked, draws=300).rows == want


def test_the_text_holds_every_row_and_says_what_was_left_out(models):
    scores, relevant = models
    relevant = relevant.copy()
    relevant[:4] = False
    table = ev.compare(scores, lists(relevant), draws=300)
    lines = table.text().splitlines()
    assert len(lines) == 5
    assert [line.split()[0] for line in lines[1:4]] == ["plain", "better", "twin"]
    assert "left out: 4" in lines[-1]
    assert "plain" in lines[-1]
    assert table.rows[1]["queries"] == 56
    assert f"{table.rows[1]['map']:.4f}" in lines[2]


def test_no_query_with_a_relevant_item_still_gives_a_table(models):
    scores, relevant = models
    table = ev.compare(scores, lists(np.zeros_like(relevant)))
    assert all(np.isnan(row["map"]) and "p_value" not in row for row in table.rows)
    assert "nan" in table.text()


def test_worst_regressions_come_first(models):
    scores, relevant = models[0], lists(models[1])
    table = ev.compare(scores, relevant, baseline="better", draws=300)
    worst = table.worst("plain", 5)
    change = table.values["plain"] - table.values["better"]
    assert len(worst) == 5
    assert (np.diff(change[worst]) >= 0).all()
    assert change[worst[0]] == change.min()
    assert len(table.worst("better")) == 0


def test_bad_input_is_refused_with_a_sentence(models):
    scores, relevant = models[0], lists(models[1])
    with pytest.raises(BadInput, match="at least one model"):
        ev.compare({}, relevant)
    with pytest.raises(BadInput, match="none of: plain, better, twin"):
        ev.compare(scores, relevant, baseline="other")
    with pytest.raises(BadInput, match="relevance too"):
        ev.compare(scores)
    ranked = {
        "a": ev.rank(scores["plain"], relevant),
        "b": ev.rank(scores["plain"], lists(~models[1])),
    }
    with pytest.raises(BadInput, match="same relevance"):
        ev.compare(ranked)
    with pytest.raises(BadInput, match="was compared"):
        ev.compare(scores, relevant, draws=10).row("other")


def test_the_benchmark_runs_and_agrees_with_its_peer():
    report = Report("measures", quick=True)
    benchmark.main(report)
    rows = {row["method"]: row for row in report.rows}
    assert rows["map"]["gap"] <= 1e-12
    assert rows["map"]["map"] == pytest.approx(rows["scikit-learn loop"]["map"])
    assert 0 < rows["randomisation test"]["p_value"] <= 1
