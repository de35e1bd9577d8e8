"""OASIS and the ranking SVM: what top precision is compared with."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import LinearSVC

from experiments.rivals.oasis import Oasis
from experiments.rivals.passive_aggressive import oasis, rank_svm
from experiments.rivals.rank_svm import BilinearRankSvm
from experiments.rivals.triplets import triplets
from likewise.learners.relevance import make_task
from likewise.types import BadInput
from tests.learners.test_top_precision import labelled

learners = pytest.mark.parametrize(
    "learner",
    [Oasis(steps=3_000), BilinearRankSvm(triplets=3_000), BilinearRankSvm(diagonal=True)],
    ids=["oasis", "full", "diagonal"],
)


def random_triplets(seed, n=6, m=30, d=4, count=80):
    rng = np.random.default_rng(seed)
    z, x = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    return z, x, (rng.integers(n, size=count), *rng.integers(m, size=(2, count)))


@pytest.mark.parametrize("diagonal", [False, True])
def test_rank_svm_agrees_with_liblinear(diagonal):
    z, x, (q, better, worse) = random_triplets(0)
    moves = x[better] - x[worse]
    rows = z[q] * moves if diagonal else np.einsum("ti,tj->tij", z[q], moves).reshape(len(q), -1)
    # A linear SVM without intercept on the rows and their mirror images is the same problem.
    peer = LinearSVC(C=0.05, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=200_000)
    peer.fit(np.vstack([rows, -rows]), np.repeat([1, -1], len(rows)))
    fit = rank_svm(
        z, x, (q, better, worse), cost=0.1, diagonal=diagonal, tolerance=1e-9, passes=5_000
    )
    assert np.allclose(fit.weights.ravel(), peer.coef_.ravel(), atol=1e-4)
    assert fit.residual <= 1e-9 * 0.1 * len(q)


def test_oasis_takes_the_passive_aggressive_step():
    z, x, (q, better, worse) = random_triplets(1, count=12)
    w, cost = np.eye(4), 0.05
    for t in range(12):
        move = np.outer(z[q[t]], x[better[t]] - x[worse[t]])
        loss = max(0.0, 1.0 - float((w * move).sum()))
        if loss:
            size = float((move**2).sum())
            w = w + min(cost, loss / size if size else cost) * move
    fit = oasis(z, x, (q, better, worse), cost=cost, prior=np.eye(4))
    assert np.allclose(fit.weights, w)


@learners
def test_they_learn_what_plain_similarity_does_not_know(learner):
    x, labels = labelled()
    learner = clone(learner).fit(x[:160], labels[:160])
    similarity, rest, own = learner.similarity_, x[160:], labels[160:]
    relevant = own[:, None] == own[None, :]

    def margin(w):
        scores = rest @ w @ rest.T
        return scores[relevant].mean() - scores[~relevant].mean(), scores.std()

    learned, plain = margin(similarity.matrix), margin(np.eye(10))
    assert learned[0] / learned[1] > plain[0] / plain[1]
    assert learner.report_.covered == 1.0
    again = clone(learner).fit(x[:160], labels[:160])
    assert np.array_equal(again.similarity_.matrix, similarity.matrix)


@learners
def test_nothing_to_learn_gives_plain_similarity(learner):
    x, _ = labelled(m=20)
    fit = clone(learner).fit(x, np.zeros((3, 20)), x[:3])
    assert np.array_equal(fit.similarity_.matrix, np.eye(10))
    assert fit.report_.covered == 0
    assert "no relevant item" in fit.report_.notes[0]


@learners
def test_bad_settings_are_refused(learner):
    x, labels = labelled(m=20)
    with pytest.raises(BadInput, match="C must be above 0"):
        clone(learner).set_params(C=0.0).fit(x, labels)


def test_triplets_are_relevant_before_irrelevant_and_never_the_unknown():
    rng = np.random.default_rng(0)
    relevance = rng.integers(-1, 2, size=(8, 30))
    relevance[:, 0], relevance[:, 1] = 1, 0
    task = make_task(rng.normal(size=(30, 3)), relevance, rng.normal(size=(8, 3)))
    query, better, worse = triplets(task, 500, rng)
    assert (relevance[query, better] == 1).all()
    assert (relevance[query, worse] == 0).all()
    assert set(query) == set(range(8))
