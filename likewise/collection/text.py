"""A query's text at work: what a reader makes of it, and full text beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from likewise.collection.lines.line import View
from likewise.collection.lines.look import Look
from likewise.collection.lines.reading import NETWORK, TITLE, Spoken, spoken
from likewise.features.class_words import Known, class_words
from likewise.features.text import TextVocabulary
from likewise.filters import Among
from likewise.index.flat import FlatIndex
from likewise.spaces import fingerprint
from likewise.store import Store
from likewise.types import Hits, IdArray, Index, LikewiseError, Surrogate

if TYPE_CHECKING:
    from likewise.learners.clicks import Clicks

OFFERED, LONGEST = 2_000, 80
"""Queries and tags to choose suggestions from, and letters of the longest."""
SHOWN = 5
"""Words that are not known and are named."""
NEAR = 0.6
"""Confidence of a word below which the classes rarely show it: of Corel5k's even keywords below
this two in three found none of their pictures among the first 20, of those above one in four."""


class Read(NamedTuple):
    """What a reader makes of a text; no surrogate where it knows none of the words.

    ``small`` is a compact index and the text's surrogate there, where asked for; ``spoken`` what
    words of the shipped table were taken for; ``note`` a sentence on what was not understood;
    ``is_written``: a person or a camera wrote one of the words somewhere.
    """

    surrogate: Surrogate | None
    known: tuple[str, ...]
    unknown: tuple[str, ...]
    title: str = ""
    small: tuple[Index, Surrogate] | None = None
    spoken: Spoken | None = None
    note: str = ""
    is_written: bool = True

    @property
    def found_by(self) -> str:
        """What results say that it found."""
        return self.title if self.title in (TITLE, NETWORK) else "learned words"

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


def read(
    store: Store, text: str, view: View, learned: Reader | None, *, compact: bool = False,
    without: IdArray | None = None,
) -> Read:  # fmt: skip
    """A text as a surrogate: by what was learned here, and else by the shipped table.

    Where a learned model knows a word, the table's opinion of it is not asked.  Items ``without``
    which it is read do not count as named by anybody.
    """
    own = Read(None, (), ()) if learned is None else learned.read(text, view if compact else None)
    told = class_words().read(text)
    words: list[tuple[str, Known | None]] = [(known.word, known) for known in told.known]
    # Numbers of files and years are found in texts; what else was called so looks like nothing.
    numbers = dict.fromkeys(w for w in told.unknown if any(map(str.isdigit, w)))
    words += [(word, None) for word in told.unknown if word not in numbers]
    if learned is not None:
        taken = set(own.known)
        words = [(w, k) for w, k in words if not taken.issuperset(learned.vocabulary.stems(w))]

    is_written = store.words.has(" ".join((*(word for word, _ in words), text)))

    def named(word: str) -> IdArray:
        ids = store.words.named(word) if is_written else np.zeros(0, np.int64)
        return ids if without is None else ids[~np.isin(ids, without)]

    line, whole, trouble = view.line, None, ""
    meanings = line.meanings(view) if isinstance(line, Look) else None
    if isinstance(line, Look) and (words or learned is None):
        try:
            whole = line.read(" ".join(w for w, _ in words) if own.known else text, view)
        except LikewiseError as error:
            trouble = f"The words were looked up in texts only: {error}"
    said = None
    if meanings is not None and (words or whole is not None):
        said = spoken(words, meanings, view, named, whole)
    heard = set() if said is None else {k.word for k in said.known} | {*said.named}
    if whole is not None:
        heard |= {w for w, _ in words}
    nowhere = (w for w in [*numbers][:SHOWN] if not len(named(w)))
    unknown = (*(w for w, _ in words if w not in heard), *nowhere)
    deaf = [w for w, entry in words if entry is not None and w not in heard]
    empty = whole is None and not told.known and not told.unknown
    note = trouble or _note(unknown, bool(deaf), empty)
    if said is None:
        return own._replace(unknown=unknown, note=note, is_written=is_written)
    far = [k.word for k in said.known if k.confidence < NEAR and k.word not in said.named]
    if said.faint and not unknown:
        note = f"Probably nothing here shows {said.known[0].word}; what comes nearest is shown."
    elif far and not note:
        some = ", ".join(far[:SHOWN])
        note = f"No class of the network is near {some}; what comes nearest may be far off."
    known = (*own.known, *(w for w, _ in words if w in heard))
    title = NETWORK if whole is not None else TITLE if said.known else "own words"
    if own.surrogate is None:
        return Read(said.surrogate, known, unknown, title, None, said, note, is_written)
    assert meanings is not None
    both = meanings.scaled(own.surrogate) + said.surrogate
    title = f"{own.title} + {title}"
    return Read(both, known, unknown, title, None, said, note, is_written)


def _note(unknown: Sequence[str], deaf: bool, empty: bool) -> str:
    """One sentence on what a text says that nobody understands."""
    if empty:
        return "There is no word in this that a picture could show; name what is to be seen."
    if not unknown:
        return ""
    some = ", ".join(w[:LONGEST] for w in unknown[:SHOWN]) + (
        " ..." if len(unknown) > SHOWN else ""
    )
    if deaf:
        return (
            "This collection was indexed without the network's classes, so what words look like is "
            f"not known, and these were looked up in texts only: {some}."
        )
    near = [w for word in unknown[:SHOWN] for w in class_words().nearest(word, 2)]
    nearest = f" Nearest known: {', '.join(dict.fromkeys(near))}." if near else ""
    return (
        f"Nothing is known of these words, so they were looked up in texts only: {some}.{nearest}"
    )


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
        down = (self.similarity.wv @ self.similarity.w.T).astype(np.float32)
        name = fingerprint("compact", {"down": down}, {"base": view.space})

        def make() -> Index:
            ids, codes = view.all_rows()
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

    One word is not enough where a reader knows them all: it then says more.  Automatic tags
    count only where nobody knows what the words look like: else they have been heard already.
    """
    understood = read is not None and read.surrogate is not None and not read.unknown
    if read is not None and understood and not read.is_written:
        return Hits(np.zeros(0, np.int64), np.zeros(0))
    return store.words.search(
        text, k, among=among, any_word=not understood, automatic=not understood
    )
