"""Sparse CCA: its own equations, an outside package, and planted directions."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse
from sklearn.cross_decomposition import CCA as Sklearn

from likewise.solvers.cca import cca, conjugate_gradient


def planted(seed: int, n: int = 300, words: int = 30, dims: int = 12, hidden: int = 3):
    """Queries and pictures that share hidden causes; one query a picture."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, hidden)) * [3, 2, 1]
    T = z @ rng.normal(size=(hidden, words)) + rng.normal(size=(n, words))
    X = z @ rng.normal(size=(hidden, dims)) + rng.normal(size=(n, dims))
    return T - T.mean(axis=0), X - X.mean(axis=0)


def dense(T, X, q, i, w, dim, ridge):
    """The same by whole matrices."""
    t, x, w = T[q], X[i], w / w.sum()
    A, B, C = t.T @ (w[:, None] * t), x.T @ (w[:, None] * x), t.T @ (w[:, None] * x)
    sizes = np.diag(A)
    A = A + ridge[0] * sizes[sizes > 0].mean() * np.eye(len(A))
    B = B + ridge[1] * np.trace(B) / len(B) * np.eye(len(B))
    values = linalg.eigh(C.T @ np.linalg.solve(A, C), B, eigvals_only=True)[::-1][:dim]
    return A, B, C, np.sqrt(np.maximum(values, 0))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), dim=st.integers(1, 12), thin=st.booleans())
def test_directions_solve_the_equations_and_have_the_stated_scale(seed, dim, thin):
    rng = np.random.default_rng(seed)
    T = sparse.random_array((40, 25), density=0.2, rng=rng, format="csr")
    X = rng.normal(size=(50, 12)) * (rng.random((50, 12)) < 0.3 if thin else 1)
    q, i, w = rng.integers(0, 40, 90), rng.integers(0, 50, 90), rng.integers(1, 9, 90)
    ridge = (0.5, 0.2)
    found = cca(T, X, q, i, w, dim=dim, ridge=ridge, tol=1e-11)
    A, B, C, rho = dense(T.toarray(), X, q, i, w, dim, ridge)
    d = len(found.rho)
    assert np.allclose(found.rho, rho[:d], atol=1e-6)
    assert (rho[d:] < 1e-4).all()
    assert np.allclose(found.wq.T @ A @ found.wq, np.eye(d), atol=1e-5)
    assert np.allclose(found.wv.T @ B @ found.wv, np.eye(d), atol=1e-5)
    assert np.allclose(found.wq.T @ C @ found.wv, np.diag(found.rho), atol=1e-5)
    assert found.residual < 1e-4


def test_agrees_with_scikit_learn():
    T, X = planted(1)
    ours = cca(sparse.csr_array(T), X, np.arange(300), np.arange(300), dim=3, ridge=(1e-9, 1e-9))
    theirs = Sklearn(n_components=3, scale=False, max_iter=5000, tol=1e-12).fit(T, X)
    scores = theirs.transform(T, X)
    for k in range(3):
        rho = np.corrcoef(scores[0][:, k], scores[1][:, k])[0, 1]
        assert abs(rho - ours.rho[k]) < 1e-5
        assert abs(np.corrcoef(T @ ours.wq[:, k], scores[0][:, k])[0, 1]) > 0.999
        assert abs(np.corrcoef(X @ ours.wv[:, k], scores[1][:, k])[0, 1]) > 0.999


def test_planted_causes_are_found():
    T, X = planted(2, n=2000)
    pairs = np.arange(2000), np.arange(2000)
    rho = cca(sparse.csr_array(T), X, *pairs, dim=6, ridge=(0.01, 0.01)).rho
    assert rho[2] > 0.8
    assert rho[3] < 0.3


def test_smaller_is_the_beginning_of_larger_and_lanczos_agrees_with_all():
    rng = np.random.default_rng(3)
    T = sparse.random_array((200, 500), density=0.01, rng=rng, format="csr")
    X, pairs = rng.normal(size=(200, 60)), (np.arange(200), np.arange(200))
    few, all_ = (cca(T, X, *pairs, dim=d, tol=1e-9) for d in (5, 60))
    assert np.allclose(few.rho, all_.rho[:5], atol=1e-6)
    assert np.allclose(few.wv, all_.wv[:, :5], atol=1e-3)


def test_counts_weigh_like_repeated_pairs():
    T, X = planted(4, n=40)
    q = np.arange(40)
    w = np.where(q < 20, 3, 1)
    counted = cca(sparse.csr_array(T), X, q, q, w, dim=2)
    repeated = np.repeat(q, w)
    assert np.allclose(cca(sparse.csr_array(T), X, repeated, repeated, dim=2).rho, counted.rho)


def test_no_matrix_of_words_by_words():
    words = 40_000
    rng = np.random.default_rng(5)
    T = sparse.random_array((300, words), density=1e-4, rng=rng, format="csr")
    X = rng.normal(size=(300, 20))
    tracemalloc.start()
    cca(T, X, np.arange(300), np.arange(300), dim=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.01 * 8 * words**2


def test_nothing_to_correlate_gives_no_direction():
    X = np.random.default_rng(6).normal(size=(3, 4))
    empty = cca(sparse.csr_array((3, 7)), X, [0, 1], [0, 1], dim=2)
    assert empty.wq.shape == (7, 0)
    assert empty.wv.shape == (4, 0)
    blank = cca(sparse.csr_array(np.eye(3)), np.zeros((3, 4)), [0, 1], [0, 1], dim=2)
    assert len(blank.rho) == 0
    one = cca(sparse.csr_array(np.eye(3)), X, [1], [2], dim=2)
    assert len(one.rho) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dim": 0}, "dim must be"),
        ({"ridge": (0.0, 1.0)}, "ridges"),
        ({"query": [0, 9]}, "row numbers"),
        ({"item": [0]}, "one list of pairs"),
        ({"weight": [0.0, 0.0]}, "weight 0"),
        ({"weight": [-1.0, 2.0]}, "weight 0"),
        ({"query": [], "item": []}, "weight 0"),
        ({"X": np.full((3, 2), np.nan)}, "finite"),
    ],
)
def test_bad_input_is_refused(change, words):
    given = {"T": np.eye(3), "X": np.ones((3, 2)), "query": [0, 1], "item": [0, 1]} | change
    with pytest.raises(ValueError, match=words):
        cca(**given)


def test_conjugate_gradient_solves():
    rng = np.random.default_rng(7)
    m = rng.normal(size=(20, 20))
    m = m @ m.T + np.eye(20)
    rhs = rng.normal(size=20)
    x = conjugate_gradient(lambda v: m @ v, rhs, np.diag(m).copy(), tol=1e-12)
    assert np.allclose(m @ x, rhs)
