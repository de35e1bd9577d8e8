"""Same-object search as a person teaches it: marks on results, a table from them, geometry.

TMBuD among half of Flickr8k and Corel5k, ten splits as in ``experiments.qin_buildings``; plain is
idf^2 times the root of both counts.  On one half of the buildings a person asks with 20 or 100
pictures and marks the first 20 results; the table that a collection learns from these marks is
measured on the other half: ``map`` and ``p1`` of every picture of a building, with distractors.
Pictures have 400 places, as in a collection.

as served
    the defaults: n = 3, C = 1, as many preferences against random pictures
n and C chosen
    on held-out queries; so in all rows that follow
tau of roots, tau folded in
    other normalisers of a document
hard ones mined
    as many preferences against unmarked results at places 21 to 100, which nobody called wrong
judged only
    no random pictures

``--geometry`` instead: the first 20, 50 or 100 results of plain search are put into the order of
the places that agree on one view change.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.building_words import DISTRACTORS, LOADERS, distractors, first_of
from experiments.qin_buildings import (
    LEVELS,
    Matrix,
    Scorer,
    Set,
    average_precision,
    data,
    halves,
    idf,
)
from experiments.references import label_pairs
from experiments.report import Report, run
from likewise.collection.lines.objects import CHANCE
from likewise.features.geometry import inliers
from likewise.features.local import local_features
from likewise.learners.own_settings import WordTableSettings
from likewise.learners.word_table import WordTable
from likewise.learners.word_table_learner import WordTableLearner
from likewise.spaces import Words
from likewise.types import Preferences

SPLITS, QUERIES, MARKED, DEEP = 10, (20, 100), 20, 100
CHECKED, ASKED, PLACES = (20, 50, 100), 60, 400
USUAL = WordTableSettings()
Ints = NDArray[np.int64]


def main(report: Report) -> None:
    words = report.settings.get("words") or (200 if report.quick else 20_000)
    whole = data(words, report, PLACES)
    splits = report.settings.get("splits") or (1 if report.quick else SPLITS)
    if report.settings.get("geometry"):
        geometry(report, whole, words, splits)
        return
    found: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for split in range(splits):
        rng = np.random.default_rng([report.seed, split])
        train, test = halves(whole, rng)
        weights = idf(train.counts)
        space, folded = Words(weights, levels=LEVELS), Words(weights, levels=LEVELS, tau="one")
        plain = WordTable.by_counts(space)
        roots = Words(weights, levels=LEVELS, tau="root-idf")
        for name, table in (
            ("plain", plain),
            ("plain, tau of roots", WordTable.by_counts(roots)),
            ("binary idf", WordTable.binary_idf(space)),
        ):
            found.setdefault((0, name), []).append(judged(table, test))
        for count in (10,) if report.quick else QUERIES:
            asked = rng.permutation(train.queries)[:count]
            top = results(plain, train, asked)
            for name, table in tables(train, asked, top, space, roots, folded, split):
                found.setdefault((count, name), []).append(judged(table, test))
        for (count, name), values in found.items():
            report.say(f"split {split + 1}: {count} {name} {values[-1][0]:.4f} {values[-1][1]:.4f}")
    served = {count: v for (count, name), v in found.items() if name == "as served"}
    for (count, name), values in found.items():
        ahead = None
        if count in served:
            ahead = sum(a[0] > b[0] for a, b in zip(served[count], values))
        report.row(
            method=name, words=words, queries=count, splits=splits,
            map=float(np.mean([v[0] for v in values])), p1=float(np.mean([v[1] for v in values])),
            ahead=ahead,
        )  # fmt: skip


def tables(
    train: Set, asked: Ints, top: Ints, space: Words, roots: Words, folded: Words, seed: int
) -> Any:
    """Tables of each way of learning from the same marks."""
    marked, left = top[:, :MARKED], top[:, MARKED:]
    good = train.labels[marked] == train.labels[asked][:, None]
    hits = label_pairs(np.repeat(np.arange(len(asked)), MARKED), marked, good)
    rng = np.random.default_rng(seed)
    other, hard = Preferences.of([], [], []), Preferences.of([], [], [])
    for number, (row, own, right, rest) in enumerate(zip(asked, marked, good, left)):
        if not right.any():
            continue
        count = max(8, int((hits.query == number).sum()))
        drawn = rng.integers(0, train.counts.shape[0], count)
        drawn = drawn[~np.isin(drawn, [*own[right], row])]
        other = joined(other, number, rng.choice(own[right], len(drawn)), drawn)
        hard = joined(hard, number, rng.choice(own[right], count), rng.choice(rest, count))

    def learned(said: Preferences, place: Words = space, **settings: Any) -> WordTable:
        told = {"n": USUAL.n, "C": USUAL.C, **settings}
        learner = WordTableLearner(WordTable.by_counts(place), seed=seed, **told)
        similarity: WordTable = learner.fit(train.counts, said, train.counts[asked]).similarity_
        return similarity

    both = merged(hits, other)
    yield "as served", learned(both)
    chosen: dict[str, Any] = {"n": None, "C": None}
    yield "n and C chosen", learned(both, **chosen)
    yield "tau of roots", learned(both, roots, **chosen)
    yield "tau folded in", learned(both, folded, **chosen)
    yield "hard ones mined", learned(merged(both, hard), **chosen)
    yield "judged only", learned(hits, **chosen)


def joined(said: Preferences, query: int, better: Ints, worse: Ints) -> Preferences:
    return merged(said, Preferences.of(np.full(len(worse), query), better, worse))


def merged(a: Preferences, b: Preferences) -> Preferences:
    return Preferences.of(
        np.r_[a.query, b.query], np.r_[a.better, b.better], np.r_[a.worse, b.worse]
    )


def results(table: WordTable, place: Set, asked: Ints) -> Ints:
    """Rows of the first results of each query, itself left out."""
    scores = Scorer(table)(place.counts[asked], place.counts)
    scores[np.arange(len(asked)), asked] = -np.inf
    return np.argsort(-scores, axis=1, kind="stable")[:, :DEEP]


def judged(table: WordTable, place: Set) -> tuple[float, float]:
    scores = Scorer(table)(place.counts[place.queries], place.counts)
    return average_precision(scores, place.labels, place.queries)


# -- geometry ------------------------------------------------------------------------


def geometry(report: Report, whole: Set, words: int, splits: int) -> None:
    """Gain of putting the first results in the order of agreeing places."""
    features = places(report)
    numbers = np.arange(len(whole.labels))
    found: dict[int, list[tuple[float, float]]] = {}
    for split in range(splits):
        rng = np.random.default_rng([report.seed, split])
        side = rng.permutation(whole.labels.max() + 1) % 2
        others = rng.permutation(np.arange(len(whole.labels)) % 2)
        mine = np.where(whole.labels >= 0, side[whole.labels], others)
        rows = numbers[mine == 1]
        test, weights = whole.take(rows), idf(whole.take(numbers[mine == 0]).counts)
        plain = WordTable.by_counts(Words(weights, levels=LEVELS))
        asked = rng.permutation(test.queries)[: 8 if report.quick else ASKED]
        scores = Scorer(plain)(test.counts[asked], test.counts)
        found.setdefault(0, []).append(average_precision(scores, test.labels, asked))
        top = results(plain, test, asked)
        agree = np.array(
            [[inliers(features(rows[q]), features(rows[r])) for r in own]
             for q, own in zip(asked, top)]
        )  # fmt: skip
        for count in CHECKED:
            found.setdefault(count, []).append(
                average_precision(reordered(scores, top, agree, count), test.labels, asked)
            )
        for count, values in found.items():
            report.say(f"split {split + 1}: {count} {values[-1][0]:.4f} {values[-1][1]:.4f}")
    for count, values in found.items():
        report.row(
            method=f"first {count} by geometry" if count else "plain", words=words, splits=splits,
            map=float(np.mean([v[0] for v in values])), p1=float(np.mean([v[1] for v in values])),
            ahead=sum(v[0] > p[0] for v, p in zip(values, found[0])),
        )  # fmt: skip


def reordered(scores: Matrix, top: Ints, agree: Ints, count: int) -> Matrix:
    """Scores with the first results in the order of places that agree, chance left alone."""
    out = scores.copy()
    for row, own, many in zip(out, top[:, :count], agree[:, :count]):
        said = np.where(many >= CHANCE, many, 0)
        order = np.argsort(-said, kind="stable")
        row[own[order]] = row[own[0]] + np.arange(len(own), 0, -1)
    return out


def places(report: Report) -> Callable[[int], Any]:
    """Local features of the pictures of all sets, computed when they are asked for."""
    known: dict[int, Any] = {}
    if report.quick:
        from likewise.datasets import swatches

        drawn = swatches(124, size=96, seed=report.seed).render_all(jobs=1)
        every: list[Any] = [drawn]
    else:
        sets = ("tmbud", *distractors(report))
        every = [LOADERS[name]().pictures[: first_of(name, report)] for name in sets]
    starts = np.cumsum([0, *(len(part) for part in every)])

    def features(row: int) -> Any:
        if row not in known:
            part = int(np.searchsorted(starts, row, side="right")) - 1
            known[row] = local_features(every[part][int(row - starts[part])], PLACES)
        return known[row]

    return features


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--words", type=int, help="size of the vocabulary (default: 20,000)")
    parser.add_argument("--splits", type=int, help=f"how many splits (default: {SPLITS})")
    parser.add_argument("--some", type=int, nargs=2, help="first so many of TMBuD, of the others")
    parser.add_argument("--distractors", nargs="+", choices=DISTRACTORS, help="some of the sets")
    parser.add_argument("--geometry", action="store_true", help="the order by places that agree")


if __name__ == "__main__":
    run("qin_marks", main, __doc__, options=options)
