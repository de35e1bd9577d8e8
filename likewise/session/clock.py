"""How long each step of a round takes, for the log."""

from __future__ import annotations

import time


class Clock:
    """Seconds of each step, by its name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, step: str) -> None:
        """The step that began at the last lap (or with the clock) is over."""
        now = time.perf_counter()
        self.seconds[step] = now - self._last
        self._last = now
