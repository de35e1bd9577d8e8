"""The first words that a person types, on Corel5k and Flickr8k in one folder without their text.

A picture is right for a word if a keyword (Corel5k) or two of five captions (Flickr8k) name it,
stemmed; for two words, if both are named.  ``right20`` is how many of the first 20 results are,
``after`` how many once the first three wrong ones were crossed out (✗), ``meant`` how many there
are.  ``--words even`` and ``odd`` ask for Corel5k's keywords with an even or odd sum of character
codes that mean 50 or more pictures, of which at least three of the first 20 are wrong, and print
their means: the even ones chose how much a ✗ weighs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import snowballstemmer

from experiments.photo_features import network_option, photo_features
from experiments.report import Report, run
from experiments.sets import load_corel5k, load_flickr8k
from experiments.words_uncaptioned import Array, Task, collected, toy
from likewise.collection import Collection
from likewise.features.text import split_words

ASKED = (
    "beach", "bus", "horses", "elephants", "flower", "red flower", "food", "people", "mountains",
    "building", "red bus", "dog", "car", "snow",
)  # fmt: skip
FIRST, CROSSED, MANY = 20, 3, 50


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
        elephants = np.array(["eleph" in own for own in named])
        for text in asked(report):
            words = {stem(word) for word in split_words(text)}
            meant = np.array([words <= own for own in named])
            if text in ASKED or meant.sum() >= MANY:
                ask(report, collection, text, meant, elephants)
    rows = [row for row in report.rows if row["crossed"] == CROSSED and row["meant"] >= MANY]
    if rows:
        means = {name: float(np.mean([row[name] for row in rows])) for name in ("right20", "after")}
        report.row(text="mean where three were wrong", found=len(rows), **means)


def asked(report: Report) -> list[str]:
    """The words that are asked for."""
    wanted = report.settings.get("words")
    if not wanted or report.quick:
        return list(ASKED)
    every = {word for own in load_corel5k().keywords for word in own}
    return sorted(w for w in every if sum(map(ord, w)) % 2 == (wanted == "odd"))


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


def options(parser: argparse.ArgumentParser) -> None:
    network_option(parser)
    parser.add_argument("--words", choices=["even", "odd"], help="keywords of Corel5k instead")


if __name__ == "__main__":
    run("words_asked", main, __doc__, options=options)
