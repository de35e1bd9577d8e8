"""The learner: forms of input, bad input, choices on validation, scikit-learn's manners."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from likewise.learners.plain import Plain
from likewise.learners.relevance import make_task
from likewise.learners.top_precision import (
    TopPrecision,
    TopPrecisionLearner,
    first_right,
)
from likewise.spaces import Blocks
from likewise.types import BadInput, Preferences

solvers = pytest.mark.parametrize("solver", ["fast", "exact"])


def labelled(seed=0, m=240, d=10, classes=4):
    """Classes that only the first dimensions know."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=m)
    x = rng.normal(size=(m, d))
    x[:, :classes] = 2.0 * np.eye(classes)[labels] + 0.4 * x[:, :classes]
    return x, labels


def plain_score(learner, x, labels):
    """Top precision of plain similarity, by the same measure."""
    other = clone(learner)
    other.similarity_ = TopPrecision(learner.similarity_.space, np.ones(x.shape[1]))
    return other.score(x, labels)


@solvers
def test_it_learns_from_labels_what_plain_similarity_does_not_know(solver):
    x, labels = labelled()
    learner = TopPrecisionLearner(solver=solver, C=1e-2, lam=0.1).fit(x[:160], labels[:160])
    rest = x[160:], labels[160:]
    assert learner.score(*rest) > 1.5 * plain_score(learner, *rest)
    report = learner.report_
    assert report.covered == 1.0
    size = np.bincount(labels[:160])
    assert report.preferences == (size * (size - 1) * (160 - size)).sum()
    assert report.held_out["top_precision"] > report.held_out["plain_top_precision"]
    assert learner.similarity_.made_by == solver
    assert solver in report.method
    assert report.seconds > 0


@solvers
def test_labels_a_matrix_and_a_sparse_matrix_are_one(solver):
    x, labels = labelled(m=120)
    queries, classes = x[:30], labels[:30]
    relevance = (classes[:, None] == labels[None, 30:]).astype(int)
    learner = TopPrecisionLearner(solver=solver, epochs=3)
    fits = [
        clone(learner).fit(x[30:], labels[30:], queries, query_labels=classes),
        clone(learner).fit(x[30:], relevance, queries),
        clone(learner).fit(x[30:], sparse.csr_matrix(relevance), queries),
    ]
    for fit in fits[1:]:
        assert np.array_equal(fit.similarity_.matrix, fits[0].similarity_.matrix)


def test_an_item_is_neither_relevant_nor_irrelevant_to_itself():
    x, labels = labelled(m=40)
    own = (labels[:, None] == labels[None, :]).astype(int)
    unknown = own.copy()
    np.fill_diagonal(unknown, -1)
    first = TopPrecisionLearner(solver="exact").fit(x, own)
    second = TopPrecisionLearner(solver="exact").fit(x, unknown, x)
    assert np.allclose(first.similarity_.matrix, second.similarity_.matrix)


def test_preferences_teach_through_judged_items_only():
    x, labels = labelled(m=100)
    rng = np.random.default_rng(1)
    query, better, worse = [], [], []
    for q in range(20):
        for good in rng.choice(np.flatnonzero(labels == labels[q]), 4):
            for bad in rng.choice(np.flatnonzero(labels != labels[q]), 4):
                query.append(q), better.append(good), worse.append(bad)
    learner = TopPrecisionLearner(solver="exact", lam=0.1, held_out=0.0)
    learner.fit(x, Preferences.of(query, better, worse))
    assert learner.report_.queries == 20
    assert learner.score(x, labels) > plain_score(learner, x, labels)
    with pytest.raises(BadInput, match="rows that are not there"):
        learner.fit(x, Preferences.of([0], [0], [len(x)]))


@solvers
def test_queries_that_teach_nothing_are_left_out_and_counted(solver):
    x, labels = labelled(m=60)
    relevance = (labels[:12, None] == labels[None, :]).astype(int)
    relevance[0], relevance[1] = 0, 1
    queries = x[:12].copy()
    queries[2] = 0.0
    learner = TopPrecisionLearner(solver=solver, epochs=3).fit(x, relevance, queries)
    assert learner.report_.covered == pytest.approx(10 / 12)
    notes = " ".join(learner.report_.notes)
    assert "1 query has no relevant item" in notes
    assert "1 query has no irrelevant item" in notes
    assert "all zeros" in notes
    assert np.isfinite(learner.similarity_.matrix).all()


@solvers
@pytest.mark.parametrize("value", [0, 1, -1])
def test_nothing_to_learn_gives_plain_similarity_and_says_so(solver, value):
    x, _ = labelled(m=20)
    space = Blocks.identity({"a": 4, "b": 6})
    plain = Plain(space, {"a": 1.0, "b": 0.5})
    learner = TopPrecisionLearner(plain, solver=solver).fit(x, np.full((3, 20), value), x[:3])
    assert np.allclose(learner.similarity_.score(x[0], x), plain.score(x[0], x))
    assert learner.report_.covered == 0
    assert "plain similarity" in learner.report_.notes[0]
    assert TopPrecisionLearner().fit(x, Preferences.of([], [], [])).report_.preferences == 0


def test_bad_input_is_refused_with_what_to_do():
    x, labels = labelled(m=20)
    learner = TopPrecisionLearner()
    cases = [
        ("one row a query", lambda: learner.fit(x, np.ones((3, 19)), x[:3])),
        ("one row a query", lambda: learner.fit(x, np.ones((3, 20)))),
        ("one label for each item", lambda: learner.fit(x, labels[:-1])),
        ("one label for each query", lambda: learner.fit(x, labels, x[:3], query_labels=[1])),
        ("query_labels", lambda: learner.fit(x, labels, x[:3])),
        ("use -1 for unknown", lambda: learner.fit(x, np.full((3, 20), np.nan), x[:3])),
        ("numbers each", lambda: learner.fit(x, labels, x[:3, :4], query_labels=labels[:3])),
        ("NaN", lambda: learner.fit(np.full((20, 3), np.nan), labels)),
        (
            "other features",
            lambda: TopPrecisionLearner(Plain(Blocks.identity({"a": 3}))).fit(x, labels),
        ),
        ("one of auto, fast, exact", lambda: TopPrecisionLearner(solver="slow").fit(x, labels)),
        ("C is a number above 0", lambda: TopPrecisionLearner(C=0).fit(x, labels)),
        ("held_out", lambda: TopPrecisionLearner(held_out=1.0).fit(x, labels)),
    ]
    for sentence, call in cases:
        with pytest.raises(BadInput, match=sentence):
            call()


@solvers
def test_settings_are_chosen_on_held_out_queries(solver):
    x, labels = labelled()
    bad = 1e-9
    learner = TopPrecisionLearner(solver=solver, C=(bad, 1e-2), lam=(1.0, 0.1), epochs=8)
    learner.fit(x, labels)
    chosen = learner.report_.settings
    values = []
    for lam in (1.0, 0.1):
        for cost in (bad, 1e-2):
            one = clone(learner).set_params(C=cost, lam=lam).fit(x, labels)
            values.append((one.report_.held_out["top_precision"], cost, lam))
    best = max(v for v, _, _ in values)
    assert learner.report_.held_out["top_precision"] >= best - 1e-12
    assert (chosen["C"], chosen["lam"]) in {(c, l) for _, c, l in values}


def test_precision_at_one_may_be_lost_only_so_far():
    """Where every setting loses more, the answer is plain similarity and says so."""
    x, labels = labelled(seed=3)
    x[:, 4:] *= 0.1  # plain similarity is right already, and labels at random mislead
    wrong = np.random.default_rng(0).permutation(labels[:160])
    judged = x[160:], (labels[160:, None] == labels[None, :160]).astype(int)

    def fitted(**settings):
        return TopPrecisionLearner(epochs=3, **settings).fit(x[:160], wrong, validation=judged)

    free = fitted(lam=0.0)
    assert free.report_.held_out["p1"] < free.report_.held_out["plain_p1"]
    bound = fitted(lam=0.0, loss=0.0)
    assert "precision@1" in bound.report_.notes[0]
    np.testing.assert_array_equal(bound.similarity_.weights, np.ones(x.shape[1]))
    assert fitted(lam=(0.0, 1e6), loss=0.0).report_.settings["lam"] == 1e6


def test_first_right_leaves_unknown_items_out():
    x = np.eye(3)
    relevance = np.array([[-1, 1, 0], [1, -1, 0], [0, 1, -1]])
    task = make_task(x, relevance, x)
    by_hand = np.array([[9.0, 2, 1], [1, 9, 2], [1, 2, 9]])  # scores of items 0, 1, 2
    assert first_right(task, by_hand) == pytest.approx(2 / 3)


@pytest.mark.parametrize(("items", "solver"), [(40, "exact"), (3000, "fast")])
def test_small_tasks_are_solved_exactly(items, solver):
    x, labels = labelled(m=items)
    learner = TopPrecisionLearner(solver="auto", epochs=1, max_queries=40).fit(x, labels)
    assert learner.similarity_.made_by == learner.report_.settings["solver"] == solver


def test_given_validation_queries_choose():
    x, labels = labelled()
    learner = TopPrecisionLearner(epochs=5)
    learner.fit(x[:160], labels[:160], validation=(x[160:], labels[160:]))
    relevance = labels[160:, None] == labels[None, :160]
    again = clone(learner).fit(x[:160], labels[:160], validation=(x[160:], relevance))
    assert np.array_equal(learner.similarity_.matrix, again.similarity_.matrix)
    assert "top_precision" in learner.report_.held_out


@pytest.mark.parametrize("shape", [(6,), (6, 6)])
def test_a_model_that_was_stored_as_thin_factors_still_ranks(shape):
    rng = np.random.default_rng(0)
    weights, left, right = rng.normal(size=shape), *rng.normal(size=(2, 6, 2))
    arrays = {"weights": weights, "left": left, "right": right}
    space = Blocks.identity({"x": 6})
    model = TopPrecision.from_arrays(space, arrays, {"made_by": "fast"})
    whole = np.diag(weights) if len(shape) == 1 else weights
    assert np.allclose(model.matrix, whole + left @ right.T)


@solvers
def test_a_diagonal_model_is_a_weight_a_dimension(solver):
    x, labels = labelled()
    learner = TopPrecisionLearner(solver=solver, diagonal=True, lam=0.1).fit(x, labels)
    assert learner.similarity_.weights.shape == (10,)
    w = learner.similarity_.weights
    assert w[:4].min() > np.abs(w[4:]).max()


def test_it_runs_in_a_grid_search():
    x, labels = labelled(m=120)
    search = GridSearchCV(TopPrecisionLearner(epochs=5), {"lam": [0.1, 10.0]}, cv=3)
    search.fit(x, labels)
    assert search.best_params_["lam"] in (0.1, 10.0)
    assert search.best_score_ > 0
    assert search.best_estimator_.similarity_.space.dim == x.shape[1]


def test_a_matrix_of_another_size_is_refused():
    space = Blocks.identity({"x": 3})
    with pytest.raises(BadInput, match="W must be 3"):
        TopPrecision(space, np.eye(4))
    with pytest.raises(BadInput, match="finite"):
        TopPrecision(space, np.full((3, 3), np.nan))
