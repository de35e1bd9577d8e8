"""The steps of ranked CCA's descent: what a triplet changes, and what it leaves alone.

Decay would touch every number of W_q at every step.  Instead each matrix is kept as
``W_q = W_q0 + a E``: decay multiplies the number a, a step adds to the rows of E that the query
has words for.  The average of all iterates needs no pass over the matrix either: with S the
running sum of a and B the sum of ``S u`` over the added u, it is ``W_q0 + (S E - B) / steps``.
A step costs O(words of the query x d + d_v d).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from likewise.solvers import checks
from likewise.solvers.checks import Floats, Ints

ROUND = 100_000
"""Triplets between two looks at the held-out ones; weights are averaged over a round."""

SYNC = 10_000
"""Triplets that each of several threads takes before their weights are averaged."""


class Model(NamedTuple):
    """``s(t, x) = (t wq) w (x wv)'``."""

    wq: Floats
    w: Floats
    wv: Floats


class Triplets(NamedTuple):
    """For query ``query[t]``, picture ``better[t]`` before ``worse[t]``."""

    query: Ints
    better: Ints
    worse: Ints
    weight: Floats

    @property
    def size(self) -> int:
        """Number of triplets."""
        return len(self.query)

    def thinned(self, most: int) -> Triplets:
        """About ``most`` of them, evenly spaced."""
        every = slice(None, None, max(1, self.size // most))
        return Triplets(
            self.query[every], self.better[every], self.worse[every], self.weight[every]
        )

    @classmethod
    def of(
        cls, T: Any, X: Any, query: Any, better: Any, worse: Any, weight: Any = None
    ) -> Triplets:
        """Checked columns of one length."""
        q = checks.numbers("query", query, T.shape[0])
        b = checks.numbers("better", better, len(X))
        w = checks.numbers("worse", worse, len(X))
        if not len(q) == len(b) == len(w):
            raise ValueError("query, better and worse must be three lists of one length.")
        c = checks.vector("weight", weight, len(q), 1.0)
        if len(c) and c.min() < 0:
            raise ValueError("Weights of triplets must not be negative.")
        return cls(q, b, w, c)


@dataclass(frozen=True)
class Settings:
    """How the descent runs.

    ``mu``, ``gamma`` and ``eta`` pull W to zero, W_q and W_v to where they started, shared out over
    triplets; unless ``learn_w``, W stays as it started.  There are at most ``rounds`` of
    ``round_size`` triplets (all of them, where there are fewer), and ``patience`` of them without
    a better held-out score.  Each of up to 3 ``threads`` takes its own triplets, and their weights
    are averaged every ``SYNC``: the answer depends on their number, not on their timing.
    """

    step: float = 0.003
    mu: float = 1.0
    gamma: float = 1.0
    eta: float = 1.0
    learn_w: bool = True
    rounds: int = 10
    round_size: int = ROUND
    patience: int = 2
    threads: int = 1
    seed: int = 0

    def check(self) -> None:
        """Refuse what cannot work."""
        numbers = (self.step, self.mu, self.gamma, self.eta)
        if not np.isfinite(numbers).all() or self.step <= 0 or min(numbers) < 0:
            raise ValueError("step must be above zero, and mu, gamma and eta not below it.")
        if self.rounds < 0 or self.round_size < 1 or self.patience < 1:
            raise ValueError("rounds must not be negative; round_size and patience at least 1.")
        if not 1 <= self.threads <= 3:
            raise ValueError(f"threads must be 1, 2 or 3, not {self.threads}.")


@dataclass(frozen=True, eq=False)
class Run:
    """What stays the same over all rounds."""

    T: sparse.csr_array
    X: Floats
    triplets: Triplets
    how: Settings
    anchor: Model
    shown: Floats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shown", np.ascontiguousarray(self.X @ self.anchor.wv))

    @property
    def keep(self) -> tuple[float, float, float]:
        """What a step leaves of W_q - W_q0, W and W_v - W_v0."""
        n, how = self.triplets.size, self.how
        rates = how.gamma, how.mu if how.learn_w else 0.0, how.eta
        kept = [1.0 - how.step * rate / n for rate in rates]
        if min(kept) <= 0:
            raise ValueError("step times mu, gamma or eta is above the number of triplets.")
        return kept[0], kept[1], kept[2]


class Moving(NamedTuple):
    """Weights as differences to the anchor: eq = W_q - W_q0, w = W, ev = W_v - W_v0."""

    eq: Floats
    w: Floats
    ev: Floats

    def copied(self) -> Moving:
        """Copies of all three."""
        return Moving(*(m.copy() for m in self))

    def model(self, anchor: Model) -> Model:
        """The matrices themselves."""
        return Model(anchor.wq + self.eq, self.w.copy(), anchor.wv + self.ev)


def stream(n: int, start: int, count: int, seed: int) -> Ints:
    """Places ``start`` to ``start + count`` of an endless row of shuffled epochs."""
    parts = []
    while count > 0:
        epoch, at = divmod(start, n)
        order = np.random.default_rng([seed, epoch]).permutation(n)
        parts.append(order[at : at + count])
        start, count = start + len(parts[-1]), count - len(parts[-1])
    return np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)


def descend_round(run: Run, now: Moving, order: Ints) -> tuple[Moving, Moving]:
    """Weights after these triplets, and their average over the way."""
    # a decays from 1 within a chunk and is folded in at its end: S E - B loses as many
    # digits as a does, so a chunk ends when three are gone (with usual settings: never).
    longest = max(1, int(np.log(1e3) / max(1e-12, -np.log(min(run.keep)))))
    threads = run.how.threads
    chunk = min(longest, len(order)) if threads == 1 else min(longest, SYNC) * threads
    sums = Moving(*(np.zeros_like(m) for m in now))
    for at in range(0, len(order), chunk):
        shards = np.array_split(order[at : at + chunk], threads)
        if threads == 1:
            parts = [_descend_chunk(run, now, shards[0])]
        else:
            with ThreadPoolExecutor(threads) as pool:
                parts = list(pool.map(lambda s, m=now: _descend_chunk(run, m.copied(), s), shards))
        share = [len(s) / max(1, sum(map(len, shards))) for s in shards]
        now = _mix([moved for moved, _ in parts], share)
        total = _mix([summed for _, summed in parts], [1.0] * len(parts))
        for sum_, part in zip(sums, total):
            sum_ += part
    return now, Moving(*(m / max(1, len(order)) for m in sums))


def _mix(parts: list[Moving], share: list[float]) -> Moving:
    if len(parts) == 1:
        return parts[0]
    columns: list[tuple[Floats, ...]] = list(zip(*parts))
    mixed = [np.sum([f * m for f, m in zip(share, ms)], axis=0) for ms in columns]
    return Moving(mixed[0], mixed[1], mixed[2])


def _descend_chunk(run: Run, now: Moving, order: Ints) -> tuple[Moving, Moving]:
    """Descend in place; the weights after it, and the sum of all weights on the way."""
    later = Moving(*(np.zeros_like(m) for m in now))
    factors, sums = descend(
        order, *run.triplets, run.T.indptr, run.T.indices, run.T.data, run.X,
        run.anchor.wq, run.shown, *now, *later, run.how.step, *run.keep, run.how.learn_w,
    )  # fmt: skip
    with np.errstate(over="ignore", invalid="ignore"):  # a run that ran away is noticed later
        total = Moving(*(s * m - b for s, m, b in zip(sums, now, later)))
        return Moving(*(a * m for a, m in zip(factors, now))), total


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
def descend(  # type: ignore[no-untyped-def]
    order, query, better, worse, weight, indptr, indices, data, X, wq0, shown,
    eq, ew, ev, bq, bw, bv, step, keep_q, keep_w, keep_v, learn_w,
):  # fmt: skip
    """Steps over ``order``; changes eq, ew, ev (without their factors) and bq, bw, bv.

    ``shown`` is X W_v0.  Returns the factors (a_q, a_w, a_v) and their sums (S_q, S_w, S_v).
    """
    d, dims = ew.shape[0], X.shape[1]
    aq = aw = av = 1.0
    sq = sw = sv = 0.0
    p, r, pw, wr, gap = np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty(dims)
    for t in order:
        q, b, w = query[t], better[t], worse[t]
        # p = t W_q
        p[:] = 0.0
        for at in range(indptr[q], indptr[q + 1]):
            j, value = indices[at], data[at]
            for k in range(d):
                p[k] += value * (wq0[j, k] + aq * eq[j, k])
        # r = (better - worse) W_v
        r[:] = 0.0
        for i in range(dims):
            gap[i] = X[b, i] - X[w, i]
            value = gap[i]
            for k in range(d):
                r[k] += value * ev[i, k]
        for k in range(d):
            r[k] = shown[b, k] - shown[w, k] + av * r[k]
        # p W and W r', and the score's difference p W r'
        pw[:] = 0.0
        for k in range(d):
            value, total = p[k], 0.0
            for m in range(d):
                pw[m] += value * ew[k, m]
                total += ew[k, m] * r[m]
            wr[k] = aw * total
        score = 0.0
        for k in range(d):
            pw[k] *= aw
            score += pw[k] * r[k]
        aq, aw, av = aq * keep_q, aw * keep_w, av * keep_v
        if score < 1.0 and weight[t] > 0.0:
            c = step * weight[t]
            for at in range(indptr[q], indptr[q + 1]):
                j, value = indices[at], c / aq * data[at]
                for k in range(d):
                    u = value * wr[k]
                    eq[j, k] += u
                    bq[j, k] += sq * u
            for i in range(dims):
                value = c / av * gap[i]
                for k in range(d):
                    u = value * pw[k]
                    ev[i, k] += u
                    bv[i, k] += sv * u
            if learn_w:
                for k in range(d):
                    value = c / aw * p[k]
                    for m in range(d):
                        u = value * r[m]
                        ew[k, m] += u
                        bw[k, m] += sw * u
        sq, sw, sv = sq + aq, sw + aw, sv + av
    return (aq, aw, av), (sq, sw, sv)
