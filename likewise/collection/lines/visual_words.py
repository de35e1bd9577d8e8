"""Visual words of a collection: vocabulary, words in segments, the inverted file as generations.

Local features are a block of features like any other, read once a picture.  From them a
vocabulary is learned; each picture's words are kept in segments of their own, so that only new
pictures are assigned; the inverted file over them is a line of generations, a cache that is
built anew whenever it does not match.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.intake import LOCAL
from likewise.later import sparse
from likewise.spaces import Words
from likewise.store import Store
from likewise.types import DataProblem, FloatArray, IdArray

if TYPE_CHECKING:
    from likewise.features.words import Vocabulary
    from likewise.learners.word_table import WordTable

NAME = "words"
"""What people call it, and the block, line and slot of the store that hold it."""

LEVELS = 3
PER_WORD = 15
"""A word is learned for every so many local features of the collection ..."""
MOST_WORDS = 100_000
"""... up to this many words."""
GROWTH = 4
"""A vocabulary of fewer than one in this many pictures is learned anew, if no model needs it."""
BATCH = 256


# -- local features --------------------------------------------------------------


def local_features(store: Store, contents: IdArray) -> Iterator[tuple[IdArray, list[Any]]]:
    """Local features of contents, a batch at a time."""
    from likewise.features.local import unpack  # heavy room: only where it is needed

    for start in range(0, len(contents), BATCH):
        part = contents[start : start + BATCH]
        yield part, [unpack(row) for row in store.segments.read(LOCAL, part)]


# -- vocabulary, words, space ----------------------------------------------------


def vocabulary_of(store: Store) -> Vocabulary | None:
    """The vocabulary that pictures are described with, None where none was learned yet."""
    from likewise.features.words import Vocabulary

    name = store.settings.get("vocabulary")
    if name is None:
        return None
    arrays, card = store.spaces.get(name)
    return Vocabulary.from_arrays(arrays, card["settings"])


def space_of(store: Store) -> Words | None:
    """The space of visual words, None where the collection has none."""
    name = store.settings.get("words_space")
    if name is None:
        return None
    arrays, card = store.spaces.get(name)
    space = Words.from_arrays(arrays, card["settings"])
    if space.fingerprint != name:
        raise DataProblem("The stored space of words is damaged; restore a backup, or index again.")
    return space


def ensure_words(store: Store) -> Words | None:
    """Words of every described picture, in a vocabulary that serves; None where there is none."""
    contents = store.segments.contents(LOCAL)
    if not len(contents):
        return None
    vocabulary = vocabulary_of(store)
    if vocabulary is None or _outgrown(store, len(contents)):
        learned = _learn(store, contents)
        if learned is None:
            return None
        vocabulary = learned
        _start_anew(store, vocabulary, len(contents))
    _assign(store, vocabulary, np.setdiff1d(contents, store.segments.contents(NAME)))
    space = space_of(store)
    if space is None or space.vocabulary != vocabulary.fingerprint:
        space = _weigh(store, vocabulary)
    return space


def _outgrown(store: Store, pictures: int) -> bool:
    fitted = int(store.settings.get("vocabulary_pictures", pictures))
    space = store.settings.get("words_space")
    in_use = any(model.space == space for model in store.models.all())
    return not in_use and pictures >= GROWTH * max(fitted, 1)


def _learn(store: Store, contents: IdArray) -> Vocabulary | None:
    """A vocabulary of the collection's own local features; None where no picture has any."""
    from likewise.features.words import Vocabulary

    total = 0
    different: set[bytes] = set()
    for _, pictures in local_features(store, contents):
        total += sum(len(p) for p in pictures)
        if len(different) < PER_WORD * 64:  # only a small collection can lack different ones
            different |= {d.tobytes() for p in pictures for d in p.descriptors}
    if not total:
        return None
    words = min(max(total // PER_WORD, min(64, total)), MOST_WORDS, len(different))
    if len(different) >= PER_WORD * 64:
        words = min(max(total // PER_WORD, 64), MOST_WORDS)
    batches = (p.descriptors for _, some in local_features(store, contents) for p in some)
    return Vocabulary.fit(batches, words)


def _start_anew(store: Store, vocabulary: Vocabulary, pictures: int) -> None:
    """Name another vocabulary; what was assigned with the old one goes."""
    arrays, settings = vocabulary.to_arrays()
    with store.transaction():
        store.spaces.put(
            vocabulary.fingerprint, arrays, {"kind": "vocabulary", "settings": settings}
        )
        store.segments.drop(NAME)
        store.settings.set("vocabulary", vocabulary.fingerprint)
        store.settings.set("vocabulary_pictures", pictures)
        store.settings.set("words_space", None)


def _assign(store: Store, vocabulary: Vocabulary, contents: IdArray) -> None:
    """Words of pictures, strongest place first, 0 where there are no more: a block of its own."""
    for part, pictures in local_features(store, contents):
        rows = np.zeros((len(part), _width(store)), np.float32)
        words = vocabulary.assign(np.concatenate([p.descriptors for p in pictures]))
        at = 0
        for row, picture in zip(rows, pictures):
            row[: len(picture)] = words[at : at + len(picture)] + 1
            at += len(picture)
        store.segments.append(part.tolist(), {NAME: rows})


def _width(store: Store) -> int:
    from likewise.features.local import SIZE

    return (store.segments.blocks()[LOCAL][0] - 2) // (SIZE + 4)


def counts_of(store: Store, contents: IdArray, words: int) -> sparse.csr_array:
    """Histograms of contents, rows in the order given."""
    parts = []
    for start in range(0, len(contents), 8192):
        rows = store.segments.read(NAME, contents[start : start + 8192])
        at, place = np.nonzero(rows)
        values = np.ones(len(at), np.float32)
        columns = rows[at, place].astype(np.int64) - 1
        part = sparse.coo_array((values, (at, columns)), shape=(len(rows), words))
        parts.append(sparse.csr_array(part))
    if not parts:
        return sparse.csr_array((0, words))
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def _weigh(store: Store, vocabulary: Vocabulary) -> Words:
    """The idf of every word over the pictures of now; it stays until the vocabulary changes."""
    counts = counts_of(store, store.segments.contents(NAME), len(vocabulary))
    held = np.bincount(counts.indices, minlength=len(vocabulary))
    idf = np.log(max(counts.shape[0], 1) / np.maximum(held, 1))
    if not idf.any():  # a single picture: every word counts alike
        idf = np.ones(len(vocabulary))
    space = Words(idf, levels=LEVELS, vocabulary=vocabulary.fingerprint)
    arrays, settings = space.to_arrays()
    with store.transaction():
        store.spaces.put(space.fingerprint, arrays, {"kind": space.kind, "settings": settings})
        store.settings.set("words_space", space.fingerprint)
    return space


def weights_shown(table: WordTable) -> list[dict[str, Any]]:
    """What a table says, bin by bin from common words to rare ones, brought to t(1, 1) = 1."""
    order: FloatArray = np.array(
        [table.space.idf[table.bins == b].mean() if (table.bins == b).any() else np.nan
         for b in range(len(table.table))]
    )  # fmt: skip
    scale = float(np.abs(table.table[:, 1:, 1:]).mean()) or 1.0
    return [
        {
            "bin": int(b),
            "words": int((table.bins == b).sum()),
            "idf": float(order[b]),
            "table": (table.table[b] / scale).round(4).tolist(),
        }
        for b in np.argsort(order)
        if np.isfinite(order[b])
    ]
