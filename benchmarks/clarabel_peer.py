"""Clarabel on the paper's own dual of top precision: one variable a triplet."""

from __future__ import annotations

from typing import Any, NamedTuple

import clarabel
import numpy as np
from scipy import sparse

from likewise.solvers.top_precision_reference import full_dual


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
    a = sparse.bmat(
        [
            [sparse.eye(size), -sparse.csc_matrix(directions)],
            [sparse.csc_matrix((count, size)), -sparse.eye(count)],
            [sparse.csc_matrix((group.shape[0], size)), sparse.csc_matrix(group)],
        ],
        format="csc",
    )
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
