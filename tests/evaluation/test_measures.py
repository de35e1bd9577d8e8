"""Every measure against its slow definition, outside packages, and the laws of rankings."""

from __future__ import annotations

import math

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from experiments.rcca_flickr8k import ndcg_paper
from experiments.score_ranking import rank
from likewise import evaluation as ev
from likewise.types import BadInput
from tests.evaluation import reference

MEASURES = {
    "map": reference.average_precision,
    "judged_map": reference.judged_average_precision,
    "bpref": reference.bpref,
    "top_precision": reference.top_precision,
    "r_precision": reference.r_precision,
    "top4": reference.top4,
    "p1": lambda s, g: reference.precision_at(s, g, 1),
    "p3": lambda s, g: reference.precision_at(s, g, 3),
    "p50": lambda s, g: reference.precision_at(s, g, 50),
    "recall3": lambda s, g: reference.recall_at(s, g, 3),
    "ndcg3": lambda s, g: reference.ndcg(s, g, 3),
    "ndcg": lambda s, g: reference.ndcg(s, g, len(s)),
}


def query(values, grades):
    """A strategy of (scores, grades) of one length."""
    return st.integers(1, 30).flatmap(
        lambda n: st.tuples(
            st.lists(values, min_size=n, max_size=n), st.lists(grades, min_size=n, max_size=n)
        )
    )


tied = st.integers(-3, 3).map(float)
partial_grades = st.sampled_from([0, 0, 2, 3, None])
full_grades = st.sampled_from([0, 0, 2, 3])


def tie_free(seed, queries=6, items=80, share=0.3):
    rng = np.random.default_rng(seed)
    scores = np.stack([rng.permutation(items) for _ in range(queries)]) / items - 0.5
    return scores, rng.random((queries, items)) < share


@pytest.mark.parametrize("name", MEASURES)
@given(case=query(tied, partial_grades))
@settings(max_examples=60, deadline=None)
def test_equals_its_definition_with_ties_and_unjudged_items(name, case):
    scores, grades = case
    matrix = np.array([grades], dtype=float)
    # A second query that is judged in part makes the first one count as such as well.
    ranked = rank(np.array([scores, scores]), np.vstack([matrix, np.full_like(matrix, np.nan)]))
    got, empty = ev.measure(ranked, name)
    assert got == pytest.approx(MEASURES[name](scores, grades), abs=1e-12, nan_ok=True)
    assert math.isnan(empty)


@pytest.mark.parametrize("name", MEASURES)
@given(case=query(tied, full_grades))
@settings(max_examples=30, deadline=None)
def test_equals_its_definition_where_all_is_judged(name, case):
    scores, grades = case
    ranked = rank(np.array([scores]), np.array([grades]))
    assert ranked.complete
    want = MEASURES[name](scores, grades)
    assert ev.measure(ranked, name)[0] == pytest.approx(want, abs=1e-12, nan_ok=True)


@given(case=query(tied, full_grades))
@settings(max_examples=60, deadline=None)
def test_eleven_points_equal_their_definition(case):
    scores, grades = case
    got = ev.interpolated_precision(rank(np.array([scores]), np.array([grades])))[0]
    want = reference.interpolated_precision(scores, grades)
    np.testing.assert_allclose(got, want, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_average_precision_agrees_with_scikit_learn(dtype):
    scores, relevant = tie_free(1, queries=20, items=500)
    scores = scores.astype(dtype)
    got = ev.average_precision(rank(scores, relevant))
    want = [average_precision_score(y, s) for y, s in zip(relevant, scores)]
    np.testing.assert_allclose(got, want, atol=1e-12, rtol=0)


@pytest.mark.parametrize("cut", [1, 5, 200])
def test_ndcg_agrees_with_scikit_learn(cut):
    scores, relevant = tie_free(2)
    grades = relevant * np.random.default_rng(3).integers(1, 4, relevant.shape)
    ranked = rank(scores, grades)
    want = [ndcg_score([g], [s], k=cut) for g, s in zip(grades, scores)]
    np.testing.assert_allclose(ev.ndcg(ranked, cut, gains="linear"), want, atol=1e-12)
    want = [ndcg_score([2.0**g - 1], [s], k=cut) for g, s in zip(grades, scores)]
    np.testing.assert_allclose(ev.ndcg(ranked, cut), want, atol=1e-12)


def test_agrees_with_trec_eval_on_truncated_and_partly_judged_runs():
    rng = np.random.default_rng(4)
    run, qrels = {}, {}
    for q in range(12):
        items = [f"i{i:03d}" for i in rng.permutation(60)]
        run[f"q{q:02d}"] = {item: float(s) for item, s in zip(items[:40], rng.permutation(40))}
        judged = rng.choice(items, 25, replace=False)
        qrels[f"q{q:02d}"] = {str(item): int(rng.integers(0, 4)) for item in judged}
    names = ["map", "bpref", "Rprec", "P", "recall", "ndcg", "ndcg_cut", "iprec_at_recall"]
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(names)).evaluate(run)
    ranked = ev.rank(run, qrels)
    pairs = {
        "map": ev.average_precision(ranked),
        "bpref": ev.bpref(ranked),
        "Rprec": ev.r_precision(ranked),
        "P_5": ev.precision_at(ranked, 5),
        "P_100": ev.precision_at(ranked, 100),
        "recall_20": ev.recall_at(ranked, 20),
        "ndcg": ev.ndcg(ranked, gains="linear"),
        "ndcg_cut_10": ev.ndcg(ranked, 10, gains="linear"),
    }
    curve = ev.interpolated_precision(ranked)
    pairs |= {f"iprec_at_recall_{at / 10:.2f}": curve[:, at] for at in range(11)}
    for name, ours in pairs.items():
        want = [theirs[q][name] for q in ranked.names]
        np.testing.assert_allclose(ours, want, atol=1e-6, err_msg=name)  # they keep float32


@pytest.mark.parametrize("name", MEASURES)
def test_the_order_of_the_items_does_not_matter(name):
    scores, relevant = tie_free(5)
    shuffle = np.random.default_rng(6).permutation(scores.shape[1])
    before = ev.measure(rank(scores, relevant), name)
    after = ev.measure(rank(scores[:, shuffle], relevant[:, shuffle]), name)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("curve", [np.exp, np.arctan, lambda s: 1e6 * s - 3, lambda s: s**3])
def test_a_rising_curve_over_the_scores_does_not_matter(name, curve):
    scores, relevant = tie_free(7)
    before = ev.measure(rank(scores, relevant), name)
    np.testing.assert_array_equal(before, ev.measure(rank(curve(scores), relevant), name))


@pytest.mark.parametrize("name", [n for n in MEASURES if n not in ("top4", "p50")])
def test_bounds_and_the_perfect_ranking(name):
    scores, relevant = tie_free(8)
    values = ev.measure(rank(scores, relevant), name)
    assert ((values >= 0) & (values <= 1)).all()
    perfect = ev.measure(rank(relevant.astype(float), relevant), name)
    if name == "recall3":
        np.testing.assert_allclose(perfect, 3 / relevant.sum(axis=1))
    else:
        np.testing.assert_allclose(perfect, 1.0)
        assert (values < 1).any()


def test_the_paper_s_ndcg_is_one_for_excellents_only_and_counts_good_as_three_sevenths():
    scores = np.arange(10.0)[None, ::-1]
    excellent, good = np.full((1, 10), 3), np.full((1, 10), 2)
    assert ndcg_paper(rank(scores, excellent), 10)[0] == pytest.approx(1.0)
    assert ndcg_paper(rank(scores, good), 10)[0] == pytest.approx(3 / 7)
    assert ev.ndcg(rank(scores, good), 10)[0] == pytest.approx(1.0)
    rng = np.random.default_rng(11)
    scores, grades = rng.normal(size=(20, 30)), rng.choice([0, 0, 2, 3], (20, 30))
    want = [reference.ndcg_paper(s, g, 5) for s, g in zip(scores.tolist(), grades.tolist())]
    np.testing.assert_allclose(ndcg_paper(rank(scores, grades), 5), want)


def test_top_precision_of_constant_scores_is_zero_although_ties_favour_low_ids():
    relevant = np.array([[True, True, False, False]])
    ranked = rank(np.zeros((1, 4)), relevant)
    assert ev.top_precision(ranked)[0] == 0
    assert ev.average_precision(ranked)[0] == 1


def test_none_relevant_is_left_out_and_counted_and_all_relevant_is_one():
    relevant = np.array([[False] * 5, [True] * 5, [True] + [False] * 4])
    scores = np.tile(np.arange(5.0), (3, 1))
    ranked = rank(scores, relevant)
    values = ev.average_precision(ranked)
    assert math.isnan(values[0])
    assert values[1] == 1
    assert ev.mean(values) == ev.Mean(pytest.approx((1 + 1 / 5) / 2), 2, 1)
    assert ev.top_precision(ranked)[1] == ev.bpref(ranked)[1] == 1
    nothing = ev.mean(ev.average_precision(rank(scores[:1], relevant[:1])))
    assert math.isnan(nothing.value)
    assert (nothing.queries, nothing.left_out) == (0, 1)
    curve = ev.recall_precision_curve(rank(scores[:1], relevant[:1]))[1]
    assert np.isnan(curve).all()


def test_raw_curve_ends_at_full_recall_and_its_mean_precision_is_the_average_precision():
    scores, relevant = tie_free(9)
    ranked = rank(scores, relevant)
    for q in range(len(ranked)):
        recall, precision = ev.recall_precision(ranked, q)
        assert recall[-1] == 1
        assert precision.mean() == pytest.approx(ev.average_precision(ranked)[q])
    levels, curve = ev.recall_precision_curve(ranked)
    assert levels.tolist() == pytest.approx([at / 10 for at in range(11)])
    assert (np.diff(curve) <= 1e-15).all()


def test_names_and_cuts_that_mean_nothing_are_refused():
    ranked = rank(*tie_free(10))
    for name in ("maps", "p", "p-1", "ndcg10_paper", "P10"):
        with pytest.raises(BadInput, match="no measure"):
            ev.measure(ranked, name)
    for cut in (0, -1, 2.5, True):
        with pytest.raises(BadInput, match="at least 1"):
            ev.precision_at(ranked, cut)
    with pytest.raises(BadInput, match="at least 1"):
        ev.measure(ranked, "p0")
    with pytest.raises(BadInput, match="gains"):
        ev.ndcg(ranked, gains="cubic")
    with pytest.raises(BadInput, match="2 levels"):
        ev.interpolated_precision(ranked, 1)
