"""A weighted Euclidean metric from an order: the non-negative ranking problem of one session.

    min over w >= 0 of  1/2 |w - prior|^2 + sum_t C_t max(0, 1 - w . (d_far - d_near))

with rows ``d = (q - x) o (q - x)`` (Han et al., equations 5 and 6).  Its dual is

    max over 0 <= a <= C of  1'a - 1/2 |max(prior + A'a, 0)|^2,    w = max(prior + A'a, 0)

and the paper's updates (7) and (8) are coordinate ascent on it, one coordinate at a time with
w refreshed at once.  That is the shared ranking solver with ``w >= 0``: Gauss-Seidel steps with a
certified gap, which go on from the multipliers of an earlier solve.  Without those a compiled
interior point is quicker (`metric_fast`) and is asked first.  Whatever the way, the gap is
certified; where it stays open, on badly scaled rounds, an interior point with more digits comes
near and an active set (`metric_active`) closes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from likewise.solvers import checks
from likewise.solvers.checks import Floats, Ints
from likewise.solvers.metric_active import active_set, certify
from likewise.solvers.metric_fast import interior
from likewise.solvers.ranking import Ranking, rank
from likewise.solvers.ranking_interior import interior_alpha

Pairs = Literal["neighbours", "all"]

SAME = 1e-12
"""Two rows that differ by less than this share of their length are duplicates."""


TIGHT = 1e-11
"""Products, relative to the objective, at which the compiled interior point stops."""

PATIENCE = 8
"""Sweeps of coordinate ascent before the interior point and the active set are asked."""


class MetricFit(NamedTuple):
    """A solved metric.

    Attributes
    ----------
    w
        One weight a dimension, none negative (unless negative ones were allowed).
    alpha
        One multiplier a pair, zero for pairs that were dropped; a warm start for the next solve.
    objective
        Value of the primal problem at ``w``, dropped pairs left out.
    gap
        Certified: ``objective`` is at most this much above the optimum.
    sweeps
        Sweeps of coordinate ascent.
    dropped
        Pairs of duplicates, which say nothing: their difference is the zero row.
    """

    w: Floats
    alpha: Floats
    objective: float
    gap: float
    sweeps: int
    dropped: int


def learn_metric(
    D: ArrayLike,
    near: ArrayLike,
    far: ArrayLike,
    *,
    C: float = 20.0,
    weights: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    signed: bool = False,
    alpha: ArrayLike | None = None,
    tol: float = 1e-5,
    max_sweeps: int = 1000,
) -> MetricFit:
    """Weights under which ``D[near[t]]`` is at least one nearer than ``D[far[t]]``.

    Parameters
    ----------
    D
        Squared differences to the query, ``(q - x) o (q - x)``, one row a picture.  The query
        itself is a row of zeros.  Rows of several queries may stand below each other.
    near, far
        Row numbers: the person put the first nearer than the second.
    C
        Price of a broken pair.
    weights
        A factor on ``C`` for each pair: how sure the person was.
    prior
        Weights to stay close to, for instance those of the last round; zero unless given.
    signed
        Allow negative weights, as ranking-SVM does; only to compare with.
    alpha
        Multipliers to start from.
    tol
        Stop when ``gap <= tol * max(1, |objective|)``.
    max_sweeps
        Bound on the sweeps; the gap returned says how far the answer then is.

    Returns
    -------
    MetricFit
        Without a pair that says anything, ``w`` is the prior (zero unless given).

    Examples
    --------
    >>> found = learn_metric([[0.0, 4.0], [4.0, 0.0]], [0], [1])
    >>> found.w.round(3).tolist()  # only the first dimension puts the first picture nearer
    [0.25, 0.0]
    """
    rows = checks.matrix("D", D)
    if (rows < 0).any():
        raise ValueError("D must hold squared differences; it has numbers below zero.")
    first, second = (
        checks.numbers(name, at, len(rows)) for name, at in (("near", near), ("far", far))
    )
    if len(first) != len(second):
        raise ValueError("near and far must have one length.")
    factors = checks.vector("weights", weights, len(first), 1.0)
    start = checks.vector("alpha", alpha, len(first), 0.0)
    tells = informative(rows, first, second)
    base = checks.vector("prior", prior, rows.shape[1], 0.0)

    def ascend(start: Floats | None, most: int) -> Ranking:
        return rank(
            -rows,
            first[tells],
            second[tells],
            C=C,
            weights=factors[tells],
            prior=base,
            nonnegative=not signed,
            alpha=start,
            tol=tol,
            max_sweeps=most,
        )

    cap, steps = C * factors[tells], rows[second[tells]] - rows[first[tells]]
    quick = None if signed or alpha is not None else _interior(steps, base, cap)
    if quick is not None and not _open(quick, tol):
        solved = quick
    else:
        solved = ascend(None if alpha is None else start[tells], min(max_sweeps, PATIENCE))
    if _open(solved, tol) and not signed:
        pairs = first[tells], second[tells], np.ones(len(cap)), cap
        openings = []
        for near_enough in (0.1 * tol, 1e3 * tol):
            with contextlib.suppress(np.linalg.LinAlgError):  # beyond the digits of its matrix
                openings.append(
                    interior_alpha(-rows, *pairs, base, nonnegative=True, tol=near_enough)
                )
                break
        for opening in (*openings, solved.alpha):
            found = active_set(steps, base, cap, opening, tol=tol).alpha
            closer = Ranking(*certify(steps, base, cap, found), solved.sweeps)
            solved = min(solved, closer, key=lambda one: one.gap)
            if not _open(solved, tol):
                break
    if _open(solved, tol) and solved.sweeps < max_sweeps:
        last = ascend(solved.alpha, max_sweeps - solved.sweeps)
        solved = min(solved, last, key=lambda one: one.gap)
    multipliers = np.zeros(len(first))
    multipliers[tells] = solved.alpha
    dropped = int(len(first) - tells.sum())
    return MetricFit(solved.w, multipliers, solved.objective, solved.gap, solved.sweeps, dropped)


def _interior(steps: Floats, base: Floats, cap: Floats) -> Ranking | None:
    """The compiled interior point, certified; nothing where its matrix runs out of digits."""
    use = cap > 0  # a pair of weight zero has an empty box
    alpha = np.zeros(len(cap))
    if use.any():
        with contextlib.suppress(np.linalg.LinAlgError):
            alpha[use] = interior(np.ascontiguousarray(steps[use]), base, cap[use], TIGHT, 80)
    if not np.isfinite(alpha).all():
        return None
    return Ranking(*certify(steps, base, cap, alpha), 0)


def _open(solved: Ranking, tol: float) -> bool:
    return solved.gap > tol * max(1.0, abs(solved.objective))


def informative(D: Floats, near: Ints, far: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which pairs say anything: not those of duplicates, whose difference is the zero row."""
    scale = np.maximum(D[near].max(axis=1, initial=0), D[far].max(axis=1, initial=0))
    differ: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
        np.abs(D[far] - D[near]).max(axis=1, initial=0) > SAME * scale
    )
    return differ


def chain_pairs(lengths: Sequence[int], pairs: Pairs = "neighbours") -> tuple[Ints, Ints]:
    """Row numbers (near, far) of orders whose rows stand below each other, nearest first.

    Parameters
    ----------
    lengths
        Number of rows of each order, its head (the query) included.
    pairs
        ``neighbours``: each row before the next; ``all``: before all that follow in its order.
    """
    if pairs not in ("neighbours", "all"):
        raise ValueError(f"pairs must be 'neighbours' or 'all', not {pairs!r}.")
    near, far = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    start = 0
    for length in lengths:
        if pairs == "neighbours":
            i, j = np.arange(max(0, length - 1)), np.arange(1, length)
        else:
            i, j = np.triu_indices(length, 1)
        near.append(start + i)
        far.append(start + j)
        start += length
    return np.concatenate(near).astype(np.int64), np.concatenate(far).astype(np.int64)
