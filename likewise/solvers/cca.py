"""Canonical correlation analysis with ridge, for sparse queries and dense pictures.

Every click is a pair (row of ``T``, row of ``X``) with a weight.  With the weighted second
moments ``A = T'T``, ``B = X'X`` and ``C = T'X`` over the pairs (divided by the total weight, not
centred, as in equation 4 of Yao et al.), the directions solve

    C (B + b I)^-1 C' w_q = rho^2 (A + a I) w_q,      w_v ~ (B + b I)^-1 C' w_q.

There are far more words than picture dimensions, so the problem is solved on the pictures' side,
where it has d_v dimensions: Lanczos needs products with ``C' (A + a I)^-1 C`` only, and the
inverse is a conjugate gradient on the sparse rows.  No matrix of words by words is made.

Scaling: ``W_q' (A + a I) W_q = W_v' (B + b I) W_v = I``, so each canonical variate has a mean
square of one (a little less, by the ridge).  ``rho`` is the canonical correlation under the ridge.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg, eigsh

from likewise.solvers import checks
from likewise.solvers.checks import Floats


class CCA(NamedTuple):
    """Directions of largest correlation, one a column of ``wq`` and ``wv``, the largest first.

    ``residual`` is the largest ``|C' w_q - rho (B + b I) w_v|``, relative to ``|C' w_q|``.
    """

    wq: Floats
    wv: Floats
    rho: Floats
    residual: float


class Pairs(NamedTuple):
    """Clicks as pairs of rows: their second moments, as products only."""

    T: sparse.csr_array
    Tt: sparse.csr_array
    X: Floats
    clicks: sparse.csr_array
    clicks_t: sparse.csr_array
    asked: Floats

    @classmethod
    def of(cls, T: Any, X: ArrayLike, query: ArrayLike, item: ArrayLike, weight: Any) -> Pairs:
        """Checked pairs; equal ones are added up."""
        rows = sparse.csr_array(T, dtype=np.float64)
        pictures = checks.matrix("X", X)
        checks.finite("T", rows.data)
        q = checks.numbers("query", query, rows.shape[0])
        i = checks.numbers("item", item, len(pictures))
        w = checks.vector("weight", weight, len(q), 1.0)
        if len(i) != len(q) or not len(q) or w.min() < 0 or not w.sum() > 0:
            raise ValueError(
                "query, item and weight must be one list of pairs, not all of weight 0."
            )
        w = w / w.sum()
        clicks = sparse.csr_array((w, (q, i)), shape=(rows.shape[0], len(pictures)))
        asked = np.asarray(clicks.sum(axis=1), np.float64).ravel()
        return cls(
            rows, sparse.csr_array(rows.T), pictures, clicks, sparse.csr_array(clicks.T), asked
        )

    def words(self, w: Floats) -> Floats:
        """A w: second moment of the queries."""
        return np.asarray(self.Tt @ _scaled(self.asked, self.T @ w))

    def pictures(self) -> Floats:
        """B: second moment of the pictures."""
        chosen = np.asarray(self.clicks.sum(axis=0), np.float64).ravel()
        seen = np.flatnonzero(chosen)
        x = self.X[seen]
        return np.asarray(x.T @ _scaled(chosen[seen], x))

    def to_words(self, w: Floats) -> Floats:
        """C w."""
        return np.asarray(self.Tt @ (self.clicks @ (self.X @ w)))

    def to_pictures(self, w: Floats) -> Floats:
        """C' w."""
        return np.asarray(self.X.T @ (self.clicks_t @ (self.T @ w)))

    def word_sizes(self) -> Floats:
        """Diagonal of A: how much each word occurs."""
        squared = self.Tt.copy()
        squared.data = squared.data**2
        return np.asarray(squared @ self.asked)


def cca(
    T: Any,
    X: ArrayLike,
    query: ArrayLike,
    item: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    dim: int = 80,
    ridge: tuple[float, float] = (1.0, 0.3),
    tol: float = 1e-6,
    seed: int = 0,
) -> CCA:
    """Directions in which queries and the pictures clicked for them agree most.

    Parameters
    ----------
    T, X
        Sparse queries and pictures, one row each.
    query, item, weight
        Pairs: picture ``item[i]`` was clicked for query ``query[i]``, ``weight[i]`` times.
    dim
        Directions wanted; fewer come back where the data has fewer.
    ridge
        a and b as shares of the mean diagonal entry of A (over words that occur) and of B:
        a share of 1 on the words means that the ridge counts like one average word.
    tol
        Relative error of the conjugate gradient; Lanczos stops ten times looser.
    """
    if dim < 1:
        raise ValueError(f"dim must be at least 1, not {dim}.")
    if min(ridge) <= 0 or not np.isfinite(ridge).all():
        raise ValueError(f"Both ridges must be above zero, not {ridge}.")
    pairs = Pairs.of(T, X, query, item, weight)
    sizes = pairs.word_sizes()
    seen = sizes > 0
    if not seen.any():
        return _nothing(pairs)
    a = ridge[0] * sizes[seen].mean()
    B = pairs.pictures()
    b = ridge[1] * np.trace(B) / len(B)
    if b <= 0:
        return _nothing(pairs)
    root = linalg.cholesky(B + b * np.eye(len(B)), lower=False)

    def inverse(rhs: Floats) -> Floats:
        return conjugate_gradient(lambda w: pairs.words(w) + a * w, rhs, sizes + a, tol=tol)

    def product(u: Floats) -> Floats:
        w = linalg.solve_triangular(root, u.ravel())
        back = pairs.to_pictures(inverse(pairs.to_words(w)))
        return linalg.solve_triangular(root, back, trans="T")

    values, vectors = _leading(product, len(B), dim, tol=10 * tol, seed=seed)
    kept = values > max(1e-12, 10 * tol * float(values[0]))
    values, vectors = values[kept], vectors[:, kept]
    if not len(values):
        return _nothing(pairs)
    rho = np.sqrt(np.minimum(values, 1.0))
    wv = linalg.solve_triangular(root, vectors)
    wq = np.stack([inverse(c) for c in pairs.to_words(wv).T], axis=1) / rho
    # The sign of a direction is free: make it the one in which the largest picture weight is up.
    sign = np.where(wv[np.abs(wv).argmax(axis=0), np.arange(len(rho))] < 0, -1.0, 1.0)
    wq, wv = wq * sign, wv * sign
    across = pairs.to_pictures(wq)
    error = np.linalg.norm(across - rho * (B @ wv + b * wv), axis=0)
    residual = float((error / np.maximum(np.linalg.norm(across, axis=0), 1e-300)).max())
    return CCA(wq, wv, rho, residual)


def conjugate_gradient(
    product: Any, rhs: Floats, diagonal: Floats, *, tol: float, limit: int = 2_000
) -> Floats:
    """Solve a positive definite system from products with it, preconditioned by its diagonal."""
    shape = (len(rhs), len(rhs))
    system = LinearOperator(shape, matvec=product, dtype=np.float64)
    inverse = LinearOperator(shape, matvec=lambda r: r / diagonal, dtype=np.float64)
    return np.asarray(cg(system, rhs, rtol=tol, maxiter=limit, M=inverse)[0])


def _leading(product: Any, n: int, dim: int, *, tol: float, seed: int) -> tuple[Floats, Floats]:
    """Largest eigenvalues of a symmetric operator, the largest first, and their vectors."""
    if dim >= n // 2:
        # Lanczos wants few of many; here the whole matrix is as cheap.
        whole = np.stack([product(e) for e in np.eye(n)], axis=1)
        values, vectors = linalg.eigh((whole + whole.T) / 2)
    else:
        operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
        start = np.random.default_rng(seed).standard_normal(n)
        values, vectors = eigsh(operator, k=dim, which="LA", v0=start, tol=tol)
    order = np.argsort(-values, kind="stable")[:dim]
    return values[order], vectors[:, order]


def _nothing(pairs: Pairs) -> CCA:
    """No direction at all: the queries have no words, or the pictures are all zero."""
    none = np.zeros((pairs.T.shape[1], 0)), np.zeros((pairs.X.shape[1], 0))
    return CCA(*none, np.zeros(0), 0.0)


def _scaled(factor: Floats, x: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(factor * x if x.ndim == 1 else factor[:, None] * x)
