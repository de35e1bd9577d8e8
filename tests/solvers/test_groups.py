"""The matrix and the block weights of groups: slow references, certificates, planted truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from likewise.solvers.groups import block_weights, local_weights, scatters, within_groups
from tests.solvers import reference_groups

seeds = given(seed=st.integers(0, 2**32 - 1))
few = settings(max_examples=20, deadline=None)


def drawn(seed: int, d: int = 7):
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(9), rng.integers(1, 6, 9)))
    group[:4] = [0, 0, 1, 1]  # at least two groups have two members
    return rng, rng.normal(size=(len(group), d)) * np.geomspace(3, 0.3, d), group


def within(x, group, **how):
    """That of points in any order, through three parts that are put together."""
    order, size = np.argsort(group, kind="stable"), np.unique(group, return_counts=True)[1]
    parts = scatters(np.asarray(x)[order], size, np.arange(len(size)) % 3, 3)
    return within_groups(parts, **how)


@few
@seeds
def test_the_matrix_is_that_of_the_slow_reference(seed):
    rng, x, group = drawn(seed)
    half = rng.normal(size=(7, 7))
    for target in (None, half @ half.T + np.eye(7)):
        found = within(x, group, target=target, ridge=0.1)
        matrix, shrinkage = reference_groups.matrix(x, group, 0.1, target)
        assert np.allclose(found.matrix, matrix, atol=1e-9)
        assert np.isclose(found.shrinkage, shrinkage)
        assert found.residual < 1e-12
        assert np.isclose(np.trace(found.matrix), 7)


def test_planted_noise_is_played_down_and_more_groups_are_believed_more():
    rng = np.random.default_rng(0)

    def groups(count):
        centre = np.repeat(rng.normal(size=(count, 6)), 4, axis=0)
        noise = rng.normal(size=centre.shape) * [3, 3, 0.2, 0.2, 0.2, 0.2]
        return within(centre + noise, np.repeat(np.arange(count), 4))

    some, many = groups(5), groups(200)
    assert many.shrinkage < 0.1 < some.shrinkage
    assert np.diag(many.matrix)[:2].max() < 0.5 * np.diag(many.matrix)[2:].min()


def test_groups_that_say_nothing_leave_the_target():
    x = np.random.default_rng(1).normal(size=(5, 3))
    for group in ([0, 1, 2, 3, 4], [0, 0, 0, 0, 0]):  # no fellows; one group
        found = within(x, group)
        assert np.allclose(found.matrix, np.eye(3))
        assert found.shrinkage == 1
    same = within(np.ones((4, 3)), [0, 0, 1, 1])
    assert np.allclose(same.matrix, np.eye(3))
    goal = np.diag([4.0, 1.0, 1.0])
    tied = within(np.zeros((0, 3)), [], target=goal).matrix
    assert tied[0, 0] < tied[1, 1]


@few
@seeds
def test_block_weights_are_at_a_minimum_that_the_residual_certifies(seed):
    rng = np.random.default_rng(seed)
    ahead, share = rng.normal(size=(40, 3)) * 0.2 + [0.1, 0.0, 0.05], rng.random(40)
    share /= share.sum()
    found = block_weights(ahead, share, penalty=0.05)
    beta = np.log(found.weights)
    assert np.isclose(found.objective, reference_groups.loss(beta, ahead, share, 0.05))
    slow = optimize.approx_fprime(beta, reference_groups.loss, 1e-7, ahead, share, 0.05)
    assert found.residual < 1e-5
    assert np.abs(slow).max() < 1e-4
    for _ in range(10):
        near = beta + 0.05 * rng.normal(size=3)
        assert reference_groups.loss(near, ahead, share, 0.05) >= found.objective - 1e-9


def test_a_block_that_tells_fellows_from_strangers_gains_and_evidence_holds_back():
    rng = np.random.default_rng(2)
    ahead = rng.normal(size=(500, 2)) * 0.1 + [0.1, 0.0]
    share = np.full(500, 1 / 500)
    free, tied = (block_weights(ahead, share, penalty=p).weights for p in (1e-3, 10.0))
    assert free[0] > 2 > free[1]
    assert np.allclose(tied, 1, atol=0.1)
    none = block_weights(np.zeros((0, 2)), np.zeros(0), penalty=0.1)
    assert none.weights.tolist() == [1, 1]


def test_places_take_the_weights_of_the_groups_that_have_say_there():
    """Two groups of opposite tastes: the step leads either way, between them nowhere."""
    rng = np.random.default_rng(4)
    ahead = rng.normal(size=(600, 2)) * 0.1
    ahead[:300, 0] += 0.1
    ahead[300:, 1] += 0.1
    share, group = np.full(600, 1 / 600), np.repeat([0, 1], 300)
    both = block_weights(ahead, share, penalty=0.05).weights
    say = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 0.0]])
    moved = local_weights(ahead, share, group, both, say, penalty=0.1)
    assert moved[0, 0] > 0.3 > -0.3 > moved[0, 1]
    assert moved[1, 1] > 0.3 > -0.3 > moved[1, 0]
    assert np.abs(moved[2]).max() < 0.1
    assert np.abs(moved[3]).max() < 1e-6
    tied = local_weights(ahead, share, group, both, say, penalty=100.0)
    assert np.abs(tied).max() < 0.02
    # One step of a penalty so strong that the loss is straight: the gradient over the penalty.
    alone = reference_groups.loss
    slope = [
        (alone(np.log(both) + e, ahead[:300], share[:300] * 2, 0.0)
         - alone(np.log(both) - e, ahead[:300], share[:300] * 2, 0.0)) / 2e-4
        for e in 1e-4 * np.eye(2)
    ]  # fmt: skip
    assert np.allclose(tied[0], -np.array(slope) / 100, rtol=0.02)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x: local_weights(x, [1, 1, 1], [0, 0], [1, 1], np.eye(2), penalty=1), "one group"),
        (lambda x: within(x * np.nan, [0, 0, 1]), "finite"),
        (lambda x: scatters(x, [1, 1], [0, 0], 1), "add up to the points"),
        (lambda x: within(x, [0, 0, 1], target=np.eye(3)), "target"),
        (lambda x: within(x, [0, 0, 1], ridge=0.0), "ridge"),
        (lambda x: block_weights(x, [0.5, 0.5], penalty=1.0), "share"),
        (lambda x: block_weights(x, [0.3, 0.3, 0.4], penalty=-1.0), "penalty"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, match):
    with pytest.raises(ValueError, match=match):
        call(np.ones((3, 2)))
