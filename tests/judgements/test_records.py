from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.judgements import Judgements
from likewise.types import BadInput, Judgement, QueryRef

from .strategies import laws, logs

A, B = QueryRef("item", "a"), QueryRef("item", "b", (0.0, 0.0, 0.5, 1.0))


def label(query: QueryRef, *items: str, person: str = "", value: float = 1.0) -> Judgement:
    return Judgement(query, items, "label", value, person=person)


@laws
@given(logs)
def test_what_goes_in_comes_out(log):
    made = Judgements.of(log)
    assert list(made) == log
    assert len(made) == len(log)
    assert made == Judgements.of(log)


@laws
@given(logs, logs)
def test_concatenation_is_that_of_lists(a, b):
    both = Judgements.of(a) + Judgements.of(b)
    assert list(both) == a + b
    assert (both == Judgements.of(b) + Judgements.of(a)) == (a + b == b + a)


@laws
@given(logs, st.randoms(use_true_random=False))
def test_where_selects_in_the_given_order(log, random):
    places = [random.randrange(len(log)) for _ in range(5)] if log else []
    made = Judgements.of(log)
    assert list(made.where(places)) == [log[place] for place in places]
    mask = np.array([place % 2 == 0 for place in range(len(log))], dtype=bool)
    assert list(made.where(mask)) == log[::2]


@laws
@given(logs)
def test_filters_agree_with_a_loop(log):
    made = Judgements.of(log)
    for kind in ("label", "click", "ordering"):
        assert list(made.of_kind(kind)) == [j for j in log if j.kind == kind]
    assert made.queries() == list(dict.fromkeys(j.query for j in log))


@laws
@given(logs)
def test_resolve_agrees_with_a_loop(log):
    made = Judgements.of(log)
    keys = sorted({item for j in log for item in j.items})[::2]
    rows = {key: 3 * row for row, key in enumerate(keys)}
    wanted = [
        (place, rows.get(j.query.value, -1) if whole(j.query) else -1, rows.get(item, -1), j.value)
        for place, j in enumerate(log)
        for item in j.items
    ]
    got = made.resolve(rows)
    assert list(zip(got.record, got.head, got.item, got.value)) == wanted
    assert np.array_equal(got.query, got.head)
    known = {query: row for row, query in enumerate(made.queries())}
    other = made.resolve(rows, known)
    assert [known[log[place].query] for place in other.record] == other.query.tolist()


def whole(query: QueryRef) -> bool:
    return query.kind == "item" and query.crop is None


def test_places_count_from_either_end():
    log = Judgements.of([label(A, "x"), label(B, "y", "z")])
    assert log[-1] == log[1] == label(B, "y", "z")
    with pytest.raises(IndexError):
        log[2]


def test_columns_cannot_be_changed():
    log = Judgements.of([label(A, "x")])
    with pytest.raises(ValueError):
        log.value[0] = 3.0
    with pytest.raises(TypeError):
        hash(log)


def test_repr_and_comparison_with_others():
    log = Judgements.of([label(A, "x")])
    assert "1 labels" in repr(log)
    assert log != [label(A, "x")]
    with pytest.raises(TypeError):
        log + [label(A, "x")]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (Judgement(A, (), "label"), "at least one item"),
        (Judgement(A, "abc", "label"), "list of at least one item"),  # type: ignore[arg-type]
        (Judgement(A, ("x", 3), "label"), "must be text"),  # type: ignore[arg-type]
        (Judgement(A, ("x",), "vote"), "not 'vote'"),  # type: ignore[arg-type]
        (Judgement(A, ("x",), "label", float("nan")), "finite"),
        (Judgement(A, ("x",), "label", 1.0, float("inf")), "finite"),
        (Judgement(A, ("x",), "click", -1.0), "negative"),
    ],
)
def test_bad_judgements_are_refused_by_place(bad, why):
    with pytest.raises(BadInput, match=f"Judgement 1 .*{why}"):
        Judgements.of([label(A, "x"), bad])


def test_unknown_kind_to_filter():
    with pytest.raises(BadInput, match="vote"):
        Judgements.of().of_kind("vote")  # type: ignore[arg-type]
