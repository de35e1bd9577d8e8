"""Pictures with one class each: MNIST, CIFAR-10, a folder of class folders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.sets.pictures import Pictures
from likewise.types import DataProblem


@dataclass(frozen=True, eq=False)
class LabelledPictures:
    """Pictures, one class each, and which of them are for testing.

    Attributes
    ----------
    name
        What the set is called.
    pictures
        Decoded at access: ``pictures[i]`` is height x width x 3, uint8.
    labels
        Number of the class of each picture.
    class_names
        Name of each class.
    is_test
        True for pictures of the test part.
    names
        Name of each picture, unique in the set.
    """

    name: str
    pictures: Pictures
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    is_test: NDArray[np.bool_]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        lengths = {len(self.pictures), len(self.labels), len(self.is_test), len(self.names)}
        if len(lengths) != 1:
            raise DataProblem(
                f"{self.name} has {len(self.pictures)} pictures but {len(self.labels)} labels; "
                "get a new copy of it."
            )
        if len(self.labels) and not 0 <= self.labels.min() <= self.labels.max() < len(
            self.class_names
        ):
            raise DataProblem(f"{self.name} has a label without a class; get a new copy of it.")

    def __len__(self) -> int:
        return len(self.labels)
