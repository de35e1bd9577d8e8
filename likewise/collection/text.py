"""A query's text at work: what a reader makes of it, and full text beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from likewise.collection.lines.line import View
from likewise.features.text import TextVocabulary
from likewise.filters import Among
from likewise.index.flat import FlatIndex
from likewise.store import Store
from likewise.types import Hits, Index, Surrogate

if TYPE_CHECKING:
    from likewise.learners.clicks import Clicks

OFFERED, LONGEST = 2_000, 80
"""Queries and tags to choose suggestions from, and letters of the longest."""


class Read(NamedTuple):
    """What a reader makes of a text; no surrogate where it knows none of the words."""

    surrogate: Surrogate | None
    known: tuple[str, ...]
    unknown: tuple[str, ...]
    title: str = ""
    small: tuple[Index, Surrogate] | None = None
    """A compact index and the text's surrogate there, where that was asked for."""

    def find(self, view: View, k: int, *, among: Among | None = None) -> Hits:
        """The pictures that the words speak for: those of a score above zero."""
        if self.surrogate is None:
            return Hits(np.zeros(0, np.int64), np.zeros(0))
        if self.small is not None:
            hits = self.small[0].search(self.small[1], k, among=among)
        else:
            hits = view.search(self.surrogate, k, among=among)
        keep = hits.scores > 0
        return Hits(hits.ids[keep], hits.scores[keep])

    @property
    def note(self) -> str:
        """One sentence on words that were never learned; empty where all were."""
        if not self.unknown:
            return ""
        some = ", ".join(self.unknown[:5]) + (" ..." if len(self.unknown) > 5 else "")
        return f"Never learned from clicks, so looked up in texts only: {some}."


class Reader:
    """A model learned from clicks together with the vocabulary that reads its texts."""

    def __init__(self, similarity: Clicks, title: str = "") -> None:
        self.similarity, self.title = similarity, title
        self.vocabulary = TextVocabulary.from_arrays(*similarity.vocabulary)

    def read(self, text: str, compact: View | None = None) -> Read:
        """A text as a surrogate of the static index, and of a compact one where asked for."""
        read = self.vocabulary.read(text)
        columns = read.row.indices[read.row.data != 0]
        learned = np.abs(self.similarity.wq[columns]).sum(axis=1) > 0
        words = {self.vocabulary.words[c] for c in columns[learned].tolist()}
        known = tuple(w for w in read.known if w in words)
        unknown = (*read.unknown, *(w for w in read.known if w not in words))
        surrogate = self.similarity.surrogate(read.row) if known else None
        small = None
        if compact is not None and surrogate is not None:
            index = self.index(compact)
            code = np.asarray(read.row @ self.similarity.wq)[0].astype(np.float32)
            small = index, Surrogate(code, space=index.space)
        return Read(surrogate, known, unknown, self.title, small)

    def index(self, view: View) -> Index:
        """All pictures as ``x W_v W'``, in as many dimensions as words and pictures share.

        Scores are those of the static index; made once for a view.
        """
        name = self.similarity.compact(unit=False).space.fingerprint

        def make() -> Index:
            ids, codes = view.all_rows()
            down = (self.similarity.wv @ self.similarity.w.T).astype(np.float32)
            return FlatIndex.build(np.asarray(codes @ down), ids, space=name)

        made: Index = view.once(name, make)
        return made

    def near(self, text: str, others: list[str], k: int) -> list[tuple[str, float]]:
        """Which of other texts ask for alike pictures, the nearest first."""
        if not others:
            return []
        row, rows = self.vocabulary.transform([text]), self.vocabulary.transform(others)
        places, cosines = self.similarity.suggest(row, rows, k)
        found = zip(places.tolist(), cosines.tolist())
        return [(others[place], float(cosine)) for place, cosine in found if cosine > 0]


def suggestions(store: Store, reader: Reader, text: str, k: int) -> list[tuple[str, float]]:
    """Earlier queries and tags that ask for alike pictures, other words than the text's own."""
    own = set(reader.vocabulary.stems(text))
    offered: dict[frozenset[str], str] = {}
    for other in (*store.judgements.texts(OFFERED), *(t for t, _ in store.texts.all_tags(OFFERED))):
        stems = frozenset(reader.vocabulary.stems(other))
        if stems and stems != own and len(other) <= LONGEST:
            offered.setdefault(stems, other)
    return reader.near(text, list(offered.values()), k)


def full_text(
    store: Store, text: str, k: int, read: Read | None, *, among: Among | None = None
) -> Hits:
    """Items whose texts have all the words; or, where none has, one of them.

    One word is not enough where a reader knows them all: it then says more.
    """
    found = store.words.search(text, k, among=among)
    understood = read is not None and read.surrogate is not None and not read.unknown
    if len(found.ids) or understood:
        return found
    return store.words.search(text, k, among=among, any_word=True)
