"""The target filter: which item is meant, judged by which pictures were chosen.

A person who chooses a new query says "of these, this one is closest to what I look for".  After
PicHunter (Cox et al., 2000) every item keeps a probability of being the target; the choice of
picture a among the pictures S multiplies it by

    P(a | target i) = (1 - e) D(a, i)^-h / sum over s in S of D(s, i)^-h  +  e / |S|

with the squared distance D: a rule that knows no scale, softened by the chance e of a mistake.

Whose distance?  Nobody knows yet, so several *views* are kept side by side: the metric learned
so far, each block of features alone, all blocks alike.  A view is believed by how well it
foresees the choices and the orders; the learned metric is asked about an order before it has
learned from it, or it would praise itself.  So a person who judges by something that the metric
cannot express is still followed, as long as some view can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numba
import numpy as np

from likewise.session.scan import in_chunks, squared_distances
from likewise.types import FloatArray, IdArray

LEARNED = "learned"
"""Name of the view through the learned metric."""

POWER = 4
"""h of the choice rule: a whole number; chosen in simulation."""

MISTAKE = 0.1
"""e of the choice rule: the chance that a choice says nothing; chosen in simulation."""

BUDGET = 30_000_000
"""Distances a round for judging earlier choices anew under the newest metric."""

VIEWS_UP_TO = 200_000
"""Items up to which the views beside the learned metric are kept."""

FLOOR = 1e-4
"""Distances count as at least this share of the shown pictures' spread; duplicates are alike."""


class Choice(NamedTuple):
    """One choice of a query, and the order given with it.

    Attributes
    ----------
    candidates
        Rows of the pictures that could be chosen.
    chosen
        Which of them was.
    order
        Squared differences to the query of the pictures put in order, nearest first.
    before
        Weights of the metric before the round's order was learned from.
    after
        Weights of the metric after it.
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


class TargetFilter:
    """Keeps the posterior over items while choices come in.

    Parameters
    ----------
    vectors
        Picture vectors, one row an item.
    views
        Weights by name of each view beside the learned metric.
    power, mistake
        h and e of the choice rule.
    budget
        Bound on the distances that are computed anew in a round.
    """

    def __init__(
        self,
        vectors: FloatArray,
        views: Mapping[str, FloatArray],
        *,
        power: int = POWER,
        mistake: float = MISTAKE,
        budget: int = BUDGET,
    ) -> None:
        self._x = vectors
        self._views = dict(views) if len(vectors) <= VIEWS_UP_TO else {}
        self._power, self._mistake, self._budget = power, mistake, budget
        self._sums: dict[str, _Sum] = {}

    def posterior(self, choices: Sequence[Choice], weights: FloatArray) -> Posterior:
        """Judge all choices; the latest ones anew under ``weights``, as far as the budget goes."""
        logs, names = [], [LEARNED, *self._views]
        late = self._affordable(choices)
        learned = self._sum(LEARNED, choices[:late], [c.after for c in choices[:late]]).copy()
        for choice in choices[late:]:
            self._add(learned, choice, weights)
        logs.append(learned + self._foresight([c.before for c in choices], choices))
        for name, view in self._views.items():
            own = [view] * len(choices)
            logs.append(self._sum(name, choices, own) + self._foresight(own, choices))
        if len(logs) == 1:
            return Posterior(logs[0], {LEARNED: 1.0})
        top = [float(log.max(initial=-np.inf)) for log in logs]
        best = max(top)
        total = np.zeros(len(self._x), np.float64)
        mass = np.zeros(len(logs))
        for k, log in enumerate(logs):
            part = np.exp(log - best)
            mass[k] = part.sum()
            total += part
        with np.errstate(divide="ignore"):
            log = np.log(total)
        return Posterior(log, dict(zip(names, (mass / max(mass.sum(), 1e-300)).tolist())))

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
        """Sum of log likelihoods of choices, each under its own weights; kept and added to."""
        keys = tuple(choice.key for choice in choices)
        kept = self._sums.get(name)
        if kept is None or kept.keys != keys[: len(kept.keys)]:  # another branch: begin anew
            kept = _Sum((), np.zeros(len(self._x), np.float32))
        done = len(kept.keys)
        total = kept.total.copy() if done < len(keys) else kept.total
        for choice, w in zip(choices[done:], weights[done:]):
            self._add(total, choice, w)
        self._sums[name] = _Sum(keys, total)
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
                self._power,
                np.float32(self._mistake),
                floor,
                total[rows],
            )

        in_chunks(judge, len(x))

    def _foresight(self, weights: Sequence[FloatArray], choices: Sequence[Choice]) -> float:
        """Log probability of the orders by the same rule, pair by pair."""
        total = 0.0
        for w, choice in zip(weights, choices):
            if len(choice.order) < 2:
                continue
            d = choice.order @ w
            if not d.any():
                continue
            d = np.maximum(d, FLOOR * d.mean())
            right = 1.0 / (1.0 + (d[:-1] / d[1:]) ** self._power)
            total += float(np.log((1 - self._mistake) * right + self._mistake / 2).sum())
        return total


class _Sum(NamedTuple):
    keys: tuple[bytes, ...]
    total: FloatArray


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
def _add_log_likelihood(
    cross: Any,
    own: Any,
    constant: Any,
    chosen: Any,
    power: Any,
    mistake: Any,
    floor: Any,
    out: Any,
) -> None:
    """Add the log of the choice rule to ``out``, one number an item."""
    items, shown = cross.shape
    two, one = np.float32(2.0), np.float32(1.0)
    for i in range(items):
        near, row = own[i], cross[i]
        mine = max(near + constant[chosen] - two * row[chosen], floor)
        total = np.float32(0.0)
        if power == 4:  # the default, written out so that it is computed eight at a time
            for s in range(shown):
                ratio = mine / max(near + constant[s] - two * row[s], floor)
                square = ratio * ratio
                total += square * square
        else:
            for s in range(shown):
                ratio = mine / max(near + constant[s] - two * row[s], floor)
                value = one
                for _ in range(power):
                    value *= ratio
                total += value
        out[i] += np.log((one - mistake) / total + mistake / np.float32(shown))


def reference_posterior(
    vectors: FloatArray,
    weights: FloatArray,
    choices: Sequence[tuple[IdArray, int]],
    *,
    power: int = POWER,
    mistake: float = MISTAKE,
) -> FloatArray:
    """The rule written out for one view: slow and obvious, to test the fast one against."""
    x = np.asarray(vectors, np.float64)
    total = np.zeros(len(x))
    for candidates, chosen in choices:
        shown = x[candidates]
        floor = FLOOR * float((((shown - shown.mean(axis=0)) ** 2) @ weights).mean())
        d = np.maximum(((x[:, None, :] - shown[None, :, :]) ** 2) @ weights, floor)
        p = d[:, [chosen]] ** -power / (d**-power).sum(axis=1, keepdims=True)
        total += np.log((1 - mistake) * p[:, 0] + mistake / len(candidates))
    return total
