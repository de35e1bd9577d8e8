"""Your earlier teaching, offered: does the right chip appear, and does it help?

A person taught 10, 20, 50 or 100 queries by marking the first ten results of each, as ordinary
searching goes.  Fresh queries are offered at most three of them.  A chip fits when its taught
query has the class of the fresh one (Flickr8k: captions share two content words).

    python -m experiments.offered --json results/offered.json

Rows: ``offered``, the share of fresh queries with a chip; ``fit``, the share of those with a
fitting one; ``recall``, of the queries whose class was taught, the share that is offered a fitting
one; ``right20_before`` and ``right20``, right ones among the first 20 where a fitting chip is
taken, marked pictures removed; ``worse``, the share of those with fewer; ``agree``, of the chip's
right pictures the share that is right for the fresh query too (1 where the set has classes);
``p50_ms`` of offering.
Rows with ``least`` are the curve of fit over recall.  ``nearest`` is a threshold on the cosine to
the nearest member, at the same share of queries with a chip.  ``refused``: the same after 200 other
queries whose person took what fitted and dismissed the rest.

Settings (:class:`likewise.learners.offers.OfferSettings`) were fitted on CIFAR-10 and Flickr8k,
the thresholds chosen on pictures of Corel5k's training part as queries.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.photo_features import photo_features, photos
from experiments.photo_tasks import Task, content_words, photo_task
from experiments.report import Report, run
from experiments.sets import load_flickr8k
from likewise.collection.lines.defaults import SPECS, WEIGHTS
from likewise.collection.teach.offers import RECENT, USED, USED_WRONG
from likewise.index.flat import FlatIndex
from likewise.learners import Plain
from likewise.learners.marks import Background, MarkedQuery
from likewise.learners.offers import OfferSettings, TaughtGroups, in_common
from likewise.spaces import Blocks

SETS = ("corel5k", "cifar10", "flickr8k")
TAUGHT = (10, 20, 50, 100)
MARKS, FRESH, SEEDS, ANSWERED = 10, 500, 4, 200
CURVE = (1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 3.25, 3.5)


@dataclass(frozen=True, eq=False)
class Group:
    """A taught query: rows of the item matrix."""

    query: int
    good: NDArray[np.int64]
    bad: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sets:
    """A task, and which items are relevant to an item that is taught."""

    task: Task
    relevant: Callable[[int], NDArray[np.bool_]]


def load(name: str, report: Report) -> Sets:
    task = cifar10(report) if name == "cifar10" and not report.quick else photo_task(name, report)
    if task.labels is not None:
        labels = task.labels
        return Sets(task, lambda item: labels == labels[item])
    flickr = load_flickr8k()
    words = content_words(flickr.captions)[flickr.split != "test"]
    return Sets(task, lambda item: (words @ words[[item]].T).toarray().ravel() >= 2)


def cifar10(report: Report) -> Task:
    """A tenth of the test part as queries, the rest as items."""
    labels, features = photos("cifar10", report).labels, photo_features("cifar10", report)
    test = np.random.default_rng(0).permutation(len(labels)) < len(labels) // 10
    items = {block: rows[~test] for block, rows in features.items()}
    space = Blocks.fit(items, {block: SPECS[block] for block in features})
    x = space.transform(features).astype(np.float64)
    plain = Plain(space, {block: WEIGHTS[block] for block in features})
    relevant = labels[test][:, None] == labels[~test][None, :]
    return Task("cifar10", plain, x[test], x[~test], relevant, labels[~test])


class Bench:
    """One set: teaching, offering and taking over its items."""

    def __init__(self, sets: Sets) -> None:
        self.sets, self.task = sets, sets.task
        task = self.task
        self.index = FlatIndex.build(task.items, space=task.space.fingerprint)
        self.background = Background.of(task.items, task.plain.w0)
        self.taught: Any = task.plain

    def teach(self, count: int, seed: int) -> list[Group]:
        """Queries at random, their first results marked."""
        rng, task, groups = np.random.default_rng([seed, count]), self.task, []
        for query in rng.choice(len(task.items), count, replace=False).tolist():
            hits = self.index.search(task.plain.surrogate(task.items[query]), MARKS + 1).ids
            top = hits[hits != query][:MARKS]
            right = self.sets.relevant(query)[top]
            groups.append(Group(query, top[right], top[~right]))
        sides: Any = [
            ([group.query, *group.good], group.bad) for group in groups if len(group.good)
        ]
        self.taught = in_common(task.plain, task.items, sides[-RECENT:]) if sides else task.plain
        return groups

    def kept(self, groups: list[Group], settings: OfferSettings) -> TaughtGroups:
        """The groups, as the product keeps them."""
        x = self.task.items
        step = max(1, len(x) // 1000)
        kept = TaughtGroups(x[::step], self.task.plain, settings)
        self.fill(kept, groups)
        kept.learn()
        return kept

    def fill(self, kept: TaughtGroups, groups: list[Group]) -> None:
        """Put the groups in, without answers."""
        x = self.task.items
        for number, group in enumerate(groups):
            kept.put(str(number), x[[group.query, *group.good]], x[group.bad])

    def right20(self, row: int, group: Group | None, without: NDArray[np.int64]) -> int:
        """Right ones among the first 20 for a fresh query, with a chip taken or none."""
        task, query = self.task, self.task.queries[row]
        surrogate = task.plain.surrogate(query)
        if group is not None:
            rows = np.array([group.query, *group.good, *group.bad])
            grades = np.repeat([USED, -USED_WRONG], [1 + len(group.good), len(group.bad)])
            surrogate = MarkedQuery(self.taught, self.background).graded(
                query, task.items[rows], grades, index=self.index,
                codes=lambda ids: task.items[ids], marked_ids=rows,
            )  # fmt: skip
        hits = self.index.search(surrogate, 20 + len(without)).ids
        return int(task.relevant[row, hits[~np.isin(hits, without)][:20]].sum())


def fresh(task: Task, seed: int) -> tuple[Any, Any]:
    """Queries that are measured, and others whose person answers chips beforehand."""
    order = np.random.default_rng([seed, 7]).permutation(len(task.queries))
    answered = order[: min(ANSWERED, len(order) // 3)]
    return np.setdiff1d(order, answered)[:FRESH], answered


def measured(
    bench: Bench, groups: list[Group], rows: Any, offer: Callable[[int], list[int]], take: bool
) -> dict[str, list[float]]:
    """What became of each fresh query; a person takes the first chip that fits."""
    out: dict[str, list[float]] = {
        name: [] for name in ("offered", "fit", "recall", "agree", "before", "after", "ms")
    }
    for row in rows:
        fits = bench.task.relevant[row, [group.query for group in groups]]
        started = time.perf_counter()
        chips = offer(int(row))
        out["ms"].append(1e3 * (time.perf_counter() - started))
        good = [chip for chip in chips if fits[chip]]
        out["offered"].append(bool(chips))
        if chips:
            out["fit"].append(bool(good))
        if fits.any():
            out["recall"].append(bool(good))
        if good and take:
            group = groups[good[0]]
            seen = np.array([group.query, *group.good, *group.bad])
            if len(group.good):
                out["agree"].append(float(bench.task.relevant[row, group.good].mean()))
            out["before"].append(bench.right20(row, None, seen))
            out["after"].append(bench.right20(row, group, seen))
    return out


def answered(bench: Bench, groups: list[Group], kept: TaughtGroups, rows: Any) -> None:
    """A person takes chips that fit and dismisses the others; the groups learn from it."""
    x, said = bench.task.items, dict[str, list[tuple[float, bool]]]()
    for row in rows:
        for name, likeness in kept.offered(bench.task.queries[row]):
            fits = bool(bench.task.relevant[row, groups[int(name)].query])
            said.setdefault(name, []).append((likeness, fits))
    for name, answers in said.items():
        group = groups[int(name)]
        kept.put(name, x[[group.query, *group.good]], x[group.bad], answers)


def nearest(bench: Bench, groups: list[Group], rows: Any, share: float) -> Callable[..., list[int]]:
    """A threshold on the cosine to the nearest member that offers as often as ours does."""
    root = np.sqrt(bench.task.plain.w0)
    unit = [m / np.linalg.norm(m, axis=1, keepdims=True) for m in (
        bench.task.items[[g.query, *g.good]] * root for g in groups)]  # fmt: skip
    queries = bench.task.queries * root
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    near = np.stack([(queries @ m.T).max(axis=1) for m in unit], axis=1)
    least = np.quantile(near[rows].max(axis=1), 1 - share)

    def offer(row: int) -> list[int]:
        order = np.argsort(-near[row])[:3]
        return [int(chip) for chip in order if near[row, chip] >= least]

    return offer


def main(report: Report) -> None:
    names = report.settings.get("data") or (SETS[:1] if report.quick else SETS)
    for name in [names] if isinstance(names, str) else names:
        bench = Bench(load(name, report))
        data = "planted" if report.quick else name
        for count in TAUGHT[:1] if report.quick else report.settings.get("taught") or TAUGHT:
            found: dict[tuple[str, float], list[dict[str, list[float]]]] = {}
            seeds = 1 if report.quick else report.settings.get("seeds") or SEEDS
            for seed in range(report.seed, report.seed + seeds):
                one(bench, count, seed, found)
            for (method, least), parts in found.items():
                tell(report, data, count, method, least, parts)


def one(bench: Bench, count: int, seed: int, found: dict[tuple[str, float], Any]) -> None:
    """One person: teach, search anew at every threshold, answer chips, search again."""
    groups, (rows, others) = bench.teach(count, seed), fresh(bench.task, seed)
    usual = OfferSettings()

    def with_(kept: TaughtGroups, take: bool = False) -> dict[str, list[float]]:
        queries = bench.task.queries
        offer = lambda row: [int(name) for name, _ in kept.offered(queries[row])]  # noqa: E731
        return measured(bench, groups, rows, offer, take)

    ours = bench.kept(groups, usual)
    first = with_(ours, True)
    found.setdefault(("ours", 0.0), []).append(first)
    rival = nearest(bench, groups, rows, float(np.mean(first["offered"])))
    found.setdefault(("nearest", 0.0), []).append(measured(bench, groups, rows, rival, True))
    answered(bench, groups, ours, others)
    found.setdefault(("refused", 0.0), []).append(with_(ours, True))
    for least in CURVE:
        ours.settings = replace(usual, least=least, known=0.0)
        bench.fill(ours, groups)
        found.setdefault(("ours", least), []).append(with_(ours))


def tell(
    report: Report, data: str, count: int, method: str, least: float, parts: list[Any]
) -> None:
    """The mean over people of each share; pictures over all chips that were taken."""

    def mean(name: str) -> float:
        return float(np.mean([np.mean(p[name]) for p in parts if p[name]] or [np.nan]))

    shares = {name: mean(name) for name in ("offered", "fit", "recall")}
    told = {"data": data, "queries": count, "method": method, **shares}
    if least:
        report.row(**told, least=least)
        return
    before, after = (np.concatenate([p[name] for p in parts]) for name in ("before", "after"))
    if len(before):
        told |= {"right20_before": before.mean(), "right20": after.mean()}
        told |= {"worse": float((after < before).mean()), "agree": mean("agree")}
    report.row(**told, p50_ms=float(np.median(np.concatenate([p["ms"] for p in parts]))))


def _options(parser: Any) -> None:
    parser.add_argument("--data", choices=SETS, help="one set only")
    parser.add_argument("--taught", nargs="+", type=int, help="numbers of taught queries")
    parser.add_argument("--seeds", type=int, help=f"people that are simulated (default: {SEEDS})")


if __name__ == "__main__":
    run("offered", main, __doc__, options=_options)
