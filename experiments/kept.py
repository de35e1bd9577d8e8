"""What takes long is computed once and kept, in the folder that ``LIKEWISE_CACHE`` names.

Where nothing is named it is the user's cache folder.  A file's name says all that its content
depends on, so that a change of an extractor or a setting makes a new file; any file may be
deleted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from experiments.report import Report
from likewise.features import feature_set
from likewise.features.deep_graph import cache_folder as users_cache_folder

CHUNK = 100
Blocks = dict[str, NDArray[np.float32]]


def cache_folder() -> Path:
    """Where experiments keep what takes long."""
    named = os.environ.get("LIKEWISE_CACHE")
    folder = Path(named) if named else users_cache_folder() / "experiments"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def keep(
    name: str,
    make: Callable[[], NDArray[Any]],
    *,
    rows: int | None = None,
    fresh: bool = False,
    mapped: bool = False,
) -> NDArray[Any]:
    """The array of this name: read, or made and kept.

    Parameters
    ----------
    name
        All that the content depends on.
    make
        Called where no file, a damaged one or one of another number of ``rows`` is there, or
        where it is to be ``fresh``.
    rows, fresh
        See ``make``.
    mapped
        Whether to leave the array on the disk.
    """
    known = None if fresh else _read(name, rows, mapped)
    if known is not None:
        return known
    made = make()
    _write(name, made)
    return np.load(_file(name), mmap_mode="r") if mapped else made


def keep_features(
    name: str, pictures: Sequence[Any], blocks: Sequence[str], report: Report
) -> Blocks:
    """Raw features of a set by block, one row a picture; what is missing by two processes."""
    versions = feature_set(blocks).versions
    names = {block: f"{name}-{block}-{versions[block]}" for block in blocks}
    known = {block: _read(names[block], len(pictures)) for block in blocks}
    found = {block: rows for block, rows in known.items() if rows is not None}
    missing = tuple(block for block in blocks if block not in found)
    if missing:
        report.say(f"extracting {', '.join(missing)} of {len(pictures)} pictures ({name}) ...")
        parts = joblib.Parallel(n_jobs=2)(
            joblib.delayed(_extract)(pictures, start, missing)
            for start in range(0, len(pictures), CHUNK)
        )
        for block in missing:
            found[block] = np.concatenate([part[block] for part in parts])
            _write(names[block], found[block])
    return {block: found[block] for block in blocks}


def _extract(pictures: Sequence[Any], start: int, blocks: tuple[str, ...]) -> Blocks:
    stop = min(len(pictures), start + CHUNK)
    return feature_set(blocks)([pictures[i] for i in range(start, stop)])


def _file(name: str) -> Path:
    return cache_folder() / f"{name}.npy"


def _read(name: str, rows: int | None = None, mapped: bool = False) -> NDArray[Any] | None:
    try:
        known: NDArray[Any] = np.load(_file(name), mmap_mode="r" if mapped else None)
    except (OSError, ValueError, EOFError):
        return None
    return known if rows is None or len(known) == rows else None


def _write(name: str, array: NDArray[Any]) -> None:
    """Written aside and renamed, so that a stopped run leaves no half a file."""
    file = _file(name)
    aside = file.with_name(f".{os.getpid()}-{file.name}")
    np.save(aside, array, allow_pickle=False)
    os.replace(aside, file)
