"""Ours beside what others offer a person who judges a few results: one table.

A query searches a photo set in the default space by plain similarity; the person judges the first
1, 5, 10, 25, 50 results, and each peer answers again from the query and those judgements; judged
pictures are taken out of what is measured.  ``map``, ``p1`` and ``p10`` are means over the queries,
``worse`` the share of queries with a lower average precision than plain search, ``ms`` the
milliseconds of CPU that making the new query (or, for ``best score``, the scores) takes.

plain
    no judgement is used
rocchio
    q + b mean(right) - c mean(wrong)
average vector
    Qdrant's recommend: twice the mean of the query and the right ones, less the mean of the wrong
best score
    Qdrant's other one: a picture scores by its most similar example, squared and negated where
    that is a wrong one; no single vector does this
relevance feedback
    Qdrant 1.17's formula for yes and no: a sim(q) + c times the sum, over pairs of a right and a
    wrong one, of sim(right) - sim(wrong); where all are of one kind there is no pair
svm
    a linear machine on the judgements, with a hundred random pictures as weaker negatives
seesaw
    the update of SeeSaw (Moll et al., 2023) without its text: a logistic loss on the judgements,
    pulled to the query's own vector
ours
    as served, with the settings that are served (they were chosen on CIFAR-10)
ours, chosen
    with six settings to choose among, as the peers have them

Every peer with settings chooses among six by the average precision of 60 other queries of the same
set, drawn by the seed; 120 others are measured.  Three seeds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.svm import LinearSVC

from experiments.kept import keep_features
from experiments.marks import ROCCHIO, Bench, Marked, mean_difference, moved
from experiments.photo_features import photos
from experiments.photo_tasks import Task, photo_task
from experiments.report import Report, run
from likewise.collection.lines.defaults import SPECS, WEIGHTS
from likewise.features import DEFAULT
from likewise.learners import Plain
from likewise.learners.marks import MarkSettings
from likewise.spaces import Blocks

SETS = ("corel5k", "cifar10", "flickr8k")
JUDGED = (1, 5, 10, 25, 50)
SEEDS, CHOOSING, REPORTED = 3, 60, 120
PULLS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)
PRICES = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)
PAIRED = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
OURS = (
    MarkSettings(),
    MarkSettings(whiten=0.0),
    MarkSettings(whiten=0.4),
    MarkSettings(negatives=0.8),
    MarkSettings(negatives=3.0),
    MarkSettings(expand_weight=0.0),
)
"""What is served, and one setting of it changed at a time."""
RANDOM, WEAK = 100, 0.1

Floats = NDArray[np.floating[Any]]
Scores = Callable[[Bench, int, Marked], Floats]


def linear(method: Callable[[Marked], Floats]) -> Scores:
    """A method that gives a vector, as scores of all pictures."""
    return lambda bench, row, m: method(m) @ bench.items.T


def best_score(bench: Bench, row: int, m: Marked) -> Floats:
    """By the most similar example."""
    right: Floats = (np.vstack([m.query[None], m.good]) @ bench.items.T).max(axis=0)
    if not len(m.bad):
        return right
    wrong = (m.bad @ bench.items.T).max(axis=0)
    out: Floats = np.where(right > wrong, right, -np.square(wrong))
    return out


def feedback(c: float) -> Callable[[Marked], Floats]:
    """Pairs of right and wrong ones."""

    def vector(m: Marked) -> Floats:
        pairs = len(m.good) * len(m.bad)
        if not pairs:
            return m.query
        gap: Floats = pairs * (m.good.mean(axis=0) - m.bad.mean(axis=0))
        return m.query + c * gap

    return vector


def machine(C: float) -> Scores:
    """A linear SVM with random negatives."""

    def scores(bench: Bench, row: int, m: Marked) -> Floats:
        drawn = np.random.default_rng(row).choice(len(bench.items), RANDOM, replace=False)
        others = bench.items[np.setdiff1d(drawn, bench.top[row])]
        x = np.vstack([m.query[None], m.good, m.bad, others])
        right = np.arange(len(x)) <= len(m.good)
        weight = np.where(np.arange(len(x)) < len(x) - len(others), 1.0, WEAK)
        fitted = LinearSVC(C=C, max_iter=5_000).fit(x, right, sample_weight=weight)
        out: Floats = fitted.coef_[0] @ bench.items.T
        return out

    return scores


def pulled(strength: float) -> Callable[[Marked], Floats]:
    """A logistic loss with a pull to the query."""

    def vector(m: Marked) -> Floats:
        x = np.vstack([m.good, m.bad])
        if not len(x):
            return m.query
        sign = np.where(np.arange(len(x)) < len(m.good), 1.0, -1.0)
        size = float(np.linalg.norm(m.query)) or 1.0

        def loss(w: Floats) -> tuple[float, Floats]:
            margin = sign * (x @ w) / size**2
            gap = w - m.query
            value = np.logaddexp(0, -margin).sum() + 0.5 * strength * gap @ gap / size**2
            slope = (-(sign * expit(-margin)) @ x + strength * gap) / size**2
            return float(value), slope

        found: Floats = minimize(loss, m.query, jac=True, method="L-BFGS-B").x
        return found

    return vector


PEERS: dict[str, list[Scores]] = {
    "plain": [linear(lambda m: m.query)],
    "rocchio": [linear(moved(*pair)) for pair in ROCCHIO],
    "average vector": [linear(mean_difference)],
    "best score": [best_score],
    "relevance feedback": [linear(feedback(c)) for c in PAIRED],
    "svm": [machine(C) for C in PRICES],
    "seesaw": [linear(pulled(strength)) for strength in PULLS],
}


def answered(bench: Bench, method: Scores, rows: Sequence[int]) -> tuple[dict[str, Floats], float]:
    """Measures of some queries, and milliseconds per query."""
    task, out, spent = bench.task, [], 0.0
    for row in rows:
        top, good = bench.top[row], task.relevant[row, bench.top[row]]
        query = task.queries[row] * bench.root
        marked = Marked(query, bench.items[top[good]], bench.items[top[~good]])
        began = time.process_time()
        out.append(method(bench, row, marked))
        spent += time.process_time() - began
    return bench.measures(np.array(out), np.asarray(rows)), 1000 * spent / len(rows)


def task_of(name: str, report: Report) -> Task:
    """The task of a set, or of the first pictures of CIFAR-10's test part."""
    count = report.settings.get("pictures")
    if not count or name != "cifar10" or report.quick:
        return photo_task(name, report)
    data = photos(name, report)
    features = keep_features(f"cifar10-test-{count}", data.pictures[:count], DEFAULT, report)
    labels = data.labels[:count]
    asked = np.arange(count) < count // 10
    space = Blocks.fit({b: f[~asked] for b, f in features.items()}, {b: SPECS[b] for b in features})
    x = space.transform(features).astype(np.float64)
    plain = Plain(space, {block: WEIGHTS[block] for block in features})
    relevant = labels[asked][:, None] == labels[~asked][None, :]
    return Task(name, plain, x[asked], x[~asked], relevant, labels[~asked])


def main(report: Report) -> None:
    sets = report.settings.get("sets") or (SETS[:1] if report.quick else SETS)
    seeds = 1 if report.quick else SEEDS
    choosing, reported = (6, 12) if report.quick else (CHOOSING, REPORTED)
    for name in sets:
        task = task_of(name, report)
        for judged in JUDGED[1:3] if report.quick else report.settings.get("judged") or JUDGED:
            bench = Bench(task, task, judged)
            found: dict[str, list[dict[str, float]]] = {}
            for seed in range(seeds):
                order = np.random.default_rng(seed).permutation(len(task.queries))
                tuning, held = order[:choosing], order[choosing : choosing + reported]
                plain, _ = answered(bench, PEERS["plain"][0], held.tolist())
                for peer, settings in PEERS.items():
                    if len(settings) > 1:
                        tried = [answered(bench, one, tuning.tolist())[0] for one in settings]
                        best = int(np.argmax([np.nanmean(t["residual_map"]) for t in tried]))
                    else:
                        best = 0
                    values, ms = answered(bench, settings[best], held.tolist())
                    found.setdefault(peer, []).append(told(values, plain, ms))
                tried = [bench.measures(bench.ours(one, tuning), tuning) for one in OURS]
                best = int(np.argmax([np.nanmean(t["residual_map"]) for t in tried]))
                for name, one in (("ours", OURS[0]), ("ours, chosen", OURS[best])):
                    began = time.process_time()
                    scores = bench.ours(one, held)
                    ms = 1000 * (time.process_time() - began) / len(held)
                    values = bench.measures(scores, held)
                    found.setdefault(name, []).append(told(values, plain, ms))
            for peer, runs in found.items():
                report.row(
                    data="planted" if report.quick else name,
                    judged=judged,
                    method=peer,
                    tried=len(OURS) if peer == "ours, chosen" else len(PEERS.get(peer, [None])),
                    **{key: float(np.mean([one[key] for one in runs])) for key in runs[0]},
                )


def told(values: dict[str, Floats], plain: dict[str, Floats], ms: float) -> dict[str, float]:
    """One run in numbers."""
    ap, before = values["residual_map"], plain["residual_map"]
    known = ~(np.isnan(ap) | np.isnan(before))
    return {
        "map": float(np.nanmean(ap)),
        "p1": float(np.nanmean(values["p1"])),
        "p10": float(np.nanmean(values["p10"])),
        "worse": float((ap[known] < before[known] - 1e-12).mean()),
        "ms": ms,
    }


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=SETS, help="some of the photo sets")
    parser.add_argument("--judged", type=int, nargs="+", help="numbers of judgements")
    parser.add_argument("--pictures", type=int, help="of CIFAR-10 (default: 10,000)")


if __name__ == "__main__":
    run("peers", main, __doc__, options=_options)
