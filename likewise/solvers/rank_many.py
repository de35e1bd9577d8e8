"""Many ranking problems at once: one for each reference query, on all cores.

Problem r has the items ``z_i = factors[r] * items[i]`` and the preferences with
``problem[t] == r``; each is solved by :func:`likewise.solvers.ranking.rank`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from likewise.solvers import checks
from likewise.solvers.checks import Floats, Ints
from likewise.solvers.ranking import rank


class Rankings(NamedTuple):
    """Many solved problems: as :class:`likewise.solvers.ranking.Ranking`, one row a problem.

    ``alpha`` has one entry a preference, in the order in which they were given.
    """

    w: Floats
    alpha: Floats
    objective: Floats
    gap: Floats
    sweeps: Ints


def rank_many(
    items: ArrayLike,
    factors: ArrayLike,
    problem: ArrayLike,
    better: ArrayLike,
    worse: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    margins: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    alpha: ArrayLike | None = None,
    workers: int | None = None,
    **options: Any,
) -> Rankings:
    """Solve one independent problem for each row of ``factors``.

    Parameters
    ----------
    items
        Vectors of all items, one row each; only the rows that are named are touched.
    factors
        One row a problem, for instance the reference queries.
    problem, better, worse
        For each preference its problem, and two row numbers of ``items``; any order.
    prior
        One vector for all problems, or one row a problem; what one without preferences gets.
    workers
        Threads; all cores unless given.  The answer does not depend on it.
    weights, margins, alpha, options
        As for ``rank``, one entry a preference.
    """
    table, scales = np.asarray(items), checks.matrix("factors", factors)
    if table.ndim != 2 or table.shape[1] != scales.shape[1]:
        raise ValueError(
            f"items must be a matrix with the {scales.shape[1]} columns of factors, not of shape "
            f"{table.shape}."
        )
    count, dim = scales.shape
    first, second = (checks.numbers("better", b, len(table)) for b in (better, worse))
    owner = checks.numbers("problem", problem, count)
    if not len(owner) == len(first) == len(second):
        raise ValueError("problem, better and worse must have one length.")
    bases = np.zeros(dim) if prior is None else np.asarray(prior, dtype=np.float64)
    if bases.shape not in ((dim,), (count, dim)) or not np.isfinite(bases).all():
        raise ValueError(
            f"prior must hold finite numbers in shape ({dim},) or ({count}, {dim}), not "
            f"{bases.shape}."
        )
    bases = np.broadcast_to(bases, (count, dim))
    given = {"weights": weights, "margins": margins, "alpha": alpha}
    each = {k: checks.vector(k, v, len(owner), 0.0) for k, v in given.items() if v is not None}
    order = np.argsort(owner, kind="stable")
    bounds = np.searchsorted(owner[order], np.arange(count + 1))
    found = Rankings(
        np.empty((count, dim)), np.zeros(len(owner)), np.zeros(count), np.zeros(count),
        np.zeros(count, dtype=np.int64),
    )  # fmt: skip

    def solve(chunk: Ints) -> None:
        for r in chunk:
            mine = order[bounds[r] : bounds[r + 1]]
            ids, place = np.unique(np.r_[first[mine], second[mine]], return_inverse=True)
            rows = scales[r] * table[ids] if len(ids) else np.zeros((1, dim))
            own: dict[str, Any] = {name: values[mine] for name, values in each.items()}
            better, worse = place[: len(mine)], place[len(mine) :]
            one = rank(rows, better, worse, prior=bases[r], **own, **options)
            found.w[r], found.alpha[mine] = one.w, one.alpha
            found.objective[r], found.gap[r], found.sweeps[r] = one[2:]

    threads = workers or os.cpu_count() or 1
    chunks = [c for c in np.array_split(np.arange(count), 8 * threads) if len(c)]
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(solve, chunks):
            pass
    return found
