"""Constants of the learner from marks that were set by hand, each halved and doubled.

Every constant has three values: half of what is served, what is served, and twice that; the others
stay.  A person marks the first 10 results of 100 pictures (1,000 marks, ``experiments.carry_over``)
and fresh queries are measured, ``groups+local`` on codes.  Where the constants were chosen is in
docs/compare.md; the sets printed here beside that one chose none of them.  ``map`` and ``p1`` are
means over the seeds, ``best`` says which of the three is the best on that set.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from experiments.carry_over import PER_QUERY, Lesson, Person, measured, persons, teach
from experiments.report import Report, run
from likewise.learners.bilinear_learner import BilinearLearner
from likewise.learners.own_settings import BilinearSettings

NAMES = ("M", "warmth", "reach", "pull", "exponent", "ridge", "evidence", "weight", "prior")
SERVED = BilinearSettings()
MARKS = 1_000
SEEDS = 2


def main(report: Report) -> None:
    seeds = 1 if report.quick else report.settings.get("seeds") or SEEDS
    marks = 200 if report.quick else MARKS
    report.settings.setdefault("intent", ["class"])
    for person in persons(report):
        lessons = [teach(person, marks // PER_QUERY, 0.0, report.seed + s) for s in range(seeds)]
        served = reached(person, lessons)
        for name in NAMES:
            usual = getattr(SERVED, name)
            tried = {usual: served}
            for times in (0.5, 2.0):
                number = type(usual)(usual * times)
                tried[number] = reached(person, lessons, **{name: number})
            low, _, high = sorted(tried)
            report.row(
                constant=name, data=person.data, served=float(usual),
                map_half=tried[low][0], map=served[0], map_double=tried[high][0],
                p1_half=tried[low][1], p1=served[1], p1_double=tried[high][1],
                best=float(max(tried, key=lambda number: tried[number][0])),
            )  # fmt: skip


def reached(person: Person, lessons: list[Lesson], **changed: Any) -> tuple[float, float]:
    """MAP and precision@1 of fresh queries, some constants changed."""
    task, found = person.task, []
    for seed, lesson in enumerate(lessons):
        learner = BilinearLearner(task.plain, extension="groups+local", seed=seed, **changed)
        learner.fit(task.items, lesson.preferences, marks=lesson.marks(len(task.items)))
        found.append(measured(task, learner.similarity_.surrogates(task.queries)))
    first, second = (float(np.mean([np.nanmean(v[m]) for v in found])) for m in ("map", "p1"))
    return first, second


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", help="corel5k, cifar10, flickr8k (default: all)")
    parser.add_argument("--seeds", type=int, help=f"people per set (default: {SEEDS})")


if __name__ == "__main__":
    run("constants", main, __doc__, options=options)
