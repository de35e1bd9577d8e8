"""What indexing a folder would take, without writing anything: not even a data folder."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from likewise.collection.collection import Collection
from likewise.collection.lines.defaults import FEATURES, NETWORK
from likewise.collection.lines.visual_words import NAME as VISUAL_WORDS
from likewise.collection.network import features_of, given_by
from likewise.intake import LOCAL
from likewise.intake.forecast import SAMPLE, Forecast, kept_bytes
from likewise.intake.own_vectors import with_places
from likewise.intake.roots import other_roots
from likewise.intake.scanning import scan
from likewise.intake.workers import Task, describe
from likewise.store import Seen
from likewise.types import DATA_FOLDER, NotFound


def foreseen(
    folder: Path, data: Path | None = None, features: Sequence[str] | None = None, *,
    processes: int | None = None,
) -> Forecast:  # fmt: skip
    """How long indexing would take, and how much room; a hundred new pictures are read for it."""
    place = data or folder / DATA_FOLDER
    if not folder.is_dir():
        raise NotFound(f"There is no folder {folder}; name the folder that holds your pictures.")
    top = os.fsencode(folder)
    if not place.is_dir():
        return _foreseen(top, scan(top).files, features or given_by(FEATURES, NETWORK), processes)
    with Collection.open(folder, data=data) as collection:
        store = collection.store
        told = store.items.compare(scan(top, os.fsencode(place), other_roots(store)).files)
        files = [*told.new, *told.changed, *told.returned]
        known = features or with_places(store, features_of(store))
        return _foreseen(top, files, known, processes)


def _foreseen(
    folder: bytes, files: list[Seen], features: Sequence[str], processes: int | None
) -> Forecast:
    """Read some of the files, evenly spaced; time goes by bytes."""
    if not files:
        return Forecast(0, 0, 0.0, 0)
    size = sum(file.size for file in files)
    chosen = [files[at] for at in np.unique(np.linspace(0, len(files) - 1, SAMPLE).astype(int))]
    tasks = [Task(at, os.path.join(folder, file.path)) for at, file in enumerate(chosen)]
    blocks = [LOCAL if name == VISUAL_WORDS else name for name in features]
    began, first, read, kept = time.monotonic(), 0.0, 0, 0
    for outcome in describe(iter(tasks), blocks, processes=processes):
        first = first or time.monotonic()  # children take a while to start, once
        read += chosen[outcome.key].size
        kept += kept_bytes(outcome)
    seconds = (time.monotonic() - first) / max(1, read - chosen[0].size) * size + first - began
    return Forecast(len(files), size, seconds, round(kept / len(chosen) * len(files)))
