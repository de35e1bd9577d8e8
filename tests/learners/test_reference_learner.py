"""The paper's own way, as a collection learns it: the same functions, the same surrogates."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.references import combine, label_pairs, learn_references
from likewise.learners.plain import Plain
from likewise.learners.reference_learner import ReferenceLearner
from likewise.spaces import Blocks, unit_rows
from likewise.types import BadInput, Preferences


def world(seed=0, items=80, dim=6, references=12):
    """Queries whose relevant items share the sign of one dimension of the query's own."""
    rng = np.random.default_rng(seed)
    x = unit_rows(rng.normal(size=(items, dim)))
    q = unit_rows(rng.normal(size=(references, dim)))
    item = np.tile(np.arange(items), references)
    asked = np.repeat(np.arange(references), items)
    return x, q, label_pairs(asked, item, x[item, 0] * q[asked, 0] > 0)


@pytest.mark.parametrize("sigma", [0.0, 0.5, 0.95])
def test_surrogates_are_those_of_the_paper(sigma):
    x, q, said = world()
    learner = ReferenceLearner(sigma=sigma, M=3, tol=1e-8).fit(x, said, q)
    found = learn_references(x, q, said, sigma=sigma, clip=True, tol=1e-8)
    fresh = unit_rows(np.random.default_rng(1).normal(size=(20, 6)))
    wanted = unit_rows(combine(found.weights, q, fresh, M=3))
    np.testing.assert_allclose(unit_rows(learner.similarity_.surrogates(fresh)), wanted, atol=1e-6)
    assert learner.report_.settings["sigma"] == sigma


def test_larger_sigma_stays_nearer_to_plain():
    x, q, said = world()
    angles = []
    for sigma in (0.0, 0.5, 0.9, 0.99):
        similarity = ReferenceLearner(sigma=sigma).fit(x, said, q).similarity_
        w = unit_rows(similarity.weights(q))
        angles.append(float((w @ np.ones(6) / np.sqrt(6)).mean()))
    assert angles == sorted(angles)
    assert angles[-1] > angles[0] + 0.05


def test_it_learns_the_dimension_that_counts():
    x, q, said = world()
    fresh, _, _ = world(seed=5, items=60)
    learned = ReferenceLearner(sigma=0.5).fit(x, said, q).similarity_
    plain = Plain(Blocks.identity({"x": 6}))

    def right(similarity):
        scores = np.array([similarity.score(row, x) for row in fresh])
        top = np.argsort(-scores, axis=1)[:, :10]
        return float((x[top, 0] * fresh[:, [0]] > 0).mean())

    assert right(learned) > right(plain) + 0.1


def test_nothing_said_is_plain_and_untaught_queries_take_no_part():
    x, q, said = world()
    plain = ReferenceLearner().fit(x, Preferences.of([], [], []), q)
    assert isinstance(plain.similarity_, Plain)
    assert "plain similarity" in plain.report_.notes[0]
    some = ReferenceLearner().fit(x, said.where(said.query < 4), q)
    assert len(some.similarity_.references) == 4
    assert some.report_.covered == pytest.approx(4 / 12)
    with pytest.raises(BadInput, match="sigma"):
        ReferenceLearner(sigma=1.0).fit(x, said, q)


def test_regulariser_and_strength_are_chosen_on_left_out_queries():
    x, q, said = world(references=40)
    learner = ReferenceLearner(sigma=(0.95, None), strength=(0.5, 1.0, 2.0, 4.0)).fit(x, said, q)
    chosen = learner.report_.settings
    assert len(learner.held_out_) == 8
    assert learner.held_out_[chosen["sigma"], chosen["strength"]] == min(learner.held_out_.values())
    assert chosen["strength"] > 1  # one dimension counts alone: beyond what ten labels dare say
    fixed = ReferenceLearner(sigma=chosen["sigma"], strength=chosen["strength"]).fit(x, said, q)
    fresh = unit_rows(np.random.default_rng(1).normal(size=(20, 6)))
    found, wanted = (one.similarity_.surrogates(fresh) for one in (learner, fixed))
    np.testing.assert_array_equal(found, wanted)


def test_a_left_out_query_takes_no_part_in_its_own_answer():
    x, q, said = world(references=2)
    learner = ReferenceLearner(sigma=(0.0, 0.9), M=5, tol=1e-8).fit(x, said, q)
    for sigma in (0.0, 0.9):
        weights = learn_references(x, q, said, sigma=sigma, tol=1e-8).weights
        wrong = []
        for own, other in ((0, 1), (1, 0)):
            scores = x @ (unit_rows(weights)[other] * q[own])
            good = x[:, 0] * q[own, 0] > 0
            wrong.append((scores[good][:, None] <= scores[~good][None]).mean())
        # Every item is labelled, so no random picture is asked about.
        assert learner.held_out_[sigma, 1.0] == pytest.approx(np.mean(wrong))
    alone = ReferenceLearner(sigma=(0.0, 0.9)).fit(x, said.where(said.query == 0), q)
    assert alone.report_.settings["sigma"] == 0.0  # nobody to ask: the first one
