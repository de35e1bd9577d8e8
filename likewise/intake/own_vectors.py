"""Own vectors: a collection described by numbers that were made elsewhere.

A Parquet file has the columns ``file`` (or ``path``) and ``vector``.  In a folder without pictures
it names the items itself, and no file is read.  A ``.npy`` matrix has one row for each item, in the
order of their paths.

Own networks: a block's name carries a hash of its network's files, so the folder may move, and
naming its new place is enough.  The files are hashed here and parsed only in children.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.features import block_of, feature_set, is_elsewhere
from likewise.store import NO_FILE, Seen, Store, as_key
from likewise.types import BadInput, DataProblem, FloatArray, NotFound, as_matrix

BLOCK = "own"
"""Name of the block that own vectors are kept under."""
BATCH = 8_192
"""Rows that are in memory, and committed, at a time."""
PLACES = "network_places"
"""Setting: file or folder of the network of a block."""


def add_vectors(store: Store, path: Path) -> int:
    """Read own vectors and give them to the items they name; gives how many contents got one."""
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    paths = store.items.present_paths()
    known = set(paths)
    try:
        for names, _ in _batches(path, paths):  # all of it, before anything is added
            unknown = [name for name in names if name not in known] if known else []
            if unknown:
                shown = unknown[0].decode("utf-8", "replace")
                raise BadInput(f"{path.name} names {shown!r}, no item here; nothing was added.")
        return sum(_add(store, *rows) for rows in _batches(path, paths))
    except (OSError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise DataProblem(f"{path.name} cannot be read: {error}.") from None


def _add(store: Store, names: list[bytes], matrix: FloatArray) -> int:
    with store.transaction():
        known = store.items.contents_of(names)
        new = [name for name in dict.fromkeys(names) if name not in known]
        sha256 = [hashlib.sha256(b"named only\0" + name).digest() for name in new]
        store.items.see([Seen(n, 0, NO_FILE, digest) for n, digest in zip(new, sha256)])
        content = store.items.contents_of(names)
        numbers = ((content.get(name), row) for row, name in enumerate(names))
        chosen = {number: row for number, row in numbers if number is not None}
        if chosen:
            store.segments.append(list(chosen), {BLOCK: matrix[list(chosen.values())]})
    return len(chosen)


def _batches(path: Path, paths: list[bytes]) -> Iterator[tuple[list[bytes], FloatArray]]:
    """Names and vectors, some at a time."""
    ending = path.suffix.lower()
    if ending == ".parquet":
        yield from _parquet(path)
        return
    if ending != ".npy":
        raise BadInput(f"Own vectors come as .npy or Parquet, not {path.name}.")
    matrix = np.load(path, allow_pickle=False, mmap_mode="r")
    if matrix.ndim != 2 or len(matrix) != len(paths):
        raise BadInput(
            f"{path.name} has {len(matrix)} rows for {len(paths)} pictures; give one row a "
            "picture in the order of their paths, or a Parquet file that names them."
        )
    for start in range(0, len(paths), BATCH):
        part = slice(start, start + BATCH)
        yield paths[part], as_matrix(matrix[part], name="own vectors")


def _parquet(path: Path) -> Iterator[tuple[list[bytes], FloatArray]]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        with parquet.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            name = next((c for c in ("file", "path", "name") if c in columns), None)
            if name is None or "vector" not in columns:
                raise BadInput(f"{path.name} needs the columns file and vector.")
            dim = None
            for batch in file.iter_batches(BATCH, columns=[name, "vector"]):
                matrix = _matrix(path, batch.column("vector"), dim)
                dim = matrix.shape[1]
                yield [as_key(str(n)) for n in batch.column(name).to_pylist()], matrix
    except pa.ArrowException as error:
        raise DataProblem(f"{path.name} is no Parquet file that can be read: {error}.") from None


def _matrix(path: Path, vectors: Any, dim: int | None) -> FloatArray:
    """A column of lists as a matrix, without a Python object for each number."""
    numbers = vectors.flatten().to_numpy(zero_copy_only=False)
    width = len(numbers) // max(len(vectors), 1)
    lengths = np.asarray(vectors.value_lengths())
    if len(np.unique(lengths)) > 1 or (dim is not None and width != dim) or vectors.null_count:
        raise BadInput(f"The vectors of {path.name} have different lengths.")
    return as_matrix(numbers.reshape(len(vectors), width).astype(np.float32), name="own vectors")


def remember(store: Store, wanted: Sequence[str]) -> tuple[str, ...]:
    """Blocks by name; where a network's place was given (``clip:FOLDER``) it is kept."""
    names = []
    for name in wanted:
        block, _, place = name.partition(":")
        if is_elsewhere(name) and place:
            place = os.path.abspath(place)
            (block,) = feature_set([f"{block}:{place}"]).names
            if block_of(block) == "clip" and block not in store.segments.blocks():
                _try(f"{block}:{place}")
            store.settings.set(PLACES, {**store.settings.get(PLACES, {}), block: place})
        names.append(block if is_elsewhere(name) and place else name)
    return tuple(names)


def _try(name: str) -> None:
    """Let a child read a text and a blank picture, before thousands of pictures are described."""
    from likewise.intake.workers import Describer, Task  # heavy: not for an ordinary search

    child = Describer([name])
    try:
        problem = child(Task(1, text="a photo")).problem
    finally:
        child.close()
    if problem:
        raise BadInput(problem)


def with_places(store: Store, names: Sequence[str]) -> list[str]:
    """Blocks as children take them: with the places of their networks."""
    places = store.settings.get(PLACES, {})
    return [f"{name}:{places[name]}" if name in places else name for name in names]
