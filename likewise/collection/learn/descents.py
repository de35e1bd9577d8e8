"""Long descents are written down after every round, so that learning goes on where it stopped."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from likewise.store import Store
from likewise.types import DataProblem

if TYPE_CHECKING:
    from likewise.solvers.rcca import State

EVERY = 5.0
"""Seconds of descent that may be lost."""


class States:
    """States of interrupted descents by name; a reader of the collection keeps none."""

    def __init__(self, store: Store) -> None:
        self._scratch = store.scratch
        self._last: dict[str, float] = {}
        self._began = time.monotonic()

    def load(self, name: str) -> State | None:
        """The state that an interrupted descent left; None where it left none, or a bad one."""
        from likewise.solvers.rcca import State

        try:
            found = self._scratch.get(name)
            return None if found is None else State.from_arrays(*found)
        except (DataProblem, KeyError, ValueError):
            return None

    def save(self, name: str, state: State) -> None:
        """Write a state down, now and then."""
        now = time.monotonic()
        if now - self._last.get(name, self._began) >= EVERY:
            self._scratch.put(name, *state.to_arrays())
            self._last[name] = now

    def clear(self) -> None:
        """The model is made: nothing is left to go on from."""
        self._scratch.clear()
