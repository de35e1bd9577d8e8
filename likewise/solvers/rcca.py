"""Ranked CCA: stochastic descent on click triplets (Yao et al., equations 5 to 7), made fast.

The score of picture x for query t is ``s(t, x) = (t W_q) W (x W_v)'``, and the objective is

    sum_T c max(0, 1 - s(t, better) + s(t, worse))
        + mu/2 |W|^2 + gamma/2 |W_q - W_q0|^2 + eta/2 |W_v - W_v0|^2.

One step takes one triplet and its share 1/|T| of the regulariser.  (The printed algorithm
takes all of it with every triplet, and then remembers about the last 1/step triplets only.)
All three gradients are taken at the old values, then all three matrices move.

Decay would touch every number of W_q at every step.  Instead each matrix is kept as
``W_q = W_q0 + a E``: decay multiplies the number a, a step adds to the rows of E that the query
has words for.  The average of all iterates needs no pass over the matrix either: with S the
running sum of a and B the sum of ``S u`` over the added u, it is ``W_q0 + (S E - B) / steps``.
A step costs O(words of the query x d + d_v d).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from likewise.solvers import checks
from likewise.solvers.checks import Floats, Ints

ROUND = 100_000
"""Triplets between two looks at the held-out ones; weights are averaged over a round."""

SYNC = 10_000
"""Triplets that each of several threads takes before their weights are averaged."""

EXPLODED = 1e4
"""A weight this many times larger than the start's length stops the run."""


class Model(NamedTuple):
    """``s(t, x) = (t wq) w (x wv)'``."""

    wq: Floats
    w: Floats
    wv: Floats

    def scores(self, T: Any, X: Floats) -> Floats:
        """All queries against all pictures."""
        return ((T @ self.wq) @ self.w) @ (X @ self.wv).T


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

    Parameters
    ----------
    step
        Learning rate.
    mu, gamma, eta
        Pull of W to zero, of W_q and of W_v to where they started; shared out over triplets.
    learn_w
        Whether W moves; else it stays as it started.
    rounds, round_size
        How many rounds at most, and triplets in each (all of them, where there are fewer).
    patience
        Rounds without a better held-out score before the run stops.
    threads
        1 to 3.  Each thread takes its own triplets, and their weights are averaged every
        ``SYNC`` triplets; the answer depends on the number of threads, not on their timing.
    seed
        Of the order of the triplets.
    """

    step: float = 0.01
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
class State:
    """Where a run stands between two rounds; all that is needed to go on.

    Attributes
    ----------
    anchor
        W_q0, W_v0 and the first W.
    current
        The weights now.
    best
        The averaged weights of the best round, or of the last where nothing is held out.
    score
        Held-out score of ``best``: the share of held-out triplets in the right order.
    rounds, waited
        Rounds done, and since the best one.
    history
        Held-out score of the start and of each round.
    note
        Why the run must not go on, where it must not.
    """

    anchor: Model
    current: Model
    best: Model
    score: float
    rounds: int = 0
    waited: int = 0
    history: tuple[float, ...] = ()
    note: str = ""

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """All numbers and settings, without pickle."""
        arrays = {
            f"{name}.{part}": matrix
            for name in ("anchor", "current", "best")
            for part, matrix in getattr(self, name)._asdict().items()
        }
        settings = {
            "score": self.score,
            "rounds": self.rounds,
            "waited": self.waited,
            "history": list(self.history),
            "note": self.note,
        }
        return arrays, settings

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> State:
        """The state that :meth:`to_arrays` described."""
        models = {
            name: Model(*(np.asarray(arrays[f"{name}.{part}"], float) for part in Model._fields))
            for name in ("anchor", "current", "best")
        }
        rest = {**settings, "history": tuple(settings["history"])}
        return cls(**models, **rest)


class Solution(NamedTuple):
    """The model, its objective, the gradient's norm a triplet, and the state to go on from."""

    model: Model
    objective: float
    residual: float
    state: State


def rcca(
    T: Any,
    X: ArrayLike,
    triplets: tuple[Any, ...],
    start: Model,
    settings: Settings | None = None,
    *,
    held_out: tuple[Any, ...] | None = None,
    state: State | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Solution:
    """Descend from a start until held-out triplets get no better.

    Parameters
    ----------
    T, X
        Sparse queries and dense pictures, one row each.
    triplets, held_out
        ``(query, better, worse)`` or ``(query, better, worse, weight)`` as row numbers.
    start
        W_q0, W, W_v0: usually CCA's, brought to size by :func:`scaled`.
    settings
        See :class:`Settings`.
    state
        The state of an earlier run with the same data, to go on from.  For new clicks,
        rather start anew from the earlier run's model: one round is linear in triplets.
    progress
        Called with (rounds done, rounds at most).
    """
    how = settings or Settings()
    how.check()
    rows, pictures = sparse.csr_array(T, dtype=np.float64), checks.matrix("X", X)
    checks.finite("T", rows.data)
    made = Triplets.of(rows, pictures, *triplets)
    held = Triplets.of(rows, pictures, *(held_out or ((), (), ())))
    start = _checked(start, rows.shape[1], pictures.shape[1])
    if state is None:
        score = agreement(start, rows, pictures, held)
        state = State(start, start, start, score, history=(score,))
    run = _Run(rows, pictures, made, how, state.anchor)
    while made.size and state.rounds < how.rounds and state.waited < how.patience:
        if state.note:
            break
        state = _after_round(run, state, held)
        if progress is not None:
            progress(state.rounds, how.rounds)
    objective, residual = objective_of(state.best, state.anchor, rows, pictures, made, how)
    return Solution(state.best, objective, residual, state)


def scaled(model: Model, T: Any, X: Floats, triplets: tuple[Any, ...], margin: float) -> Model:
    """The model times a number, so that ``|s(t, better) - s(t, worse)|`` is ``margin`` on average.

    The hinge asks for a difference of one: a start whose differences are far from that is
    either deaf to the triplets or thrown about by them.  The factor is shared evenly
    between W_q and W_v, which are brought to the same mean length first.
    """
    few = Triplets.of(T, X, *triplets).thinned(20_000)
    size = float(np.abs(differences(model, T, X, few)).mean()) if few.size else 0.0
    if size <= 0:
        return model
    lengths = [
        float(np.sqrt(((m @ w) ** 2).sum(1).mean())) for m, w in ((T, model.wq), (X, model.wv))
    ]
    even = np.sqrt(lengths[1] / lengths[0]) if min(lengths) > 0 else 1.0
    factor = np.sqrt(margin / size)
    return Model(model.wq * (factor * even), model.w.copy(), model.wv * (factor / even))


def differences(model: Model, T: Any, X: Floats, triplets: Triplets) -> Floats:
    """``s(t, better) - s(t, worse)`` of every triplet."""
    asked, shown = (T @ model.wq) @ model.w, X @ model.wv
    out = np.empty(triplets.size)
    for at in range(0, len(out), SYNC):
        q, b, w, _ = (column[at : at + SYNC] for column in triplets)
        out[at : at + SYNC] = np.einsum("td,td->t", asked[q], shown[b] - shown[w])
    return out


def agreement(model: Model, T: Any, X: Floats, triplets: Triplets) -> float:
    """Weighted share of triplets in the right order, ties counting half; NaN for none."""
    total = triplets.weight.sum()
    if not total > 0:
        return float("nan")
    d = differences(model, T, X, triplets)
    return float(((d > 0) + 0.5 * (d == 0)) @ triplets.weight / total)


def objective_of(
    model: Model, anchor: Model, T: Any, X: Floats, triplets: Triplets, how: Settings
) -> tuple[float, float]:
    """The objective (equations 6 and 7) and the norm of its gradient, both over |T|."""
    n = max(1, triplets.size)
    slack = np.maximum(0.0, 1.0 - differences(model, T, X, triplets))
    away = model.wq - anchor.wq, model.wv - anchor.wv
    mu = how.mu if how.learn_w else 0.0
    loss = float(slack @ triplets.weight)
    penalty = (
        mu / 2 * (model.w**2).sum()
        + how.gamma / 2 * (away[0] ** 2).sum()
        + how.eta / 2 * (away[1] ** 2).sum()
    )
    active = np.where(slack > 0, triplets.weight, 0.0)
    pull = sparse.csr_array(
        (
            np.concatenate([active, -active]),
            (np.tile(triplets.query, 2), np.concatenate([triplets.better, triplets.worse])),
        ),
        shape=(T.shape[0], len(X)),
    )
    asked, shown = T @ model.wq, X @ model.wv
    pulled = pull @ shown
    gq = how.gamma * away[0] - T.T @ (pulled @ model.w.T)
    gv = how.eta * away[1] - X.T @ (pull.T @ (asked @ model.w))
    gw = mu * model.w - asked.T @ pulled if how.learn_w else np.zeros(1)
    norm = float(np.sqrt((gq**2).sum() + (gv**2).sum() + (gw**2).sum()))
    return (loss + float(penalty)) / n, norm / n


# --------------------------------------------------------------------------
# Rounds


@dataclass(frozen=True, eq=False)
class _Run:
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


class _Moving(NamedTuple):
    """Weights as differences to the anchor: eq = W_q - W_q0, w = W, ev = W_v - W_v0."""

    eq: Floats
    w: Floats
    ev: Floats

    def copied(self) -> _Moving:
        return _Moving(*(m.copy() for m in self))

    def model(self, anchor: Model) -> Model:
        return Model(anchor.wq + self.eq, self.w.copy(), anchor.wv + self.ev)


def _after_round(run: _Run, state: State, held: Triplets) -> State:
    """One round: descend, average, look at the held-out triplets, keep the better."""
    n, how = run.triplets.size, run.how
    size = min(n, how.round_size)
    order = stream(n, state.rounds * size, size, how.seed)
    now = _Moving(
        state.current.wq - run.anchor.wq, state.current.w.copy(), state.current.wv - run.anchor.wv
    )
    now, mean = _descend_round(run, now, order)
    done = State(
        run.anchor, now.model(run.anchor), state.best, state.score, state.rounds + 1,
        state.waited, state.history,
    )  # fmt: skip
    if not _sound(done.current, run.anchor):
        note = f"Round {done.rounds} ran away (NaN or huge weights); use a smaller step."
        return State(
            run.anchor, state.current, state.best, state.score, done.rounds, state.waited,
            state.history, note,
        )  # fmt: skip
    averaged = mean.model(run.anchor)
    score = agreement(averaged, run.T, run.X, held)
    better = np.isnan(score) or score > state.score
    return State(
        run.anchor,
        done.current,
        averaged if better else state.best,
        score if better else state.score,
        done.rounds,
        0 if better else state.waited + 1,
        (*state.history, score),
    )


def stream(n: int, start: int, count: int, seed: int) -> Ints:
    """Places ``start`` to ``start + count`` of an endless row of shuffled epochs."""
    parts = []
    while count > 0:
        epoch, at = divmod(start, n)
        order = np.random.default_rng([seed, epoch]).permutation(n)
        parts.append(order[at : at + count])
        start, count = start + len(parts[-1]), count - len(parts[-1])
    return np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)


def _descend_round(run: _Run, now: _Moving, order: Ints) -> tuple[_Moving, _Moving]:
    """Weights after these triplets, and their average over the way."""
    # a decays from 1 within a chunk and is folded in at its end: S E - B loses as many
    # digits as a does, so a chunk ends when three are gone (with usual settings: never).
    longest = max(1, int(np.log(1e3) / max(1e-12, -np.log(min(run.keep)))))
    threads = run.how.threads
    chunk = min(longest, len(order)) if threads == 1 else min(longest, SYNC) * threads
    sums = _Moving(*(np.zeros_like(m) for m in now))
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
    return now, _Moving(*(m / max(1, len(order)) for m in sums))


def _mix(parts: list[_Moving], share: list[float]) -> _Moving:
    if len(parts) == 1:
        return parts[0]
    return _Moving(*(sum(f * m for f, m in zip(share, ms)) for ms in zip(*parts)))  # type: ignore[arg-type]


def _descend_chunk(run: _Run, now: _Moving, order: Ints) -> tuple[_Moving, _Moving]:
    """Descend in place; the weights after it, and the sum of all weights on the way."""
    later = _Moving(*(np.zeros_like(m) for m in now))
    factors, sums = descend(
        order, *run.triplets, run.T.indptr, run.T.indices, run.T.data, run.X,
        run.anchor.wq, run.shown, *now, *later, run.how.step, *run.keep, run.how.learn_w,
    )  # fmt: skip
    with np.errstate(over="ignore", invalid="ignore"):  # a run that ran away is noticed later
        total = _Moving(*(s * m - b for s, m, b in zip(sums, now, later)))
        return _Moving(*(a * m for a, m in zip(factors, now))), total


def _sound(model: Model, anchor: Model) -> bool:
    """Finite, and not thousands of times larger than at the start."""
    for now, before in zip(model, anchor):
        largest, length = float(np.abs(now).max(initial=0.0)), float(np.linalg.norm(before))
        if not np.isfinite(now).all() or largest > EXPLODED * (1.0 + length):
            return False
    return True


def _checked(model: Model, words: int, dims: int) -> Model:
    d = np.shape(model.w)[0]
    parts = [np.ascontiguousarray(m, dtype=np.float64) for m in model]
    for name, part, shape in zip(Model._fields, parts, ((words, d), (d, d), (dims, d))):
        if part.shape != shape:
            raise ValueError(f"{name} of the start must have shape {shape}, not {part.shape}.")
        checks.finite(name, part)
    return Model(*parts)


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
def descend(
    order, query, better, worse, weight, indptr, indices, data, X, wq0, shown,
    eq, ew, ev, bq, bw, bv, step, keep_q, keep_w, keep_v, learn_w,
):  # type: ignore[no-untyped-def]  # fmt: skip
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
