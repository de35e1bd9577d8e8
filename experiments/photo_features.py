"""Features of the photo sets, extracted once and kept.

``photo_features("corel5k", report)`` gives the raw blocks of the default space, one row a
picture, in the order of ``photos("corel5k", report)``.  They are extracted in two processes and
kept as one npz file a set in the folder ``LIKEWISE_CACHE`` names, else in the user's cache
folder; a change of any extractor makes a new file.  ``--quick`` draws swatches instead and
keeps nothing.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from experiments.report import Report
from likewise.datasets import load_cifar10, load_corel5k, load_flickr8k, swatches
from likewise.features import DEFAULT, feature_set

CHUNK = 100
Blocks = dict[str, NDArray[np.float32]]


class Photos(NamedTuple):
    """Pictures with a class each (-1 where the set has none)."""

    pictures: Sequence[Any]
    labels: NDArray[np.int64]


def photos(name: str, report: Report) -> Photos:
    """The pictures of ``corel5k``, ``flickr8k`` or ``cifar10`` (of this the 10,000 of its test
    part); a few swatches, labelled by motif, where the run is quick.
    """
    if report.quick:
        drawn = swatches(160, size=64, seed=report.seed)
        motifs = np.unique(np.asarray(drawn.truth["motif"]), return_inverse=True)[1]
        return Photos(drawn.render_all(jobs=1), motifs.astype(np.int64))
    if name == "corel5k":
        corel = load_corel5k()
        return Photos(corel.pictures, corel.labels)
    if name == "cifar10":
        cifar = load_cifar10()
        rows = np.flatnonzero(cifar.is_test)
        return Photos(_Some(cifar.pictures, rows), cifar.labels[rows])
    if name == "flickr8k":
        flickr = load_flickr8k()
        return Photos(flickr.pictures, np.full(len(flickr.pictures), -1))
    raise ValueError(f"There are no photos called {name!r}: use corel5k, flickr8k or cifar10.")


def photo_features(name: str, report: Report, blocks: Sequence[str] = DEFAULT) -> Blocks:
    """Raw features by block, one row a picture of :func:`photos`."""
    pictures = photos(name, report).pictures
    if report.quick:
        return feature_set(blocks)(pictures)
    file = cache_folder() / f"{name}-{feature_set(blocks).version}.npz"
    kept = _read(file, len(pictures))
    if kept is not None:
        return kept
    report.say(f"extracting {', '.join(blocks)} of {len(pictures)} pictures ({name}) ...")
    starts = range(0, len(pictures), CHUNK)
    parts = joblib.Parallel(n_jobs=2)(
        joblib.delayed(_extract)(pictures, start, tuple(blocks)) for start in starts
    )
    out = {block: np.concatenate([part[block] for part in parts]) for block in blocks}
    _write(file, out)
    return out


def cache_folder() -> Path:
    """Where extracted features are kept."""
    named = os.environ.get("LIKEWISE_CACHE")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(named) if named else home / "likewise" / "photo-features"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class _Some(Sequence[Any]):
    """Some rows of a sequence of pictures, still decoded at access only."""

    def __init__(self, pictures: Sequence[Any], rows: NDArray[np.int64]) -> None:
        self._pictures, self._rows = pictures, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self._pictures[int(row)] for row in self._rows[number]]
        return self._pictures[int(self._rows[number])]


def _extract(pictures: Sequence[Any], start: int, blocks: tuple[str, ...]) -> Blocks:
    stop = min(len(pictures), start + CHUNK)
    return feature_set(blocks)([pictures[i] for i in range(start, stop)])


def _read(file: Path, rows: int) -> Blocks | None:
    """What was kept, or nothing where it is missing, damaged or of another length."""
    try:
        with np.load(file) as kept:
            out = {block: kept[block] for block in kept.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None
    return out if out and all(len(matrix) == rows for matrix in out.values()) else None


def _write(file: Path, blocks: Blocks) -> None:
    """Written aside and renamed, so that a stopped run leaves no half a file."""
    aside = file.with_name(f".{file.stem}.{os.getpid()}.npz")
    np.savez(aside, allow_pickle=False, **blocks)
    os.replace(aside, file)
