"""The reader of the first minute: words of the shipped table as directions in picture space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.collection.lines.line import View
from likewise.collection.lines.meanings import Meanings
from likewise.features.class_names import class_names
from likewise.features.class_words import CLASSES, COLOUR_BINS, Known
from likewise.types import Surrogate

TITLE = "class names"
EXPANDED, EXPANSION = 20, 1.0
"""Best results that are taken to show the words, and what they weigh beside the words."""
LARGE = 20_000
"""In a larger collection that second search takes too long, and is left out."""


class Spoken(NamedTuple):
    """Words as a surrogate, of spread 1 where all are sure; and what they were taken for."""

    surrogate: Surrogate
    known: tuple[Known, ...]
    meanings: Meanings

    def looks_like(self, code: Any, most: int = 3) -> list[str]:
        """Which classes and colours speak for a picture, the loudest first."""
        heard: dict[int, float] = {}
        for word in self.known:
            parts = self.meanings.parts(word.columns, word.weights, code) * word.confidence**2
            for column, part in zip(word.columns.tolist(), parts.tolist()):
                heard[column] = heard.get(column, 0.0) + part
        loud = sorted(heard.items(), key=lambda pair: -pair[1])
        least = 0.1 * max(loud[0][1], 0.0) if loud else 0.0
        names = class_names()
        told = [names[c] if c < CLASSES else COLOUR_BINS[c - CLASSES] for c, p in loud if p > least]
        return list(dict.fromkeys(told))[:most]


def spoken(known: Sequence[Known], meanings: Meanings, view: View) -> Spoken | None:
    """The sum of the words' directions, each times its confidence squared."""
    told: Surrogate | None = None
    heard = []
    for word in known:
        own = meanings.of_columns(word.columns, word.weights)
        if own is not None and word.confidence > 0:
            own = own * word.confidence**2
            told = own if told is None else told + own
            heard.append(word)
    if told is None:
        return None
    if len(view) <= LARGE:
        told = expanded(told, meanings, view)
    return Spoken(told, tuple(heard), meanings)


def expanded(told: Surrogate, meanings: Meanings, view: View) -> Surrogate:
    """With the direction of its best results added: what they share, the words mean."""
    hits = view.search(told, EXPANDED)
    shown = meanings.of_pictures(view.rows(hits.ids)) if len(hits.ids) else None
    size = meanings.spread(np.asarray(told.vector))
    return told if shown is None else (told + shown * (EXPANSION * size)) * (1 / (1 + EXPANSION))
