"""Which items a person is asked to label for each reference query: the labelling policies.

Where the nearest items are all relevant there is nothing to learn from them, so who labels
what decides what can be learned.  A policy picks items by similarity alone, before any label
is known; :func:`coverage` says afterwards for how many references it was of use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from likewise.types import BadInput, FloatArray, IdArray, as_matrix

BLOCK = 256
"""Reference queries whose scores are held at a time."""


def top(
    X: ArrayLike, references: ArrayLike, count: int, *, among: ArrayLike | None = None
) -> IdArray:
    """Rows of the ``count`` items nearest to each reference, nearest first.

    Parameters
    ----------
    X
        Item vectors, one row each, of one length (the order is that of the dot product).
    references
        Vectors of the reference queries.
    among
        Rows to choose from; all by default.
    """
    items, queries, rows = _checked(X, references, among)
    _check_count(count, len(rows))
    pool = items[rows]
    out = np.empty((len(queries), count), dtype=np.int64)
    for at in range(0, len(queries), BLOCK):
        scores = queries[at : at + BLOCK] @ pool.T
        near = np.argpartition(-scores, count - 1, axis=1)[:, :count]
        best = -np.take_along_axis(scores, near, axis=1)
        order = np.lexsort((near, best), axis=1)  # ties by row
        out[at : at + BLOCK] = rows[np.take_along_axis(near, order, axis=1)]
    return out


def pooled(
    X: ArrayLike,
    references: ArrayLike,
    count: int,
    *,
    pool: int = 500,
    seed: int | np.random.Generator = 0,
) -> IdArray:
    """The ``count`` items nearest to each reference out of one random pool that all share.

    A small pool shows a person items of other kinds after a few near ones; the whole
    collection would show near-copies only.
    """
    items = as_matrix(X, name="items")
    _check_count(pool, len(items))
    chosen = np.random.default_rng(seed).choice(len(items), pool, replace=False)
    return top(items, references, count, among=np.sort(chosen))


def mixed(
    X: ArrayLike,
    references: ArrayLike,
    count: int,
    *,
    shares: tuple[float, float] = (0.4, 0.3),
    reach: int = 500,
    seed: int | np.random.Generator = 0,
) -> IdArray:
    """The nearest items, some of the uncertain ones after them, and some at random.

    Parameters
    ----------
    shares
        Share of the nearest and of the uncertain; the rest is drawn from all items.
    reach
        Uncertain are the items at ranks up to this one that are not among the nearest; they
        are taken evenly spaced, with a random start.
    """
    items, queries, rows = _checked(X, references, None)
    _check_count(count, len(rows))
    if min(shares) < 0 or sum(shares) > 1:
        raise BadInput(f"Shares must not be negative and add up to at most 1, not {shares}.")
    rng = np.random.default_rng(seed)
    reach = min(max(reach, count), len(items))
    near = min(count, max(1, round(shares[0] * count)))
    unsure = min(count - near, round(shares[1] * count), reach - near)
    ranked = top(items, queries, reach)
    out = np.empty((len(queries), count), dtype=np.int64)
    out[:, :near] = ranked[:, :near]
    if unsure:
        step = (reach - near) / unsure
        place = (np.arange(unsure) + rng.random((len(queries), 1))) * step
        out[:, near : near + unsure] = np.take_along_axis(ranked, near + place.astype(np.int64), 1)
    rest = count - near - unsure
    for row in out if rest else ():
        # As many as could be taken already are drawn on top, so that enough are left.
        drawn = rng.choice(len(items), min(len(items), count + rest), replace=False)
        row[near + unsure :] = drawn[~np.isin(drawn, row[: near + unsure])][:rest]
    return out


def with_own(rows: IdArray, own: ArrayLike) -> IdArray:
    """Each reference's own row first, the others after it, as many as before.

    A reference query that is an item is relevant to itself, and costs nobody a label.
    """
    first = np.asarray(own, dtype=np.int64).reshape(-1, 1)
    if len(first) != len(rows):
        raise BadInput("Give the own row of every reference query.")
    # The own row, where it is among the others, moves to the front; else the last one goes.
    order = np.argsort(rows != first, axis=1, kind="stable")
    moved = np.take_along_axis(rows, order, axis=1)
    held = (moved[:, :1] == first).ravel()
    return np.where(held[:, None], moved, np.concatenate([first, rows[:, :-1]], axis=1))


def coverage(relevant: ArrayLike) -> float:
    """Share of the references whose labels are of both kinds, and so teach something.

    ``relevant`` has one row a reference, true or false for each of its labelled items.
    """
    labels = np.asarray(relevant, dtype=bool)
    if labels.ndim != 2:
        raise BadInput("Labels for the coverage form a matrix: one row a reference query.")
    both = labels.any(axis=1) & ~labels.all(axis=1)
    return float(both.mean()) if len(labels) else 0.0


def _checked(
    X: ArrayLike, references: ArrayLike, among: ArrayLike | None
) -> tuple[FloatArray, FloatArray, IdArray]:
    items = as_matrix(X, name="items")
    queries = as_matrix(references, dim=items.shape[1], name="reference queries")
    if among is None:
        return items, queries, np.arange(len(items))
    rows = np.unique(np.asarray(among, dtype=np.int64))
    if len(rows) and not (rows[0] >= 0 and rows[-1] < len(items)):
        raise BadInput(f"Rows to choose from lie between 0 and {len(items) - 1}.")
    return items, queries, rows


def _check_count(count: int, most: int) -> None:
    if not 1 <= count <= most:
        raise BadInput(f"Between 1 and {most} items can be chosen, not {count}.")
