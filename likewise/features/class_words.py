"""What words look like, before anybody described a picture: weights over what features tell.

A word of the shipped table has weights over the 1,000 classes of the network; a colour's name has
weights over the 36 colours of the colour block.  Both are columns of one row, so that "red flower"
is two rows.  ``scripts/make_word_table.py`` makes the table from published sources (its head has
the formula; docs/words.md the notices); nothing of these is needed to read it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.features.text import STOP_WORDS, split_words

CLASSES, COLOURS = 1000, 36
COLUMNS = CLASSES + COLOURS
LONGEST = 3
"""Words of the longest phrase that is looked up as a whole."""
MOST = 30
"""Words of a text that are read; a text has rarely more to say."""
VISIBLE = 0.7
"""Confidence from which a word is offered in place of another."""

# Ending -> what may stand in its place: WordNet's rules for nouns and verbs.
ENDINGS = (
    ("ies", "y"), ("ves", "f"), ("men", "man"), ("es", ""), ("s", ""), ("ing", ""), ("ing", "e"),
    ("ed", ""), ("ed", "e"), ("es", "e"),
)  # fmt: skip

COLOUR_NAMES: dict[str, dict[int, float]] = {
    "black": {0: 1.0},
    "grey": {1: 0.2, 2: 0.6, 3: 1.0, 4: 1.0, 5: 0.7},
    "white": {6: 0.5, 7: 1.0},
    "red": {10: 0.7, 11: 1.0},
    "brown": {8: 0.7, 12: 1.0, 14: 1.0, 10: 0.3},
    "orange": {15: 1.0, 13: 0.2},
    "beige": {13: 1.0, 17: 0.4},
    "yellow": {19: 1.0, 17: 0.5, 18: 0.4, 16: 0.1},
    "green": {20: 0.7, 21: 0.7, 22: 1.0, 23: 1.0},
    "turquoise": {24: 0.5, 25: 0.8, 26: 1.0, 27: 1.0},
    "blue": {28: 0.5, 29: 0.7, 30: 1.0, 31: 1.0},
    "purple": {32: 0.7, 34: 1.0, 35: 0.7},
    "pink": {9: 0.8, 33: 1.0, 35: 0.5},
}
"""Weights over the colours of :mod:`likewise.features.colour`."""
COLOUR_BINS = [
    max(COLOUR_NAMES, key=lambda name: COLOUR_NAMES[name].get(at, 0.0)) for at in range(COLOURS)
]
"""The name that each of those colours speaks for most."""
_SAME = {
    "gray": "grey", "silver": "grey", "golden": "yellow", "gold": "yellow", "violet": "purple",
    "magenta": "pink", "cyan": "turquoise", "teal": "turquoise", "crimson": "red",
    "scarlet": "red", "tan": "beige", "maroon": "red",
}  # fmt: skip


class Known(NamedTuple):
    """A word of the table, the columns that speak and how loud.

    ``confidence`` is how near the classes come to the word: 1 where it is one of them.
    """

    word: str
    columns: NDArray[np.int64]
    weights: NDArray[np.float64]
    confidence: float

    @property
    def is_colour(self) -> bool:
        """Whether it is a colour's name."""
        return bool(self.columns[0] >= CLASSES)


class Understanding(NamedTuple):
    """What the table knows of a text: words known and unknown, each once and in order."""

    known: tuple[Known, ...]
    unknown: tuple[str, ...]


class ClassWords:
    """The table; :func:`class_words` reads it once."""

    def __init__(self) -> None:
        with resources.files(__package__).joinpath("class_words.npz").open("rb") as file:
            arrays = np.load(file, allow_pickle=False)
            self.words: list[str] = arrays["words"].tobytes().decode().split("\n")
            forms = arrays["forms"].tobytes().decode().split("\n")
            self._classes, self._weights = arrays["classes"], arrays["weights"]
            self._confidence = arrays["confidence"]
        self._place = {word: at for at, word in enumerate(self.words)}
        self._forms = dict(form.split(" ") for form in forms)

    def find(self, word: str, *, colours: bool = True) -> Known | None:
        """One word or phrase, also in the plural or another form; None where it is unknown.

        Without ``colours``, their names are words like any other.
        """
        for form in self._bases(word):
            colour = COLOUR_NAMES.get(_SAME.get(form, form)) if colours else None
            if colour is not None:
                columns = np.array([CLASSES + at for at in colour])
                return Known(form, columns, np.array(list(colour.values())), 1.0)
            at = self._place.get(form)
            if at is not None:
                weights = self._weights[:, at] / 255.0
                sure = float(self._confidence[at]) / 255.0
                return Known(form, self._classes[:, at].astype(np.int64), weights, sure)
        return None

    def _bases(self, word: str) -> Iterator[str]:
        yield word
        if word in self._forms:
            yield self._forms[word]
        for ending, instead in ENDINGS:
            base = word.removesuffix(ending) + instead
            if word.endswith(ending) and len(base) > 2:
                yield base
                if ending in ("ing", "ed") and len(base) > 3 and base[-1] == base[-2]:
                    yield base[:-1]  # running, stopped

    def read(self, text: str) -> Understanding:
        """The words and phrases of a text, the longest phrases first."""
        words = split_words(text)
        known: dict[str, Known] = {}
        unknown: dict[str, None] = {}
        at = 0
        while at < len(words) and len(known) + len(unknown) < MOST:
            for length in range(LONGEST, 0, -1):
                phrase = " ".join(words[at : at + length])
                if length == 1 and phrase in STOP_WORDS:
                    break
                found = self.find(phrase) if at + length <= len(words) else None
                if found is not None:
                    known[found.word] = found
                    break
                if length == 1:
                    unknown[phrase] = None
            at += length
        return Understanding(tuple(known.values()), tuple(unknown))

    def nearest(self, word: str, most: int = 3) -> list[str]:
        """Words spelt alike that pictures can show, the nearest first."""
        if not re.fullmatch(r"[a-z]{3,32}", word):
            return []
        sure = np.flatnonzero(self._confidence >= 255 * VISIBLE)
        alike = [w for at in sure if abs(len(w := self.words[at]) - len(word)) < 3]
        return difflib.get_close_matches(word, [*COLOUR_NAMES, *alike], n=most, cutoff=0.75)


@lru_cache(maxsize=1)
def class_words() -> ClassWords:
    """The shipped table, read when it is first asked for."""
    return ClassWords()
