"""The slow, obvious forms that the top-precision solvers are tested against.

Loops straight from the equations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
