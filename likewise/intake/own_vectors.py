"""Own vectors: a collection described by numbers that were made elsewhere.

A Parquet file has the columns ``file`` (or ``path``) and ``vector``.  A ``.npy`` matrix has one
row for each item, in the order of their paths.

Own networks: a block's name carries a hash of its network's files, so the folder may move, and
naming its new place is enough.  The files are hashed here and parsed only in children.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.features import block_of, feature_set, is_elsewhere
from likewise.filters import Filter
from likewise.intake.workers import Describer, Task
from likewise.store import Store, as_key
from likewise.types import BadInput, DataProblem, FloatArray, NotFound, as_matrix

BLOCK = "own"
"""Name of the block that own vectors are kept under."""
PLACES = "network_places"
"""Setting: file or folder of the network of a block."""


def add_vectors(store: Store, path: Path) -> int:
    """Read own vectors and give them to the items they name; gives how many contents got one."""
    ids = store.items.matching(Filter())
    present = sorted(
        (i for i in store.items.many(ids.tolist()) if i.state != "problem"), key=lambda i: i.path
    )
    names, matrix = _read(path, [i.path for i in present])
    content = {i.path: i.content for i in present}
    unknown = [name for name in names if name not in content]
    if unknown:
        shown = unknown[0].decode("utf-8", "replace")
        raise BadInput(
            f"{path.name} names {shown!r}, which is not an item here; nothing was added."
        )
    chosen: dict[int, int] = {}
    for row, name in enumerate(names):
        number = content[name]
        if number is not None:
            chosen[number] = row
    if chosen:
        store.segments.append(list(chosen), {BLOCK: matrix[list(chosen.values())]})
    return len(chosen)


def _read(path: Path, paths: list[bytes]) -> tuple[list[bytes], FloatArray]:
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    ending = path.suffix.lower()
    try:
        if ending == ".npy":
            matrix = as_matrix(np.load(path, allow_pickle=False), name="own vectors")
            if len(matrix) != len(paths):
                raise BadInput(
                    f"{path.name} has {len(matrix)} rows for {len(paths)} pictures; give one row a "
                    "picture in the order of their paths, or a Parquet file that names them."
                )
            return paths, matrix
        if ending == ".parquet":
            return _read_parquet(path)
    except (OSError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise DataProblem(f"{path.name} cannot be read: {error}.") from None
    raise BadInput(f"Own vectors come as .npy or Parquet, not {path.name}.")


def _read_parquet(path: Path) -> tuple[list[bytes], FloatArray]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        columns: dict[str, Any] = parquet.read_table(path).to_pydict()
    except pa.ArrowException as error:
        raise DataProblem(f"{path.name} is no Parquet file that can be read: {error}.") from None
    name = next((c for c in ("file", "path", "name") if c in columns), None)
    if name is None or "vector" not in columns:
        raise BadInput(f"{path.name} needs the columns file and vector.")
    if len({len(v) for v in columns["vector"]}) > 1:
        raise BadInput(f"The vectors of {path.name} have different lengths.")
    matrix = as_matrix(np.array(columns["vector"], dtype=np.float32), name="own vectors")
    return [as_key(str(n)) for n in columns[name]], matrix


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
