"""The target filter: which item is meant, judged by which pictures were chosen.

A person who chooses a new query says "of these, this one is closest to what I look for".  After
PicHunter (Cox et al., 2000) every item keeps a probability of being the target; the choice of
picture a among the pictures S multiplies it by

    P(a | target i) = (1 - e) D(a, i)^-h / sum over s in S of D(s, i)^-h  +  e / |S|

with the squared distance D: a rule that knows no scale, softened by the chance e of a mistake.
How sharply does this person see, and how often are they mistaken?  Several values of h and e are
kept side by side, each believed by how well it foresees the choices: somebody who is never wrong
is followed quickly, and somebody who often is does not lead the filter astray for good.

Whose distance?  Nobody knows yet, so several *views* are kept side by side as well: the metric
learned so far, each block of features alone, all blocks alike.  A view is believed by how well it
foresees the choices and the orders; the learned metric is asked about an order before it has
learned from it, or it would praise itself.  So a person who judges by something that the metric
cannot express is still followed, as long as some view can.  What was shown and not taken is not
the target, and counts for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from likewise.later import njit
from likewise.session.learning import only
from likewise.session.scan import in_chunks, squared_distances
from likewise.types import FloatArray, IdArray

LEARNED = "learned"
"""Name of the view through the learned metric."""

RULE = "choices-2"
"""Changes whenever the filter judges otherwise: what was simulated with another is out of date."""

POWERS = (4, 32)
"""Values of h in the choice rule, whole numbers: a blunt eye and a sharp one."""

MISTAKES = (0.05, 0.35)
"""Values of e, the chance that a choice says nothing."""

ORDER_POWERS = (2.0, 4.0, 16.0, 64.0)
"""Values of h for the orders, which are often given with more care than a choice, or with less."""

ORDER_MISTAKES = (0.02, 0.1, 0.3)
"""Values of e for the orders."""

BUDGET = 30_000_000
"""Distances a round for judging earlier choices anew under the newest metric."""

VIEWS_UP_TO = 200_000
"""Items up to which the views beside the learned metric are kept."""

FLOOR = 1e-4
"""Distances count as at least this share of the shown pictures' spread; duplicates are alike."""


TINY = np.float32(1e-30)
"""Share of the best item's probability below which sums are no longer told apart."""


class Choice(NamedTuple):
    """One choice of a query, and the order given with it.

    ``chosen`` is the place of the one chosen among the rows ``candidates``; ``order`` has squared
    differences to the query of the pictures put in order, nearest first; ``before`` and ``after``
    are the metric's weights before and after the round's order was learned from.
    """

    candidates: IdArray
    chosen: int
    order: FloatArray
    before: FloatArray
    after: FloatArray

    @property
    def key(self) -> bytes:
        """The same for the same choice under the same metric."""
        return self.candidates.tobytes() + self.chosen.to_bytes(4, "big") + self.after.tobytes()


class Posterior(NamedTuple):
    """Log probability of being the target, one number an item, and belief in each view."""

    log: FloatArray
    views: dict[str, float]


def views_of(
    scale: FloatArray, blocks: Mapping[str, slice], kept: FloatArray | None
) -> dict[str, FloatArray]:
    """Views beside the learned metric: each block alone, all alike, what kept sessions teach."""
    alone = {name: only(scale, blocks, (name,)) for name in blocks}
    views = {name: view for name, view in alone.items() if view.any()}
    if len(views) > 1:
        views["all blocks"] = scale
    if kept is not None:
        views["kept sessions"] = kept
    return views


class TargetFilter:
    """Keeps the posterior over items while choices come in.

    ``views`` are the weights, by name, of each view beside the learned metric; ``powers`` and
    ``mistakes`` h and e of the choice rule, of which every pair is judged by; ``budget`` bounds
    the distances that are computed anew in a round.
    """

    def __init__(
        self,
        vectors: FloatArray,
        views: Mapping[str, FloatArray],
        *,
        powers: Sequence[int] = POWERS,
        mistakes: Sequence[float] = MISTAKES,
        budget: int = BUDGET,
    ) -> None:
        self._x = vectors
        self._views = dict(views) if len(vectors) <= VIEWS_UP_TO else {}
        self._powers = np.asarray(powers, np.int64)
        self._mistakes = np.asarray(mistakes, np.float32)
        self._budget = budget
        self._sums: dict[str, list[_Sum]] = {}

    def posterior(
        self, choices: Sequence[Choice], weights: FloatArray, seen: IdArray | None = None
    ) -> Posterior:
        """Judge all choices; the latest ones anew under ``weights``, as far as the budget goes.

        ``seen`` are the rows of items that were shown, and so are not the target.
        """
        late = self._affordable(choices)
        if all(np.array_equal(choice.after, weights) for choice in choices[late:]):
            late = len(choices)  # nothing is judged otherwise than it will be kept
        learned = self._sum(LEARNED, choices[:late], [c.after for c in choices[:late]])
        if late < len(choices):
            learned = learned.copy()
        for choice in choices[late:]:
            self._add(learned, choice, weights)
        logs = {LEARNED: learned}
        said = {LEARNED: foresight([c.before for c in choices], choices)}
        for name, view in self._views.items():
            own = [view] * len(choices)
            logs[name] = self._sum(name, choices, own)
            said[name] = foresight(own, choices)
        return _mixed(logs, said, np.zeros(0, np.int64) if seen is None else seen)

    def _affordable(self, choices: Sequence[Choice]) -> int:
        """From which choice on the newest metric can be asked; always the latest."""
        left, at = self._budget, len(choices)
        while at and (at == len(choices) or left >= 0):
            at -= 1
            left -= len(self._x) * len(choices[at].candidates)
        return at if left >= 0 or at == len(choices) - 1 else at + 1

    def _sum(
        self, name: str, choices: Sequence[Choice], weights: Sequence[FloatArray]
    ) -> FloatArray:
        """Log likelihoods of choices (a row a rule), each under its own weights; kept, added to."""
        keys = tuple(choice.key for choice in choices)
        kept = [old for old in self._sums.get(name, ()) if old.keys == keys[: len(old.keys)]]
        if not kept:  # the first choice, or another branch
            rules = len(self._powers) * len(self._mistakes)
            kept = [_Sum((), np.zeros((rules, len(self._x)), np.float32))]
        last = max(kept, key=lambda old: len(old.keys))
        if last.keys == keys:
            return last.total
        total = last.total.copy()
        for choice, w in zip(choices[len(last.keys) :], weights[len(last.keys) :]):
            self._add(total, choice, w)
        self._sums[name] = [last, _Sum(keys, total)]  # the one before is what an undo asks for
        return total

    def _add(self, total: FloatArray, choice: Choice, weights: FloatArray) -> None:
        """Add the log likelihood of one choice to ``total``, by one exact scan."""
        used = np.flatnonzero(weights)
        if not len(used) or len(choice.candidates) < 2:
            return
        columns = slice(int(used[0]), int(used[-1]) + 1)
        x, w = self._x[:, columns], weights[columns].astype(np.float32)
        shown = x[choice.candidates]
        middle = shown.mean(axis=0)  # distances from here keep the digits of single precision
        away = shown - middle
        length = np.square(away) @ w
        # |x - s|^2 = |x - c|^2 + |s - c|^2 - 2 x.W(s - c) + 2 c.W(s - c)
        pull = np.ascontiguousarray((away * w).T)
        constant = length + 2.0 * (middle @ pull)
        floor = np.float32(max(FLOOR * float(length.mean()), 1e-30))

        def judge(rows: slice) -> None:
            _add_log_likelihood(
                x[rows] @ pull,
                squared_distances(x[rows], middle, w),
                constant,
                choice.chosen,
                self._powers,
                self._mistakes,
                floor,
                total[:, rows],
            )

        in_chunks(judge, len(x))


def foresight(weights: Sequence[FloatArray], choices: Sequence[Choice]) -> float:
    """Log probability of the orders by the same rule, pair by pair, each under its own weights."""
    h = np.asarray(ORDER_POWERS)[:, None, None]
    e = np.asarray(ORDER_MISTAKES)[None, :, None]
    logs = np.zeros((len(ORDER_POWERS), len(ORDER_MISTAKES)))
    for w, choice in zip(weights, choices):
        d = choice.order @ w
        if len(d) < 2 or not d.any():
            continue
        d = np.log(np.maximum(d, FLOOR * d.mean()))
        wrong = np.exp(np.minimum(h * (d[:-1] - d[1:]), 500.0))  # D_near^h / D_far^h
        logs += np.log((1 - e) / (1 + wrong) + e / 2).sum(axis=2)
    return float(np.logaddexp.reduce(logs, axis=None) - np.log(logs.size))


def _mixed(logs: Mapping[str, FloatArray], said: Mapping[str, float], seen: IdArray) -> Posterior:
    """One posterior from all views and rules, each weighted by what it foresaw."""
    items = next(iter(logs.values())).shape[1]
    hidden = np.zeros(items, bool)
    hidden[seen] = True
    top = np.full(items, -np.inf, np.float32)
    shifts = {name: np.float32(said[name] - max(said.values())) for name in logs}

    def highest(rows: slice) -> None:
        for name, log in logs.items():
            np.maximum(top[rows], log[:, rows].max(axis=0) + shifts[name], out=top[rows])
        top[rows][hidden[rows]] = -np.inf

    in_chunks(highest, items)
    best = top.max(initial=-np.inf)
    top -= best if np.isfinite(best) else np.float32(0.0)  # else nothing is left unseen
    out = np.empty(items, np.float32)
    masses: dict[int, list[float]] = {}  # by first row: the same sum however threads ran

    def add(rows: slice) -> None:
        total = np.zeros(rows.stop - rows.start, np.float32)
        mass = []
        for name, log in logs.items():
            part = log[:, rows] + (shifts[name] - best)
            part[:, hidden[rows]] = -np.inf  # those may be far above the best that is left
            likely = np.exp(part, out=part).sum(axis=0)
            mass.append(float(likely.sum(dtype=np.float64)))
            total += likely
        # Far below the best a sum of exponentials is zero; the largest of its terms still ranks.
        out[rows] = np.where(total > TINY, np.log(np.maximum(total, TINY)), top[rows])
        masses[rows.start] = mass

    if np.isfinite(best):
        in_chunks(add, items)
    else:
        out[:] = -np.inf
    mass = np.sum([masses[at] for at in sorted(masses)], axis=0) if masses else np.zeros(len(logs))
    whole = max(float(mass.sum()), 1e-300)
    return Posterior(out, {name: float(one) / whole for name, one in zip(logs, mass)})


class _Sum(NamedTuple):
    keys: tuple[bytes, ...]
    total: FloatArray


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
def _add_log_likelihood(  # type: ignore[no-untyped-def]
    cross, own, constant, chosen, powers, mistakes, floor, out
):
    """Add the log of each choice rule to its row of ``out``, one number an item."""
    items, shown = cross.shape
    two, one = np.float32(2.0), np.float32(1.0)
    ratio, totals = np.empty(shown, np.float32), np.empty(len(powers), np.float32)
    usual = len(powers) == 2 and powers[0] == 4 and powers[1] == 32
    for i in range(items):
        near, row = own[i], cross[i]
        mine = max(near + constant[chosen] - two * row[chosen], floor)
        if usual:  # written out, so that it is computed many at a time and stored nowhere
            blunt, sharp = np.float32(0.0), np.float32(0.0)
            for s in range(shown):
                value = mine / max(near + constant[s] - two * row[s], floor)
                value *= value
                value *= value
                blunt += value
                value *= value
                value *= value
                value *= value
                sharp += value
            totals[0], totals[1] = blunt, sharp
        else:
            for s in range(shown):
                ratio[s] = mine / max(near + constant[s] - two * row[s], floor)
            for k in range(len(powers)):
                total = np.float32(0.0)
                for s in range(shown):
                    value = one
                    for _ in range(powers[k]):
                        value *= ratio[s]
                    total += value
                totals[k] = total
        for k in range(len(powers)):
            for e in range(len(mistakes)):
                rule = (one - mistakes[e]) / totals[k] + mistakes[e] / np.float32(shown)
                out[k * len(mistakes) + e, i] += np.log(rule)
