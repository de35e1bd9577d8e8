"""Features of the photo sets, extracted once and kept.

``photo_features("corel5k", report)`` gives the raw blocks of the default space, one row a
picture, in the order of ``photos("corel5k", report)``.  ``--quick`` draws swatches instead and
keeps nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.kept import Blocks, keep_features
from experiments.report import Report
from experiments.sets import load_cifar10, load_corel5k, load_flickr8k
from likewise.collection.lines.defaults import NETWORK
from likewise.collection.network import given_by
from likewise.datasets import swatches
from likewise.features import DEFAULT, feature_set


class Photos(NamedTuple):
    """Pictures with a class each (-1 where the set has none)."""

    pictures: Sequence[Any]
    labels: NDArray[np.int64]


def photos(name: str, report: Report) -> Photos:
    """The pictures of ``corel5k``, ``flickr8k``, ``cifar10`` (of this the 10,000 of its test
    part) or 1,500 ``swatches``, labelled by motif; a few of these where the run is quick.
    """
    if report.quick or name == "swatches":
        drawn = swatches(160 if report.quick else 1500, size=64, seed=report.seed)
        motifs = np.unique(np.asarray(drawn.truth["motif"]), return_inverse=True)[1]
        return Photos(drawn.render_all(jobs=1), motifs.astype(np.int64))
    if name == "corel5k":
        corel = load_corel5k()
        return Photos(corel.pictures, corel.labels)
    if name == "cifar10":
        cifar = load_cifar10()
        rows = np.flatnonzero(cifar.is_test)
        return Photos(Some(cifar.pictures, rows), cifar.labels[rows])
    if name == "flickr8k":
        flickr = load_flickr8k()
        return Photos(flickr.pictures, np.full(len(flickr.pictures), -1))
    raise ValueError(
        f"There are no photos called {name!r}: use corel5k, flickr8k, cifar10 or swatches."
    )


def photo_features(name: str, report: Report, blocks: Sequence[str] = DEFAULT) -> Blocks:
    """Raw features by block, one row a picture of :func:`photos`."""
    pictures = photos(name, report).pictures
    if report.quick:
        return feature_set(blocks)(pictures)
    part = {"cifar10": "cifar10-test", "swatches": f"swatches-1500-{report.seed}"}.get(name, name)
    taken = given_by(tuple(blocks), NETWORK) if report.settings.get("served_network") else blocks
    kept = keep_features(part, pictures, taken, report)
    return {block: kept[own] for block, own in zip(blocks, taken, strict=True)}


def network_option(parser: argparse.ArgumentParser) -> None:
    """Features by the network that new collections take, instead of the figures' own."""
    said = f"describe pictures by {' in '.join(NETWORK)}, as new collections do"
    parser.add_argument("--served-network", action="store_true", help=said)


class Some(Sequence[Any]):
    """Some rows of a sequence of pictures, still decoded at access only."""

    def __init__(self, pictures: Sequence[Any], rows: NDArray[np.int64]) -> None:
        self._pictures, self._rows = pictures, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self._pictures[int(row)] for row in self._rows[number]]
        return self._pictures[int(self._rows[number])]
