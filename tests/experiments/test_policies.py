"""Labelling policies: they pick what they say, and never an item twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import policies
from likewise.spaces import unit_rows
from likewise.types import BadInput


def vectors(seed=0, items=50, references=4, dim=6):
    rng = np.random.default_rng(seed)
    return unit_rows(rng.normal(size=(items, dim))), unit_rows(rng.normal(size=(references, dim)))


def each_once(rows):
    return all(len(np.unique(row)) == len(row) for row in rows)


def test_top_is_the_order_of_a_full_sort():
    X, R = vectors()
    np.testing.assert_array_equal(
        policies.top(X, R, 7), np.argsort(-(R @ X.T), axis=1, kind="stable")[:, :7]
    )


def test_ties_go_to_the_lower_row():
    X = np.ones((5, 2))
    np.testing.assert_array_equal(policies.top(X, X[:1], 5), [[0, 1, 2, 3, 4]])


def test_pool_is_shared_and_changes_with_the_seed():
    X, R = vectors(items=200, references=10)
    first = policies.pooled(X, R, 5, pool=20, seed=1)
    assert len(np.unique(first)) <= 20
    np.testing.assert_array_equal(first, policies.pooled(X, R, 5, pool=20, seed=1))
    assert (first != policies.pooled(X, R, 5, pool=20, seed=2)).any()
    pool = np.unique(policies.pooled(X, R, 20, pool=20, seed=1))
    np.testing.assert_array_equal(first, policies.top(X, R, 5, among=pool))


@given(st.integers(1, 30), st.integers(1, 60), st.floats(0, 0.6), st.floats(0, 0.4))
def test_mixed_has_the_nearest_first_and_no_item_twice(count, reach, near, unsure):
    X, R = vectors(items=30)
    rows = policies.mixed(X, R, count, shares=(near, unsure), reach=reach)
    assert rows.shape == (4, count)
    assert each_once(rows)
    assert rows.min() >= 0
    assert rows.max() < 30
    np.testing.assert_array_equal(rows[:, :1], policies.top(X, R, 1))


def test_mixed_reaches_beyond_the_nearest():
    X, R = vectors(items=400, references=20)
    rows = policies.mixed(X, R, 20, reach=100)
    place = np.argsort(np.argsort(-(R @ X.T), axis=1), axis=1)
    ranks = np.take_along_axis(place, rows, axis=1)
    assert (ranks[:, :8] == np.arange(8)).all()
    assert ((ranks[:, 8:14] >= 8) & (ranks[:, 8:14] < 100)).all()
    assert (ranks[:, 14:] > 100).mean() > 0.5


@given(st.integers(0, 9))
def test_own_row_comes_first_and_the_length_stays(own):
    rows = np.array([[3, 1, 4, 5], [0, 1, 2, 3]])
    found = policies.with_own(rows, [own, own])
    assert (found[:, 0] == own).all()
    assert found.shape == rows.shape
    assert each_once(found)
    for before, after in zip(rows, found):
        kept = [x for x in before if x != own]
        assert list(after[1:]) == kept[: len(after) - 1]


def test_coverage_counts_references_with_both_kinds_of_label():
    assert policies.coverage([[1, 1, 1], [0, 0, 0], [1, 0, 1], [0, 1, 0]]) == 0.5
    assert policies.coverage(np.empty((0, 3))) == 0
    with pytest.raises(BadInput, match="matrix"):
        policies.coverage([True, False])


def test_bad_input_is_refused():
    X, R = vectors()
    for wrong in (0, 51):
        with pytest.raises(BadInput, match="Between 1 and 50"):
            policies.top(X, R, wrong)
    with pytest.raises(BadInput, match="Between 1 and 50"):
        policies.pooled(X, R, 5, pool=51)
    with pytest.raises(BadInput, match="Between 1 and 4"):
        policies.pooled(X, R, 5, pool=4)
    with pytest.raises(BadInput, match="between 0 and 49"):
        policies.top(X, R, 2, among=[3, 77])
    with pytest.raises(BadInput, match="add up"):
        policies.mixed(X, R, 5, shares=(0.8, 0.4))
    with pytest.raises(BadInput, match="own row"):
        policies.with_own(np.zeros((3, 2), np.int64), [1])
