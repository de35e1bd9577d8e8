"""Names for the islands of a map: a word stands where those that carry it stand together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from likewise.types import FloatArray, IdArray

AROUND = 0.09
"""Shares of the map's side that an island reaches from its middle."""
PURE = 0.2
"""Least share of the items there that carry the word ..."""
TOGETHER = 0.3
"""... and of those with the word that are there."""
MOST = 30
FEWEST = 3


class Name(NamedTuple):
    """A word and the place on the map where it stands, in shares of its side."""

    text: str
    x: float
    y: float


def island_names(places: FloatArray, words: Mapping[str, IdArray]) -> list[Name]:
    """The words that say most of where their items stand, the best first, none near another.

    ``places`` are positions in a box of side one, ``words`` the rows that carry each word.
    """
    ranked = []
    for text, rows in words.items():
        if len(rows) < FEWEST:
            continue
        own = places[rows]
        # The middle of the densest part: the item that has most of the others around it.
        some = own[np.linspace(0, len(own) - 1, min(len(own), 200)).astype(int)]
        near = (np.abs(some[:, None] - own[None]) < AROUND).all(axis=2).sum(axis=1)
        centre = some[int(near.argmax())]
        there = int((np.abs(places - centre) < AROUND).all(axis=1).sum())
        pure, together = near.max() / there, near.max() / len(own)
        if near.max() >= FEWEST and pure >= PURE and together >= TOGETHER:
            middle = own[(np.abs(own - centre) < AROUND).all(axis=1)].mean(axis=0)
            ranked.append((pure * together * np.log1p(near.max()), text, middle))
    chosen: list[Name] = []
    for _, text, (x, y) in sorted(ranked, key=lambda one: (-one[0], one[1])):
        if all(max(abs(n.x - x), abs(n.y - y)) > AROUND for n in chosen):
            chosen.append(Name(text, round(float(x), 4), round(float(y), 4)))
    return chosen[:MOST]
