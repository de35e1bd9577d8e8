"""The full matrix: a taught query learns a direction, and its neighbours lean that way.

With the full matrix W in equation (2) of Kuang et al. the answer of a reference query is
``W = x_q g'`` with ``g = sum alpha (x_i - x_j)``: a direction from what was called irrelevant
to what was called relevant.  A new query becomes ``q + beta u``, where u is the mean of the
unit directions of its nearest references, times its own length.  That length is 1 where they
all agree and near 0 where few were taught or they were taught different things; so much is
changed where teaching is of one mind, and little elsewhere, which is what keeps the first
result right.  The index stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from experiments.references import NEAREST, Learned, nearest_references
from likewise.learners.references import check_settings, had_preferences
from likewise.solvers.rank_many import rank_many
from likewise.spaces import unit_rows
from likewise.types import BadInput, FloatArray, Preferences, as_matrix

PRICE = 1e-3
"""C of a direction: so small that every preference pulls with the same force."""

WARMTH = 0.1
"""How fast a reference's say fades with its similarity to the query, in units of cosine."""

BETAS = (0.0, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
"""Strengths that are tried; the first is plain similarity."""

FALL = 0.01
"""How much precision@1 may fall below that of plain similarity."""


def learn_directions(
    X: ArrayLike,
    references: ArrayLike,
    preferences: Preferences,
    *,
    C: float = PRICE,
    tol: float = 1e-3,
    workers: int | None = None,
) -> Learned:
    """Direction of every reference query; zeros where it has no preferences.

    Parameters
    ----------
    X
        Item vectors, one row each.
    references
        Vectors of the reference queries, one row each.
    preferences
        ``query`` numbers a reference; ``better`` and ``worse`` are rows of ``X``.
    C
        Price of a broken preference.  A small one gives the difference of two means, which
        carries over to other queries better than the widest margin does.
    tol, workers
        As for :func:`~likewise.learners.references.learn_references`.
    """
    items = as_matrix(X, name="items")
    queries = as_matrix(references, dim=items.shape[1], name="reference queries")
    check_settings(0.0, C)
    found = rank_many(
        items,
        # x_q'W x = (|x_q| g').(|x_q| x): the items of a problem are scaled by the query's length.
        np.broadcast_to(np.linalg.norm(queries, axis=1)[:, None], queries.shape),
        preferences.query,
        preferences.better,
        preferences.worse,
        weights=preferences.weight,
        C=C,
        tol=tol,
        workers=workers,
    )
    taught = had_preferences(preferences, len(queries)) & found.w.any(axis=1)
    return Learned(np.where(taught[:, None], found.w, 0.0), taught, found.objective, found.gap)


def agreed_direction(
    directions: ArrayLike,
    references: ArrayLike,
    queries: ArrayLike,
    M: int = NEAREST,
    *,
    warmth: float = WARMTH,
    leave_out: ArrayLike | None = None,
) -> FloatArray:
    """The direction that the M references nearest to each query agree on, one row a query.

    Parameters
    ----------
    directions
        One row a reference; zeros where it was taught nothing.
    warmth
        The nearest reference counts as 1, one that is ``warmth`` less similar as 1/e.
    leave_out
        One reference a query that does not count, -1 for none.
    """
    table = unit_rows(as_matrix(directions, name="directions"))
    known = as_matrix(references, dim=table.shape[1], name="reference queries")
    asked = as_matrix(queries, dim=table.shape[1], name="queries")
    if len(table) != len(known):
        raise BadInput(
            f"There are {len(known)} reference queries but {len(table)} directions; "
            "give one row for each."
        )
    if not warmth > 0:
        raise BadInput(f"warmth must be above zero, not {warmth}.")
    near = nearest_references(known, asked, M, leave_out=leave_out)
    alike = np.stack([np.einsum("ij,ij->i", known[column], asked) for column in near.T], axis=1)
    say = np.exp((alike - alike.max(axis=1, keepdims=True)) / warmth)
    say /= say.sum(axis=1, keepdims=True)
    mean: FloatArray = np.zeros((len(asked), table.shape[1]), dtype=np.result_type(table, asked))
    for number, column in enumerate(near.T):
        mean += say[:, number, None] * table[column]
    mean *= np.linalg.norm(mean, axis=1, keepdims=True)  # the agreement, from 0 to 1
    return mean


class Strength(NamedTuple):
    """What validation chose, and what it saw: a measure for every strength that was tried."""

    beta: float
    betas: tuple[float, ...]
    map: tuple[float, ...]
    p1: tuple[float, ...]


def choose_strength(
    queries: ArrayLike,
    direction: ArrayLike,
    judge: Callable[[FloatArray], tuple[float, float]],
    *,
    betas: Sequence[float] = BETAS,
    fall: float = FALL,
) -> Strength:
    """The beta of ``q + beta u`` with the best MAP that leaves the first result alone.

    Parameters
    ----------
    queries, direction
        Held-out queries and their directions, learned without them.
    judge
        Gives (MAP, precision@1) of surrogates of these queries on held-out judgements.
    betas
        What to try, rising from 0 (plain similarity, which stays unless another is better).
    fall
        How much precision@1 may fall below plain.  Trying stops where it falls further.
    """
    asked = as_matrix(queries, name="queries")
    lean = as_matrix(direction, dim=asked.shape[1], name="directions")
    if not betas or betas[0] != 0 or list(betas) != sorted(betas):
        raise BadInput("Strengths to try must rise from 0.")
    seen = [judge(asked + beta * lean) for beta in betas[:1]]
    for beta in betas[1:]:
        seen.append(judge(asked + beta * lean))
        if seen[-1][1] < seen[0][1] - fall:
            break
    allowed = [value if first >= seen[0][1] - fall else -np.inf for value, first in seen]
    best = int(np.argmax(allowed))
    scores, firsts = zip(*seen)
    return Strength(float(betas[best]), tuple(betas[: len(seen)]), scores, firsts)
