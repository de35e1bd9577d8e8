"""Query-dependent similarity from reference queries (Kuang, Sun and Wong), over plain arrays.

Each reference query learns a weight a dimension, ``s_w(q, x) = sum_m w_m q_m x_m``; a new query
takes the sum of the normalised weights of its nearest references and becomes the surrogate
``w o q``.  Larger ``sigma`` pulls the weights more towards plain similarity.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.rank_many import rank_many
from likewise.spaces import unit_rows
from likewise.types import BadInput, FloatArray, IdArray, Preferences, as_matrix, as_vector

NEAREST = 10
"""M: references that a new query takes its weights from."""


class Learned(NamedTuple):
    """What the reference queries learned.

    Attributes
    ----------
    weights
        One row a reference: weights of the dimensions (or, in `directions`, a direction).
    taught
        Whether the reference had any preference, and its answer was kept; the others hold
        what plain similarity has.
    objective, gap
        Of each reference's problem; the gap is certified.
    """

    weights: FloatArray
    taught: NDArray[np.bool_]
    objective: FloatArray
    gap: FloatArray

    @property
    def coverage(self) -> float:
        """Share of the references that learned something."""
        return float(self.taught.mean()) if len(self.taught) else 0.0


def label_pairs(reference: ArrayLike, item: ArrayLike, relevant: ArrayLike) -> Preferences:
    """Preferences of labels: each relevant item before each irrelevant one of its reference.

    Parameters
    ----------
    reference
        Number of the reference query of each label.
    item
        Row of the labelled item.
    relevant
        True or false.
    """
    owner, rows = (np.asarray(a, dtype=np.int64).ravel() for a in (reference, item))
    good = np.asarray(relevant, dtype=bool).ravel()
    if not len(owner) == len(rows) == len(good):
        raise BadInput("reference, item and relevant must have one entry a label.")
    order = np.lexsort((rows, ~good, owner))  # by reference, the relevant ones first
    owner, rows, good = owner[order], rows[order], good[order]
    _, start, size = np.unique(owner, return_index=True, return_counts=True)
    yes = np.add.reduceat(good.astype(np.int64), start) if len(start) else start
    no = size - yes
    count = yes * no
    group = np.repeat(np.arange(len(start)), count)
    place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    better = start[group] + place // np.maximum(no[group], 1)
    worse = start[group] + yes[group] + place % np.maximum(no[group], 1)
    return Preferences.of(owner[better], rows[better], rows[worse])


def learn_references(
    X: ArrayLike,
    references: ArrayLike,
    preferences: Preferences,
    *,
    sigma: float = 0.95,
    C: float = 1.0,
    clip: bool = True,
    w0: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    tol: float = 1e-3,
    workers: int | None = None,
) -> Learned:
    """Weights of every reference query: equation (8) of the paper, one problem each.

    Parameters
    ----------
    X
        Item vectors, one row each.
    references
        Vectors of the reference queries, one row each.
    preferences
        ``query`` numbers a reference; ``better`` and ``worse`` are rows of ``X``.
    sigma
        Pull towards the direction of ``w0``, in [0, 1); 0 is a ranking SVM a reference.
    C
        Price of a broken preference.
    clip
        Set negative weights to zero after solving: the angular term is blind to the sign, and
        a negative weight calls items similar that are opposite to the query.
    w0
        Plain weights; ones by default.
    prior
        Weights to stay close to in place of zero (the paper's reference [11] takes ``w0``).
    tol
        Relative duality gap to reach.
    workers
        Threads; all cores by default.

    Returns
    -------
    Learned
        A reference without preferences, or whose answer turned against plain similarity
        (``w0 . w <= 0``), takes part with ``w0``.
    """
    items, queries, plain = _checked(X, references, w0)
    check_settings(sigma, C)
    found = rank_many(
        items,
        queries,
        preferences.query,
        preferences.better,
        preferences.worse,
        weights=preferences.weight,
        C=C,
        sigma=sigma,
        w0=plain,
        prior=prior,
        tol=tol,
        workers=workers,
    )
    weights = np.maximum(found.w, 0.0) if clip else found.w
    taught = had_preferences(preferences, len(queries)) & (weights @ plain > 0)
    weights = np.where(taught[:, None], weights, plain)
    return Learned(weights, taught, found.objective, found.gap)


def clipped(learned: Learned, w0: ArrayLike | None = None) -> Learned:
    """The same with negative weights set to zero, and no problem solved again."""
    plain = _plain(w0, learned.weights.shape[1])
    weights = np.maximum(learned.weights, 0.0)
    taught = learned.taught & (weights @ plain > 0)
    return learned._replace(weights=np.where(taught[:, None], weights, plain), taught=taught)


def nearest_references(
    references: ArrayLike,
    queries: ArrayLike,
    M: int = NEAREST,
    *,
    leave_out: ArrayLike | None = None,
) -> IdArray:
    """Numbers of the M references nearest to each query, nearest first; fewer if there are.

    ``leave_out`` names one reference a query that does not count (-1 for none): with a
    reference's own number, what it would be given had it never been taught.
    """
    known = as_matrix(references, name="reference queries")
    asked = as_matrix(queries, dim=known.shape[1], name="queries")
    usable = len(known) - (leave_out is not None)
    if usable < 1 or M < 1:
        raise BadInput("A query takes its weights from at least one reference query.")
    distance = np.einsum("ij,ij->i", known, known)[None, :] - 2.0 * (asked @ known.T)
    if leave_out is not None:
        out = np.asarray(leave_out, dtype=np.int64)
        row = np.flatnonzero(out >= 0)
        distance[row, out[row]] = np.inf
    near = np.argpartition(distance, min(M, usable) - 1, axis=1)[:, : min(M, usable)]
    order = np.lexsort((near, np.take_along_axis(distance, near, axis=1)), axis=1)
    return np.take_along_axis(near, order, axis=1).astype(np.int64)


def combine_weights(
    weights: ArrayLike,
    references: ArrayLike,
    queries: ArrayLike,
    M: int = NEAREST,
    *,
    leave_out: ArrayLike | None = None,
) -> FloatArray:
    """Sum of the normalised weights of the M references nearest to each query."""
    table = as_matrix(weights, name="weights")
    known = as_matrix(references, dim=table.shape[1], name="reference queries")
    if len(table) != len(known):
        raise BadInput(
            f"There are {len(known)} reference queries but {len(table)} rows of weights; "
            "give one row for each."
        )
    unit = unit_rows(table)
    near = nearest_references(known, queries, M, leave_out=leave_out)
    total = np.zeros((len(near), table.shape[1]), dtype=table.dtype)
    for column in near.T:  # M additions, and no array of queries x M x dimensions
        total += unit[column]
    return total


def combine(
    weights: ArrayLike,
    references: ArrayLike,
    queries: ArrayLike,
    M: int = NEAREST,
    *,
    leave_out: ArrayLike | None = None,
) -> FloatArray:
    """Surrogates of queries, one row each: the combined weights times the query."""
    combined = combine_weights(weights, references, queries, M, leave_out=leave_out)
    return combined * as_matrix(queries, name="queries")


# --------------------------------------------------------------------------


def had_preferences(preferences: Preferences, references: int) -> NDArray[np.bool_]:
    """Which references anything was said about."""
    return np.bincount(preferences.query, minlength=references) > 0


def _plain(w0: ArrayLike | None, dim: int) -> FloatArray:
    if w0 is None:
        return np.ones(dim)
    plain = as_vector(w0, dim=dim, name="plain weights").astype(np.float64)
    if not (plain >= 0).all() or not plain.any():
        raise BadInput("Plain weights must not be negative, and not all zero.")
    return plain


def _checked(X: ArrayLike, references: ArrayLike, w0: Any) -> tuple[FloatArray, FloatArray, Any]:
    items = as_matrix(X, name="items")
    queries = as_matrix(references, dim=items.shape[1], name="reference queries")
    return items, queries.astype(np.float64), _plain(w0, items.shape[1])


def check_settings(sigma: float, C: float) -> None:
    """Refuse what the problem has no answer for."""
    if not 0 <= sigma < 1:
        raise BadInput(f"sigma must be at least 0 and below 1, not {sigma}.")
    if not (np.isfinite(C) and C > 0):
        raise BadInput(f"C must be a positive number, not {C}.")
