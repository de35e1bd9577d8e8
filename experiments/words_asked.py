"""The first words that a person types, on Corel5k and Flickr8k in one folder without their text.

A picture is right for a word if a keyword (Corel5k) or two of five captions (Flickr8k) name it,
stemmed; for two words, if both are named.  ``right20`` is how many of the first 20 results are,
``after`` how many once the first three wrong ones were crossed out (✗), ``meant`` how many there
are.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import snowballstemmer

from experiments.photo_features import photo_features
from experiments.report import Report, run
from experiments.sets import load_corel5k, load_flickr8k
from experiments.words_uncaptioned import Array, Task, collected, toy
from likewise.collection import Collection
from likewise.features.text import split_words

ASKED = (
    "beach", "bus", "horses", "elephants", "flower", "red flower", "food", "people", "mountains",
    "building", "red bus", "dog", "car", "snow",
)  # fmt: skip
FIRST, CROSSED = 20, 3


def both(report: Report) -> tuple[Task, list[set[str]]]:
    """All pictures, and the stems that are named for each."""
    stem = snowballstemmer.stemmer("english").stemWord
    corel, flickr = load_corel5k(), load_flickr8k()
    named = [{stem(word) for word in own} for own in corel.keywords]
    for captions in flickr.captions:
        counts: Counter[str] = Counter()
        for caption in captions:
            counts.update({stem(word) for word in split_words(caption)})
        named.append({word for word, n in counts.items() if n > 1})
    sets = [photo_features(name, report) for name in ("corel5k", "flickr8k")]
    features = {block: np.concatenate([one[block] for one in sets]) for block in sets[0]}
    empty = np.zeros((0, len(named)), bool)
    return Task("both", features, [], empty, [""] * len(named), len(named)), named


def main(report: Report) -> None:
    stem = snowballstemmer.stemmer("english").stemWord
    if report.quick:
        task = toy(report)
        named = [{stem(word) for word in caption.split()} for caption in task.captions]
    else:
        task, named = both(report)
    with tempfile.TemporaryDirectory() as place, collected(Path(place), task) as collection:
        for text in ASKED:
            words = {stem(word) for word in split_words(text)}
            meant = np.array([words <= own for own in named])
            ask(report, collection, text, meant, np.array(["eleph" in own for own in named]))


def ask(report: Report, collection: Collection, text: str, meant: Array, elephants: Array) -> None:
    query = collection.query(text=text)
    found = [int(path[:6]) for path in collection.ask(query, k=FIRST).paths]
    wrong = [at for at in found if not meant[at]][:CROSSED]
    if wrong:
        collection.mark(query, [f"{at:06d}.jpg" for at in wrong], False)
    again = [int(path[:6]) for path in collection.ask(query, k=FIRST).paths]
    report.row(
        text=text, found=len(found), right20=int(meant[found].sum()), crossed=len(wrong),
        after=int(meant[again].sum()), elephants=int(elephants[found].sum()),
        meant=int(meant.sum()),
    )  # fmt: skip


if __name__ == "__main__":
    run("words_asked", main, __doc__)
