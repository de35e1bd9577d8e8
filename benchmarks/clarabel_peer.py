"""Clarabel on the paper's own dual of top precision: one variable a triplet."""

from __future__ import annotations

from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from likewise.solvers.top_precision_reference import full_dual


def solve_full_dual(
    queries: Any, items: Any, relevance: Any, prior: Any, cost: float
) -> tuple[Any, float]:
    """W and the dual objective.  M beta is kept as variables of its own, which spares the solver
    the dense Gram matrix of all triplets.
    """
    directions, gain, group = full_dual(queries, items, np.asarray(relevance), prior)
    size, count = directions.shape
    p = sparse.block_diag([sparse.eye(size), sparse.csc_matrix((count, count))], format="csc")
    q = np.concatenate([np.zeros(size), -gain])
    none = sparse.csc_matrix((count, size))
    a = sparse.bmat(
        [
            [sparse.eye(size), -sparse.csc_matrix(directions)],
            [none, -sparse.eye(count)],
            [sparse.csc_matrix((group.shape[0], size)), sparse.csc_matrix(group)],
        ],
        format="csc",
    )
    b = np.concatenate([np.zeros(size + count), np.full(group.shape[0], cost)])
    cones = [clarabel.ZeroConeT(size), clarabel.NonnegativeConeT(count + group.shape[0])]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(p, q, a, b, cones, settings).solve()
    moved = np.asarray(solution.x)[:size].reshape(prior.shape)
    return prior + moved, -float(solution.obj_val)
