"""The metric learner: planted weights, thin data, scale, and what ranking-SVM does instead."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from experiments.rivals.metric_learner import MetricLearner
from likewise.index.flat import FlatIndex
from likewise.learners.metric import SPREAD, Metric, balanced_scale
from likewise.learners.plain import Plain
from likewise.spaces import Blocks, BlockSpec, Squared
from likewise.types import BadInput, Preferences
from tests.judgements.made import from_orderings


def world(seed: int = 0, n: int = 120) -> tuple[Squared, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = {"colour": rng.random((n, 6)), "texture": 50 * rng.normal(size=(n, 4))}
    space = Blocks.fit(features, {"colour": BlockSpec(5), "texture": BlockSpec(4)})
    return Squared(space), space.transform(features)


def orders_by(space: Squared, x: np.ndarray, block: str, queries: int = 12) -> Preferences:
    """Orders of a person who looks at one block only, the query at the head."""
    part = space.base.slices[block]
    near = [np.argsort(((x[:, part] - x[q, part]) ** 2).sum(axis=1))[1:16] for q in range(queries)]
    return from_orderings(np.arange(queries), near, head=np.arange(queries))


def test_a_persons_block_is_found_and_ranks_new_queries():
    space, x = world()
    learner = MetricLearner(Plain(space.base)).fit(x, orders_by(space, x, "colour"))
    w = learner.similarity_.weights
    colour, texture = (w[space.base.slices[b]].sum() for b in ("colour", "texture"))
    assert colour > 5 * texture
    truth = ((x[:, space.base.slices["colour"]] - x[90, space.base.slices["colour"]]) ** 2).sum(1)
    found = np.argsort(-learner.similarity_.score(x[90], x))[:11]
    plain = np.argsort(-Metric(space, balanced_scale(x, space.base.slices)).score(x[90], x))[:11]
    best = set(np.argsort(truth)[:11].tolist())
    assert len(best & set(found.tolist())) > len(best & set(plain.tolist()))
    assert learner.report_.gap <= 1e-5 * max(1, learner.report_.objective)


def test_the_static_index_serves_the_metric_exactly():
    space, x = world(3)
    learned = MetricLearner(Plain(space.base)).fit(x, orders_by(space, x, "texture")).similarity_
    index = FlatIndex.build(space.encode(x), space=space.fingerprint)
    hits = index.search(learned.surrogate(x[7]), 10)
    exact = learned.score(x[7], x)
    assert hits.ids[0] == 7
    assert hits.scores == pytest.approx(np.sort(exact)[::-1][:10], abs=1e-4 * np.abs(exact).max())


def test_every_block_is_brought_to_one_spread():
    space, x = world(1)
    scaled = x * np.sqrt(balanced_scale(x, space.base.slices))
    for part in space.base.slices.values():
        y = scaled[:, part]
        d = ((y[:, None] - y[None]) ** 2).sum(axis=2)
        assert d.mean() == pytest.approx(SPREAD, rel=1e-6)


def test_a_block_without_differences_has_no_say():
    x = np.hstack([np.random.default_rng(0).normal(size=(9, 2)), np.full((9, 3), 7.0)])
    scale = balanced_scale(x, {"a": slice(0, 2), "same": slice(2, 5)})
    assert scale[:2].all()
    assert not scale[2:].any()


def test_features_in_other_units_learn_the_same_metric():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 5))
    blocks = {"a": slice(0, 3), "b": slice(3, 5)}
    units = np.array([10.0, 10, 10, 0.1, 0.1])
    from likewise.learners.metric import solve_scaled

    def learned(y):
        d = (y[1:12] - y[0]) ** 2
        near, far = np.arange(10), np.arange(1, 11)
        scale = balanced_scale(y, blocks)
        return solve_scaled(d, near, far, scale, scale, tol=1e-9)[1]

    assert learned(x * units) * units**2 == pytest.approx(learned(x), rel=1e-3, abs=1e-6)


def test_thin_data_gives_equal_say_and_says_so():
    space, x = world()
    nothing = MetricLearner(Plain(space.base)).fit(x, Preferences.of([], [], []))
    assert nothing.similarity_.weights == pytest.approx(balanced_scale(x, space.base.slices))
    assert any("nothing to learn" in note for note in nothing.report_.notes)
    same = MetricLearner(Plain(space.base)).fit(x, Preferences.of([0], [3], [3]))
    assert any("say nothing" in note for note in same.report_.notes)


def test_an_order_no_metric_keeps_leaves_the_metric_as_it_was():
    space, _ = world()
    x = np.zeros((3, space.base.dim))
    x[1, 0], x[2, 0] = 0.5, 1.0
    start = np.linspace(1, 2, space.base.dim)
    learner = MetricLearner(Plain(space.base), start=start).fit(x, Preferences.of([0], [2], [1]))
    assert learner.similarity_.weights == pytest.approx(start)
    assert any("contradicts" in note for note in learner.report_.notes)


def test_pull_keeps_to_the_start():
    space, x = world(2)
    start = balanced_scale(x, space.base.slices) * np.linspace(0.5, 2, space.base.dim)
    preferences = orders_by(space, x, "colour", 1).where(np.arange(3))
    free = MetricLearner(Plain(space.base)).fit(x, preferences).similarity_.weights
    pulled = (
        MetricLearner(Plain(space.base), start=start, pull=True)
        .fit(x, preferences)
        .similarity_.weights
    )
    assert np.abs(pulled - start).sum() < np.abs(free - start).sum()


def test_confidence_counts():
    space, x = world(6)
    a, b = (int(i) for i in np.argsort(x[:, 0])[[10, 60]])
    both = ([0, 0], [a, b], [b, a])
    first = MetricLearner(Plain(space.base)).fit(x, Preferences.of(*both, [9.0, 1.0])).similarity_
    second = MetricLearner(Plain(space.base)).fit(x, Preferences.of(*both, [1.0, 9.0])).similarity_
    one, two = first.score(x[0], x[[a, b]]), second.score(x[0], x[[a, b]])
    assert one[0] >= one[1]
    assert two[1] >= two[0]


def test_scikit_learns_manners():
    space, _ = world()
    learner = clone(MetricLearner(Plain(space.base), C=3.0))
    assert learner.get_params()["C"] == 3.0
    assert learner.set_params(C=4.0).C == 4.0


def test_bad_input_is_refused():
    space, x = world()
    with pytest.raises(BadInput, match="not all zero"):
        Metric(space, np.zeros(space.base.dim))
    with pytest.raises(BadInput, match="negative"):
        Metric(space, np.linspace(-1, 1, space.base.dim))
    with pytest.raises(BadInput, match="there are"):
        MetricLearner(Plain(space.base)).fit(x, Preferences.of([0], [1], [len(x)]))
