"""Marks at once: does the first mark help, and do twenty help more than simple rivals?

Queries search a photo set in the default space: its ``codes`` as they are, and ``phi``, the same
smoothed by their neighbours, until a query has many marks.  A simulated person marks the first 1,
5, 10, 20 results of plain codes (the same in both, so that rows can be compared) as relevant
or not (Corel5k: same category; Flickr8k: captions share two content words), and the marked items
are taken out of what is measured: ``residual_map``, precision@1 and @10 of what is left.  Half of
the queries choose each rival's settings, out of six where it has any; the other half is reported.
Ours has the settings that are served; ``--choose`` prints what CIFAR-10 makes of others.
``p_value`` is a randomisation test of ours against the row.

    python -m experiments.marks --json results/marks.json

Rivals: plain similarity; Rocchio; twice the mean of the query and the positives less the mean of
the negatives; a linear SVM on the marks; and our own surrogate used only to re-rank the first
100 or 1,000 of plain search.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from experiments.photo_features import network_option
from experiments.photo_tasks import Task, photo_task
from experiments.report import Report, run
from experiments.rivals.rerank import reranked
from experiments.rivals.rocchio import rocchio
from experiments.score_ranking import rank
from likewise.collection.search import MANY_MARKS
from likewise.evaluation import measure, randomisation_test
from likewise.index.flat import FlatIndex
from likewise.learners import Plain
from likewise.learners.marks import SMOOTHED, Background, MarkedQuery, MarkSettings
from likewise.solvers.smoothing import Smoothing, smooth

SETS = ("corel5k", "flickr8k")
MARKS = (1, 5, 10, 20)
RERANKED = (100, 1000)
SPACES = ("codes", "phi")
TRIED = tuple(
    MarkSettings(whiten=whiten, negatives=negatives, expand_weight=weight)
    for whiten in (0.2, 0.3)
    for negatives in (1.7, 2.5)
    for weight in (0.5, 1.0)
)
ROCCHIO = ((0.75, 0.15), (0.75, 0.5), (1.0, 0.15), (1.0, 0.5), (1.0, 1.0), (1.5, 0.5))
SVM = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)

Floats = NDArray[np.floating[Any]]
Measures = dict[str, Floats]


@dataclass(frozen=True, eq=False)
class Marked:
    """One query and its marks, in the coordinates in which plain similarity is a dot product."""

    query: Floats
    good: Floats
    bad: Floats


Method = Callable[[Marked], Floats]


def moved(towards: float, away: float) -> Method:
    return lambda m: rocchio(m.query, m.good, m.bad, towards=towards, away=away)


def mean_difference(m: Marked) -> Floats:
    return 2 * _mean(np.vstack([m.query[None], m.good])) - _mean(m.bad)


def svm(C: float) -> Method:
    def vector(m: Marked) -> Floats:
        if not len(m.bad):
            return m.query
        x = np.vstack([m.query[None], m.good, m.bad])
        y = np.arange(len(x)) <= len(m.good)
        found: Floats = SVC(kernel="linear", C=C).fit(x, y).coef_[0]
        return found

    return vector


def _mean(rows: Floats) -> Floats:
    return rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])


class Bench:
    """One task with so many marks a query; ``bare`` is the same before it was smoothed."""

    def __init__(self, task: Task, bare: Task, marks: int) -> None:
        self.task, self.bare, self.marks = task, bare, marks
        self.background = Background.of(bare.items, bare.plain.w0)
        self.root = np.sqrt(task.plain.w0)
        self.items = task.items * self.root
        self.index = FlatIndex.build(task.items, space=task.space.fingerprint)
        self.scores = task.queries * self.root @ self.items.T
        first = bare.queries * bare.plain.w0 @ bare.items.T  # the same marks in both spaces
        self.top = np.argsort(-first, axis=1, kind="stable")[:, :marks]

    def simple(self, method: Method, rows: Any) -> Floats:
        """Scores of a rival for some queries."""
        out = []
        for row in rows:
            top, good = self.top[row], self.task.relevant[row, self.top[row]]
            query = self.task.queries[row] * self.root
            out.append(method(Marked(query, self.items[top[good]], self.items[top[~good]])))
        return np.array(out) @ self.items.T

    def ours(self, settings: MarkSettings, rows: Any) -> Floats:
        """Scores of our surrogate for some queries, through the index as the product has it.

        A query with marks, and what is marked, speak as they are.
        """
        task, bare = self.task, self.bare
        marked = MarkedQuery(task.plain, self.background, settings)
        vectors = []
        for row in rows:
            top, good = self.top[row], task.relevant[row, self.top[row]]
            s = marked.surrogate(
                bare.queries[row],
                bare.items[top[good]],
                bare.items[top[~good]],
                index=self.index,
                codes=lambda ids: task.items[ids],
                marked_ids=top,
            )
            vectors.append(s.vector)
        return np.array(vectors) @ task.items.T

    def measures(self, scores: Floats, rows: Any) -> Measures:
        """Residual measures: what was marked is neither ranked nor relevant."""
        scores, relevant = scores.copy(), self.task.relevant[rows].copy()
        top = self.top[rows]
        np.put_along_axis(scores, top, scores.min() - 1.0, axis=1)
        np.put_along_axis(relevant, top, False, axis=1)
        ranked = rank(scores, relevant)
        names = {"residual_map": "map", "p1": "p1", "p10": "p10"}
        return {name: measure(ranked, own) for name, own in names.items()}


def main(report: Report) -> None:
    counts = MARKS[::2] if report.quick else MARKS
    if report.settings.get("choose"):
        return choose(report, counts)
    for name in SETS[:1] if report.quick else SETS:
        task = photo_task(name, report)
        for space in SPACES:
            for n in counts:
                served = task if space == "codes" or n >= MANY_MARKS else smoothed(task)
                marked_in(report, Bench(served, task, n), space)
    return None


def smoothed(task: Task) -> Task:
    """The same task in smoothed codes."""
    w0 = task.plain.w0
    plain = Plain(task.space.smoothed(Smoothing()), task.plain.weights)
    queries = smooth(task.queries, w0, items=task.items)
    return replace(task, plain=plain, queries=queries, items=smooth(task.items, w0))


def marked_in(report: Report, bench: Bench, space: str) -> None:
    """Every method on one set in one space with so many marks."""
    settings = SMOOTHED if space == "phi" and bench.marks < MANY_MARKS else MarkSettings()
    tuning, held = halves(len(bench.task.queries))
    scores = bench.ours(settings, held)
    found = rivals(bench, tuning, held)
    for depth in RERANKED:
        again = reranked(bench.scores[held], scores, depth)
        found[f"rerank {depth}"] = bench.measures(again, held)
    for label, part in ablations(settings).items() if report.settings.get("parts") else ():
        found[label] = bench.measures(bench.ours(part, held), held)
    found["ours"] = bench.measures(scores, held)
    tell(report, bench.task.name, space, bench.marks, found)


def choose(report: Report, counts: Sequence[int]) -> None:
    """What other settings of ours do on a set that is not reported."""
    task = photo_task("cifar10", report)
    rows = np.arange(1, len(task.queries), 3)  # its classes follow each other in turn
    for space in SPACES:
        served = task if space == "codes" else smoothed(task)
        for n in counts:
            bench = Bench(served, task, n)
            for settings in TRIED:
                values = bench.measures(bench.ours(settings, rows), rows)
                report.row(
                    space=space,
                    marks=n,
                    whiten=settings.whiten,
                    negatives=settings.negatives,
                    expand_weight=settings.expand_weight,
                    **{key: float(np.nanmean(value)) for key, value in values.items()},
                )


def halves(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Queries that choose settings, and queries that are reported."""
    return np.arange(0, count, 2), np.arange(1, count, 2)


def rivals(bench: Bench, tuning: Any, held: Any) -> dict[str, Measures]:
    """Every rival on the held queries, with the settings that suit the tuning ones best."""

    def best(methods: Sequence[Method]) -> Measures:
        if len(methods) > 1:
            tried = [bench.measures(bench.simple(m, tuning), tuning) for m in methods]
            chosen = int(np.argmax([np.nanmean(t["residual_map"]) for t in tried]))
        else:
            chosen = 0
        return bench.measures(bench.simple(methods[chosen], held), held)

    return {
        "plain": best([lambda m: m.query]),
        "rocchio": best([moved(*pair) for pair in ROCCHIO]),
        "mean difference": best([mean_difference]),
        "svm": best([svm(C) for C in SVM]),
    }


def ablations(settings: MarkSettings) -> dict[str, MarkSettings]:
    """What each step adds."""
    means = replace(settings, whiten=0.0, expand=0)
    return {"shrunken means": means, "and whitened": replace(settings, expand=0)}


def tell(report: Report, name: str, space: str, marks: int, found: dict[str, Measures]) -> None:
    data = "planted" if report.quick else name
    mine = found["ours"]["residual_map"]
    for method, values in found.items():
        test = None
        if method != "ours":
            draws = 2000 if report.quick else 100_000
            test = randomisation_test(mine, values["residual_map"], draws=draws, seed=report.seed)
        report.row(
            data=data,
            space=space,
            marks=marks,
            method=method,
            **{key: float(np.nanmean(value)) for key, value in values.items()},
            p_value=None if test is None else test.p_value,
        )


def _options(parser: argparse.ArgumentParser) -> None:
    network_option(parser)
    parser.add_argument("--parts", action="store_true", help="show what each step of ours adds")
    parser.add_argument("--choose", action="store_true", help="try settings of ours on CIFAR-10")


if __name__ == "__main__":
    run("marks", main, __doc__, options=_options)
