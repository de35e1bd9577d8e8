"""A folder of pictures as a data set: the folders in it are the classes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from experiments.sets.labelled import LabelledPictures
from experiments.sets.pictures import FilePictures
from likewise.types import BadInput, NotFound

ENDINGS = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".pgm"}
)
"""File name endings that are taken for pictures, in small or capital letters."""


def load_folder(folder: str | Path) -> LabelledPictures:
    """A folder of pictures; the first folder below it that a picture is in is its class.

    A part named ``train`` or ``test`` at the top, where there are both, is the split and not
    a class.  Pictures that lie in the folder itself have the class with the empty name.
    Hidden files and folders are passed over; the order is that of the names.

    Raises
    ------
    NotFound
        If there is no such folder.
    BadInput
        If no picture is in it.
    """
    root = Path(folder)
    if not root.is_dir():
        raise NotFound(f"There is no folder {root}; name one that holds pictures.")
    paths = _pictures(root)
    if not paths:
        raise BadInput(
            f"No picture is in {root}; the known endings are {', '.join(sorted(ENDINGS))}."
        )
    parts = [path.relative_to(root).parts for path in paths]
    tops = {part[0] for part in parts if len(part) > 1}
    has_split = {"train", "test"} <= tops
    is_test = np.array([has_split and part[0] == "test" for part in parts])
    inner = [p[1:] if has_split and p[0] in ("train", "test") else p for p in parts]
    classes, labels = np.unique([p[0] if len(p) > 1 else "" for p in inner], return_inverse=True)
    return LabelledPictures(
        root.name,
        FilePictures(tuple(paths)),
        labels.astype(np.int64),
        tuple(str(name) for name in classes),
        is_test,
        tuple("/".join(part) for part in parts),
    )


def _pictures(root: Path) -> list[Path]:
    found = []
    for place, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            if not name.startswith(".") and Path(name).suffix.lower() in ENDINGS:
                found.append(Path(place) / name)
    return sorted(found, key=lambda path: path.relative_to(root).parts)
