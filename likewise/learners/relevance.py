"""From labels, a relevance matrix or preferences to queries, items and who is relevant to whom.

The methods that look at whole rankings (top precision and the baselines beside it) all
start from a :class:`Task`: only queries that have a relevant and an irrelevant item, and the
rest counted and named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise.learners.plain import Plain
from likewise.solvers.top_precision import Floats, Pairs
from likewise.spaces import Blocks
from likewise.types import BadInput, FloatArray, IdArray, Preferences, as_matrix


@dataclass(frozen=True, eq=False)
class Task:
    """Queries and items with a relevance matrix: above 0 relevant, 0 irrelevant, below 0 unknown.

    ``rows`` are those of the caller's item matrix; ``asked`` counts queries before some were left
    out.
    """

    queries: Floats
    items: Floats
    relevance: sparse.csr_array
    rows: IdArray
    asked: int
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def pairs(self) -> Pairs:
        """Relevance as flat arrays."""
        return Pairs.of(self.relevance)

    @property
    def preferences(self) -> int:
        """How many triplets (query, relevant, irrelevant) there are; none is ever listed."""
        relevant = np.diff(self.pairs.start)
        unknown = np.diff(self.pairs.out_start)
        return int((relevant * (len(self.items) - relevant - unknown)).sum())

    def only(self, chosen: IdArray) -> Task:
        """The same task with these queries."""
        kept = sparse.csr_array(self.relevance[chosen])
        return Task(self.queries[chosen], self.items, kept, self.rows, len(chosen), self.notes)

    def split(self, share: float, rng: np.random.Generator) -> tuple[Task, Task]:
        """Queries to learn from and queries to judge by; fewer than five are not split."""
        n = len(self)
        held = round(share * n) if n >= 5 else 0
        order = rng.permutation(n)
        return self.only(np.sort(order[held:])), self.only(np.sort(order[:held]))


def prepare(
    X: Any,
    y: Any,
    queries: Any,
    query_labels: Any,
    plain: Plain | None,
    max_queries: int,
    rng: np.random.Generator,
) -> tuple[Blocks, FloatArray, Task]:
    """A learner's space, its plain weights w0 a dimension (1 without a plain one), and its task."""
    x = as_matrix(X, name="items")
    start = plain if plain is not None else Plain(Blocks.identity({"x": x.shape[1]}))
    x = as_matrix(x, dim=start.space.dim, name="items")
    return start.space, start.w0, make_task(x, y, queries, query_labels, max_queries, rng)


def make_task(
    items: Any,
    y: Any,
    queries: Any = None,
    query_labels: Any = None,
    max_queries: int = 400,
    seed: np.random.Generator | int = 0,
) -> Task:
    """A task from items and labels, a relevance matrix or preferences.

    Where no queries are given, items are the queries (at most ``max_queries`` of them,
    drawn), and an item is neither relevant nor irrelevant to itself.
    """
    rng = np.random.default_rng(seed)
    items = as_matrix(items, name="items").astype(np.float64)
    m, d = items.shape
    own, z = queries is None, items
    if queries is not None:
        z = as_matrix(queries, dim=d, name="queries").astype(np.float64)
    if isinstance(y, Preferences):
        relevance, rows, chosen = _from_preferences(y, len(z), m)
        return _usable(z[chosen], items[rows], relevance, rows)
    chosen = np.arange(len(z))
    if own:
        chosen = np.sort(rng.choice(m, min(m, max_queries), replace=False)).astype(np.int64)
    if is_labels(y):
        labels = _labels(y, m, "item")
        relevance = _same(labels[chosen] if own else _labels(query_labels, len(z), "query"), labels)
    else:
        relevance = sparse.csr_array(_matrix(y, len(z), m)[chosen])
    relevance = _without_self(relevance, chosen) if own else relevance
    return _usable(z[chosen], items, relevance, np.arange(m))


def _usable(z: Floats, x: Floats, relevance: sparse.csr_array, rows: IdArray) -> Task:
    """Leave out queries without a relevant or without an irrelevant item, and say so."""
    signs = relevance.copy()
    signs.data = np.sign(signs.data).astype(np.float64)
    signs.eliminate_zeros()
    row = np.repeat(np.arange(len(z)), np.diff(signs.indptr))
    relevant = np.bincount(row[signs.data > 0], minlength=len(z))
    judged = np.diff(signs.indptr)
    no_relevant, no_irrelevant = relevant == 0, judged == len(x)
    keep = np.flatnonzero(~no_relevant & ~no_irrelevant)
    notes = []
    for count, what in (
        (int(no_relevant.sum()), "no relevant item"),
        (int((no_irrelevant & ~no_relevant).sum()), "no irrelevant item"),
    ):
        if count:
            verb = "query has" if count == 1 else "queries have"
            notes.append(f"{count} {verb} {what} and teach nothing: left out.")
    silent = int((~z[keep].any(axis=1)).sum())
    if silent:
        notes.append(f"{silent} of the queries are all zeros: they score every item 0.")
    kept = sparse.csr_array(signs[keep])
    return Task(z[keep], x, kept, rows, len(z), tuple(notes))


def is_labels(y: Any) -> bool:
    """Whether ``y`` is a row of class labels rather than a matrix."""
    return not sparse.issparse(y) and np.ndim(y) == 1


def _labels(y: Any, count: int, whose: str) -> NDArray[Any]:
    if y is None:
        raise BadInput("Give query_labels too: queries without classes match no labelled item.")
    labels = np.asarray(y)
    if labels.shape != (count,):
        raise BadInput(
            f"There must be one label for each {whose}: {count}, not shape {labels.shape}."
        )
    return labels


def _matrix(y: Any, n: int, m: int) -> sparse.csr_array:
    relevance: Any = y if sparse.issparse(y) else np.asarray(y)
    if relevance.shape != (n, m):
        raise BadInput(
            f"The relevance matrix must have one row a query and one column an item, {n, m}, "
            f"not {relevance.shape}."
        )
    csr = sparse.csr_array(relevance, dtype=np.float64)
    csr.sum_duplicates()
    if not np.isfinite(csr.data).all():
        raise BadInput("The relevance matrix holds NaN or infinity; use -1 for unknown.")
    csr.eliminate_zeros()
    return csr


def _same(a: NDArray[Any], b: NDArray[Any]) -> sparse.csr_array:
    """1 where two labels are equal, sparse."""
    _, number = np.unique(np.concatenate([a, b]), return_inverse=True)
    first, second = number[: len(a)], number[len(a) :]
    width = int(number.max()) + 1 if len(number) else 1
    rows = sparse.csr_array((np.ones(len(a)), (np.arange(len(a)), first)), (len(a), width))
    columns = sparse.csr_array((np.ones(len(b)), (second, np.arange(len(b)))), (width, len(b)))
    return sparse.csr_array(rows @ columns)


def _without_self(relevance: sparse.csr_array, chosen: IdArray) -> sparse.csr_array:
    """Query i is item ``chosen[i]``: unknown to itself."""
    n = len(chosen)
    own = sparse.csr_array((np.ones(n), (np.arange(n), chosen)), relevance.shape)
    known = relevance - relevance.multiply(own)
    return sparse.csr_array(known - own)


def _from_preferences(
    preferences: Preferences, n: int, m: int
) -> tuple[sparse.csr_array, IdArray, IdArray]:
    """Better is relevant, worse irrelevant, all others unknown; only what was judged is kept.

    Gives the relevance with the items and the queries that its columns and rows stand for.
    """
    items = np.unique(np.concatenate([preferences.better, preferences.worse]))
    queries = np.unique(preferences.query)
    if not len(items):
        return sparse.csr_array((0, m)), np.arange(m), queries
    preferences.check(n, m)
    relevance = np.full((len(queries), len(items)), -1.0)
    row = np.searchsorted(queries, preferences.query)
    relevance[row, np.searchsorted(items, preferences.worse)] = 0.0
    relevance[row, np.searchsorted(items, preferences.better)] = 1.0
    return sparse.csr_array(relevance), items, queries
