"""Own vectors: a collection described by numbers that were made elsewhere.

A Parquet file has the columns ``file`` (or ``path``) and ``vector``.  A ``.npy`` matrix has one
row for each item, in the order of their paths.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from likewise.filters import Filter
from likewise.store import Store, as_key
from likewise.types import BadInput, DataProblem, FloatArray, NotFound, as_matrix

BLOCK = "own"
"""Name of the block that own vectors are kept under."""


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
