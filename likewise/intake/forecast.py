"""How long taking pictures in will take, and how much room: from those that were read so far.

Large files take longer than small ones, so time goes by bytes and not by count.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

import numpy as np

from likewise.intake.workers import Outcome

SAMPLE = 100
"""Files that a forecast is made from."""
RECENT = 200
"""Files over which the present pace is taken."""
CODES = 2 * 4 * 370
"""Bytes of a picture's codes in the two indexes that are kept ..."""
RECORDS = 3_000
"""... and of its records in the catalogue: file, content, tags, words."""


@dataclass(frozen=True)
class Forecast:
    """What there is to read, the seconds the rest takes, and how far the data folder grows."""

    pictures: int
    bytes: int
    seconds: float
    data_bytes: int

    @property
    def sentence(self) -> str:
        """``20,000 pictures, about 55 minutes, 3.1 GB of data folder``."""
        many = f"{self.pictures:,} picture{'' if self.pictures == 1 else 's'}"
        return f"{many}, about {duration(self.seconds)}, {_room(self.data_bytes)} of data folder"


class Pace:
    """Counts what was read, and tells how long the rest takes."""

    def __init__(self, pictures: int, size: int) -> None:
        self.pictures, self.size = pictures, size
        self.read = self.files = self.kept = 0
        self._recent: deque[tuple[float, int]] = deque([(time.monotonic(), 0)], RECENT)

    def took(self, size: int, outcome: Outcome) -> None:
        """One more file is done."""
        self.files, self.read = self.files + 1, self.read + size
        self.kept += kept_bytes(outcome)
        self._recent.append((time.monotonic(), self.read))

    @property
    def forecast(self) -> Forecast | None:
        """From the first hundred files on, or from the last if there are fewer."""
        if self.files < min(SAMPLE, self.pictures) or not self.files:
            return None
        (began, before), (now, read) = self._recent[0], self._recent[-1]
        seconds = (now - began) / max(1, read - before) * max(0, self.size - read)
        grows = self.kept / self.files * self.pictures
        return Forecast(self.pictures, self.size, seconds, round(grows))


def kept_bytes(outcome: Outcome) -> int:
    """Bytes of the data folder that one picture takes: vectors, small picture, codes, records."""
    if outcome.picture is None:
        return RECORDS
    vectors = sum(2 * np.asarray(block).size for block in outcome.features.values())
    return vectors + len(outcome.picture.thumbnail) + CODES + RECORDS


def duration(seconds: float) -> str:
    """``55 minutes``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} second{'' if round(seconds) <= 1 else 's'}"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes"
    return f"{seconds / 3600:.1f} hours"


def _room(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(1, round(size / 1e6)):,} MB"
