"""Top precision on photographs: CIFAR-10 and Corel5k in the default space.

As in the paper, each split draws items and queries, and splits the queries once more into
those to learn from, those to choose settings by and those to test on; nothing is in two
parts.  Every method tries six settings.  The paper's own sets (Indoor, Caltech256) are not
here: its figures are printed for the direction only.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from experiments.photo_features import photo_features, photos
from experiments.report import Report, run
from experiments.top_precision_contest import METHODS, Split, contest, summary
from likewise.collection.lines.defaults import SPECS, WEIGHTS
from likewise.learners.plain import Plain
from likewise.spaces import Blocks

QUERIES = {"cifar10": (300, 200, 1_000), "corel5k": (500, 250, 750)}
ITEMS = {"cifar10": 10_000}
"""Items drawn from a set; all that are left where it is not named."""
SPLITS = 2
PAPER = (("mtps", 0.18, "above"), ("others", 0.16, "below, almost all"))


def main(report: Report) -> None:
    report.say("The paper's sets, Indoor (67 classes) and Caltech256, are not here.")
    for method, value, how in PAPER:
        report.row(method=f"paper, {method}", set="caltech256", paper=value, note=how)
    sets = ["swatches"] if report.quick else report.settings.get("sets") or list(QUERIES)
    for name in sets:
        features, labels = photo_features(name, report), photos(name, report).labels
        queries = (30, 20, 30) if report.quick else QUERIES[name]
        done = []
        for number in range(1 if report.quick else SPLITS):
            split = make_split(features, labels, queries, report.seed + number, ITEMS.get(name))
            done.append(contest(report, split, set=name, split=number))
        summary(report, done)


def make_split(
    features: Any, labels: Any, queries: tuple[int, ...], seed: int, most: int | None = None
) -> Split:
    """Training, validation and test queries; the rest are the items, and the PCA sees only them."""
    order = np.random.default_rng(seed).permutation(len(labels))
    parts = np.split(order, np.cumsum(queries))
    items = parts.pop()[:most]
    space = Blocks.fit({b: f[items] for b, f in features.items()}, {b: SPECS[b] for b in features})

    def of(rows: Any) -> tuple[Any, Any]:
        vectors = space.transform({block: f[rows] for block, f in features.items()})
        return vectors.astype(np.float64), labels[rows]

    plain = Plain(space, {block: WEIGHTS[block] for block in features})
    return Split(plain, *of(items), *(of(part) for part in parts))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=list(QUERIES), help="only these sets")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), help="only these methods")


if __name__ == "__main__":
    run("mtps_photos", main, __doc__, options=options)
