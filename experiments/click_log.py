"""A click log simulated from captions, and the truths it is tested with.

A person types a caption of a picture of the training part and clicks ``CLICKS`` times: each click
goes, with the probability ``NOISE``, to any picture at all; else seven of ten go to the picture
that the caption was written for, and the others to one of the five pictures whose captions share
most content words with it (two at least).  Five more pictures were shown and not clicked.

Grades of pictures for a caption: 3 (excellent) for its own picture, 2 (good) for pictures with a
caption that shares at least three content words with it, 0 for the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from experiments.photo_features import photo_features
from experiments.report import Report
from experiments.sets import load_flickr8k
from likewise.features.text import TextVocabulary
from likewise.judgements import from_clicks
from likewise.spaces import Blocks, BlockSpec
from likewise.types import Preferences

CLICKS, NOISE, OWN, ALIKE, UNCLICKED = 6, 0.1, 0.7, 5, 5
GOOD = 3
Array = NDArray[Any]


class Part(NamedTuple):
    """Some pictures (rows of ``x``) and their captions; ``own[i]`` is the picture of text i."""

    x: Array
    texts: tuple[str, ...]
    own: Array

    @classmethod
    def of(cls, x: Array, captions: list[tuple[str, ...]]) -> Part:
        """From picture vectors and the captions of each."""
        texts = tuple(text for some in captions for text in some)
        return cls(x, texts, np.repeat(np.arange(len(captions)), [len(c) for c in captions]))


class World(NamedTuple):
    """Pictures with captions in three parts, and what people said of test captions.

    ``judged[c, i]`` is the grade of test picture i for ``judged_texts[c]``, NaN where nobody
    was asked.
    """

    space: Blocks
    train: Part
    dev: Part
    test: Part
    judged_texts: tuple[str, ...]
    judged: Array


class Log(NamedTuple):
    """Clicks after the training texts, as columns, and their triplets."""

    query: Array
    item: Array
    times: Array
    triplets: Preferences


def flickr8k(report: Report) -> World:
    """Flickr8k with the network's 1,000 class scores as picture features, as in the paper.

    Crowd judgements: a share of yes of at least 2/3 is excellent (3), of at least 1/3 good (2).
    """
    flickr = load_flickr8k()
    logits = photo_features("flickr8k", report, ("logits",))["logits"]
    rows = {name: np.flatnonzero(flickr.split == name) for name in ("train", "dev", "test")}
    space = Blocks.fit({"logits": logits[rows["train"]]}, {"logits": BlockSpec(logits.shape[1])})
    x = space.transform({"logits": logits}).astype(np.float64)
    parts = {n: Part.of(x[r], [flickr.captions[i] for i in r]) for n, r in rows.items()}
    asked, place = np.unique(flickr.crowd.caption, return_inverse=True)
    column = np.full(len(flickr), -1)
    column[rows["test"]] = np.arange(len(rows["test"]))
    share = flickr.grades(flickr.crowd) + 1e-9
    judged = np.full((len(asked), len(rows["test"])), np.nan)
    judged[place, column[flickr.crowd.picture]] = np.select(
        [share >= 2 / 3, share >= 1 / 3], [3, 2]
    )
    texts = tuple(flickr.captions[c // 5][c % 5] for c in asked)
    return World(space, parts["train"], parts["dev"], parts["test"], texts, judged)


def toy(seed: int) -> World:
    """Invented pictures with three things each, of which captions name two: for quick runs."""
    rng = np.random.default_rng(seed)
    names = [
        f"{a}{b}" for a in ("ka", "lo", "mi", "nu", "po") for b in ("bat", "dog", "fig", "gun")
    ]
    looks = rng.normal(size=(len(names), 40))

    def part(count: int) -> Part:
        things = np.stack([rng.permutation(len(names))[:3] for _ in range(count)])
        x = looks[things].sum(axis=1) + 1.5 * rng.normal(size=(count, 40))
        captions = [
            tuple(" ".join(names[i] for i in rng.permutation(row)) for _ in range(2))
            for row in things
        ]
        return Part.of(x / np.linalg.norm(x, axis=1, keepdims=True), captions)

    train, dev, test = part(240), part(60), part(60)
    grade = truth(test, test, vocabulary_of(train))
    judged = np.where(rng.random(grade.shape) < 0.5, grade, np.nan)
    return World(Blocks.identity({"logits": 40}), train, dev, test, test.texts, judged)


def vocabulary_of(part: Part) -> TextVocabulary:
    """The words of a part's captions."""
    return TextVocabulary.fit(part.texts)


def content(vocabulary: TextVocabulary, texts: tuple[str, ...]) -> sparse.csr_array:
    """Which content words each text has."""
    rows = vocabulary.transform(texts).astype(np.float32)
    rows.data[:] = 1.0
    return rows


def shared(asked: sparse.csr_array, held: sparse.csr_array, own: Array, pictures: int) -> Array:
    """Most content words that a text shares with one caption of each picture."""
    common = (asked @ held.T).toarray()
    out = np.zeros((len(common), pictures), np.float32)
    np.maximum.at(out.T, own, common.T)
    return out


def truth(asked: Part, held: Part, vocabulary: TextVocabulary) -> Array:
    """Grades of ``held``'s pictures for ``asked``'s captions, which are of the same pictures."""
    words = content(vocabulary, asked.texts), content(vocabulary, held.texts)
    grades = np.where(shared(*words, held.own, len(held.x)) >= GOOD, 2.0, 0.0)
    grades[np.arange(len(asked.texts)), asked.own] = 3.0
    return grades


def simulate(part: Part, vocabulary: TextVocabulary, total: int, seed: int) -> Log:
    """The log of one person a caption, and at most ``total`` triplets of it."""
    rng = np.random.default_rng([seed, 8])
    n, pictures = len(part.texts), len(part.x)
    alike = _alike(part, vocabulary, rng)
    query = np.repeat(np.arange(n), CLICKS)
    pick = alike[query, rng.integers(0, ALIKE, len(query))]
    item = np.where((rng.random(len(query)) < OWN) | (pick < 0), part.own[query], pick)
    astray = rng.random(len(query)) < NOISE
    item = np.where(astray, rng.integers(0, pictures, len(query)), item)
    pairs, count = np.unique(np.stack([query, item], axis=1), axis=0, return_counts=True)
    shown = np.repeat(np.arange(n), UNCLICKED), rng.integers(0, pictures, n * UNCLICKED)
    triplets = from_clicks(
        pairs[:, 0], pairs[:, 1], count, candidates=shown, total=total, seed=seed
    )
    return Log(pairs[:, 0], pairs[:, 1], count, triplets)


def _alike(part: Part, vocabulary: TextVocabulary, rng: np.random.Generator) -> Array:
    """For each text the other pictures that share most words with it; -1 for none."""
    words = content(vocabulary, part.texts)
    out = np.full((len(part.texts), ALIKE), -1)
    for at in range(0, len(out), 1_000):
        rows = np.arange(at, min(at + 1_000, len(out)))
        common = (words[rows] @ words.T).toarray()
        common += 0.5 * rng.random(common.shape[1], dtype=np.float32)  # which of equals comes first
        common[part.own[rows][:, None] == part.own] = 0.0
        best = np.argpartition(-common, ALIKE, axis=1)[:, :ALIKE]
        enough = np.take_along_axis(common, best, axis=1) >= 2
        out[rows] = np.where(enough, part.own[best], -1)
    return out


def picture_truth(part: Part, vocabulary: TextVocabulary, seed: int) -> Array:
    """Grades between pictures, as in section 4.3 of the paper.

    Excellent (3): both were clicked for one query.  Good (2): queries of theirs share at least
    two content words.
    """
    log = simulate(part, vocabulary, 1, seed)
    n = len(part.x)
    words = content(vocabulary, part.texts)
    most = np.zeros((n, n), np.float32)
    np.maximum.at(most, part.own, shared(words, words, part.own, n))
    grades = np.where(most >= 2, 2.0, 0.0)
    meant = log.times > 1  # a single click may have gone astray
    clicked = sparse.csr_array(
        (np.ones(meant.sum()), (log.query[meant], log.item[meant])), shape=(len(part.texts), n)
    )
    grades[(clicked.T @ clicked).toarray() > 0] = 3.0
    np.fill_diagonal(grades, 0.0)
    return grades
