"""Photo sets as tasks of a person who marks: queries, items, and what is relevant to what.

Corel5k, CIFAR-10, swatches: the query's category, class or motif.  Flickr8k: the captions of
both share at least two content words (stems of all words that are no function words).
``--quick`` takes planted vectors in three blocks instead, with classes that show in one block
or another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from snowballstemmer import stemmer

from experiments.photo_features import photo_features, photos
from experiments.report import Report
from experiments.sets import load_corel5k, load_flickr8k
from likewise.collection.lines.defaults import SPECS, WEIGHTS
from likewise.learners import Plain
from likewise.spaces import Blocks
from likewise.types import FloatArray

_FUNCTION_WORDS = (
    "a about across after against all along also an and another any are around as at away "
    "back be behind beside being between both but by can do down each for from front has have "
    "having he her hers him himself his in inside into is it its itself just many near next "
    "no not of off on one onto or other others out outside over several she some someone "
    "something that the their them themselves there they this three through to together "
    "toward towards two under up upon very was way were what where which while who whose with "
    "without you your "
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Words that say nothing of what a picture shows."""


@dataclass(frozen=True, eq=False)
class Task:
    """Queries that search items.

    Attributes
    ----------
    queries, items
        Picture vectors, one row each.
    relevant
        Queries x items.
    labels
        Class of each item, where the set has classes.
    """

    name: str
    plain: Plain
    queries: FloatArray
    items: FloatArray
    relevant: NDArray[np.bool_]
    labels: NDArray[np.int64] | None = None

    @property
    def space(self) -> Blocks:
        """The space of the vectors."""
        return self.plain.space


def photo_task(name: str, report: Report) -> Task:
    """The task of a photo set or of swatches; planted vectors where the run is quick.

    Queries of Corel5k and Flickr8k are those of their test parts; of CIFAR-10 and swatches
    the first tenth, searched in the rest by class and by motif.
    """
    if report.quick:
        return planted(name, report.seed)
    features = photo_features(name, report)
    labels = None
    if name == "corel5k":
        corel = load_corel5k()
        test, labels = corel.is_test, corel.labels
        relevant = labels[test][:, None] == labels[~test][None, :]
    elif name != "flickr8k":
        labels = photos(name, report).labels
        test = np.arange(len(labels)) < len(labels) // 10
        relevant = labels[test][:, None] == labels[~test][None, :]
    else:
        flickr = load_flickr8k()
        test = flickr.split == "test"
        words = content_words(flickr.captions)
        relevant = (words[test] @ words[~test].T).toarray() >= 2
    items = {block: rows[~test] for block, rows in features.items()}
    space = Blocks.fit(items, {block: SPECS[block] for block in features})
    x = space.transform(features).astype(np.float64)
    return Task(
        name,
        Plain(space, {block: WEIGHTS[block] for block in features}),
        x[test],
        x[~test],
        relevant,
        None if labels is None else labels[~test],
    )


def content_words(captions: Sequence[Sequence[str]]) -> sparse.csr_array:
    """Pictures x stems: which content words the captions of each picture have."""
    stem, column = stemmer("english"), dict[str, int]()
    rows: list[int] = []
    columns: list[int] = []
    for number, texts in enumerate(captions):
        found = set(re.findall("[a-z]{2,}", " ".join(texts).lower())) - FUNCTION_WORDS
        stems = set(stem.stemWords(sorted(found)))
        columns += [column.setdefault(word, len(column)) for word in sorted(stems)]
        rows += [number] * len(stems)
    shape = (len(captions), len(column))
    return sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)


def planted(name: str, seed: int, items: int = 400, queries: int = 60) -> Task:
    """Twelve classes: each shows in the deep block, half of them in the colour block too."""
    rng = np.random.default_rng([seed, len(name)])
    labels = rng.integers(12, size=items + queries)
    sizes = {"deep": 16, "logits": 12, "colour": 8}
    features: dict[str, Any] = {}
    for block, dim in sizes.items():
        centres = rng.normal(size=(12, dim))
        shows = 1.0 if block == "deep" else (labels % 2)[:, None]
        noise = rng.normal(size=(len(labels), dim)) * np.geomspace(3.0, 0.5, dim)
        features[block] = shows * centres[labels] + noise
    space = Blocks.fit(features, sizes)
    x = space.transform(features)
    asked = np.arange(len(labels)) >= items
    return Task(
        name,
        Plain(space, {block: WEIGHTS[block] for block in sizes}),
        x[asked],
        x[~asked],
        labels[asked][:, None] == labels[~asked][None, :],
        labels[~asked],
    )
