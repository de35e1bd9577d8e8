"""The slow, obvious forms that the top-precision solvers are tested against.

Loops straight from the equations, and the paper's own dual (14) with one variable a triplet,
as matrices for any QP solver.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.floating[Any]]


def objective(
    queries: Floats, items: Floats, relevance: Floats, weights: Floats, prior: Floats, cost: float
) -> float:
    """P(W) by loops: equation (7) with the slack of (6) put in."""
    w = np.diag(weights) if weights.ndim == 1 else weights
    total = 0.5 * float(((weights - prior) ** 2).sum())
    for z, judged in zip(queries, relevance):
        scores = [float(z @ w @ x) for x in items]
        top = max(s for s, y in zip(scores, judged) if y == 0)
        total += cost * sum(max(0.0, 1.0 + top - s) for s, y in zip(scores, judged) if y > 0)
    return total


def top_precision(queries: Floats, items: Floats, relevance: Floats, weights: Floats) -> float:
    """Equation (3), averaged over queries, by loops."""
    w = np.diag(weights) if weights.ndim == 1 else weights
    shares = []
    for z, judged in zip(queries, relevance):
        scores = [float(z @ w @ x) for x in items]
        top = max(s for s, y in zip(scores, judged) if y == 0)
        own = [s for s, y in zip(scores, judged) if y > 0]
        shares.append(sum(s > top for s in own) / len(own))
    return float(np.mean(shares))


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
