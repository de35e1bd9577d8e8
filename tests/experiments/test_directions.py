"""Directions: what the full matrix learns, agreement, and the strength that validation allows."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.directions import agreed_direction, choose_strength, learn_directions
from experiments.references import label_pairs
from likewise.spaces import unit_rows
from likewise.types import BadInput, Preferences
from tests.solvers import reference_ranking as book


def problem(seed=0, items=40, dim=5, references=3, labels=12):
    rng = np.random.default_rng(seed)
    X, R = unit_rows(rng.normal(size=(items, dim))), unit_rows(rng.normal(size=(references, dim)))
    rows = np.stack([rng.choice(items, labels, replace=False) for _ in range(references)])
    relevant = X[rows][:, :, 0] > 0
    return X, R, label_pairs(np.repeat(np.arange(references), labels), rows, relevant)


def test_direction_is_the_answer_of_the_full_matrix():
    # The full matrix written out: vec(W) against the outer products x_q (x_i - x_j)'.
    X, R, preferences = problem(dim=4)
    learned = learn_directions(X, R, preferences, C=0.3, tol=1e-9)
    for r in range(len(R)):
        mine = preferences.query == r
        Z = book.differences(X, preferences.better[mine], preferences.worse[mine])
        outer = np.einsum("i,nj->nij", R[r], Z).reshape(len(Z), -1)
        W = book.smo(outer, np.full(mine.sum(), 0.3)).w.reshape(4, 4)
        np.testing.assert_allclose(W.T @ R[r], learned.weights[r], atol=1e-3)


def test_a_low_price_gives_the_difference_of_the_means():
    X, R, preferences = problem()
    learned = learn_directions(X, R, preferences, C=1e-6)
    good = np.unique(preferences.better[preferences.query == 0])
    bad = np.unique(preferences.worse[preferences.query == 0])
    want = X[good].mean(axis=0) - X[bad].mean(axis=0)
    np.testing.assert_allclose(
        unit_rows(learned.weights[:1])[0], want / np.linalg.norm(want), atol=1e-8
    )


def test_length_of_the_direction_is_the_agreement():
    R = np.zeros((4, 3))
    R[:, 0] = 1.0
    query = R[:1]
    up, down = np.array([0.0, 3.0, 0.0]), np.array([0.0, -2.0, 0.0])
    agree = agreed_direction(np.stack([up] * 4), R, query)
    np.testing.assert_allclose(agree[0], [0, 1, 0])
    contrary = agreed_direction(np.stack([up, down, up, down]), R, query)
    np.testing.assert_allclose(contrary, 0, atol=1e-12)
    few = agreed_direction(np.stack([up, 0 * up, 0 * up, 0 * up]), R, query)
    np.testing.assert_allclose(few[0], [0, 1 / 16, 0])


def test_near_references_have_the_greater_say():
    R = unit_rows(np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]]))
    D = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    first, second = agreed_direction(D, R, R)
    assert first[2] > 0 > second[2]
    alone = agreed_direction(D, R, R, leave_out=[0, 1])
    np.testing.assert_allclose(alone, [[0, 0, -1], [0, 0, 1]])


def test_without_preferences_nothing_moves():
    X, R, _ = problem()
    learned = learn_directions(X, R, Preferences.of([], [], []))
    assert learned.coverage == 0
    np.testing.assert_array_equal(agreed_direction(learned.weights, R, X), 0)


def test_strength_is_the_best_that_leaves_the_first_result_alone():
    seen = {0.0: (0.5, 0.9), 1.0: (0.6, 0.895), 2.0: (0.7, 0.88), 3.0: (0.9, 0.9)}
    asked = []

    def judge(surrogates):
        asked.append(surrogates[0, 1])
        return seen[float(surrogates[0, 1])]

    q, u = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    found = choose_strength(q, u, judge, betas=(0.0, 1.0, 2.0, 3.0))
    assert found.beta == 1.0
    assert asked == [0.0, 1.0, 2.0]  # nothing stronger is tried after the fall
    assert found.map == (0.5, 0.6, 0.7)
    assert choose_strength(q, u, judge, betas=(0.0, 1.0, 2.0, 3.0), fall=0.05).beta == 3.0


def test_plain_stays_where_nothing_is_better():
    q, u = np.ones((1, 2)), np.ones((1, 2))
    assert choose_strength(q, u, lambda s: (0.5, 1.0)).beta == 0.0
    assert choose_strength(q, u, lambda s: (-s[0, 0], 1.0)).beta == 0.0


def test_bad_input_is_refused():
    X, R, preferences = problem()
    with pytest.raises(BadInput, match="C must be"):
        learn_directions(X, R, preferences, C=0)
    with pytest.raises(BadInput, match="one row for each"):
        agreed_direction(np.ones((2, 5)), R, X)
    with pytest.raises(BadInput, match="warmth"):
        agreed_direction(np.ones((3, 5)), R, X, warmth=0)
    for betas in ((), (1.0, 2.0), (0.0, 2.0, 1.0)):
        with pytest.raises(BadInput, match="rise from 0"):
            choose_strength(X, X, lambda s: (0.0, 0.0), betas=betas)
