"""Maximum top precision, fast: averaged mini-batch descent with early stopping.

Descends the objective P(W) of :mod:`likewise.solvers.top_precision`, divided by C times the
number of relevant pairs, a few queries at a time.  The pull of a query's top irrelevant item
is shared by its ``share`` top ones: the sharp maximum jumps from item to item between steps,
the shared one moves on steadily.  After every epoch the average of its iterates is judged
by top precision on held-out queries, and the best average is what comes back: stopping early
regularises better here than the optimum itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from likewise.solvers.top_precision import Floats, Pairs, mean_top_precision, objective


class FastFit(NamedTuple):
    """A solution without a certificate.

    ``residual`` is the length of the last step in W as a share of |W|; ``held_out`` the top
    precision on the held-out queries after each epoch (empty without them) and ``epochs``
    the number of epochs that made ``weights``.
    """

    weights: Floats
    objective: float
    residual: float
    held_out: tuple[float, ...]
    epochs: int


def descend(
    queries: Floats, items: Floats, relevance: Any, *, cost: float = 1e-2,
    prior: Floats | None = None, diagonal: bool = False, step: float = 1.0, batch: int = 10,
    share: int = 3, epochs: int = 40, patience: int = 6,
    held_out: tuple[Floats, Floats, Any] | None = None, seed: int = 0,
) -> FastFit:  # fmt: skip
    """Averaged mini-batch descent on P(W).

    Data, ``cost``, ``prior`` and ``diagonal`` are those of
    :func:`likewise.solvers.top_precision.solve`.  ``step`` is the first step length, in units of
    1 / (mean |z|^2 mean |x|^2), and shrinks as 1 / sqrt(1 + t / 20); it takes ``batch`` queries,
    and ``share`` top irrelevant items share the pull (1: the paper's maximum).  There are at most
    ``epochs`` passes, and ``patience`` after the one that ``held_out`` (queries, items, relevance)
    calls best.
    """
    z, x = (np.ascontiguousarray(m, dtype=np.float32) for m in (queries, items))
    n, d = z.shape
    pairs = Pairs.of(relevance)
    w0 = np.zeros(d if diagonal else (d, d)) if prior is None else np.asarray(prior, np.float64)
    w = w0.copy()
    per_query = np.float32(n / max(1, len(pairs.item)))
    pull_back = 1.0 / (cost * max(1, len(pairs.item)))
    unit = _mean_square(z) * _mean_square(x)
    rate = step / unit if unit > 0 else 0.0
    judge = _Judge(held_out)
    best_w, best, best_epoch, done = w0, -1.0, 0, 0
    rng = np.random.default_rng(seed)
    moved = 0.0
    for epoch in range(epochs):
        total, steps = np.zeros_like(w), 0
        order = rng.permutation(n)
        for first in range(0, n, batch):
            rows = order[first : first + batch]
            zb = z[rows]
            v = zb * w.astype(np.float32) if diagonal else zb @ w.astype(np.float32)
            slopes = v @ x.T
            _slopes(slopes, rows, *pairs, min(share, len(x)))
            u = slopes @ x * (per_query / len(rows))
            ascent = (zb * u).sum(axis=0) if diagonal else zb.T @ u
            length = rate / np.sqrt(1.0 + done / 20.0)
            # The pull towards the prior is taken implicitly, so that no step overshoots it.
            new = (w + length * ascent + length * pull_back * w0) / (1.0 + length * pull_back)
            moved = float(np.linalg.norm(new - w))
            w = new
            total += w
            steps, done = steps + 1, done + 1
        average = total / max(steps, 1)
        value = judge(average)
        if value > best or not judge.active:
            best_w, best, best_epoch = average, value, epoch + 1
        elif epoch + 1 - best_epoch >= patience:
            break
    final = objective(z.astype(np.float64), x.astype(np.float64), pairs, best_w, w0, cost)
    size = float(np.linalg.norm(w))
    return FastFit(best_w, final, moved / size if size else 0.0, tuple(judge.values), best_epoch)


class _Judge:
    """Top precision on held-out queries, remembered epoch by epoch."""

    def __init__(self, held_out: tuple[Floats, Floats, Any] | None) -> None:
        self.active = held_out is not None and len(held_out[0]) > 0
        self.values: list[float] = []
        if held_out is not None and self.active:
            self._queries, self._items = (np.asarray(m, np.float32) for m in held_out[:2])
            self._pairs = Pairs.of(held_out[2])

    def __call__(self, weights: Floats) -> float:
        if not self.active:
            return 0.0
        w = weights.astype(np.float32)
        self.values.append(mean_top_precision(self._queries, self._items, self._pairs, w))
        return self.values[-1]


def _mean_square(rows: Any) -> float:
    return float(np.mean((rows.astype(np.float64) ** 2).sum(axis=1))) if len(rows) else 0.0


@njit(cache=True)
def _slopes(scores, rows, start, item, out_start, out_item, share):  # type: ignore[no-untyped-def]
    """Turn scores into minus the slope of each row's loss: 1 at relevant items within the
    margin, minus their number divided among the top irrelevant items, 0 elsewhere.
    """
    for row in range(scores.shape[0]):
        i = rows[row]
        s = scores[row]
        relevant = item[start[i] : start[i + 1]]
        own = s[relevant]
        s[relevant] = -np.inf
        s[out_item[out_start[i] : out_start[i + 1]]] = -np.inf
        values = np.full(share, -np.inf, s.dtype)
        top = np.full(share, -1)
        least = 0
        for k in range(len(s)):
            if s[k] > values[least]:
                values[least] = s[k]
                top[least] = k
                least = int(np.argmin(values))
        best = values.max()
        s[:] = 0.0
        count = 0
        for j in range(len(own)):
            if own[j] < 1.0 + best:
                s[relevant[j]] = 1.0
                count += 1
        held = (top >= 0).sum()
        for t in range(share):
            if top[t] >= 0:
                s[top[t]] = -count / held
