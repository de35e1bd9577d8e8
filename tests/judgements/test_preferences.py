from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.judgements import Judgements, PreferenceReport, from_clicks, preferences
from likewise.types import BadInput, Judgement, Preferences, QueryRef

from .made import from_labels, from_orderings, sample_triplets
from .strategies import laws

small = st.integers(0, 4)
limits = st.none() | st.integers(1, 12)
seeds = st.integers(0, 2**32)


def triplets(made: Preferences) -> list[tuple[int, int, int]]:
    return list(zip(made.query.tolist(), made.better.tolist(), made.worse.tolist()))


def columns(rows, n=3):
    return [list(column) for column in zip(*rows)] if rows else [[] for _ in range(n)]


# -- the sampler -----------------------------------------------------------


graded = st.dictionaries(st.tuples(small, st.integers(0, 9)), st.integers(-1, 2), max_size=30).map(
    lambda grades: columns([(q, i, g) for (q, i), g in grades.items()])
)


def all_triplets(query, item, grade) -> list[tuple[int, int, int]]:
    rows = list(zip(query, item, grade))
    return sorted((q, i, j) for q, i, a in rows for p, j, b in rows if p == q and a > b)


@laws
@given(graded)
def test_without_limits_all_triplets_once(rows):
    assert triplets(sample_triplets(*rows, total=None)) == all_triplets(*rows)


@laws
@given(graded, limits, limits, seeds)
def test_samples_are_distinct_true_even_and_repeatable(rows, per_query, total, seed):
    limit = {"per_query": per_query, "total": total, "seed": seed}
    got = triplets(sample_triplets(*rows, **limit))
    every = all_triplets(*rows)
    assert got == sorted(set(got) & set(every))
    assert got == triplets(sample_triplets(*rows, **limit))
    have = {q: sum(t[0] == q for t in every) for q in {t[0] for t in every}}
    may = {q: min(n, per_query or n) for q, n in have.items()}
    count = {q: sum(t[0] == q for t in got) for q in may}
    # No more than allowed, and all that is allowed.
    assert len(got) == min(sum(may.values()), total or sum(may.values()))
    assert all(count[q] <= may[q] for q in may)
    # Even: who has less than another by two has nothing left.
    assert all(count[q] == may[q] for q in may for p in may if count[q] <= count[p] - 2)


@pytest.mark.parametrize("per_query", [1, 3, 10])
def test_samples_are_uniform(per_query):
    """Each of the 12 pairs of 3 x 4 items comes up equally often (chi-square, 11 degrees)."""
    items, grades, rounds = range(7), [1] * 3 + [0] * 4, 4000
    query = np.repeat(np.arange(rounds), 7)
    made = sample_triplets(
        query, np.tile(items, rounds), np.tile(grades, rounds), per_query=per_query
    )
    count = np.unique(made.better * 7 + made.worse, return_counts=True)[1]
    expected = rounds * per_query / 12
    assert len(made) == rounds * per_query
    assert len(count) == 12
    assert ((count - expected) ** 2 / expected).sum() < 33  # p = .0005


def test_huge_products_are_not_listed():
    """Two queries with 2.5e11 pairs each: listing them would need terabytes."""
    n = 1_000_000
    rows = np.tile(np.arange(n), 2)
    query = np.repeat([0, 1], n)
    made = sample_triplets(query, rows, rows % 2, total=1001)
    assert len(set(triplets(made))) == 1001
    assert (made.better % 2 == 1).all()
    assert (made.worse % 2 == 0).all()
    assert sorted(np.bincount(made.query)) == [500, 501]


def test_a_generator_moves_on():
    rng = np.random.default_rng(0)
    rows = ([0] * 40, list(range(40)), [1] * 20 + [0] * 20)
    one, two = (triplets(sample_triplets(*rows, total=10, seed=rng)) for _ in range(2))
    assert one != two


@pytest.mark.parametrize(
    ("rows", "limit", "why"),
    [
        (([0, 0], [1, 1], [0, 1]), {}, "two grades"),
        (([0, 0], [1], [0, 1]), {}, "one length"),
        (([0, 0], [1, -1], [0, 1]), {}, "negative"),
        (([0, 0], [1.5, 2], [0, 1]), {}, "whole numbers"),
        (([0, 0], [1, 2], [0, np.nan]), {}, "finite"),
        (([0, 0], [1, 2], [0, 1]), {"total": 0}, "total"),
        (([0, 0], [1, 2], [0, 1]), {"per_query": 2.5}, "per_query"),
        (([0, 0], [1, 2], [0, 1]), {"per_query": True}, "per_query"),
    ],
)
def test_bad_input_to_the_sampler(rows, limit, why):
    with pytest.raises(BadInput, match=why):
        sample_triplets(*rows, **limit)


# -- labels and clicks -----------------------------------------------------


entries = st.lists(st.tuples(small, small, st.integers(-2, 3), st.integers(0, 2)), max_size=25)


@laws
@given(entries)
def test_labels_mean_what_was_said_last(rows):
    query, item, value, time = columns(rows, 4)
    last = {(q, i): v for q, i, v, _ in sorted(rows, key=lambda row: row[3])}
    wanted = all_triplets(*columns([(q, i, max(v, 0)) for (q, i), v in last.items()]))
    assert triplets(from_labels(query, item, value, time=time)) == wanted


@laws
@given(entries, st.lists(st.tuples(small, small), max_size=10), st.integers(1, 5))
def test_clicks_add_up_to_a_cap(rows, shown, cap):
    query, item, value, _ = columns(rows, 4)
    clicks = np.abs(value)
    total: dict[tuple[int, int], float] = {}
    for q, i, c in [*zip(query, item, clicks), *((q, i, 0) for q, i in shown)]:
        total[q, i] = total.get((q, i), 0) + c
    wanted = all_triplets(*columns([(q, i, min(c, cap)) for (q, i), c in total.items()]))
    got = from_clicks(query, item, clicks, candidates=columns(shown, 2), max_clicks=cap)
    assert triplets(got) == wanted


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_queries_with_one_kind_of_label_have_no_preference(value):
    made = from_labels([0, 0, 1], [1, 2, 3], [value] * 3)
    assert len(made) == 0
    assert made.query.dtype == made.better.dtype == np.int64


def test_bad_clicks():
    with pytest.raises(BadInput, match="negative"):
        from_clicks([0], [1], [-1])
    with pytest.raises(BadInput, match="max_clicks"):
        from_clicks([0], [1], [1], max_clicks=0)


def test_callers_arrays_are_left_alone():
    query, item, value = np.array([1, 0, 0]), np.array([2, 1, 0]), np.array([1.0, -3.0, 2.0])
    for column in (query, item, value):
        column.setflags(write=False)
    assert triplets(from_labels(query, item, value)) == [(0, 0, 1)]
    assert triplets(from_clicks(query, item, np.abs(value))) == [(0, 1, 0)]


# -- orderings -------------------------------------------------------------


@laws
@given(st.permutations(range(6)))
def test_a_chain_with_its_query_at_the_head(order):
    wanted = sorted((0, a, b) for a, b in pairwise([9, *order]))
    assert triplets(from_orderings([0], [order], head=[9])) == wanted
    assert len(wanted) == len(order)  # N - 1 inequalities of N pictures, the query included
    # Being named within its own ordering changes nothing: the query is nearest.
    among = [*order[:3], 9, *order[3:]]
    assert triplets(from_orderings([0], [among], head=[9])) == wanted


chains = st.lists(
    st.tuples(st.integers(0, 1), st.lists(small, max_size=5), st.integers(0, 2)), max_size=5
)


@laws
@given(chains)
def test_of_contradicting_orderings_the_latest_holds(rows):
    query, orders, time = columns(rows)
    last: dict[tuple[int, frozenset[int]], tuple[int, int, int]] = {}
    for q, order, _ in sorted(rows, key=lambda row: row[2]):
        for a, b in pairwise(dict.fromkeys(order)):
            last[q, frozenset((a, b))] = (q, a, b)
    assert triplets(from_orderings(query, orders, time=time)) == sorted(last.values())


def test_short_orderings_say_nothing():
    assert len(from_orderings([], [])) == 0
    assert len(from_orderings([0, 1], [[], [4]])) == 0


# -- mixed logs ------------------------------------------------------------


ROWS = {key: row for row, key in enumerate("abcdefgh")}
A, RED = QueryRef("item", "a"), QueryRef("text", "red")


def judged(kind, items, value=1.0, query=A, time=0.0):
    return Judgement(query, tuple(items), kind, value, time)


def test_a_mixed_log_and_its_report():
    log = Judgements.of(
        [
            judged("label", "bc"),
            judged("label", "d", 0.0),
            judged("label", "b", 1.0, time=1.0),  # a duplicate
            judged("label", "c", 0.0, time=2.0),  # overrules
            judged("label", "?", 1.0),  # an unknown item
            judged("ordering", "dcb", time=3.0),  # against the labels: d and c before b
            judged("click", "ef", 2.0, RED),
            judged("click", "f", 1.0, RED),
            judged("click", "g", 1.0, QueryRef("upload", "0123")),  # an unknown query
        ]
    )
    made, report = preferences(log, ROWS, {A: 0, RED: 1})
    wanted = {
        (0, "a", "d"),
        (0, "d", "c"),
        (0, "c", "b"),  # the ordering, its query at the head; b before c of the labels is overruled
        (0, "b", "d"),
        (1, "f", "e"),
    }
    assert triplets(made) == sorted((q, ROWS[b], ROWS[w]) for q, b, w in wanted)
    assert report == PreferenceReport(
        used=5,
        ties=1,  # c and d, both irrelevant
        duplicates=1,
        contradictions=2,  # the first label of c, and the pair b, c
        unknown_items=1,
        unknown_queries=1,
        queries=2,
        covered=2,
    )
    # Without a query matrix the items are the queries, and the text is unknown.
    alone, other = preferences(log, ROWS)
    assert triplets(alone) == [t for t in triplets(made) if t[0] == 0]
    assert (other.queries, other.unknown_queries) == (1, 2)


def test_a_cropped_query_is_not_its_own_item():
    crop = QueryRef("item", "a", (0.0, 0.0, 0.5, 0.5))
    log = Judgements.of([judged("ordering", "bc", query=crop)])
    made, _ = preferences(log, ROWS, {crop: 5})
    assert triplets(made) == [(5, ROWS["b"], ROWS["c"])]


def test_unknown_items_leave_the_chain_whole():
    made, report = preferences(Judgements.of([judged("ordering", "b?c")]), ROWS)
    assert triplets(made) == [(0, 0, 1), (0, 1, 2)]
    assert report.unknown_items == 1


logs = st.lists(
    st.builds(
        Judgement,
        st.sampled_from([A, QueryRef("item", "b"), RED]),
        st.lists(st.sampled_from("abcdef?"), min_size=1, max_size=4).map(tuple),
        st.sampled_from(["label", "click", "ordering"]),
        st.integers(0, 2).map(float),
        st.integers(0, 3).map(float),
    ),
    max_size=12,
)


@laws
@given(logs, limits, limits, seeds)
def test_laws_of_mixed_logs(log, per_query, total, seed):
    settings = {"per_query": per_query, "total": total, "seed": seed}
    made, report = preferences(Judgements.of(log), ROWS, **settings)
    got = triplets(made)
    assert got == triplets(preferences(Judgements.of(log), ROWS, **settings)[0])
    assert len(got) == len(set(got)) == report.used <= (total or len(got))
    assert all(b != w and (q, w, b) not in set(got) for q, b, w in got)
    count = np.bincount(made.query, minlength=1)
    assert count.max() <= (per_query or count.max())
    assert report.covered == (count > 0).sum() <= report.queries
    if per_query is None and total is None:
        assert report.left_out == 0
    assert report.unknown_items == sum(item == "?" for j in log for item in j.items)


@laws
@given(logs)
def test_every_preference_was_judged_so(log):
    """Each preference follows from some judgements of its query, checked by a plain loop."""
    made, _ = preferences(Judgements.of(log), ROWS)
    for q, b, w in triplets(made):
        assert any(_says(log, kind, "ab"[q], "abcdefgh"[b], "abcdefgh"[w]) for kind in KINDS)


@laws
@given(logs)
def test_a_log_in_rows_says_what_the_log_says_and_a_part_what_that_part_says(log):
    whole = Judgements.of(log).resolve(ROWS)
    for keep in ((0, 1), (0,)):
        own = [j for j in log if ROWS.get(j.query.value, -1) in keep]
        said, report = preferences(whole.where(np.isin(whole.query, keep)))
        alone, other = preferences(Judgements.of(own), ROWS)
        assert triplets(said) == triplets(alone)
        assert report == other


KINDS = ("label", "click", "ordering")


def _says(log, kind, query, better, worse):
    about = [j for j in log if j.kind == kind and j.query == QueryRef("item", query)]
    if kind == "ordering":
        orders = [[query, *(item for item in j.items if item != query)] for j in about]
        return any(
            better in order and worse in order and order.index(better) < order.index(worse)
            for order in orders
        )
    values = [[j.value for j in about for item in j.items if item == x] for x in (better, worse)]
    if not all(values):
        return False
    if kind == "click":
        return sum(values[0]) > sum(values[1])
    return max(values[0]) > min(values[1])


def test_an_empty_log():
    made, report = preferences(Judgements.of(), {})
    assert len(made) == 0
    assert report == PreferenceReport()
    with pytest.raises(BadInput, match="total"):
        preferences(Judgements.of(), {}, total=-1)
