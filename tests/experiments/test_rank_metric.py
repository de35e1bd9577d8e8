"""A ranking SVM on squared differences: what the metric is compared with."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.rivals.metric_learner import MetricLearner
from experiments.rivals.rank_metric import RankMetric
from likewise.learners.metric import balanced_scale
from likewise.learners.plain import Plain
from likewise.types import Preferences
from tests.judgements.made import from_orderings
from tests.learners.test_metric import world


def test_nothing_to_learn_gives_equal_say():
    space, x = world()
    nothing = RankMetric(Plain(space.base)).fit(x, Preferences.of([], [], []))
    assert nothing.similarity_.weights == pytest.approx(balanced_scale(x, space.base.slices))
    assert any("nothing to learn" in note for note in nothing.report_.notes)


def test_ranking_svm_has_negative_weights_where_the_metric_has_none():
    space, x = world(4)
    # without the query at the head nothing keeps the others away from it
    rows = np.argsort(x[:, 0])[5:11]
    preferences = from_orderings([0], [rows])
    svm = RankMetric(Plain(space.base)).fit(x, preferences).similarity_
    metric = MetricLearner(Plain(space.base)).fit(x, preferences).similarity_
    assert svm.weights.min() < 0 <= metric.weights.min()
    # so another picture is "nearer" to the query than the query itself
    assert svm.score(x[0], x).max() > 1e-6
    assert metric.score(x[0], x).max() <= 0
