"""Controls of target search, because a lucky scale looks like learning."""

from __future__ import annotations

import numpy as np

from likewise.session import Simulated
from likewise.session.simulate import User
from likewise.types import IdArray


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


def at_random(items: int, shown: int, *, sessions: int, most: int, seed: int = 0) -> Simulated:
    """Boards at random: every item is as likely in every place of an order of all others."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, max(1, items - 1), sessions)
    return Simulated(np.minimum(place // shown + 1, most + 1), most)
