"""The paper's baselines do what their names say."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.rivals.identity_prior import identity_prior
from experiments.rivals.qi_rsvm import qi_rsvm
from experiments.rivals.rerank import reranked
from experiments.rivals.rocchio import rocchio
from likewise.types import BadInput
from tests.learners.test_references import taught
from tests.solvers import reference_ranking as book


def test_one_svm_for_all_solves_the_problem_of_all_preferences_together():
    X, R, p, _, _ = taught()
    found = qi_rsvm(X, R, p, C=0.2, tol=1e-7, max_sweeps=2000)
    Z = (X[p.better] - X[p.worse]) * R[p.query]
    exact = book.smo(Z, np.full(len(p), 0.2))
    assert found.objective == pytest.approx(exact.objective, rel=1e-5)
    np.testing.assert_allclose(found.w, exact.w, atol=1e-2)


def test_identity_prior_stays_at_ones_when_broken_preferences_are_cheap():
    X, R, p, _, _ = taught()
    cheap = identity_prior(X, R, p, C=1e-7, clip=False)
    np.testing.assert_allclose(cheap.weights, 1.0, atol=1e-4)
    dear = identity_prior(X, R, p, C=10.0, clip=False)
    assert np.abs(dear.weights - 1).max() > 0.1
    w0 = np.linspace(0.5, 1.5, X.shape[1])
    own = identity_prior(X, R, p, C=1e-7, w0=w0)
    np.testing.assert_allclose(own.weights, np.broadcast_to(w0, own.weights.shape), atol=1e-4)


def test_reranking_orders_the_first_and_leaves_the_rest():
    rng = np.random.default_rng(0)
    plain, learned = rng.normal(size=(4, 30)), rng.normal(size=(4, 30))
    scores = reranked(plain, learned, 10)
    for row, p, l in zip(np.argsort(-scores, axis=1), plain, learned):
        first = np.argsort(-p)[:10]
        np.testing.assert_array_equal(row[:10], first[np.argsort(-l[first])])
        np.testing.assert_array_equal(row[10:], np.argsort(-p)[10:])
    np.testing.assert_array_equal(reranked(plain, learned, 30), learned)


def test_reranking_refuses_what_does_not_fit():
    with pytest.raises(BadInput, match="one shape"):
        reranked(np.ones((2, 3)), np.ones((2, 4)), 1)
    with pytest.raises(BadInput, match="At least one"):
        reranked(np.ones((2, 3)), np.ones((2, 3)), 0)


def test_rocchio_moves_towards_the_relevant_and_away_from_the_others():
    q = np.array([1.0, 0.0, 0.0])
    good, bad = np.array([[0.0, 1.0, 0.0], [0.0, 3.0, 0.0]]), np.array([[0.0, 0.0, 2.0]])
    np.testing.assert_allclose(rocchio(q, good, bad), [1.0, 1.5, -0.3])
    np.testing.assert_allclose(rocchio(q, [], bad), [1.0, 0.0, -0.3])
    np.testing.assert_array_equal(rocchio(q, [], []), q)
    with pytest.raises(BadInput, match="3 are needed"):
        rocchio(q, np.ones((2, 4)), [])
