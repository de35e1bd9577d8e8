"""The paper's model over plain arrays: optimality, planted truth, defined answers to thin data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.references import (
    Learned,
    clipped,
    combine,
    combine_weights,
    label_pairs,
    learn_references,
    nearest_references,
)
from likewise.spaces import unit_rows
from likewise.types import BadInput, Preferences
from tests.solvers import reference_ranking as book


def taught(seed=0, items=60, dim=8, references=5, labels=14):
    """Items, reference queries, and labels that only the first half of the dimensions explain."""
    rng = np.random.default_rng(seed)
    X = unit_rows(rng.normal(size=(items, dim)))
    R = unit_rows(rng.normal(size=(references, dim)))
    rows = np.stack([rng.choice(items, labels, replace=False) for _ in range(references)])
    half = dim // 2
    score = np.einsum("rnd,rd->rn", X[rows][:, :, :half], R[:, :half])
    relevant = score > np.median(score, axis=1, keepdims=True)
    owner = np.repeat(np.arange(references), labels)
    return X, R, label_pairs(owner, rows, relevant), rows, relevant


# -- labels to preferences ----------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=25))
def test_label_pairs_are_all_pairs_of_relevant_and_irrelevant(labels):
    owner = np.array([o for o, _ in labels], dtype=np.int64)
    relevant = np.array([r for _, r in labels], dtype=bool)
    item = np.arange(len(labels))
    found = label_pairs(owner, item, relevant)
    want = {
        (o, i, j)
        for o, i, yes in zip(owner, item, relevant)
        for p, j, other in zip(owner, item, relevant)
        if o == p and yes and not other
    }
    got = list(zip(found.query, found.better, found.worse))
    assert len(got) == len(set(got))
    assert set(got) == want


def test_label_pairs_refuse_columns_of_different_lengths():
    with pytest.raises(BadInput, match="one entry a label"):
        label_pairs([0, 0], [1, 2, 3], [True, False, True])


# -- learning -----------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.0, 0.95])
def test_weights_solve_equation_8_of_the_paper(sigma):
    X, R, preferences, _, _ = taught()
    learned = learn_references(X, R, preferences, sigma=sigma, C=0.7, clip=False, tol=1e-8)
    for r in np.flatnonzero(learned.taught):
        mine = preferences.query == r
        Z = book.differences(X * R[r], preferences.better[mine], preferences.worse[mine])
        A = book.metric(X.shape[1], sigma)
        exact = book.smo(Z, np.full(mine.sum(), 0.7), A=A)
        assert learned.objective[r] == pytest.approx(exact.objective, rel=1e-5)
        np.testing.assert_allclose(learned.weights[r], exact.w, atol=1e-2)


def test_more_sigma_brings_the_weights_closer_to_ones():
    X, R, preferences, _, _ = taught()

    def angle(sigma):
        w = learn_references(X, R, preferences, sigma=sigma, clip=False).weights
        return (w.sum(axis=1) / np.linalg.norm(w, axis=1)).mean()

    cosines = [angle(sigma) for sigma in (0.0, 0.6, 0.95, 0.999)]
    assert cosines == sorted(cosines)
    assert cosines[-1] > cosines[0] + 0.1


def test_clip_leaves_no_negative_weight_and_needs_no_second_solution():
    X, R, preferences, _, _ = taught()
    free = learn_references(X, R, preferences, sigma=0.0, clip=False)
    assert (free.weights < 0).any()
    direct = learn_references(X, R, preferences, sigma=0.0, clip=True)
    assert (direct.weights >= 0).all()
    # where the free answer was thrown away for plain weights, only solving can say what else
    same = free.taught
    np.testing.assert_allclose(clipped(free).weights[same], direct.weights[same])


def test_plain_weights_where_nothing_was_taught_or_the_answer_turned():
    X = np.eye(3)
    R = np.stack([np.ones(3), np.ones(3)])
    w0 = np.array([0.5, 2.0, 1.0])
    none = Preferences.of([], [], [])
    learned = learn_references(X, R, none, w0=w0)
    np.testing.assert_array_equal(learned.weights, np.stack([w0, w0]))
    assert learned.coverage == 0
    # Reference 0 wants the opposite of what it looks like in the heavy dimension.
    turned = Preferences.of([0], [0], [1])
    learned = learn_references(X, R, turned, w0=w0, sigma=0.0, clip=False)
    assert not learned.taught[0]
    np.testing.assert_array_equal(learned.weights[0], w0)


def test_own_plain_weights_take_the_place_of_ones():
    X, R, preferences, _, _ = taught()
    w0 = np.linspace(0.2, 2.0, X.shape[1])
    w = learn_references(X, R, preferences, sigma=0.9999, C=1e-3, w0=w0, clip=False).weights
    cosine = w @ w0 / np.linalg.norm(w, axis=1) / np.linalg.norm(w0)
    assert (cosine > 0.99).all()


def test_a_taught_query_puts_its_labels_in_order_better_than_plain():
    X, R, preferences, rows, relevant = taught(items=200, dim=12, references=8, labels=40)
    learned = learn_references(X, R, preferences, sigma=0.5)

    def right(weights):
        scores = np.einsum("rnd,rd->rn", X[rows], weights * R)
        pairs = scores[:, :, None] - scores[:, None, :]
        wanted = relevant[:, :, None] & ~relevant[:, None, :]
        return (pairs[wanted] > 0).mean()

    assert right(learned.weights) > right(np.ones_like(learned.weights)) + 0.05


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"sigma": 1.0}, "sigma"),
        ({"sigma": -0.1}, "sigma"),
        ({"C": 0.0}, "C must be"),
        ({"C": np.nan}, "C must be"),
        ({"w0": -np.ones(8)}, "not be negative"),
        ({"w0": np.zeros(8)}, "all zero"),
        ({"w0": np.ones(7)}, "8 are needed"),
    ],
)
def test_bad_settings_are_refused(wrong, sentence):
    X, R, preferences, _, _ = taught()
    with pytest.raises(BadInput, match=sentence):
        learn_references(X, R, preferences, **wrong)


def test_vectors_of_another_length_and_zero_vectors():
    X, R, preferences, _, _ = taught()
    with pytest.raises(BadInput, match="were they made with other features"):
        learn_references(X, R[:, :5], preferences)
    # A zero reference cannot tell items apart: plain weights.
    learned = learn_references(X, np.zeros_like(R), preferences)
    np.testing.assert_array_equal(learned.weights, np.ones_like(R))
    assert learned.coverage == 0


# -- combining ----------------------------------------------------------------


@given(st.integers(0, 2**31), st.integers(1, 9))
def test_nearest_references_agree_with_distances(seed, M):
    rng = np.random.default_rng(seed)
    R, Q = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    distance = ((Q[:, None] - R[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(
        nearest_references(R, Q, M), np.argsort(distance, axis=1)[:, : min(M, 6)]
    )


def test_a_left_out_reference_is_never_near():
    R = np.random.default_rng(0).normal(size=(6, 3))
    near = nearest_references(R, R, 6, leave_out=np.arange(6))
    assert near.shape == (6, 5)
    assert not (near == np.arange(6)[:, None]).any()


def test_combination_is_the_sum_of_normalised_weights_times_the_query():
    rng = np.random.default_rng(1)
    W, R, Q = rng.random((5, 4)), rng.normal(size=(5, 4)), rng.normal(size=(3, 4))
    near = nearest_references(R, Q, 2)
    want = (W[near] / np.linalg.norm(W[near], axis=2, keepdims=True)).sum(axis=1)
    np.testing.assert_allclose(combine_weights(W, R, Q, 2), want)
    np.testing.assert_allclose(combine(W, R, Q, 2), want * Q)


def test_untaught_references_give_plain_similarity_up_to_scale():
    rng = np.random.default_rng(2)
    R, Q = rng.normal(size=(4, 5)), rng.normal(size=(3, 5))
    ratio = combine(np.ones((4, 5)), R, Q) / Q
    np.testing.assert_allclose(ratio, ratio[0, 0])


def test_one_reference_serves_everything_and_none_serves_nothing():
    rng = np.random.default_rng(3)
    W, R, Q = rng.random((1, 4)), rng.normal(size=(1, 4)), rng.normal(size=(3, 4))
    np.testing.assert_allclose(combine(W, R, Q, 10), W / np.linalg.norm(W) * Q)
    with pytest.raises(BadInput, match="at least one reference"):
        combine(np.empty((0, 4)), np.empty((0, 4)), Q)
    with pytest.raises(BadInput, match="one row for each"):
        combine(np.ones((2, 4)), R, Q)


def test_coverage_of_no_reference_is_zero():
    empty = np.empty((0, 3))
    assert Learned(empty, np.empty(0, bool), np.empty(0), np.empty(0)).coverage == 0
