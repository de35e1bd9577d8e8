"""Outside solvers of the ranking problem, each handed the explicit problem."""

from __future__ import annotations

import warnings

import clarabel
import numpy as np
import osqp
from scipy import sparse
from sklearn.svm import LinearSVC


def _quadratic(X, cap, margin, A, prior, nonnegative):
    """Variables [w, xi]; rows: X w + xi >= margin, xi >= 0 (and w >= 0)."""
    n, dim = X.shape
    P = sparse.block_diag([sparse.csc_matrix(A), sparse.csc_matrix((n, n))], format="csc")
    q = np.r_[-A @ prior, cap]
    rows = [
        sparse.hstack([sparse.csc_matrix(X), sparse.identity(n)]),
        sparse.hstack([sparse.csc_matrix((n, dim)), sparse.identity(n)]),
    ]
    low = [margin, np.zeros(n)]
    if nonnegative:
        rows.append(sparse.hstack([sparse.identity(dim), sparse.csc_matrix((dim, n))]))
        low.append(np.zeros(dim))
    return P, q, sparse.vstack(rows, format="csc"), np.concatenate(low)


def by_osqp(X, cap, margin, A, prior, nonnegative=False):
    P, q, G, low = _quadratic(X, cap, margin, A, prior, nonnegative)
    solver = osqp.OSQP()
    high = np.full(len(low), np.inf)
    solver.setup(
        sparse.triu(P, format="csc"), q, G, low, high,
        eps_abs=1e-9, eps_rel=1e-9, max_iter=200_000, polishing=True, verbose=False,
    )  # fmt: skip
    found = solver.solve(raise_error=False).x[: X.shape[1]]
    return np.maximum(found, 0) if nonnegative else found


def by_clarabel(X, cap, margin, A, prior, nonnegative=False):
    P, q, G, low = _quadratic(X, cap, margin, A, prior, nonnegative)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones = [clarabel.NonnegativeConeT(len(low))]
    solver = clarabel.DefaultSolver(sparse.triu(P, format="csc"), q, -G, -low, cones, settings)
    found = np.asarray(solver.solve().x)[: X.shape[1]]
    return np.maximum(found, 0) if nonnegative else found


def by_liblinear(X, cap, A, tol=1e-9):
    """Ranking as classification of +-differences; the metric goes into the features."""
    values, vectors = np.linalg.eigh(A)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    signs = np.where(np.arange(len(X)) % 2, 1.0, -1.0)
    if len(X) == 1:  # a classifier needs both classes
        X, cap, signs = np.r_[X, X], np.r_[cap, cap] / 2, np.r_[1.0, -1.0]
    peer = LinearSVC(
        loss="hinge", fit_intercept=False, C=1.0, tol=tol, max_iter=1_000_000, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit((X @ root) * signs[:, None], signs, sample_weight=cap)
    return root @ peer.coef_.ravel()
