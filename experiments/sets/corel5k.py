"""Corel5k: stock photographs in 50 categories with one to five keywords each (Duygulu et al.)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.sets.archive import Source, open_archive
from experiments.sets.pictures import ArchivePictures, Pictures

SOURCE = Source(
    title="Corel5k",
    file="corel5k.zip",
    size=30_692_713,
    sha256="934db74b2e76d3a4db01b094e45632dc7a2991149cd757ab8b1d3506f59e015b",
    home="https://github.com/ParkByungYoon/corel-5k",
)


@dataclass(frozen=True, eq=False)
class Corel5k:
    """Photographs with a category and keywords each.

    Attributes
    ----------
    pictures
        Decoded at access.
    names
        File name of each picture inside the archive.
    labels, class_names
        Number of the category of each picture, and the name of each category (the number of
        the compact disc that it came on).
    keywords
        One to five words a picture.
    is_test
        True for pictures of the test part.
    """

    pictures: Pictures
    names: tuple[str, ...]
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    keywords: tuple[tuple[str, ...], ...]
    is_test: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """All keywords in use, in alphabetical order."""
        return tuple(sorted({word for words in self.keywords for word in words}))


def load_corel5k(folder: str | Path | None = None) -> Corel5k:
    """Corel5k from ``corel5k.zip``, or from a folder ``corel5k`` with the same files.

    Parameters
    ----------
    folder
        The data folder; by default the one that ``LIKEWISE_DATA`` names.
    """
    archive = open_archive(SOURCE, folder)
    rows = archive.table("labels.csv", ("file", "split", "category", "keywords"))
    names = tuple(row["file"] for row in rows)
    categories, labels = np.unique([row["category"] for row in rows], return_inverse=True)
    return Corel5k(
        ArchivePictures(archive, names),
        names,
        labels.astype(np.int64),
        tuple(str(category) for category in categories),
        tuple(tuple(word for word in row["keywords"].split("|") if word) for row in rows),
        np.array([row["split"] == "test" for row in rows]),
    )
