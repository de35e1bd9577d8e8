"""The guard of 93a8f1c: judged-only MAP of what plain search showed, at any time.

A model is compared with what it would replace on held-out judgements.  It must gain in
judged-only MAP beyond luck (randomisation test) and may not lose precision@1.  Where there
are too few held-out queries, or the gain could be luck, it stays inactive and the sentence
says how many more judged queries are needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.evaluation.significance import Seed, randomisation_test
from likewise.types import BadInput

FEWEST = 30
"""Held-out queries below which nothing is decided."""

Z_05 = 1.96


@dataclass(frozen=True)
class Verdict:
    """What the guard decided, and why.

    Attributes
    ----------
    activate
        Whether the model may serve.
    sentence
        The reason, as one sentence for a person.
    queries
        Held-out queries that could tell the two apart: with a relevant and an irrelevant
        item judged.
    needed
        How many more of them would probably settle it; 0 where it is settled.
    difference, p_value
        Change of judged-only MAP and its randomisation test (NaN where none was made).
    p1_change
        Change of precision@1 among the judged items.
    """

    activate: bool
    sentence: str
    queries: int
    needed: int
    difference: float
    p_value: float
    p1_change: float


def guard(
    candidate_map: ArrayLike,
    baseline_map: ArrayLike,
    candidate_p1: ArrayLike,
    baseline_p1: ArrayLike,
    *,
    baseline: str = "plain",
    p: float = 0.05,
    p1_fall: float = 0.01,
    fewest: int = FEWEST,
    draws: int = 100_000,
    seed: Seed = 0,
) -> Verdict:
    """Decide from measures of two models on the same held-out queries.

    Parameters
    ----------
    candidate_map, baseline_map
        Judged-only average precision, one number a query; NaN where a query cannot tell
        models apart (nothing relevant or nothing irrelevant judged).
    candidate_p1, baseline_p1
        Precision@1 of the same queries.
    baseline
        Name of the model that would be replaced.
    p
        The gain must be more certain than this.
    p1_fall
        Most that precision@1 may fall.
    fewest
        Held-out queries below which nothing is decided.
    draws, seed
        Of the randomisation test.

    Returns
    -------
    Verdict
    """
    maps = _paired(candidate_map, baseline_map, candidate_p1, baseline_p1)
    count = maps.shape[1]
    if not count:
        return _too_few(0, fewest, float("nan"), float("nan"))
    gain = float((maps[0] - maps[1]).mean())
    p1_change = float((maps[2] - maps[3]).mean())
    if count < fewest:
        return _too_few(count, fewest, gain, p1_change)
    p_value = randomisation_test(maps[0], maps[1], draws=draws, seed=seed).p_value
    moved = f"judged-only MAP {gain:+.3f} against {baseline} on {count} held-out queries"
    if gain <= 0:
        said, good, needed = f"It stays inactive: it gains nothing ({moved}).", False, 0
    elif p_value >= p:
        needed = _more(maps[0] - maps[1])
        said = (
            f"It stays inactive: the gain could be luck ({moved}, p = {p_value:.2g}); "
            f"about {needed} more judged queries would settle it."
        )
        good = False
    elif p1_change < -p1_fall:
        needed, good = 0, False
        said = (
            f"It stays inactive: precision@1 falls by {-p1_change:.3f}, more than {p1_fall:g} "
            f"({moved}, p = {p_value:.2g})."
        )
    else:
        needed, good = 0, True
        said = f"It may serve: {moved}, p = {p_value:.2g}, precision@1 {p1_change:+.3f}."
    return Verdict(good, said, count, needed, gain, p_value, p1_change)


def _paired(*columns: ArrayLike) -> NDArray[np.float64]:
    rows = [np.asarray(c, dtype=np.float64).ravel() for c in columns]
    if len({len(row) for row in rows}) != 1:
        raise BadInput("The guard needs all measures of both models on the same queries.")
    table = np.array(rows)
    return table[:, ~np.isnan(table).any(axis=0)]


def _too_few(count: int, fewest: int, gain: float, p1_change: float) -> Verdict:
    more = fewest - count
    said = (
        f"It stays inactive: {count} held-out queries with a relevant and an irrelevant item "
        f"judged are too few to tell; judge results of about {more} more."
    )
    return Verdict(False, said, count, more, gain, float("nan"), p1_change)


def _more(change: NDArray[np.float64]) -> int:
    """Queries to add until a gain of this mean and spread would reach the 5 % level."""
    spread = float(change.std())
    wanted = (Z_05 * spread / float(change.mean())) ** 2 * 1.1
    return max(1, int(np.ceil(min(wanted, 1e6))) - len(change))
