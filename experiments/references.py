"""The paper's own way around reference queries, over plain arrays: labels in, surrogates out.

What the product serves of it is :class:`likewise.learners.reference_learner.ReferenceLearner`;
both learn by :func:`likewise.learners.references.learn_references`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from likewise.learners.references import Learned, learn_references, plain_weights
from likewise.spaces import unit_rows
from likewise.types import BadInput, FloatArray, IdArray, Preferences, as_matrix

__all__ = [
    "Learned",
    "clipped",
    "combine",
    "combine_weights",
    "label_pairs",
    "learn_references",
    "nearest_references",
]
NEAREST = 10
"""M: references that a new query takes its weights from."""


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


def clipped(learned: Learned, w0: ArrayLike | None = None) -> Learned:
    """The same with negative weights set to zero, and no problem solved again."""
    plain = plain_weights(w0, learned.weights.shape[1])
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
