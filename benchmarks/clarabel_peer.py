"""Clarabel on the paper's own dual of top precision: one variable a triplet."""

from __future__ import annotations

from typing import Any, NamedTuple

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.floating[Any]]


class FullDual(NamedTuple):
    """min 1/2 |M beta|^2 - gain' beta  with  beta >= 0 and  group beta <= C.

    Column t of ``directions`` (M) is z_i (x_j - x_k)' of triplet t, flat; ``group`` adds up
    the triplets of each relevant pair; the primal solution is W0 + M beta.
    """

    directions: Floats
    gain: Floats
    group: sparse.csr_array


def full_dual(queries: Floats, items: Floats, relevance: Floats, prior: Floats) -> FullDual:
    """The paper's dual, one column a triplet; only for tiny problems."""
    columns, gain, pair = [], [], []
    pairs = 0
    for z, judged in zip(queries, relevance):
        for j in np.flatnonzero(judged > 0):
            for k in np.flatnonzero(judged == 0):
                away = items[j] - items[k]
                move = z * away if prior.ndim == 1 else np.outer(z, away)
                columns.append(move.ravel())
                gain.append(1.0 - float((prior * move).sum()))
                pair.append(pairs)
            pairs += 1
    count = len(columns)
    group = sparse.csr_array((np.ones(count), (pair, np.arange(count))), shape=(pairs, count))
    return FullDual(np.array(columns).T, np.array(gain), group)


class Problem(NamedTuple):
    """The QP in Clarabel's form, with the prior that its solution moves."""

    p: Any
    q: Any
    a: Any
    b: Any
    cones: list[Any]
    prior: Any


def state(queries: Any, items: Any, relevance: Any, prior: Any, cost: float) -> Problem:
    """The full dual as a QP.  M beta is kept as variables of its own, which spares the solver
    the dense Gram matrix of all triplets.
    """
    directions, gain, group = full_dual(queries, items, np.asarray(relevance), prior)
    size, count = directions.shape
    p = sparse.block_diag([sparse.eye(size), sparse.csc_matrix((count, count))], format="csc")
    q = np.concatenate([np.zeros(size), -gain])
    parts: list[list[Any]] = [
        [sparse.eye(size), -sparse.csc_matrix(directions)],
        [sparse.csc_matrix((count, size)), -sparse.eye(count)],
        [sparse.csc_matrix((group.shape[0], size)), sparse.csc_matrix(group)],
    ]
    a = sparse.bmat(parts, format="csc")
    b = np.concatenate([np.zeros(size + count), np.full(group.shape[0], cost)])
    cones = [clarabel.ZeroConeT(size), clarabel.NonnegativeConeT(count + group.shape[0])]
    return Problem(p, q, a, b, cones, prior)


def solve_full_dual(problem: Problem, tolerance: float = 1e-10) -> tuple[Any, float]:
    """W and the dual objective."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    p, q, a, b, cones, prior = problem
    solution = clarabel.DefaultSolver(p, q, a, b, cones, settings).solve()
    moved = np.asarray(solution.x)[: prior.size].reshape(prior.shape)
    return prior + moved, -float(solution.obj_val)
