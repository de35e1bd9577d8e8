"""The passive-aggressive model for image retrieval (Grangier and Bengio, PAMI 2008).

Text goes straight into the pictures' space, ``s(t, x) = t M x'``.  Each triplet that misses its
margin moves M by just as much as it takes to meet it, and by no more than C allows:

    M += min(C, loss / |t|^2 |better - worse|^2) t' (better - worse).

Returned is the average over all steps, which ranks better than the last M.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy import sparse

from likewise.learners.clicks import Clicks
from likewise.solvers import checks
from likewise.solvers.checks import Floats
from likewise.solvers.rcca_descent import Triplets, stream
from likewise.spaces import Blocks
from likewise.types import Preferences


class Pamir(NamedTuple):
    """M (words by picture dimensions), the mean hinge on the triplets, and the share that miss."""

    m: Floats
    objective: float
    residual: float


def pamir(
    T: Any,
    X: ArrayLike,
    triplets: tuple[Any, ...],
    *,
    C: float = 0.1,
    steps: int | None = None,
    seed: int = 0,
) -> Pamir:
    """One pass (or ``steps`` triplets) of passive-aggressive updates.

    Parameters
    ----------
    T, X
        Sparse queries and dense pictures, one row each.
    triplets
        ``(query, better, worse)`` or with ``weight``, which multiplies C.
    C
        Largest step.
    """
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C must be above zero, not {C}.")
    rows, pictures = sparse.csr_array(T, dtype=np.float64), checks.matrix("X", X)
    given = Triplets.of(rows, pictures, *triplets)
    m = np.zeros((rows.shape[1], pictures.shape[1]))
    if not given.size:
        return Pamir(m, 0.0, 0.0)
    order = stream(given.size, 0, given.size if steps is None else steps, seed)
    later = np.zeros_like(m)
    _passes(order, *given, rows.indptr, rows.indices, rows.data, pictures, m, later, C)
    # Sum of all iterates, as in ranked CCA: every addition counts for the steps after it.
    m -= later / max(1, len(order))
    few = given.thinned(20_000)
    asked = rows @ m
    slack = np.maximum(
        0.0,
        1.0 - np.einsum("td,td->t", asked[few.query], pictures[few.better] - pictures[few.worse]),
    )
    return Pamir(m, float(slack.mean()), float((slack > 0).mean()))


def fit_pamir(
    space: Blocks,
    X: Any,
    preferences: Preferences,
    queries: Any,
    *,
    C: float = 0.1,
    steps: int | None = None,
    seed: int = 0,
) -> Clicks:
    """``s(t, x) = t M x'`` by passive-aggressive steps: W_q is M, W and W_v the identity."""
    p = preferences
    found = pamir(queries, X, (p.query, p.better, p.worse, p.weight), C=C, steps=steps, seed=seed)
    return Clicks(space, found.m, np.eye(space.dim), np.eye(space.dim))


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
def _passes(order, query, better, worse, weight, indptr, indices, data, X, m, later, C):  # type: ignore[no-untyped-def]
    dims = X.shape[1]
    gap = np.empty(dims)
    for done in range(len(order)):
        t = order[done]
        q, b, w = query[t], better[t], worse[t]
        width = length = score = 0.0
        for i in range(dims):
            gap[i] = X[b, i] - X[w, i]
            width += gap[i] * gap[i]
        for at in range(indptr[q], indptr[q + 1]):
            j, total = indices[at], 0.0
            for i in range(dims):
                total += m[j, i] * gap[i]
            score += data[at] * total
            length += data[at] * data[at]
        size = length * width
        if score < 1.0 and size > 0.0:
            tau = min(C * weight[t], (1.0 - score) / size)
            for at in range(indptr[q], indptr[q + 1]):
                j, value = indices[at], tau * data[at]
                for i in range(dims):
                    u = value * gap[i]
                    m[j, i] += u
                    later[j, i] += done * u
