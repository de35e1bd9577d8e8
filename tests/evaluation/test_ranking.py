"""Ranks are right for every form of rankings and relevance, and for every kind of float."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from experiments import score_ranking
from likewise import evaluation as ev
from likewise.types import BadInput, Hits

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
    found = score_ranking.rank(grid, truth)
    if items <= 200:
        assert_same(found, ev.rank(grid, truth))
    return found.ranks


def assert_same(a, b):
    for field in fields(ev.Ranked):
        if field.name != "names":
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
    ranked = ev.rank(row[None], relevant[None])
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
    assert_same(ev.rank(scores, relevant), ev.rank(plain, relevant))
    np.testing.assert_array_equal(before, scores)


def test_every_form_of_relevance_says_the_same():
    rng = RNG(4)
    asked, held = rng.integers(0, 6, 9), rng.integers(0, 5, 60)  # class 5 has no item
    asked[0] = 5
    scores = rng.integers(0, 20, (9, 60)).astype(float)
    matrix = asked[:, None] == held
    want = ev.rank(scores, matrix)
    ids = [np.flatnonzero(row) for row in matrix]
    assert_same(want, ev.rank(scores, ev.Relevance.from_labels(asked, held)))
    assert_same(
        want, ev.rank(scores, ev.Relevance.from_labels(asked.astype(str), held.astype(str)))
    )
    assert_same(want, ev.rank(scores, ids))
    assert_same(want, ev.rank(scores, [row[::-1].tolist() * 2 for row in ids]))
    assert_same(want, ev.rank(scores, matrix.astype(float)))
    judged = [dict(enumerate(row.astype(float).tolist())) for row in matrix]
    partly = ev.rank(scores, judged)
    assert_same(partly, score_ranking.rank(scores, judged))
    assert not partly.complete
    np.testing.assert_array_equal(partly.ranks, want.ranks)
    np.testing.assert_array_equal(partly.above, want.above)


def test_hits_and_runs_of_everything_equal_the_score_matrix():
    rng = RNG(5)
    scores = rng.integers(0, 15, (8, 40)).astype(float)
    asked, held = rng.integers(0, 4, 8), rng.integers(0, 4, 40)
    matrix = asked[:, None] == held
    want = ev.rank(scores, matrix)
    hits = []
    for row in scores:
        order = rng.permutation(40)  # hits are ordered by score, whatever order they come in
        hits.append(Hits(order, row[order]))
    assert_same(want, ev.rank(hits, matrix))
    assert_same(want, score_ranking.rank(scores, matrix))
    assert_same(want, ev.rank(hits, ev.Relevance.from_labels(asked, held)))
    names = [f"i{at:02d}" for at in range(40)]
    run = ev.run_of_hits(hits, list("abcdefgh"), names)
    lists = {q: [names[i] for i in np.flatnonzero(row)] for q, row in zip("abcdefgh", matrix)}
    ranked = ev.rank(run, lists)
    assert ranked.names == tuple("abcdefgh")
    for name in ("map", "top_precision", "bpref", "p10"):
        np.testing.assert_array_equal(ev.measure(want, name), ev.measure(ranked, name))


def test_items_with_their_own_ids():
    held, ids = np.array([1, 1, 2]), np.array([70, 30, 50])
    relevance = ev.Relevance.from_labels([1], held, ids=ids)
    ranked = ev.rank([Hits(np.array([50, 30, 70]), np.array([3.0, 2.0, 2.0]))], relevance)
    assert ranked.of_query(0).tolist() == [2, 3]


@pytest.mark.parametrize("partial", [False, True])
def test_leaving_the_query_out_is_deleting_its_column(partial):
    rng = RNG(6)
    scores = rng.integers(0, 9, (12, 30)).astype(float)
    grades = rng.integers(0, 3, (12, 30)).astype(float)
    if partial:
        grades[rng.random(grades.shape) < 0.5] = np.nan
    out = rng.integers(-1, 30, 12)
    out[0], out[1] = -1, 29
    got = ev.rank(scores, grades, leave_out=out)
    assert_same(got, score_ranking.rank(scores, grades, leave_out=out))
    parts = []
    for q in range(12):
        keep = np.arange(30) != out[q]
        truth = ev.Relevance.from_matrix(grades[:, keep])  # as a whole: complete or partial
        parts.append(ev.rank(scores[:, keep], truth))
    for q, part in enumerate(parts):
        np.testing.assert_array_equal(got.of_query(q), part.of_query(q))
        assert got.lengths[q] == part.lengths[q]
        assert got.top[q] == part.top[q]
        assert got.irrelevant[q] == part.irrelevant[q]
    hits = [Hits(np.arange(30), row) for row in scores]
    assert_same(got, ev.rank(hits, grades, leave_out=out))


def test_blocks_and_threads_change_nothing(monkeypatch):
    rng = RNG(7)
    scores, labels = rng.random((50, 200)), rng.integers(0, 5, 200)
    truth = ev.Relevance.from_labels(labels[:50], labels)
    whole = score_ranking.rank(scores, truth, leave_out=np.arange(50), threads=1)
    monkeypatch.setattr(score_ranking, "BLOCK_BYTES", 3 * 200 * 8)
    assert_same(whole, score_ranking.rank(scores, truth, leave_out=np.arange(50), threads=4))
    parts = [
        score_ranking.rank(
            scores[at : at + 20],
            ev.Relevance.from_labels(labels[at : min(at + 20, 50)], labels),
            leave_out=np.arange(at, min(at + 20, 50)),
        )
        for at in (0, 20, 40)
    ]
    assert_same(whole, ev.Ranked.join(parts))


def test_a_relevant_item_that_was_not_found_counts_against_the_ranking():
    ranked = ev.rank([Hits(np.array([4, 2]), np.array([2.0, 1.0]))], [[4, 9]])
    assert ranked.of_query(0).tolist() == [1, ev.NOT_FOUND]
    assert ev.average_precision(ranked)[0] == 0.5
    assert ev.recall_at(ranked, 100)[0] == 0.5
    assert ev.top_precision(ranked)[0] == 0.5
    assert ev.recall_precision(ranked, 0)[0].tolist() == [0.5]
    nothing = ev.rank([Hits(np.empty(0, int), np.empty(0))], [[4, 9]])
    assert ev.evaluate(nothing, ["map", "judged_map", "bpref", "ndcg10", "p1"]) == dict.fromkeys(
        ["map", "judged_map", "bpref", "ndcg10", "p1"], 0.0
    )


def test_run_queries_without_judgements_and_judged_ones_without_answers():
    ranked = ev.rank({"a": {"x": 1.0}, "b": {"x": 1.0}}, {"b": {"x": 1}, "c": {"x": 1}})
    np.testing.assert_array_equal(ev.average_precision(ranked), [np.nan, 1.0, 0.0])
    out = ev.rank({"a": {"x": 2.0, "y": 1.0}}, {"a": {"x": 1, "y": 1}}, leave_out={"a": "x"})
    assert out.of_query(0).tolist() == [1]


def test_empty_collections_and_no_queries_have_an_answer():
    assert np.isnan(ev.average_precision(ev.rank(np.empty((3, 0)), np.empty((3, 0), bool)))).all()
    none = ev.rank(np.empty((0, 5)), np.empty((0, 5), bool))
    assert len(none) == 0
    assert np.isnan(ev.evaluate(none)["map"])
    assert len(ev.rank({}, {})) == 0


GOOD, TRUTH = np.zeros((2, 3)), np.ones((2, 3), dtype=bool)
HITS = [Hits(np.array([0, 1]), np.array([2.0, 1.0]))] * 2


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
        (GOOD, {"a": {"x": 1}}, "needs a run"),
        (GOOD, np.ones(3), "one row a query"),
        (GOOD, 3, "Relevance is"),
        ({"a": {"x": 1.0}}, TRUTH, "Beside a run"),
        ({"a": {1: 1.0}}, {"a": {1: 1}}, "strings"),
        (HITS[:1], TRUTH, "2 queries"),
        ([HITS[0], None], TRUTH, "Query 1 has no Hits"),
        ([HITS[0], Hits(np.array([1, 1]), np.array([2.0, 1.0]))], TRUTH, "twice"),
        ([HITS[0], Hits(np.array([1, 2]), np.array([2.0, np.nan]))], TRUTH, "NaN"),
        ([HITS[0], Hits(np.array([1, 2]), np.array([2.0]))], TRUTH, "as many"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(rankings, relevance, said):
    with pytest.raises(BadInput, match=said):
        ev.rank(rankings, relevance)


def test_bad_labels_ids_and_left_out_items_are_refused():
    for asked, held in [([1.0, np.nan], [1.0]), ([1], ["a"]), ([[1]], [1]), ([None], [None])]:
        with pytest.raises(BadInput, match="Labels"):
            ev.Relevance.from_labels(asked, held)
    for ids in ([1, 1], [1]):
        with pytest.raises(BadInput, match="none twice"):
            ev.Relevance.from_labels([0], [0, 1], ids=ids)
    for out in ([1], [0.5, 1], 3):
        with pytest.raises(BadInput, match="leave_out"):
            ev.rank(GOOD, TRUTH, leave_out=out)
    with pytest.raises(BadInput, match="nothing to join"):
        ev.Ranked.join([])
    with pytest.raises(BadInput, match="all in part"):
        ev.Ranked.join([ev.rank(GOOD, TRUTH), ev.rank(GOOD, [{0: 1}, {}])])
