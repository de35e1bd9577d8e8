"""The file of a segment: ids, raw matrices, and a footer that says where each lies.

Little-endian throughout; every matrix begins at a multiple of 64 bytes.  A file is open only
while rows are read from it, so that any number of segments costs no descriptors, and every
piece of 64 KiB that is read is compared with its checksum first.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.files import Spans, blanked
from likewise.types import BadInput, DataProblem, FloatArray, IdArray, as_matrix

MAGIC = b"LWSEG001"
KINDS: dict[str, np.dtype[Any]] = {
    "float16": np.dtype("<f2"), "float32": np.dtype("<f4"), "uint8": np.dtype("u1")
}  # fmt: skip
PIECE = 1 << 16
"""Bytes that have a checksum of their own."""
_SPAN = 64 * PIECE  # read at once
_ALIGN = 64


@dataclass(frozen=True)
class Place:
    """Where one block of a segment lies in its file."""

    dtype: str
    dim: int
    offset: int

    @property
    def width(self) -> int:
        """Bytes of one row."""
        return self.dim * KINDS[self.dtype].itemsize


def as_kept(name: str, x: Any, rows: int, dim: int | None, dtype: str) -> FloatArray:
    """The vectors of a block as a file keeps them, if that loses nothing that matters."""
    if dtype not in KINDS:
        raise BadInput(f"Vectors are kept as float16 or float32, or as uint8, not {dtype}.")
    matrix = as_matrix(x, dim=dim, name=f"{name} vectors")
    if len(matrix) != rows:
        raise BadInput(f"Block {name} has {len(matrix)} rows for {rows} contents.")
    if dtype == "uint8":
        if matrix.size and not ((matrix >= 0) & (matrix <= 255) & (matrix % 1 == 0)).all():
            raise BadInput(f"The {name} vectors are no bytes: whole numbers from 0 to 255.")
        return np.ascontiguousarray(matrix, dtype=KINDS[dtype])
    largest = float(np.finfo(KINDS[dtype]).max)
    if np.abs(matrix).max(initial=0) > largest:
        raise BadInput(
            f"The {name} vectors hold numbers above {largest:g}, more than {dtype} can keep."
        )
    return np.ascontiguousarray(matrix, dtype=KINDS[dtype])


def lay_out(contents: int, kinds: Mapping[str, tuple[str, int]]) -> dict[str, Place]:
    """Where blocks of a dtype and dimension each will lie in a file of so many contents."""
    places: dict[str, Place] = {}
    offset = 8 * contents
    for name, (dtype, dim) in kinds.items():
        offset += -offset % _ALIGN
        places[name] = Place(dtype, dim, offset)
        offset += contents * places[name].width
    return places


def bytes_of(
    ids: IdArray, places: Mapping[str, Place], rows: Callable[[str], Iterable[NDArray[Any]]]
) -> Iterator[bytes]:
    """The bytes of a segment in order; ``rows`` gives those of a block, matrix by matrix."""
    offset = 8 * len(ids)
    yield ids.astype("<i8").tobytes()
    for name, place in places.items():
        yield b"\0" * (place.offset - offset)
        for matrix in rows(name):
            yield matrix.tobytes()
        offset = place.offset + len(ids) * place.width
    blocks = {name: vars(place) for name, place in places.items()}
    footer = json.dumps({"format": 1, "contents": len(ids), "blocks": blocks}).encode()
    yield footer + len(footer).to_bytes(8, "little") + MAGIC


def summed(chunks: Iterable[bytes], sums: list[int]) -> Iterator[bytes]:
    """Pass bytes on, and put the checksum of every piece of them into ``sums``."""
    filled = 0
    for chunk in chunks:
        view = memoryview(chunk)
        while len(view):
            part, view = view[: PIECE - filled], view[PIECE - filled :]
            if not filled:
                sums.append(0)
            sums[-1] = zlib.crc32(part, sums[-1])
            filled = (filled + len(part)) % PIECE
        yield chunk


def as_bytes(sums: Iterable[int]) -> bytes:
    """Checksums as the catalogue keeps them."""
    return np.array(list(sums), dtype="<u4").tobytes()


def sums_of(path: Path, sha256: str) -> bytes:
    """The checksums of a file that was written before they were kept, if its SHA-256 is right."""
    digest, sums = hashlib.sha256(), list[int]()
    with open(path, "rb") as file:
        for chunk in summed(iter(lambda: file.read(_SPAN), b""), sums):
            digest.update(chunk)
    if digest.hexdigest() != sha256:
        raise DataProblem("does not match its checksum")
    return as_bytes(sums)


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


def check_file(path: Path, size: int, sums: bytes, blank: Spans = ()) -> None:
    """Compare every piece of a file with its checksum."""
    read_rows(path, Place("uint8", 1, 0), np.arange(0, size, PIECE), size, sums, blank)


def sums_without(path: Path, sums: bytes, before: Spans, blank: Spans) -> bytes:
    """The checksums once more of a file is blank; raises where a piece of that is damaged."""
    out = np.frombuffer(sums, "<u4").copy()
    touched = {n for start, stop in blank for n in range(start // PIECE, (stop - 1) // PIECE + 1)}
    with open(path, "rb", buffering=0) as file:
        for piece in touched:
            data = _pieces(file, piece, piece + 1, sums, before)
            out[piece] = zlib.crc32(blanked(data, piece * PIECE, blank))
    return out.tobytes()


def read_rows(
    path: Path, place: Place, rows: IdArray, size: int, sums: bytes, blank: Spans = ()
) -> NDArray[Any]:
    """Rows of a block, in the order given; raises where a piece that holds one is damaged.

    Checksums are those of the file with zeros where it is to be ``blank``, as it may not be yet.
    """
    out = np.empty((len(rows), place.dim), KINDS[place.dtype])
    with open(path, "rb", buffering=0) as file:
        if file.seek(0, 2) != size:
            raise DataProblem("is cut short")
        if not out.size:
            return out
        order = np.argsort(rows, kind="stable")
        starts = place.offset + rows[order] * place.width
        apart = (np.diff(starts) > place.width + PIECE) | (np.diff(starts // _SPAN) > 0)
        for part in np.split(order, np.flatnonzero(apart) + 1):
            low, high = int(rows[part[0]]), int(rows[part[-1]]) + 1
            begin = place.offset + low * place.width
            first = begin // PIECE
            last = (place.offset + high * place.width - 1) // PIECE + 1
            data = _pieces(file, first, last, sums, blank)
            matrix = np.frombuffer(
                data, out.dtype, (high - low) * place.dim, begin - first * PIECE
            ).reshape(-1, place.dim)
            out[part] = matrix[rows[part] - low]
    return out


def _pieces(file: Any, first: int, last: int, sums: bytes, blank: Spans) -> bytes:
    """The bytes of some neighbouring pieces, each compared with its checksum."""
    file.seek(first * PIECE)
    read: bytes = file.read((last - first) * PIECE)
    for zeros in ((), blank) if blank else ((),):
        data = bytes(blanked(read, first * PIECE, zeros)) if zeros else read
        view = memoryview(data)
        found = [zlib.crc32(view[at : at + PIECE]) for at in range(0, len(data), PIECE)]
        if as_bytes(found) == sums[4 * first : 4 * last]:
            return data
    raise DataProblem("does not match its checksums")
