"""The guard: may a learned model serve everyone's queries?

Two models are judged where they disagree.  Of a query, A and B are the first K of the candidate
and of what serves; a person judges a few of A without B and a few of B without A, which estimates
the change of precision@K without bias, and both first results.  Evidence is looked at when there
are 12, 25, 50, 100, 200, 400 judged queries and at every doubling after, so that asking again and
again does not let a lucky model pass.  Where everything is judged, the change of average precision
takes the place of the estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from likewise.later import special
from likewise.types import BadInput

LOOKS = (12, 25, 50, 100, 200, 400)
"""Numbers of judged queries at which evidence is looked at; after these, every doubling."""
QUANTILE = 0.984
"""Of Student's t, one-sided: of models that change nothing all looks let some 3 % pass."""
DEPTH = 50
"""Results of each model that are compared, K, or a tenth of the collection."""
DRAWN = 5
"""Pictures of each side that a person is asked about, at most."""
FEWEST_PICTURES = 100
"""In smaller collections no model passes."""
FIRST_FALL, SLACK, SLACK_FROM = 0.01, 0.5, 50
"""Precision@1 may fall by this, plus so many standard errors from so many queries on."""


class Draw(NamedTuple):
    """What is asked about one query.

    Attributes
    ----------
    new, old
        Drawn from what only the candidate, and only the other one, has among its first K.
    first
        The first result of both where these differ; else empty.
    share
        How many of the first K are only in one of them, divided by K.
    """

    new: tuple[int, ...]
    old: tuple[int, ...]
    first: tuple[int, ...]
    share: float

    @property
    def items(self) -> tuple[int, ...]:
        """Everything that must be judged, by number, so that the order tells nothing."""
        return tuple(sorted({*self.new, *self.old, *self.first}))

    def without(self, gone: Sequence[int]) -> Draw | None:
        """The draw when some pictures are there no longer; None where a side has none left."""
        new, old = (tuple(i for i in side if i not in gone) for side in (self.new, self.old))
        if bool(new) != bool(self.new) or bool(old) != bool(self.old):
            return None
        return Draw(new, old, () if set(self.first) & set(gone) else self.first, self.share)

    def change(self, right: Mapping[int, bool]) -> tuple[float, float]:
        """Estimated change of precision@K, and the change of precision@1."""
        new, old, first = ([right[i] for i in some] for some in self[:3])
        at_k = sum(new) / len(new) - sum(old) / len(old) if new and old else 0.0
        return self.share * at_k, float(first[0] - first[1]) if first else 0.0


def depth(pictures: int) -> int:
    """How many results of each model are compared in a collection of this size."""
    return min(DEPTH, pictures // 10)


def draw(candidate: Sequence[int], serving: Sequence[int], rng: np.random.Generator) -> Draw:
    """Draw what to ask from the first results of two models, as many of both, the best first."""
    if len(candidate) != len(serving):
        raise BadInput("The guard compares as many results of both models.")
    a, b = set(candidate), set(serving)
    if not a:
        return Draw((), (), (), 0.0)
    sides = [sorted(a - b), sorted(b - a)]
    new, old = (tuple(rng.permutation(side)[:DRAWN].tolist()) for side in sides)
    first = () if candidate[0] == serving[0] else (int(candidate[0]), int(serving[0]))
    return Draw(new, old, first, len(sides[0]) / len(a))


def look_at(queries: int) -> int:
    """The greatest number of queries up to this one at which there is a look; 0 below the first."""
    size = max((size for size in LOOKS if size <= queries), default=0)
    while LOOKS[-1] <= size <= queries // 2:
        size *= 2
    return size


def next_look(queries: int) -> int:
    """The smallest number of queries above this one at which there is a look."""
    size = LOOKS[-1]
    while size <= queries:
        size *= 2
    return next((early for early in LOOKS if early > queries), size)


@dataclass(frozen=True)
class Verdict:
    """What the guard decided, and why.

    Attributes
    ----------
    passed
        Whether the model may serve.
    sentence
        The reason, as one sentence for a person.
    queries, size
        Judged queries, and the look that was taken at them; 0 where none was due.
    difference, p_value
        Change of precision@K (or of average precision), and how often luck alone gives as much.
    first_change, top_change
        Change of precision@1, and of top precision (right ones before the first wrong one) where
        everything is judged: what comes first.
    forecast
        How many more judged queries would probably settle it, from and to; None where that
        cannot be told.
    """

    passed: bool
    sentence: str
    queries: int
    size: int
    difference: float
    p_value: float
    first_change: float
    forecast: tuple[int, int] | None = None
    top_change: float = float("nan")


def judge(
    changes: ArrayLike,
    first_changes: ArrayLike,
    top_changes: ArrayLike = (),
    *,
    pictures: int,
    spent: int = 0,
    before: int | None = None,
    against: str = "plain",
    k: int | None = None,
) -> Verdict:
    """Look at what is judged, if a look is due.

    ``changes`` and ``first_changes`` are, of each judged query, the change of precision@``k`` (of
    average precision where ``k`` is None) and of precision@1; queries with a NaN are left out.
    ``top_changes``, of top precision where everything is judged, are told and decide nothing.
    ``pictures`` is the size of the collection, ``spent`` the greatest number of queries that was
    looked at since a model last became active, ``before`` the most that the last forecast asked
    for (a new one is at most twice as many), ``against`` the name of what serves.
    """
    d, f = (np.asarray(column, dtype=np.float64).ravel() for column in (changes, first_changes))
    if len(d) != len(f):
        raise BadInput("The guard needs both changes of the same queries.")
    known = ~(np.isnan(d) | np.isnan(f))
    d, f = d[known], f[known]
    n, size = len(d), look_at(len(d))
    gain, first = (float(c.mean()) if n else float("nan") for c in (d, f))
    spread = n > 1 and float(np.ptp(d)) > 1e-12  # equal numbers have a rounded deviation above 0
    error = float(d.std(ddof=1)) / n**0.5 if spread else 0.0
    p = float(1 - special.stdtr(n - 1, gain / error)) if error > 0 else float("nan")
    moved = _moved(gain, n, against, k)
    t = np.asarray(top_changes, dtype=np.float64).ravel()
    top = float(t[known].mean()) if n and len(t) else float("nan")

    def told(passed: bool, sentence: str, forecast: tuple[int, int] | None = None) -> Verdict:
        return Verdict(passed, sentence, n, size, gain, p, first, forecast, top)

    if pictures < FEWEST_PICTURES:
        size = 0
        return told(False, f"Not used: with fewer than {FEWEST_PICTURES} photos no check can tell.")
    if size <= spent:
        size, more = 0, next_look(max(spent, n)) - n
        searches = f"{more} more search" if n or spent else f"{more} search"
        searches += " is" if more == 1 else "es are"
        return told(False, f"Not used yet: {searches} to be checked first.", (more, more))
    if not error > 0 or gain <= 0:
        return told(False, f"Not used: it is not better ({moved}).")
    worst = -FIRST_FALL - (SLACK * float(f.std(ddof=1)) / n**0.5 if n >= SLACK_FROM else 0.0)
    if gain / error <= special.stdtrit(n - 1, QUANTILE):
        ahead = _forecast(d, before)
        said = (
            "how many more would settle it cannot be told yet"
            if ahead is None
            else f"{_range(ahead)} more checked searches would probably settle it"
        )
        return told(False, f"Not used yet: it could be luck ({moved}); {said}.", ahead)
    if first < worst:
        return told(
            False,
            f"Not used: what comes first is right less often ({first:+.2f} per search), although "
            f"there are more right ones ({moved}).",
        )
    above = "" if np.isnan(top) else f", {top:+.2f} of the right ones before any wrong one"
    return told(True, f"Better: {moved}; what comes first is right as often ({first:+.2f}){above}.")


def _moved(gain: float, n: int, against: str, k: int | None) -> str:
    searches = f"{n} search{'' if n == 1 else 'es'}"
    if k is None:
        return f"average precision {gain:+.3f} against {against} on {searches}"
    return f"{gain * k:+.1f} right photos among the first {k}, {searches}"


def _range(ahead: tuple[int, int]) -> str:
    return f"{ahead[0]}" if ahead[0] == ahead[1] else f"{ahead[0]} to {ahead[1]}"


def _forecast(d: np.ndarray, before: int | None) -> tuple[int, int] | None:
    """Further queries until a gain between one standard error below and above would pass."""
    n, error = len(d), float(d.std(ddof=1)) / len(d) ** 0.5
    if d.mean() <= error:
        return None
    reach = float(special.stdtrit(n - 1, QUANTILE)) * error * n**0.5
    wanted = [(reach / (float(d.mean()) + side * error)) ** 2 for side in (1, -1)]
    low, high = (next_look(max(n, int(np.ceil(min(count, 1e7))) - 1)) - n for count in wanted)
    return None if before is not None and high > 2 * before else (low, high)
