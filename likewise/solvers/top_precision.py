"""Maximum top precision, exactly: dual block-coordinate ascent over queries with working sets.

The problem (equations 6 and 7 of the paper, with a prior W0 to regularise towards)::

    P(W) = 1/2 |W - W0|^2 + C sum_i sum_{j relevant} max(0, 1 + max_{k irrelevant} s_ik - s_ij)
    s_ij = z_i' W x_j

Its dual has one variable a triplet (i, j, k).  Summed over k and over j they become
``a_ij`` in [0, C] and ``b_ik >= 0`` with equal mass a query, and the optimum is the same::

    u_i = sum_j a_ij x_j - sum_k b_ik x_k        W = W0 + sum_i z_i u_i'
    D(a, b) = sum a - <W0, W - W0> - 1/2 |W - W0|^2

So nothing here ever lists triplets: a query owns one vector ``u_i`` and the few irrelevant
items that carry mass.  A *round* scores everything once by blocked matrix products, which
gives the exact P and therefore a certified gap, and puts each query's top irrelevant items
into its working set.  Then come *sweeps*: query by query, pair steps with a closed-form
length raise the dual; after the first sweep of a round only for relevant items that the
first one moved or found near the margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise.solvers.top_precision_kernels import scan, sweep

Floats = NDArray[np.floating[Any]]
Finder = Callable[[Floats, int], NDArray[np.int64]]
"""Takes a surrogate W'z_i a query and k; gives rows of irrelevant items, -1 where fewer."""

BLOCK_BYTES = 48 << 20
"""Scores that are held at a time."""


class Dual(NamedTuple):
    """Where the solver stands; hand it back in to go on.

    ``a`` has one number a relevant pair, in the order of the relevance matrix; ``b`` is
    sparse, queries x items; ``rounds`` were done so far.
    """

    a: Floats
    b: sparse.csr_array
    rounds: int


class Fit(NamedTuple):
    """A solution with what certifies it.

    ``residual`` is the duality gap P(W) - D(a, b); ``relative_gap`` is the same as a share
    of P(W0) - P(W), which is the yardstick because P hardly differs from P(0) at the optimum.
    """

    weights: Floats
    objective: float
    residual: float
    relative_gap: float
    start: float
    dual: Dual


class Pairs(NamedTuple):
    """Relevance as flat arrays: row i holds the items relevant to query i, and those left out."""

    start: NDArray[np.int64]
    item: NDArray[np.int64]
    out_start: NDArray[np.int64]
    out_item: NDArray[np.int64]

    @classmethod
    def of(cls, relevance: Any) -> Pairs:
        """From a matrix, queries x items: above 0 relevant, 0 irrelevant, below 0 left out."""
        if isinstance(relevance, Pairs):
            return relevance
        rows = sparse.csr_array(relevance)
        parts = []
        for keep in (rows.data > 0, rows.data < 0):
            flat = (keep, rows.indices.copy(), rows.indptr.copy())
            kept = sparse.csr_array(flat, shape=rows.shape)
            kept.eliminate_zeros()
            kept.sort_indices()
            parts += [kept.indptr.astype(np.int64), kept.indices.astype(np.int64)]
        return cls(*parts)


def solve(
    queries: Floats, items: Floats, relevance: Any, *, cost: float = 1e-2,
    prior: Floats | None = None, diagonal: bool = False, tolerance: float = 1e-2, rounds: int = 500,
    sweeps: int = 10, width: int = 16, seed: int = 0, dual: Dual | None = None,
    find: Finder | None = None,
) -> Fit:  # fmt: skip
    """Minimise P(W) to a certified relative gap.

    Parameters
    ----------
    queries, items, cost, prior
        Z (n x d), X (m x d), C and W0 (zero where not given).
    relevance
        n x m, dense or sparse: above 0 relevant, 0 irrelevant, below 0 left out.  Every row
        needs a relevant and an irrelevant item.
    diagonal
        Learn a diagonal W; ``prior`` and ``weights`` then are vectors of its d numbers.
    tolerance
        Stop when P(W) - D is at most this share of P(W0) - P(W).
    rounds, sweeps, width
        At most so many rounds, of so many sweeps each; so many top irrelevant items join a
        query's working set a round.
    dual
        Where an earlier call with the same data stopped.
    find
        Finds top irrelevant items, for instance through an index.  The gap is certified by
        a full pass before the solver stops, so an approximate index costs time only.
    """
    z, x = _floats(queries), _floats(items)
    d = x.shape[1]
    pairs = Pairs.of(relevance)
    w0 = np.zeros(d if diagonal else (d, d)) if prior is None else _floats(prior)
    start = objective(z, x, pairs, w0, w0, cost)
    a, sets, done = _resume(dual, pairs, len(z))
    w = w0 + _weights(z, x, pairs, a, sets, diagonal)
    best, best_w = start, w0
    reached = done
    while True:
        look = Look.at(z, x, pairs, w, width, find)
        primal = _primal(look.loss, w, w0, cost)
        lower = _dual_value(a, w, w0)
        if find is not None and _close(min(primal, best), lower, start, tolerance):
            look = Look.at(z, x, pairs, w, width, None)
            primal = _primal(look.loss, w, w0, cost)
        if look.exact and primal <= best:
            best, best_w = primal, w.copy()
        if _close(best, lower, start, tolerance) or reached - done >= rounds:
            break
        sets = sets.joined(look.top)
        order = np.random.default_rng([seed, reached])
        live = np.ones(len(a), np.bool_)
        for number in range(sweeps):
            sweep(
                order.permutation(len(z)), z, x, np.atleast_2d(w), diagonal,
                pairs.start, pairs.item, a, sets.start, sets.item, sets.mass,
                cost, live, number == 0, bool(reached % 2),
            )  # fmt: skip
        reached += 1
    if not look.exact and (primal := objective(z, x, pairs, w, w0, cost)) <= best:
        best, best_w = primal, w.copy()
    gap = max(best - lower, 0.0)
    return Fit(
        best_w,
        best,
        gap,
        gap / (start - best) if start > best else (0.0 if gap == 0.0 else np.inf),
        start,
        Dual(a, sets.as_matrix(x.shape[0]), reached),
    )


def objective(
    queries: Floats, items: Floats, pairs: Pairs, weights: Floats, prior: Floats, cost: float
) -> float:
    """P(W), by blocked products."""
    loss = Look.at(queries, items, pairs, weights, 1, None).loss
    return _primal(loss, weights, prior, cost)


def mean_top_precision(queries: Floats, items: Floats, relevance: Any, weights: Floats) -> float:
    """Mean share of relevant items that score strictly above the top irrelevant one (eq. 3)."""
    pairs = Pairs.of(relevance)
    z, x = np.ascontiguousarray(queries), np.ascontiguousarray(items)
    above = Look.at(z, x, pairs, weights, 1, None).above
    return float(np.mean(above / np.maximum(np.diff(pairs.start), 1))) if len(above) else 0.0


def surrogates(queries: Floats, weights: Floats) -> Floats:
    """W'z_i for every query, a full matrix or a diagonal."""
    out: Floats = queries * weights if weights.ndim == 1 else queries @ weights
    return out


def score_blocks(queries: Floats, items: Floats, weights: Floats) -> Iterator[tuple[slice, Floats]]:
    """Z W X' a few queries at a time, so that memory stays bounded."""
    step = max(1, BLOCK_BYTES // max(1, items.itemsize * len(items)))
    v = surrogates(queries, weights)
    for first in range(0, len(v), step):
        part = slice(first, min(len(v), first + step))
        yield part, v[part] @ items.T


class Look(NamedTuple):
    """What one pass over all scores tells: each query's loss, its top irrelevant items ..."""

    loss: Floats
    above: NDArray[np.int64]
    top: NDArray[np.int64]
    exact: bool

    @classmethod
    def at(
        cls, z: Floats, x: Floats, pairs: Pairs, w: Floats, width: int, find: Finder | None
    ) -> Look:
        """Look at the scores of W: through the finder where there is one."""
        n = len(z)
        loss, above = np.empty(n), np.empty(n, np.int64)
        top = np.full((n, width), -1, np.int64)
        if find is None:
            for part, scores in score_blocks(z, x, w):
                scan(scores, part.start, *pairs, loss, above, top)
            return cls(loss, above, top, True)
        v = surrogates(z, w)
        top = np.ascontiguousarray(find(v, width), dtype=np.int64)
        for i in range(n):
            found = x[top[i][top[i] >= 0]] @ v[i]
            rest = x[pairs.item[pairs.start[i] : pairs.start[i + 1]]] @ v[i]
            best = found.max() if len(found) else -np.inf
            loss[i] = np.maximum(0.0, 1.0 + best - rest).sum()
            above[i] = (rest > best).sum()
        return cls(loss, above, top, False)


class Sets(NamedTuple):
    """Working sets: the irrelevant items that a query's mass may lie on, and the mass b."""

    start: NDArray[np.int64]
    item: NDArray[np.int64]
    mass: Floats

    def joined(self, top: NDArray[np.int64]) -> Sets:
        """Items without mass leave, the given top items join."""
        n, width = top.shape
        kept = self.mass > 0
        row = np.repeat(np.arange(n), np.diff(self.start))[kept]
        rows = np.concatenate([row, np.repeat(np.arange(n), width)])
        items = np.concatenate([self.item[kept], top.ravel()])
        mass = np.concatenate([self.mass[kept], np.zeros(top.size)])
        rows, items, mass = rows[items >= 0], items[items >= 0], mass[items >= 0]
        order = np.lexsort((-mass, items, rows))
        rows, items, mass = rows[order], items[order], mass[order]
        first = np.ones(len(rows), bool)
        first[1:] = (rows[1:] != rows[:-1]) | (items[1:] != items[:-1])
        start = np.concatenate([[0], np.cumsum(np.bincount(rows[first], minlength=n))])
        return Sets(start.astype(np.int64), items[first], mass[first])

    def as_matrix(self, items: int) -> sparse.csr_array:
        """The mass as a sparse matrix, queries x items."""
        shape = (len(self.start) - 1, items)
        b = sparse.csr_array((self.mass.copy(), self.item.copy(), self.start.copy()), shape=shape)
        b.eliminate_zeros()
        return b


def _resume(dual: Dual | None, pairs: Pairs, n: int) -> tuple[Floats, Sets, int]:
    if dual is None:
        empty = Sets(np.zeros(n + 1, np.int64), np.zeros(0, np.int64), np.zeros(0))
        return np.zeros(len(pairs.item)), empty, 0
    if len(dual.a) != len(pairs.item) or dual.b.shape[0] != n:
        raise ValueError("The state to go on from belongs to another relevance matrix.")
    b = dual.b
    sets = Sets(b.indptr.astype(np.int64), b.indices.astype(np.int64), b.data.astype(np.float64))
    return dual.a.astype(np.float64).copy(), sets, dual.rounds


def _weights(z: Floats, x: Floats, pairs: Pairs, a: Floats, sets: Sets, diagonal: bool) -> Floats:
    """sum_i z_i u_i' of a dual point (equation 12, reduced)."""
    shape = (len(z), len(x))
    plus = sparse.csr_array((a, pairs.item, pairs.start), shape=shape)
    minus = sparse.csr_array((sets.mass, sets.item, sets.start), shape=shape)
    u: Floats = np.asarray(plus @ x) - np.asarray(minus @ x)
    out: Floats = (z * u).sum(axis=0) if diagonal else z.T @ u
    return out


def _primal(loss: Floats, w: Floats, w0: Floats, cost: float) -> float:
    return float(0.5 * ((w - w0) ** 2).sum() + cost * loss.sum())


def _dual_value(a: Floats, w: Floats, w0: Floats) -> float:
    moved = w - w0
    return float(a.sum() - (w0 * moved).sum() - 0.5 * (moved**2).sum())


def _close(primal: float, lower: float, start: float, tolerance: float) -> bool:
    rounding = 1e-13 * max(1.0, abs(start))
    return primal - lower <= max(tolerance * (start - primal), rounding)


def _floats(a: Any) -> Floats:
    return np.ascontiguousarray(a, dtype=np.float64)
