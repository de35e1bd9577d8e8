from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from likewise.types import (
    BadInput,
    Preferences,
    QueryRef,
    Registry,
    SpaceMismatch,
    Surrogate,
    as_matrix,
    as_vector,
    check_k,
)


def test_two_pictures_minus_a_third():
    a, b, c = (Surrogate(np.eye(3)[i], float(2**i), {"tau": float(i)}, "s") for i in range(3))
    s = a + b - c
    assert np.array_equal(s.vector, [1, 1, -1])
    assert s.offset == 1 + 2 - 4
    assert s.side == {"tau": 0 + 1 - 2}


def test_dense_and_sparse_rows_add():
    dense = Surrogate(np.array([1.0, 2.0, 0.0]))
    thin = Surrogate(sparse.csr_array(np.array([[0.0, 1.0, 5.0]])))
    assert np.array_equal((dense + thin).vector, [1, 3, 5])
    assert np.array_equal((thin + dense).vector, [1, 3, 5])
    both = thin + thin * 2
    assert both.is_sparse
    assert np.array_equal(both.vector.toarray(), [[0, 3, 15]])


def test_surrogates_of_different_spaces_or_sizes_do_not_add():
    a = Surrogate(np.ones(2), space="one")
    with pytest.raises(SpaceMismatch):
        _ = a + Surrogate(np.ones(2), space="two")
    with pytest.raises(SpaceMismatch):
        _ = a + Surrogate(np.ones(3), space="one")
    with pytest.raises(BadInput):
        _ = a * float("nan")
    with pytest.raises(TypeError):
        _ = a + 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_vectors_that_are_not_finite_are_named_by_row(bad):
    x = np.ones((3, 2))
    x[1, 0] = bad
    with pytest.raises(BadInput, match="row 1"):
        as_matrix(x)


def test_integers_and_views_become_contiguous_floats():
    x = np.arange(12).reshape(3, 4)[:, ::2]
    y = as_matrix(x)
    assert y.flags.c_contiguous
    assert y.dtype == np.float64
    assert np.array_equal(x, y)
    assert as_matrix(np.float16([[1]])).dtype == np.float32


@pytest.mark.parametrize("wrong", [np.ones((2, 2, 2)), np.array(["a"]), np.array([object()])])
def test_what_is_no_matrix_of_numbers_is_refused(wrong):
    with pytest.raises(BadInput):
        as_matrix(wrong)


def test_a_wrong_dimension_says_both_numbers():
    with pytest.raises(BadInput, match=r"3 numbers each, but 4"):
        as_matrix(np.ones((2, 3)), dim=4)
    with pytest.raises(BadInput):
        as_vector(np.ones((2, 3)))


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "3"])
def test_k_is_a_positive_whole_number(k):
    with pytest.raises(BadInput):
        check_k(k)


def test_preferences_keep_one_length_and_select():
    p = Preferences.of([0, 0, 1], [1, 2, 3], [4, 5, 6])
    assert len(p) == 3
    assert p.weight.tolist() == [1, 1, 1]
    assert p.where(p.query == 1).better.tolist() == [3]
    with pytest.raises(BadInput):
        Preferences.of([0], [1, 2], [3])


@pytest.mark.parametrize("crop", [(0, 0, 0, 1), (0.5, 0, 0.4, 1), (0, 0, 1.1, 1), (-0.1, 0, 1, 1)])
def test_a_crop_lies_in_the_picture(crop):
    with pytest.raises(BadInput, match="crop"):
        QueryRef("item", "a.jpg", crop)
    with pytest.raises(BadInput):
        QueryRef("colour", "red")  # type: ignore[arg-type]


def test_a_registry_imports_what_is_asked_for():
    found = Registry({"plain": "likewise.learners.plain:Plain", "gone": "likewise.nowhere:X"})
    assert found["plain"].kind == "plain"
    assert set(found) == {"plain", "gone"}
    assert len(found) == 2
    with pytest.raises(KeyError):
        found["other"]
    with pytest.raises(ImportError):
        found["gone"]
