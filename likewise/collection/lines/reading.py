"""The reader of the first minute: words of the shipped table as directions in picture space.

Pictures that people named (captions, tags, file and folder names) and pictures that were marked or
chosen for a query speak beside the table, from the first one on, and the more of them there are
the less the table is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.collection.lines.line import View
from likewise.collection.lines.meanings import Meanings
from likewise.collection.lines.parts import places
from likewise.features.class_names import class_names
from likewise.features.class_words import CLASSES, COLOUR_BINS, Known
from likewise.types import IdArray, Surrogate

TITLE, NETWORK = "class names", "your network"
"""What words were read by: the shipped table, or a network of one's own."""
EXPANDED, EXPANSION = 20, 0.5
"""Best results that are taken to show the words, and what they weigh beside the words."""
LARGE = 20_000
"""In a larger collection that second search takes too long, and is left out."""
NAMED, MARKED = 3.0, 1.0
"""How many pictures that people named, or marked for the query, the table's opinion counts for."""
CLICK = 0.5
"""What a picture that was opened for the query counts beside one that was marked."""
SMOOTH = 1e-2
"""Ridge of the direction of a few pictures."""
FAINT, FIRST = 0.07, 5
"""Where the first so many pictures show less of a word's classes than this, probably none does:
so faint are 1 in 20 of the words that pictures of Corel5k are known to show, and every other one
of 48 words that they are not."""
AGAINST, PATIENCE = 0.3, 4.0
"""How strongly pictures that are not meant push away, and how many it takes."""


class Spoken(NamedTuple):
    """Words as a surrogate, of spread 1 where all are sure, moved towards the best results.

    ``words`` is without that, ``known`` are words of the table that speak, ``named`` those that
    people's own pictures speak for, and how many; ``faint``: one word, and probably nothing shows
    it.
    """

    surrogate: Surrogate
    words: Surrogate
    known: tuple[Known, ...]
    named: Mapping[str, int]
    meanings: Meanings
    faint: bool = False

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


def spoken(
    words: Sequence[tuple[str, Known | None]],
    meanings: Meanings,
    view: View,
    named: Callable[[str], IdArray],
    whole: Surrogate | None = None,
) -> Spoken | None:
    """The sum of the words' directions: the table's times its confidence squared, and own ones.

    ``named`` are items that people named so; ``whole`` is the text as a network of one's own reads
    it, and then the table is not asked.
    """
    told = None if words else whole
    known, counts = [], {}
    for word, entry in words:
        own = None if whole is None else whole * (1 / len(words))
        if whole is None and entry is not None:
            own = meanings.of_columns(entry.columns, entry.weights)
            if own is not None:
                own = own * entry.confidence**2
                known.append(entry)
        ids = named(word)
        ids = ids[places(view.ids, ids) >= 0]
        if 0 < 2 * len(ids) <= len(view):  # what most pictures are called says nothing
            counts[word] = len(ids)
            own = towards(own, view.rows(ids), len(ids) / NAMED, meanings)
        if own is not None:
            told = own if told is None else told + own
    if told is None:
        return None
    if len(view) > LARGE:
        return Spoken(told, told, tuple(known), counts, meanings)
    whole, faint = expanded(told, meanings, view), False
    if len(known) == 1 and not counts and not known[0].is_colour and known[0].confidence > 0:
        only = known[0]
        first = view.search(told, FIRST).scores / only.confidence**2
        worth = meanings.strength(only.columns, only.weights)
        faint = bool(len(first)) and float(first.mean()) * worth < FAINT
    return Spoken(whole, told, tuple(known), counts, meanings, faint)


def towards(
    words: Surrogate | None, codes: Any, count: float, meanings: Meanings, weights: Any = None
) -> Surrogate | None:
    """Words moved towards pictures that show them, the further the more there are."""
    shown = meanings.of_pictures(codes, SMOOTH, weights)
    share = count / (count + 1)
    if shown is None or words is None:
        return words if shown is None else shown * share
    return words * (1 - share) + shown * share


def marked(said: Spoken, view: View, marks: Mapping[int, float]) -> Surrogate:
    """Words with their marks: towards what was meant, away from what was not.

    Where to is told by the difference between the crossed pictures and the best of the others:
    what they share with these is not what is wrong with them.
    """
    meanings = said.meanings
    good = {item: value for item, value in marks.items() if value > 0}
    bad = [item for item, value in marks.items() if value < 0]
    told: Surrogate | None = said.words
    if good:
        weights = np.array(list(good.values()))
        told = towards(told, view.rows(list(good)), weights.sum() / MARKED, meanings, weights)
    assert told is not None
    if bad:
        best = _best(told, view, bad)
        away = meanings.between(view.rows(best), view.rows(bad), SMOOTH) if len(best) else None
        if away is not None:
            size = meanings.spread(np.asarray(told.vector))
            told = told + away * (size * AGAINST * len(bad) / (len(bad) + PATIENCE))
    return expanded(told, meanings, view, bad)


def expanded(
    told: Surrogate, meanings: Meanings, view: View, without: Sequence[int] = ()
) -> Surrogate:
    """With the direction of its best results added: what they share, the words mean."""
    ids = _best(told, view, without)
    shown = meanings.of_pictures(view.rows(ids)) if len(ids) else None
    size = meanings.spread(np.asarray(told.vector))
    return told if shown is None else (told + shown * (EXPANSION * size)) * (1 / (1 + EXPANSION))


def _best(told: Surrogate, view: View, without: Sequence[int]) -> IdArray:
    ids = view.search(told, EXPANDED + len(without)).ids
    return ids[~np.isin(ids, list(without))][:EXPANDED]
