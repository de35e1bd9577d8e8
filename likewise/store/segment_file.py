"""The file of a segment: ids, raw matrices, and a footer that says where each lies.

Little-endian throughout; every matrix begins at a multiple of 64 bytes, so that it can be
mapped into memory as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.types import DataProblem, FloatArray, IdArray

MAGIC = b"LWSEG001"
KINDS: dict[str, np.dtype[Any]] = {
    "float16": np.dtype("<f2"),
    "float32": np.dtype("<f4"),
    "uint8": np.dtype("u1"),
}
_ALIGN = 64


@dataclass(frozen=True)
class Place:
    """Where one block of a segment lies in its file."""

    dtype: str
    dim: int
    offset: int


def lay_out(ids: IdArray, matrices: Mapping[str, FloatArray]) -> tuple[dict[str, Place], list[Any]]:
    """The bytes of a segment in order, and where each block will lie."""
    chunks: list[Any] = [ids.astype("<i8").tobytes()]
    places: dict[str, Place] = {}
    offset = len(chunks[0])
    for name, matrix in matrices.items():
        gap = -offset % _ALIGN
        data = matrix.tobytes()
        chunks += [b"\0" * gap, data]
        offset += gap
        places[name] = Place(matrix.dtype.name, matrix.shape[1], offset)
        offset += len(data)
    footer = json.dumps(
        {
            "format": 1,
            "contents": len(ids),
            "blocks": {name: vars(place) for name, place in places.items()},
        }
    ).encode()
    chunks += [footer, len(footer).to_bytes(8, "little"), MAGIC]
    return places, chunks


def read_footer(path: Path) -> dict[str, Any]:
    """What a segment file says of itself, for checking it without the catalogue."""
    with open(path, "rb") as file:
        end = file.seek(0, 2)
        file.seek(max(0, end - 16))
        tail = file.read(16)
        length = int.from_bytes(tail[:8], "little")
        if tail[8:] != MAGIC or length > end - 16:
            raise DataProblem(f"{path.name} is no whole segment; restore it from a backup.")
        file.seek(end - 16 - length)
        return dict(json.loads(file.read(length)))


def map_block(path: Path, place: Place, rows: int, size: int) -> NDArray[Any]:
    """One block of a file as a matrix in memory that is read from the disk when it is used."""
    if path.stat().st_size != size:
        raise DataProblem(f"Segment {path.name} is cut short; restore it from a backup.")
    shape, kind = (rows, place.dim), KINDS[place.dtype]
    if not place.dim:
        return np.zeros(shape, kind)
    return np.memmap(path, kind, "r", place.offset, shape)
