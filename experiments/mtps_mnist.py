"""Top precision on MNIST: 200 queries x 5,000 items, PCA 64, three splits.

For each split, digits of the training part are drawn as items, as queries to learn from and
as queries to choose settings by; 1,000 digits of the test part ask.  All methods try
six settings each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.report import Report, run
from experiments.top_precision_contest import Split, contest, summary
from likewise.datasets import load_mnist
from likewise.spaces import Blocks, BlockSpec

SPLITS = 3


def main(report: Report) -> None:
    if report.quick:
        pixels, labels, is_test = toy(report.seed)
        sizes = (300, 30, 30, 60)
    else:
        mnist = load_mnist()
        pixels = mnist.images.reshape(len(mnist.images), -1).astype(np.float32) / 255
        labels, is_test = mnist.labels, mnist.is_test
        sizes = (5_000, 200, 200, 1_000)
    done = []
    for number in range(1 if report.quick else SPLITS):
        split = make_split(pixels, labels, is_test, sizes, report.seed + number)
        done.append(contest(report, split, split=number))
    summary(report, done)


def make_split(
    pixels: Any, labels: Any, is_test: Any, sizes: tuple[int, int, int, int], seed: int
) -> Split:
    """Items, training, validation and test queries, disjoint; the PCA sees the items only."""
    rng = np.random.default_rng(seed)
    items, train, validation, test = sizes
    known = rng.permutation(np.flatnonzero(~is_test))[: items + train + validation]
    asked = rng.permutation(np.flatnonzero(is_test))[:test]
    parts = np.split(known, [items, items + train])
    space = Blocks.fit({"pixels": pixels[parts[0]]}, {"pixels": BlockSpec(64, unit_first=True)})

    def of(rows: Any) -> tuple[Any, Any]:
        return space.transform({"pixels": pixels[rows]}).astype(np.float64), labels[rows]

    return Split(space, *of(parts[0]), of(parts[1]), of(parts[2]), of(asked))


def toy(seed: int) -> tuple[Any, Any, Any]:
    """Noisy points around class centres, in the shape of small pictures."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(5, size=500)
    centres = rng.normal(size=(5, 30))
    return centres[labels] + rng.normal(size=(500, 30)), labels, np.arange(500) >= 400


if __name__ == "__main__":
    run("mtps_mnist", main, __doc__)
