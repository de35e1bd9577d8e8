"""Ranks are right for every form of rankings and relevance, and for every kind of float."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from experiments import score_ranking
from experiments.relevance import Relevance
from experiments.score_ranking import rank
from likewise import evaluation as ev
from likewise.types import BadInput, Hits
from tests.evaluation.test_compare import lists, named

RNG = np.random.default_rng


def ranks_by_lexsort(row):
    """Rank of every item: greatest score first, then the lowest id."""
    ranks = np.empty(len(row), dtype=int)
    ranks[np.lexsort((np.arange(len(row)), -row))] = np.arange(1, len(row) + 1)
    return ranks


def ranked_ids(scores):
    """Ranks of all items as our kernel sees them: one item is relevant to each query."""
    items = len(scores)
    grid = np.broadcast_to(scores, (items, items))
    truth = np.eye(items, dtype=bool)
    found = rank(grid, truth)
    assert_agree(found, ev.rank(named(grid), lists(truth)))
    return found.ranks


def assert_agree(of_matrix, of_run):
    """A run does not know how many items it does not hold; all else is the same."""
    assert_same(of_matrix, of_run, without=() if not of_matrix.complete else ("irrelevant",))


def assert_same(a, b, without=()):
    for field in fields(ev.Ranked):
        if field.name not in ("names", *without):
            np.testing.assert_array_equal(
                getattr(a, field.name), getattr(b, field.name), err_msg=field.name
            )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_ranks_of_any_finite_floats(dtype, data):
    width = 8 * np.dtype(dtype).itemsize
    finite = st.floats(allow_nan=False, allow_infinity=False, width=width)
    some = st.one_of(finite, st.sampled_from([0.0, -0.0, 1.0, -1.0]))
    row = data.draw(hnp.arrays(dtype, st.integers(1, 40), elements=some))
    np.testing.assert_array_equal(ranked_ids(row), ranks_by_lexsort(row))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda rng: rng.normal(size=3000), id="normal"),
        pytest.param(lambda rng: np.full(3000, 7.0), id="constant"),
        # The leading bits are equal: one far item widens the range, the rest is decided by
        # the trailing bits, which insertion alone would need millions of moves for.
        pytest.param(
            lambda rng: np.append(1 + rng.permutation(2999) * 2.0**-52, -1e300), id="narrow"
        ),
        pytest.param(
            lambda rng: np.append(1 + rng.integers(0, 50, 2999) * 2.0**-52, -1e300),
            id="narrow, tied",
        ),
        pytest.param(lambda rng: rng.normal(size=3000) ** 3 * 1e200, id="wide"),
        pytest.param(lambda rng: np.where(rng.random(3000) < 0.5, 0.0, -0.0), id="two zeros"),
        pytest.param(lambda rng: rng.integers(0, 99, 3000) * 5e-324, id="subnormal"),
    ],
)
def test_long_rows_take_every_path_of_the_sort(make):
    row = make(RNG(0))
    relevant = RNG(1).random(len(row)) < 0.5
    ranked = rank(row[None], relevant[None])
    np.testing.assert_array_equal(ranked.ranks, np.sort(ranks_by_lexsort(row)[relevant]))


@pytest.mark.parametrize(
    "form",
    [
        lambda s: s.astype(np.float16),
        lambda s: (100 * s).astype(np.int32),
        lambda s: (10 * s).astype(np.int8),
        lambda s: np.asfortranarray(s),
        lambda s: np.repeat(s, 2, axis=1)[:, ::2],
        lambda s: s[::-1, ::-1],
        lambda s: s.astype(np.longdouble),
        lambda s: s.tolist(),
        lambda s: s > 0.5,
    ],
)
def test_scores_of_any_number_type_and_layout(form):
    scores = form(RNG(2).random((7, 50)))
    relevant = RNG(3).random((7, 50)) < 0.3
    plain = np.array(scores, dtype=np.float64, order="C")
    before = np.array(scores)
    assert_same(rank(scores, relevant), rank(plain, relevant))
    np.testing.assert_array_equal(before, scores)


def test_every_form_of_relevance_says_the_same():
    rng = RNG(4)
    asked, held = rng.integers(0, 6, 9), rng.integers(0, 5, 60)  # class 5 has no item
    asked[0] = 5
    scores = rng.integers(0, 20, (9, 60)).astype(float)
    matrix = asked[:, None] == held
    want = rank(scores, matrix)
    ids = [np.flatnonzero(row) for row in matrix]
    assert_same(want, rank(scores, Relevance.from_labels(asked, held)))
    assert_same(want, rank(scores, Relevance.from_labels(asked.astype(str), held.astype(str))))
    assert_same(want, rank(scores, ids))
    assert_same(want, rank(scores, [row[::-1].tolist() * 2 for row in ids]))
    assert_same(want, rank(scores, matrix.astype(float)))
    judged = [dict(enumerate(row.astype(float).tolist())) for row in matrix]
    partly = rank(scores, judged)
    assert not partly.complete
    np.testing.assert_array_equal(partly.ranks, want.ranks)
    np.testing.assert_array_equal(partly.above, want.above)


@pytest.mark.parametrize("judged", [1.0, 0.4])
def test_runs_of_everything_equal_the_score_matrix(judged):
    rng = RNG(5)
    scores = rng.integers(0, 15, (8, 40)).astype(float)
    grades = rng.choice([0.0, 0.0, 0.0, 1.0, 2.0], (8, 40))
    grades[rng.random(grades.shape) >= judged] = np.nan
    complete = judged == 1.0
    truth = lists(grades > 0) if complete else named(grades)
    want = rank(scores, grades > 0 if complete else grades)
    ranked = ev.rank(named(scores), truth)
    assert ranked.names == tuple(f"q{q:02d}" for q in range(8))
    assert_agree(want, ranked)
    for name in ("map", "judged_map", "top_precision", "bpref", "p10", "ndcg10"):
        np.testing.assert_array_equal(ev.measure(want, name), ev.measure(ranked, name))


def test_hits_become_a_run():
    hits = [Hits(np.array([3, 1]), np.array([1.0, 2.0]))]
    assert ev.run_of_hits(hits, ["q"], list("abcd")) == {"q": {"d": 1.0, "b": 2.0}}


@pytest.mark.parametrize("partial", [False, True])
def test_leaving_the_query_out_is_deleting_its_column(partial):
    rng = RNG(6)
    scores = rng.integers(0, 9, (12, 30)).astype(float)
    grades = rng.integers(0, 3, (12, 30)).astype(float)
    if partial:
        grades[rng.random(grades.shape) < 0.5] = np.nan
    out = rng.integers(-1, 30, 12)
    out[0], out[1] = -1, 29
    got = rank(scores, grades, leave_out=out)
    parts = []
    for q in range(12):
        keep = np.arange(30) != out[q]
        truth = Relevance.from_matrix(grades[:, keep])  # as a whole: complete or partial
        parts.append(rank(scores[:, keep], truth))
    for q, part in enumerate(parts):
        np.testing.assert_array_equal(got.of_query(q), part.of_query(q))
        assert got.lengths[q] == part.lengths[q]
        assert got.top[q] == part.top[q]
        assert got.irrelevant[q] == part.irrelevant[q]


def test_blocks_and_threads_change_nothing(monkeypatch):
    rng = RNG(7)
    scores, labels = rng.random((50, 200)), rng.integers(0, 5, 200)
    truth = Relevance.from_labels(labels[:50], labels)
    whole = rank(scores, truth, leave_out=np.arange(50), threads=1)
    monkeypatch.setattr(score_ranking, "BLOCK_BYTES", 3 * 200 * 8)
    assert_same(whole, rank(scores, truth, leave_out=np.arange(50), threads=4))
    parts = [
        rank(
            scores[at : at + 20],
            Relevance.from_labels(labels[at : min(at + 20, 50)], labels),
            leave_out=np.arange(at, min(at + 20, 50)),
        )
        for at in (0, 20, 40)
    ]
    assert_same(whole, ev.Ranked.join(parts))


def test_a_relevant_item_that_was_not_found_counts_against_the_ranking():
    ranked = ev.rank({"q": {"d": 2.0, "b": 1.0}}, {"q": ["d", "i"]})
    assert ranked.of_query(0).tolist() == [1, ev.NOT_FOUND]
    assert ev.average_precision(ranked)[0] == 0.5
    assert ev.recall_at(ranked, 100)[0] == 0.5
    assert ev.top_precision(ranked)[0] == 0.5
    assert ev.recall_precision(ranked, 0)[0].tolist() == [0.5]
    nothing = ev.rank({"q": {}}, {"q": ["d", "i"]})
    assert ev.evaluate(nothing, ["map", "judged_map", "bpref", "ndcg10", "p1"]) == dict.fromkeys(
        ["map", "judged_map", "bpref", "ndcg10", "p1"], 0.0
    )


def test_run_queries_without_judgements_and_judged_ones_without_answers():
    ranked = ev.rank({"a": {"x": 1.0}, "b": {"x": 1.0}}, {"b": {"x": 1}, "c": {"x": 1}})
    np.testing.assert_array_equal(ev.average_precision(ranked), [np.nan, 1.0, 0.0])


def test_empty_collections_and_no_queries_have_an_answer():
    assert np.isnan(ev.average_precision(rank(np.empty((3, 0)), np.empty((3, 0), bool)))).all()
    none = rank(np.empty((0, 5)), np.empty((0, 5), bool))
    assert len(none) == 0
    assert np.isnan(ev.evaluate(none)["map"])
    assert len(ev.rank({}, {})) == 0


GOOD, TRUTH = np.zeros((2, 3)), np.ones((2, 3), dtype=bool)


@pytest.mark.parametrize(
    ("rankings", "relevance", "said"),
    [
        (np.array([[0, 0, 0], [0, np.nan, 0]]), TRUTH, "row 1"),
        (np.array([[0, np.inf, 0], [0, 0, 0]], dtype=np.float32), TRUTH, "row 0"),
        (np.array([[0, -np.inf, 0], [0, 0, 0]]), TRUTH, "NaN or infinity"),
        (np.array([["a", "b", "c"]] * 2), TRUTH, "numbers"),
        (np.zeros(3), TRUTH, "matrix"),
        (GOOD, np.ones((2, 4), dtype=bool), "other"),
        (GOOD, np.ones((3, 3), dtype=bool), "3 queries"),
        (GOOD, [[0], [3]], "other"),
        (GOOD, [[0], [-1]], "other"),
        (GOOD, [[0.5], [1]], "whole numbers"),
        (GOOD, [[True, False, True], [True, False, True]], "whole numbers"),
        (GOOD, [{0: 1}, [1]], "mixture"),
        (GOOD, [{0: np.nan}, {1: 1}], "finite"),
        (GOOD, np.full((2, 3), np.inf), "finite"),
        (GOOD, np.ones(3), "one row a query"),
        (GOOD, 3, "Relevance is"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(rankings, relevance, said):
    with pytest.raises(BadInput, match=said):
        rank(rankings, relevance)


@pytest.mark.parametrize(
    ("run", "relevance", "said"),
    [
        ({"a": {1: 1.0}}, {"a": {1: 1}}, "strings"),
        ({"a": {"x": np.nan}}, {"a": {"x": 1}}, "finite"),
        ({"a": {"x": 1.0}}, {"a": {"x": np.inf}}, "finite"),
        ({"a": {"x": 1.0}}, {"a": {"x": 1}, "b": ["x"]}, "mixture"),
    ],
)
def test_bad_runs_are_refused_with_a_sentence(run, relevance, said):
    with pytest.raises(BadInput, match=said):
        ev.rank(run, relevance)


def test_bad_labels_ids_and_left_out_items_are_refused():
    for asked, held in [([1.0, np.nan], [1.0]), ([1], ["a"]), ([[1]], [1]), ([None], [None])]:
        with pytest.raises(BadInput, match="Labels"):
            Relevance.from_labels(asked, held)
    for ids in ([1, 1], [1]):
        with pytest.raises(BadInput, match="none twice"):
            Relevance.from_labels([0], [0, 1], ids=ids)
    for out in ([1], [0.5, 1], 3):
        with pytest.raises(BadInput, match="leave_out"):
            rank(GOOD, TRUTH, leave_out=out)
    with pytest.raises(BadInput, match="nothing to join"):
        ev.Ranked.join([])
    with pytest.raises(BadInput, match="all in part"):
        ev.Ranked.join([rank(GOOD, TRUTH), rank(GOOD, [{0: 1}, {}])])
