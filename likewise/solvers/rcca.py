"""Ranked CCA: stochastic descent on click triplets (Yao et al., equations 5 to 7), made fast.

The score of picture x for query t is ``s(t, x) = (t W_q) W (x W_v)'``, and the objective is

    sum_T c max(0, 1 - s(t, better) + s(t, worse))
        + mu/2 |W|^2 + gamma/2 |W_q - W_q0|^2 + eta/2 |W_v - W_v0|^2.

One step takes one triplet and its share 1/|T| of the regulariser.  (The printed algorithm
takes all of it with every triplet, and then remembers about the last 1/step triplets only.)
All three gradients are taken at the old values, then all three matrices move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from likewise.solvers import checks
from likewise.solvers.checks import Floats
from likewise.solvers.rcca_descent import (
    ROUND,
    SYNC,
    Model,
    Moving,
    Run,
    Settings,
    Triplets,
    descend_round,
    stream,
)

__all__ = ["ROUND", "Model", "Settings", "Solution", "State", "Triplets", "rcca", "scaled"]

Judge = Callable[[Model], float]
"""A model's score on what it was not trained on; NaN where there is nothing to judge by."""

EXPLODED = 1e4
"""A weight this many times larger than the start's length stops the run."""


@dataclass(frozen=True, eq=False)
class State:
    """Where a run stands between two rounds; all that is needed to go on.

    ``anchor`` is W_q0, W_v0 and the first W, ``current`` the weights now, ``best`` the averaged
    ones of the best round (of the last, where nothing is held out) and ``score`` what they got.
    ``rounds`` are done, ``waited`` of them since the best one; ``history`` has the held-out score
    of the start and of each.  ``note`` says why the run must not go on, where it must not.
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
        names = ("score", "rounds", "waited", "note")
        settings = {name: getattr(self, name) for name in names}
        return arrays, {**settings, "history": list(self.history)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> State:
        """The state that :meth:`to_arrays` described."""

        def model(name: str) -> Model:
            parts = [np.asarray(arrays[f"{name}.{part}"], np.float64) for part in Model._fields]
            return Model(parts[0], parts[1], parts[2])

        return cls(
            model("anchor"),
            model("current"),
            model("best"),
            _number(settings["score"]),
            int(settings["rounds"]),
            int(settings["waited"]),
            tuple(_number(score) for score in settings["history"]),
            str(settings["note"]),
        )


def _number(value: Any) -> float:
    """JSON has no NaN, and writes null for it."""
    return float("nan") if value is None else float(value)


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
    held_out: tuple[Any, ...] | Judge | None = None,
    state: State | None = None,
    keep: Callable[[State], None] | None = None,
) -> Solution:
    """Descend from a start until held-out triplets get no better.

    Parameters
    ----------
    T, X
        Sparse queries and dense pictures, one row each.
    triplets
        ``(query, better, worse)`` or ``(query, better, worse, weight)`` as row numbers.
    start
        W_q0, W, W_v0: usually CCA's, brought to size by :func:`scaled`.
    held_out
        Triplets that judge the rounds by how many are in the right order; or a function
        that gives a model's score, higher being better.
    state
        The state of an earlier run with the same data, to go on from.  For new clicks,
        rather start anew from the earlier run's model: one round is linear in triplets.
    keep
        Called with the state after every round, to write it down.
    """
    how = settings or Settings()
    how.check()
    rows, pictures = sparse.csr_array(T, dtype=np.float64), checks.matrix("X", X)
    checks.finite("T", rows.data)
    made = Triplets.of(rows, pictures, *triplets)
    judge = _judge(rows, pictures, held_out)
    start = _checked(start, rows.shape[1], pictures.shape[1])
    if state is None:
        score = judge(start)
        state = State(start, start, start, score, history=(score,))
    run = Run(rows, pictures, made, how, state.anchor)
    while made.size and state.rounds < how.rounds and state.waited < how.patience:
        if state.note:
            break
        state = _after_round(run, state, judge)
        if keep is not None:
            keep(state)
    objective, residual = objective_of(state.best, state.anchor, rows, pictures, made, how)
    return Solution(state.best, objective, residual, state)


def _judge(T: Any, X: Floats, held_out: tuple[Any, ...] | Judge | None) -> Judge:
    if callable(held_out):
        return held_out
    held = Triplets.of(T, X, *(held_out or ((), (), ())))
    return lambda model: agreement(model, T, X, held)


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


def _after_round(run: Run, state: State, judge: Judge) -> State:
    """One round: descend, average, ask the judge, keep the better."""
    n, how = run.triplets.size, run.how
    size = min(n, how.round_size)
    order = stream(n, state.rounds * size, size, how.seed)
    now = Moving(
        state.current.wq - run.anchor.wq, state.current.w.copy(), state.current.wv - run.anchor.wv
    )
    now, mean = descend_round(run, now, order)
    current = now.model(run.anchor)
    after = replace(state, rounds=state.rounds + 1)
    if not _sound(current, run.anchor):
        note = f"Round {after.rounds} ran away (NaN or huge weights); use a smaller step."
        return replace(after, note=note)
    averaged = mean.model(run.anchor)
    score = judge(averaged)
    after = replace(after, current=current, history=(*state.history, score))
    if np.isnan(score) or score > state.score:
        return replace(after, best=averaged, score=score, waited=0)
    return replace(after, waited=state.waited + 1)


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
