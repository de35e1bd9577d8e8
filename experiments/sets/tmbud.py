"""TMBuD: buildings of Timisoara from several places, by day and by night (Orhei et al.)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.sets.archive import Source, open_archive
from experiments.sets.pictures import ArchivePictures, Pictures

SOURCE = Source(
    title="TMBuD",
    file="tmbud.zip",
    size=41_269_943,
    sha256="180a1dfade6b350ad10357d4cda9c5757a49dcf50e10151d91e94c33c6c9ba36",
    home="https://github.com/CipiOrhei/TMBuD",
)


@dataclass(frozen=True, eq=False)
class Tmbud:
    """Photographs of buildings: pictures with one label show one building.

    Attributes
    ----------
    pictures
        Decoded at access.
    names
        File name of each picture inside the archive.
    labels, class_names
        Number of the building of each picture, and the name of each building.  A building may
        have several ids; a picture without a building's name has the one of its id.
    building_id
        The data set's own id of what a picture shows.
    is_night
        True for pictures taken by night.
    is_good
        True for pictures of good quality.
    split
        ``TRAIN``, ``TEST``, ``None`` or empty for each picture, by name of the split:
        ``3_N``, ``3_2`` and ``night``.
    """

    pictures: Pictures
    names: tuple[str, ...]
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    building_id: NDArray[np.int64]
    is_night: NDArray[np.bool_]
    is_good: NDArray[np.bool_]
    split: dict[str, NDArray[np.str_]]

    def __len__(self) -> int:
        return len(self.names)


def load_tmbud(folder: str | Path | None = None) -> Tmbud:
    """TMBuD from ``tmbud.zip``, or from a folder ``tmbud`` with the same files.

    Parameters
    ----------
    folder
        The data folder; by default the one that ``LIKEWISE_DATA`` names.
    """
    archive = open_archive(SOURCE, folder)
    splits = ("3_N", "3_2", "night")
    columns = ("file", "building_id", "building", "condition", "quality")
    rows = archive.table("labels.csv", columns + tuple(f"split_{name}" for name in splits))
    names = tuple(row["file"] for row in rows)
    name_of_id = {row["building_id"]: row["building"] for row in rows if row["building"]}
    buildings, labels = np.unique(
        [
            row["building"] or name_of_id.get(row["building_id"], f"building {row['building_id']}")
            for row in rows
        ],
        return_inverse=True,
    )
    return Tmbud(
        ArchivePictures(archive, names),
        names,
        labels.astype(np.int64),
        tuple(str(building) for building in buildings),
        np.array([int(row["building_id"]) for row in rows], dtype=np.int64),
        np.array([row["condition"] == "NIGHT" for row in rows]),
        np.array([row["quality"] == "GOOD" for row in rows]),
        {name: np.array([row[f"split_{name}"] for row in rows]) for name in splits},
    )
