"""Text to sparse vector: words, stemmed and counted, over a fitted vocabulary.

A query or a caption is cut into words, function words are dropped, the rest is stemmed, and
the 50,000 most frequent stems form the vocabulary.  A text is then a sparse row of
term frequencies.  Only English has stop words and a stemmer by default; a text in another
language or script is cut into words all the same (runs of Chinese, Japanese and Thai
characters, which write no spaces, into overlapping pairs), and never fails.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.later import snowballstemmer, sparse
from likewise.types import BadInput, DataProblem

SIZE = 50_000
"""Words that a vocabulary keeps unless told otherwise."""

MAX_LENGTH = 64
"""Longer words are cut here: they are no words."""

_FUNCTION_WORDS = """
    a about above after again against all also am an and any are aren as at be because been
    before being below between both but by can cannot could couldn d did didn do does doesn
    doing don down during each either few for from further had hadn has hasn have haven having
    he her here hers herself him himself his how i if in into is isn it its itself just ll m
    many may me might more most much must my myself neither no nor not now of off on once one
    only or other others our ours ourselves out over own re s same shall she should shouldn so
    some such t than that the their theirs them themselves then there these they this those
    through to too toward towards under until up upon us ve very was wasn we were weren what
    when where which while who whom whose why will with without won would wouldn you your
    yours yourself yourselves
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English function words: articles, pronouns, prepositions, auxiliaries, and the pieces that
apostrophes leave over."""

_ASCII = re.compile(r"[a-z0-9]+")
_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b")
# Scripts that write no spaces: Thai and its neighbours, kana, Chinese characters.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")


class TextQuery(NamedTuple):
    """What a vocabulary makes of one text: a sparse row of term frequencies, maybe empty.

    ``known`` and ``unknown`` are stems, each once, in order; ``stopped`` words say nothing.
    """

    row: sparse.csr_array
    known: tuple[str, ...]
    unknown: tuple[str, ...]
    stopped: tuple[str, ...]


def split_words(text: str | bytes) -> list[str]:
    """Words of a text in any language: letters, marks and digits, without case.

    Bytes are read as UTF-8; what is not UTF-8 separates words.

    Examples
    --------
    >>> split_words("A dog's red BALL, 3 balls!")
    ['a', 'dog', 'red', 'ball', '3', 'balls']
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="replace")
    if not isinstance(text, str):
        raise BadInput(f"A text must be a string, not {type(text).__name__}.")
    text = _POSSESSIVE.sub("", unicodedata.normalize("NFKC", text).casefold())
    if text.isascii():
        return [word[:MAX_LENGTH] for word in _ASCII.findall(text)]
    # \w leaves out combining marks, without which Hindi or Tamil words fall to pieces.
    spaced = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in text)
    words: list[str] = []
    for word in spaced.split():
        words += _pairs(word) if _UNSPACED.search(word) else [word[:MAX_LENGTH]]
    return words


def _pairs(run: str) -> list[str]:
    """Overlapping pairs of the unspaced runs in a word, and what stands between them."""
    out: list[str] = []
    at = 0
    for match in _UNSPACED.finditer(run):
        if match.start() > at:
            out.append(run[at : match.start()][:MAX_LENGTH])
        piece, at = match.group(), match.end()
        out += [piece[i : i + 2] for i in range(len(piece) - 1)] or [piece]
    return out + ([run[at:][:MAX_LENGTH]] if at < len(run) else [])


class TextVocabulary:
    """The words that count, and how a text becomes a sparse row over them; made by :meth:`fit`.

    ``words`` are stems, the most frequent first.  ``language`` is a Snowball stemmer's, or ``""``
    for none; ``stop_words`` are dropped before.  ``unit`` brings rows to unit length, so that a
    long caption and a short query count alike; else they are plain counts.

    Examples
    --------
    >>> vocabulary = TextVocabulary.fit(["red stripes", "a red dot", "blue stripes"])
    >>> vocabulary.words
    ('red', 'stripe', 'blue', 'dot')
    >>> vocabulary.read("striped red xylophones").unknown
    ('xylophon',)
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        language: str = "english",
        stop_words: Iterable[str] | None = None,
        unit: bool = True,
    ) -> None:
        if language and language not in snowballstemmer.algorithms():
            raise BadInput(
                f"There is no stemmer for {language!r}; use one of "
                f"{', '.join(snowballstemmer.algorithms())}, or '' for none."
            )
        self.words = tuple(words)
        self.language, self.unit = language, unit
        usual = STOP_WORDS if language in ("english", "porter") else ()
        self.stop_words = frozenset(usual if stop_words is None else stop_words)
        self._column = {word: i for i, word in enumerate(self.words)}
        if len(self._column) != len(self.words):
            raise BadInput("A vocabulary names each word once; this one repeats some.")

    @classmethod
    def fit(
        cls,
        texts: Iterable[str | bytes],
        *,
        size: int = SIZE,
        minimum: int = 1,
        language: str = "english",
        stop_words: Iterable[str] | None = None,
        unit: bool = True,
    ) -> TextVocabulary:
        """The ``size`` most frequent stems of some texts that occur at least ``minimum`` times.

        Of equally frequent ones those first in the alphabet are kept.
        """
        if size < 1 or minimum < 1:
            raise BadInput("size and minimum of a vocabulary must be at least 1.")
        empty = cls((), language=language, stop_words=stop_words, unit=unit)
        counts: Counter[str] = Counter()
        for stems in empty._stems(texts):
            counts.update(stems)
        frequent = [(word, n) for word, n in counts.items() if n >= minimum]
        frequent.sort(key=lambda pair: (-pair[1], pair[0]))
        return cls(
            [word for word, _ in frequent[:size]],
            language=language,
            stop_words=empty.stop_words,
            unit=unit,
        )

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """Number of columns of a row, at least one."""
        return max(1, len(self.words))

    @property
    def fingerprint(self) -> str:
        """Hash of the words and of all settings."""
        arrays, settings = self.to_arrays()
        digest = hashlib.sha256(arrays["words"].tobytes())
        digest.update(json.dumps(settings, sort_keys=True).encode())
        return digest.hexdigest()

    def transform(self, texts: Iterable[str | bytes]) -> sparse.csr_array:
        """Sparse rows of term frequencies, one a text; a text without known words is empty."""
        data: list[float] = []
        columns: list[int] = []
        starts = [0]
        for stems in self._stems(texts):
            counts = Counter(self._column[s] for s in stems if s in self._column)
            row = sorted(counts.items())
            length = sum(n * n for _, n in row) ** 0.5 if self.unit else 1.0
            columns += [column for column, _ in row]
            data += [n / length for _, n in row]
            starts.append(len(columns))
        shape = (len(starts) - 1, self.dim)
        places = np.array(columns, np.int32), np.array(starts, np.int32)
        return sparse.csr_array((np.array(data, np.float64), *places), shape=shape)

    def read(self, text: str | bytes) -> TextQuery:
        """One text with what was understood of it and what was not."""
        split = split_words(text)
        stems = list(dict.fromkeys(next(self._stems([text]))))
        return TextQuery(
            self.transform([text]),
            tuple(s for s in stems if s in self._column),
            tuple(s for s in stems if s not in self._column),
            tuple(dict.fromkeys(w for w in split if w in self.stop_words)),
        )

    def stems(self, text: str | bytes) -> list[str]:
        """Content words of a text, stemmed, in order, inside the vocabulary or not."""
        return next(self._stems([text]))

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The words as UTF-8 bytes, one a line, and the settings."""
        text = "\n".join(self.words).encode("utf-8")
        settings = {
            "language": self.language,
            "stop_words": sorted(self.stop_words),
            "unit": self.unit,
            "size": len(self.words),
        }
        return {"words": np.frombuffer(text, dtype=np.uint8).copy()}, settings

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]
    ) -> TextVocabulary:
        """The vocabulary that :meth:`to_arrays` described."""
        text = np.asarray(arrays["words"], dtype=np.uint8).tobytes().decode("utf-8")
        words = text.split("\n") if text else []
        if len(words) != settings["size"]:
            raise DataProblem("A stored vocabulary is damaged; learn from the clicks again.")
        return cls(
            words,
            language=settings["language"],
            stop_words=settings["stop_words"],
            unit=settings["unit"],
        )

    def _stems(self, texts: Iterable[str | bytes]) -> Iterator[list[str]]:
        # A stemmer keeps state while it works: one a call keeps threads apart.
        stemmer = snowballstemmer.stemmer(self.language) if self.language else None

        @cache
        def stem(word: str) -> str:
            return word if stemmer is None else stemmer.stemWord(word) or word

        for text in texts:
            yield [stem(word) for word in split_words(text) if word not in self.stop_words]
