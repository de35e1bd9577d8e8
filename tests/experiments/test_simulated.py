"""Simulated people judge by what they are told to, and err as often as they are told to."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.sets import relevance, simulate_clicks, simulate_labels
from likewise.datasets import swatches
from likewise.types import BadInput


@pytest.fixture(scope="module")
def collection():
    return swatches(800, size=16, seed=1)


@pytest.mark.parametrize("by", ["motif", "colour", "both"])
def test_labels_without_noise_are_the_truth(collection, by) -> None:
    queries = np.arange(30)
    labels = simulate_labels(collection, queries, by=by, per_query=12, seed=5)
    truth = collection.truth
    same = np.ones(len(labels), dtype=bool)
    for aspect in ("motif", "colour"):
        if by in (aspect, "both"):
            same &= truth[aspect][labels.query] == truth[aspect][labels.item]
    assert np.array_equal(labels.relevant, same)
    assert not labels.wrong.any()
    assert np.array_equal(np.bincount(labels.query), np.full(30, 12))
    assert (labels.query != labels.item).all()
    assert len(set(zip(labels.query.tolist(), labels.item.tolist()))) == len(labels)
    assert 0 < same.mean() <= 0.5


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3, 1.0])
def test_noise_is_the_stated_share(collection, noise) -> None:
    labels = simulate_labels(collection, np.arange(400), by="motif", noise=noise, seed=2)
    truth = relevance(collection, np.arange(400), "motif")[labels.query, labels.item]
    rate, spread = np.mean(labels.relevant != truth), np.sqrt(noise * (1 - noise) / len(labels))
    assert abs(rate - noise) <= 4 * spread
    assert np.array_equal(labels.wrong, labels.relevant != truth)


def test_labels_repeat_under_a_seed(collection) -> None:
    a, b, c = (
        simulate_labels(collection, [3, 4], by="both", noise=0.2, seed=seed) for seed in (7, 7, 8)
    )
    assert np.array_equal(a.item, b.item)
    assert np.array_equal(a.relevant, b.relevant)
    assert not np.array_equal(a.item, c.item)


def test_only_what_is_shown_is_labelled(collection) -> None:
    shown = [np.array([5, 6, 7, 8]), np.array([9, 1, 2])]
    labels = simulate_labels(collection, [5, 9], by="colour", per_query=2, candidates=shown)
    assert labels.item.tolist() == [6, 7, 1, 2]
    with pytest.raises(BadInput, match="as many candidates"):
        simulate_labels(collection, [5], by="colour", candidates=shown)


def test_labels_as_judgements_say_the_same(collection) -> None:
    labels = simulate_labels(collection, [2, 40], by="colour", per_query=6, noise=0.5, seed=4)
    said = {
        (j.query.value, item, j.value > 0)
        for j in labels.judgements()
        for item in j.items
        if j.kind == "label" and j.query.kind == "item"
    }
    names = collection.names
    assert said == {
        (names[q], names[i], bool(r)) for q, i, r in zip(labels.query, labels.item, labels.relevant)
    }
    assert {j.source for j in labels.judgements()} == {"simulated"}


def test_clicks_go_where_the_text_points(collection) -> None:
    truth = collection.truth
    clicks = simulate_clicks(collection, per_query=30, noise=0.0)
    assert (np.bincount(clicks.query, clicks.count) == 30).all()
    colour, motif = np.array([text.split(" ") for text in clicks.texts]).T
    assert (truth["motif"][clicks.item] == motif[clicks.query]).all()
    exact = truth["colour"][clicks.item] == colour[clicks.query]
    assert clicks.count[exact].sum() > 0.75 * clicks.count.sum()
    assert not exact.all()


def test_clicks_go_astray_as_often_as_stated(collection) -> None:
    clicks = simulate_clicks(collection, per_query=50, noise=0.4, seed=3)
    motif = np.array([text.split(" ")[1] for text in clicks.texts])[clicks.query]
    total = clicks.count.sum()
    wrong = clicks.count[collection.truth["motif"][clicks.item] != motif].sum() / total
    kinds = len(set(motif))
    expected = 0.4 * (1 - 1 / kinds)  # astray may hit the right motif by chance
    assert wrong == pytest.approx(expected, abs=5 * np.sqrt(0.25 / total))


def test_clicks_as_judgements_keep_every_count(collection) -> None:
    clicks = simulate_clicks(collection, per_query=5, seed=6)
    judged = clicks.judgements()
    assert {j.kind for j in judged} == {"click"}
    assert sum(j.value * len(j.items) for j in judged) == clicks.count.sum()
    assert {j.query.value for j in judged} == set(clicks.texts)


@pytest.mark.parametrize(
    "wish",
    [{"by": "taste"}, {"by": "motif", "noise": 1.2}, {"by": "motif", "per_query": 0}],
)
def test_bad_wishes_are_refused(collection, wish) -> None:
    with pytest.raises(BadInput):
        simulate_labels(collection, [0], **wish)


def test_unknown_items_are_refused(collection) -> None:
    with pytest.raises(BadInput, match="0 to 799"):
        simulate_labels(collection, [800], by="motif")
    with pytest.raises(BadInput):
        simulate_clicks(collection, noise=-0.1)
    with pytest.raises(BadInput):
        simulate_clicks(collection, per_query=0)


def test_no_query_no_labels(collection) -> None:
    labels = simulate_labels(collection, [], by="motif")
    assert len(labels) == 0
    assert labels.judgements() == []
