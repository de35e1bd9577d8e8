"""Top precision on MNIST: 200 queries x 5,000 items, PCA 64, three splits.

As in the paper, each split draws items and queries from the whole set, and the queries are
split once more: 200 to learn from, 200 to choose settings by, 1,000 to test on.  Every method
tries six settings.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from experiments.report import Report, run
from experiments.sets import load_mnist
from experiments.top_precision_contest import METHODS, Split, contest, summary
from likewise.learners.plain import Plain
from likewise.spaces import Blocks, BlockSpec

SPLITS = 3


def main(report: Report) -> None:
    if report.quick:
        pixels, labels = toy(report.seed)
        sizes = (300, 30, 30, 60)
    else:
        mnist = load_mnist()
        pixels = mnist.images.reshape(len(mnist.images), -1).astype(np.float32) / 255
        labels = mnist.labels
        sizes = (5_000, 200, 200, 1_000)
    done = []
    for number in range(1 if report.quick else SPLITS):
        split = make_split(pixels, labels, sizes, report.seed + number)
        done.append(contest(report, split, split=number))
    summary(report, done)


def make_split(pixels: Any, labels: Any, sizes: tuple[int, int, int, int], seed: int) -> Split:
    """Items, training, validation and test queries, disjoint; the PCA sees the items only."""
    order = np.random.default_rng(seed).permutation(len(labels))[: sum(sizes)]
    parts = np.split(order, np.cumsum(sizes)[:-1])
    space = Blocks.fit({"pixels": pixels[parts[0]]}, {"pixels": BlockSpec(64, unit_first=True)})

    def of(rows: Any) -> tuple[Any, Any]:
        return space.transform({"pixels": pixels[rows]}).astype(np.float64), labels[rows]

    return Split(Plain(space), *of(parts[0]), *(of(part) for part in parts[1:]))


def toy(seed: int) -> tuple[Any, Any]:
    """Noisy points around class centres, in the shape of small pictures."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(5, size=420)
    centres = rng.normal(size=(5, 30))
    return centres[labels] + 2.0 * rng.normal(size=(420, 30)), labels


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), help="only these methods")


if __name__ == "__main__":
    run("mtps_mnist", main, __doc__, options=options)
