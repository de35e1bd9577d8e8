"""Constants of teaching that were chosen by hand: half and twice of each, on sets that chose them
and on sets that did not.

    python -m experiments.constants --json results/constants.json

``part``: ``marks`` (MAP of what is left after ten marks; three hundred queries of each set),
``groups`` (MAP of fresh queries after 50 taught ones, with the local part) and ``offers`` (50
taught ones: fit, recall, and right ones of 20 that a taken chip adds).  A row per constant, value
and set; ``constant`` is ``(as served)`` in the first of each set.  Queries of Corel5k are pictures
of its training part, so that no figure of the other tables is looked at here.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from experiments import carry_over, marks, offered
from experiments.photo_tasks import Task, photo_task
from experiments.report import Report, run
from likewise.learners.bilinear_learner import BilinearLearner
from likewise.learners.marks import MarkSettings
from likewise.learners.offers import OfferSettings

SETS = ("corel5k", "cifar10", "flickr8k")
QUERIES = 300
MARKS = ("query", "negatives", "patience", "whiten", "ridge", "expand", "expand_weight",
         "expand_power", "expand_damping")  # fmt: skip
GROUPS = {
    "evidence": (0.05, 0.2), "others": (15, 60), "weight": (0.15, 0.6), "ridge": (0.05, 0.2),
    "exponent": (0.25, 1.0), "prior": (0.25, 1.0), "pull": (0.4, 1.5), "warmth": (0.025, 0.1),
    "reach": (0.4, 0.6), "M": (10, 40),
}  # fmt: skip
OFFERS = {
    "group": (0.19, 0.55), "least": (2.0, 3.0), "slack": (0.5, 2.0), "own": (0.05, 0.2),
}  # fmt: skip
CHIPS = {"USED": (0.15, 0.6), "USED_WRONG": (0.5, 2.0)}


def main(report: Report) -> None:
    sets = SETS[:1] if report.quick else report.settings.get("data") or SETS
    parts = {"marks": of_marks, "groups": of_groups, "offers": of_offers}
    for name in sets:
        task = others(photo_task(name, report), report.seed)
        for part in report.settings.get("part") or parts:
            if part == "marks" or task.labels is not None:  # Flickr8k has no classes
                rows = itertools.islice(parts[part](task), 3 if report.quick else None)
                for constant, value, found in rows:
                    report.row(data=name, part=part, constant=constant, value=value, **found)


def others(task: Task, seed: int) -> Task:
    """Queries that no table reports: items, taken out of what is searched."""
    if task.labels is None:
        rows = np.arange(0, len(task.queries), max(1, len(task.queries) // QUERIES))
        return replace(task, queries=task.queries[rows], relevant=task.relevant[rows])
    asked = np.zeros(len(task.items), bool)
    count = min(QUERIES, len(task.items) // 4)
    asked[np.random.default_rng([seed, 3]).choice(len(task.items), count, replace=False)] = True
    labels = task.labels[~asked]
    relevant = task.labels[asked][:, None] == labels[None]
    return Task(task.name, task.plain, task.items[asked], task.items[~asked], relevant, labels)


Found = Iterator[tuple[str, float | None, dict[str, float]]]


def of_marks(task: Task) -> Found:
    bench, rows = marks.Bench(task, task, 10), np.arange(len(task.queries))

    def measured(settings: MarkSettings) -> dict[str, float]:
        values = bench.measures(bench.ours(settings, rows), rows)
        return {name: float(np.nanmean(values[own])) for name, own in WORDS.items()}

    usual = MarkSettings()
    yield "(as served)", None, measured(usual)
    for name in MARKS:
        kind = type(getattr(usual, name))
        for factor in (0.5, 2.0):
            value = kind(getattr(usual, name) * factor)
            yield name, value, measured(replace(usual, **{name: value}))


WORDS = {"map": "residual_map", "p1": "p1", "p10": "p10"}


def of_groups(task: Task) -> Found:
    labels: Any = task.labels
    person = carry_over.Person(
        task.name, "class", task, lambda rows, shown: labels[shown] == labels[rows][:, None]
    )
    count = min(50, len(task.items) // 4)
    lessons = [carry_over.teach(person, count, 0.0, seed) for seed in (20, 21)]

    def measured(**changed: Any) -> dict[str, float]:
        found = []
        for lesson in lessons:
            learner = BilinearLearner(task.plain, extension="groups+local", **changed)
            learner.fit(task.items, lesson.preferences, marks=lesson.marks(len(task.items)))
            vectors = learner.similarity_.surrogates(task.queries)
            found.append(carry_over.measured(task, vectors))
        return {k: float(np.mean([np.nanmean(own[k]) for own in found])) for k in found[0]}

    yield "(as served)", None, measured()
    for name, values in GROUPS.items():
        for value in values:
            yield name, value, measured(**{name: value})


def of_offers(task: Task) -> Found:
    labels: Any = task.labels
    bench = offered.Bench(offered.Sets(task, lambda item: labels == labels[item]))
    count = min(50, len(task.items) // 4)

    def measured(settings: OfferSettings) -> dict[str, float]:
        parts = []
        for seed in (20, 21):
            groups = bench.teach(count, seed)
            kept = bench.kept(groups, settings)
            parts.append(
                offered.measured(
                    bench, groups, np.arange(len(task.queries)),
                    lambda row: [int(n) for n, _ in kept.offered(task.queries[row])],  # noqa: B023
                    True,
                )
            )  # fmt: skip
        shares = {n: float(np.mean([np.mean(p[n]) for p in parts])) for n in ("fit", "recall")}
        more = [np.subtract(p["after"], p["before"]) for p in parts]
        return shares | {"gain20": float(np.mean(np.concatenate(more)))}

    usual = OfferSettings()
    both = usual.group + usual.member  # what one of the two gains the other one loses
    yield "(as served)", None, measured(usual)
    for name, values in OFFERS.items():
        for value in values:
            changed: Any = {name: value}
            if name == "group":
                changed["member"] = both - value
            yield name, value, measured(replace(usual, **changed))
    for name, values in CHIPS.items():
        served = getattr(offered, name)
        for value in values:
            setattr(offered, name, value)
            yield name, value, measured(usual)
        setattr(offered, name, served)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", choices=SETS, help="some sets (default: all)")
    parser.add_argument("--part", nargs="+", choices=["marks", "groups", "offers"], help="some")


if __name__ == "__main__":
    run("constants", main, __doc__, options=options)
