"""K-means and medoids: planted clusters, Lloyd's reference, and what happens at the edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans as PeerKMeans

from likewise.solvers.kmeans import kmeans, medoids
from tests.solvers.reference_kmeans import greedy_medoids, lloyd


def blobs(seed, clusters=5, each=40, dim=4, apart=50.0):
    rng = np.random.default_rng(seed)
    centres = apart * np.eye(clusters, dim) + apart * np.arange(clusters)[:, None]
    label = np.repeat(np.arange(clusters), each)
    return centres[label] + rng.standard_normal((len(label), dim)), label, centres


def squares(X, centres):
    return ((np.asarray(X)[:, None] - centres[None]) ** 2).sum(axis=2)


def test_planted_clusters_are_found():
    X, label, _ = blobs(0)
    found = kmeans(X, 5, restarts=10)
    assert len(set(zip(label.tolist(), found.assignment.tolist()))) == 5
    for j in range(5):
        np.testing.assert_allclose(
            found.centres[j], X[found.assignment == j].mean(axis=0), rtol=1e-4
        )


@pytest.mark.parametrize("seed", range(5))
def test_from_one_start_it_goes_the_way_of_lloyd(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 3))
    start = X[rng.choice(200, 6, replace=False)]
    fast = kmeans(X, 6, start=start, iterations=100)
    centres, assignment, objective = lloyd(X, start, 100)
    np.testing.assert_allclose(fast.centres, centres, atol=1e-4)
    assert (fast.assignment == assignment).mean() > 0.99
    assert fast.objective == pytest.approx(objective, rel=1e-4)


def test_no_worse_than_scikit_learn():
    X = np.random.default_rng(0).standard_normal((500, 5))
    peer = PeerKMeans(8, n_init=2, random_state=0).fit(X)
    assert kmeans(X, 8, restarts=5).objective <= 1.02 * peer.inertia_


@given(
    seed=st.integers(0, 10_000),
    rows=st.integers(1, 60),
    different=st.integers(1, 20),
    dim=st.integers(1, 6),
    k=st.integers(1, 30),
    spherical=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_laws(seed, rows, different, dim, k, spherical):
    """Every centre has an item, every item its nearest centre, and as many as can be."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((different, dim))[rng.integers(0, different, rows)].astype(np.float32)
    X = X / np.linalg.norm(X, axis=1, keepdims=True) if spherical else X
    found = kmeans(X, k, spherical=spherical, seed=seed)
    counts = np.bincount(found.assignment, minlength=len(found.centres))
    assert (counts > 0).all()
    assert len(found.assignment) == rows
    distinct = len(np.unique(X.round(4), axis=0))
    assert len(found.centres) <= min(k, rows)
    assert len(found.centres) >= min(k, distinct)
    distance = squares(X, found.centres)
    own = distance[np.arange(rows), found.assignment]
    np.testing.assert_allclose(own, distance.min(axis=1), atol=1e-4)
    assert found.objective == pytest.approx(own.sum(), rel=1e-4, abs=1e-6)
    if spherical:
        np.testing.assert_allclose(np.linalg.norm(found.centres, axis=1), 1, rtol=1e-4)


def test_deterministic_under_a_seed_and_leaves_its_input_alone():
    X = np.random.default_rng(0).standard_normal((3000, 8)).astype(np.float32)
    before = X.copy()
    first, again = (kmeans(X, 20, seed=7, max_points_per_centre=50) for _ in range(2))
    np.testing.assert_array_equal(first.centres, again.centres)
    np.testing.assert_array_equal(first.assignment, again.assignment)
    np.testing.assert_array_equal(X, before)
    other = kmeans(X, 20, seed=8, max_points_per_centre=50)
    assert not np.array_equal(first.centres, other.centres)


def test_a_sample_trains_but_every_item_is_assigned():
    X, _, _ = blobs(1, each=300)
    found = kmeans(X, 5, max_points_per_centre=20, restarts=10)
    assert found.assignment.shape == (1500,)
    # a centre of 20 items is off by about dim / 20 of the spread, no more
    assert found.objective <= 1.5 * kmeans(X, 5, restarts=10).objective


def test_spherical_ignores_length():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((100, 3))
    scaled = X * rng.uniform(0.1, 10, (100, 1))
    np.testing.assert_allclose(
        kmeans(X, 4, spherical=True).centres, kmeans(scaled, 4, spherical=True).centres, atol=1e-4
    )


def test_zero_rows_are_allowed_on_the_sphere():
    found = kmeans(np.r_[np.zeros((5, 3)), np.eye(3)], 2, spherical=True)
    assert np.isfinite(found.centres).all()


@given(
    seed=st.integers(0, 10_000),
    items=st.integers(1, 80),
    dim=st.integers(1, 4),
    share=st.floats(0, 1),
)
@settings(max_examples=60, deadline=None)
def test_medoids_are_the_greedy_choice(seed, items, dim, share):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((items, dim)).astype(np.float32)
    centres = 0.1 * rng.standard_normal((max(1, int(share * items)), dim)).astype(np.float32)
    chosen = medoids(X, centres)
    assert len(set(chosen.tolist())) == len(centres)
    cost = squares(centres, X)[np.arange(len(centres)), chosen].sum()
    slow = greedy_medoids(X.astype(float), centres.astype(float))
    truth = squares(centres, X)[np.arange(len(centres)), slow].sum()
    assert cost == pytest.approx(truth, rel=1e-4)


def test_medoid_of_far_centres_is_the_nearest_item():
    X, label, centres = blobs(3)
    chosen = medoids(X, centres)
    np.testing.assert_array_equal(label[chosen], np.arange(5))
    np.testing.assert_array_equal(chosen, squares(X, centres).argmin(axis=0))


def test_medoids_of_identical_centres_are_different_items():
    X = np.arange(20.0)[:, None]
    assert sorted(medoids(X, np.full((20, 1), 3.2)).tolist()) == list(range(20))


@pytest.mark.parametrize(
    ("X", "options", "words"),
    [
        (np.empty((0, 3)), {}, "no rows"),
        (np.ones(3), {}, "matrix"),
        (np.array([[np.nan], [1.0]]), {}, "finite"),
        (np.array([[np.inf], [1.0]]), {}, "finite"),
        (np.ones((3, 2)), {"k": 0}, "at least 1"),
        (np.ones((3, 2)), {"iterations": 0}, "at least 1"),
        (np.ones((3, 2)), {"start": np.ones((2, 3))}, "start"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(X, options, words):
    with pytest.raises(ValueError, match=words):
        kmeans(X, **({"k": 2} | options))


def test_bad_input_of_medoids_is_refused():
    with pytest.raises(ValueError, match="columns"):
        medoids(np.ones((3, 2)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="fewer"):
        medoids(np.ones((3, 2)), np.ones((4, 2)))
    with pytest.raises(ValueError, match="finite"):
        medoids(np.full((3, 2), np.nan), np.ones((2, 2)))


def test_strided_and_integer_arrays_are_taken():
    wide = np.random.default_rng(0).integers(0, 100, (50, 6))
    plain = kmeans(np.ascontiguousarray(wide[:, ::2], dtype=np.float32), 4)
    np.testing.assert_array_equal(kmeans(wide[:, ::2], 4).centres, plain.centres)
