"""A simulated search beside its controls, because a lucky scale looks like learning.

The same queries and targets are searched for with the session's settings and with everything
that could explain its success otherwise: no learning at all, orders that say nothing, pictures at
random; and with what could be hoped for at most, the person's own metric from the start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from likewise.learners.metric import balanced_scale
from likewise.session.holdings import Holdings
from likewise.session.learning import Learn
from likewise.session.settings import Settings
from likewise.session.simulate import Simulated, User, simulate
from likewise.types import FloatArray, IdArray

Told = Callable[[str, int, int], None]
"""(method, searches done, searches in all)."""


class Shuffled:
    """A person who chooses well, and whose orders say nothing."""

    def __init__(self, user: User) -> None:
        self._user = user

    def choose(self, target: int, candidates: IdArray, rng: np.random.Generator) -> int:
        """What the person would choose."""
        return self._user.choose(target, candidates, rng)

    def order(self, query: int, shown: IdArray, rng: np.random.Generator) -> IdArray:
        """The shown pictures in any order."""
        return rng.permutation(shown[shown != query])


def simulate_with_controls(
    holdings: Holdings,
    user: User,
    *,
    settings: Settings | None = None,
    ideal: Any = None,
    sessions: int = 100,
    most: int = 10,
    progress: Told | None = None,
    seed: int = 0,
) -> dict[str, Simulated]:
    """Search with the settings and with every control, for the same targets.

    Gives, by name: ``default`` (the settings as they are), ``as in the paper``, ``uniform weights``
    (no learning, no filter), ``shuffled orders`` (as in the paper), ``random``, and ``ideal
    metric`` where the person's own metric, one weight a dimension, is given (``ideal``).
    """
    told = settings or Settings()
    paper = replace(told, use_filter=False, accumulate=False)
    scale = balanced_scale(holdings.vectors, holdings.blocks)
    ways: dict[str, tuple[User, Settings, FloatArray | None]] = {
        "default": (user, told, None),
        "as in the paper": (user, paper, None),
        "uniform weights": (user, paper, scale),
        "shuffled orders": (Shuffled(user), paper, None),
    }
    if ideal is not None:
        ways["ideal metric"] = (user, paper, np.asarray(ideal, np.float64))
    found: dict[str, Simulated] = {}
    for name, (person, way, fixed) in ways.items():

        def tell(done: int, total: int, name: str = name) -> None:
            if progress is not None:
                progress(name, done, total)

        found[name] = simulate(
            holdings,
            person,
            settings=way,
            sessions=sessions,
            most=most,
            may_keep_query=name == "default",
            weights=fixed,
            learn=None if fixed is None else _never(fixed),
            progress=tell,
            seed=seed,
        )
    found["random"] = at_random(
        len(holdings.ids), told.shown, sessions=sessions, most=most, seed=seed
    )
    return found


def at_random(items: int, shown: int, *, sessions: int, most: int, seed: int = 0) -> Simulated:
    """Boards at random: every item is as likely in every place of an order of all others."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, max(1, items - 1), sessions)
    return Simulated(np.minimum(place // shown + 1, most + 1), most)


def _never(weights: FloatArray) -> Learn:
    return lambda orders, before: (weights, ())
