"""Searches by simulated users: how soon is the target on the board?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from likewise.session.holdings import Holdings, MemoryRounds, Rounds, rows_of
from likewise.session.kept import Kept
from likewise.session.learning import Learn
from likewise.session.session import TargetSession
from likewise.session.settings import Settings
from likewise.types import BadInput, IdArray, Progress


class User(Protocol):
    """Somebody who chooses and orders; see ``likewise.evaluation.users``."""

    def choose(self, target: int, candidates: IdArray, rng: np.random.Generator) -> int:
        """The row closest to the target."""

    def order(self, query: int, shown: IdArray, rng: np.random.Generator) -> IdArray:
        """Rows from nearest to farthest from the query."""


@dataclass(frozen=True)
class Simulated:
    """The round in which each search found its target; ``most + 1`` where it did not."""

    rounds: IdArray
    most: int

    def share(self, by: int) -> float:
        """Share found by a round."""
        return float((self.rounds <= by).mean())


def simulate(
    holdings: Holdings,
    user: User,
    *,
    settings: Settings | None = None,
    sessions: int = 100,
    most: int = 10,
    may_keep_query: bool = True,
    weights: Any = None,
    kept: Sequence[Kept] = (),
    keep: Rounds | None = None,
    learn: Learn | None = None,
    progress: Progress | None = None,
    seed: int = 0,
) -> Simulated:
    """Search for random targets from random queries, as in section 5.1 of the paper.

    So many ``sessions``, each done in at most ``most`` rounds; ``may_keep_query`` lets the user
    choose the old query again (in the paper only a picture just shown).  ``weights`` or ``kept``
    sessions give the metric to begin with, ``keep`` is where sessions are written down, ``learn``
    stands in for the metric learner.  Search ``i`` draws from ``(seed, i)`` alone: the same query
    and target for every method.
    """
    ids = holdings.ids
    if len(ids) < 2:
        raise BadInput("A simulated search needs at least two items: a query and a target.")
    quiet = replace(settings or Settings(), layout="none")

    def search(query: int, target: int, rng: np.random.Generator) -> int:
        """The round in which one search ended."""
        session = TargetSession.start(
            holdings,
            MemoryRounds() if keep is None else keep,
            quiet,
            query=int(ids[query]),
            weights=weights,
            kept=kept,
            learn=learn,
        )
        for depth in range(1, most + 1):
            board = session.board
            if int(ids[target]) in board.shown:
                if keep is not None:
                    session.found(int(ids[target]), keep=True)
                return depth
            if depth == most or not board.shown:
                break
            assert board.query is not None
            shown = rows_of(holdings, board.shown)
            if may_keep_query:
                shown = np.r_[rows_of(holdings, [board.query]), shown]
            chosen = user.choose(target, shown, rng)
            order = user.order(chosen, shown, rng)
            session.next(int(ids[chosen]), moved=[int(ids[row]) for row in order])
        if keep is not None:
            session.give_up()
        return most + 1

    found = np.full(sessions, most + 1)
    for number in range(sessions):
        rng = np.random.default_rng((seed, number))
        query, target = (int(row) for row in rng.choice(len(ids), 2, replace=False))
        found[number] = search(query, target, rng)
        if progress is not None:
            progress(number + 1, sessions)
    return Simulated(found, most)
