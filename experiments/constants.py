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

from experiments.carry_over import PER_QUERY, measured, persons, teach
from experiments.report import Report, run
from likewise.learners.bilinear_learner import BilinearLearner
from likewise.learners.own_settings import BilinearSettings

NAMES = ("M", "warmth", "reach", "pull", "exponent", "ridge", "evidence", "weight", "prior")
TIMES = (0.5, 1.0, 2.0)
MARKS = 1_000
SEEDS = 2


def main(report: Report) -> None:
    served = BilinearSettings()
    seeds = 1 if report.quick else report.settings.get("seeds") or SEEDS
    report.settings.setdefault("intent", ["class"])
    for person in persons(report):
        task = person.task
        lessons = [
            teach(person, (200 if report.quick else MARKS) // PER_QUERY, 0.0, report.seed + s)
            for s in range(seeds)
        ]
        known: dict[tuple[str, float], tuple[float, float]] = {}

        def value(name: str, number: Any) -> tuple[float, float]:
            """MAP and precision@1 with one constant changed; what is served is measured once."""
            key = (name, float(number)) if number != getattr(served, name) else ("", 0.0)
            if key not in known:
                found = []
                for seed, lesson in enumerate(lessons):  # noqa: B023
                    learner = BilinearLearner(
                        task.plain, extension="groups+local", seed=seed, **{name: number}
                    )
                    learner.fit(task.items, lesson.preferences, marks=lesson.marks(len(task.items)))
                    found.append(measured(task, learner.similarity_.surrogates(task.queries)))
                known[key] = tuple(
                    float(np.mean([np.nanmean(one[m]) for one in found])) for m in ("map", "p1")
                )  # type: ignore[assignment]
            return known[key]

        for name in NAMES:
            usual = getattr(served, name)
            tried = {}
            for times in TIMES:
                number = min(usual * times, 1.0) if name in ("prior", "reach") else usual * times
                tried[times] = (
                    int(number) if name == "M" else number,
                    value(name, type(usual)(number)),
                )
            best = max(TIMES, key=lambda t: tried[t][1][0])
            report.row(
                constant=name, data=person.data, served=usual,
                **{f"map_{t:g}": tried[t][1][0] for t in TIMES},
                **{f"p1_{t:g}": tried[t][1][1] for t in TIMES}, best=float(tried[best][0]),
            )  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", help="corel5k, cifar10, flickr8k (default: all)")
    parser.add_argument("--seeds", type=int, help=f"people per set (default: {SEEDS})")


if __name__ == "__main__":
    run("constants", main, __doc__, options=options)
