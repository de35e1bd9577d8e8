"""What ``build`` is given, checked once: codes, ids and side columns that fit together."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.later import sparse
from likewise.types import BadInput, FloatArray, IdArray, as_matrix, as_vector

BLOCK_BYTES = 8 << 20
"""Working memory that a search may take at a time, about."""


class Contents(NamedTuple):
    """Checked arguments of ``build``: codes, ids and side columns of one length."""

    codes: Any
    ids: IdArray
    side_names: tuple[str, ...]
    side: NDArray[np.float64]


def check_contents(
    codes: Any, ids: Any, side: Mapping[str, Any] | None, *, takes_sparse: bool = False
) -> Contents:
    """Codes, ids and side columns that fit together, or a sentence about what does not.

    Float codes in C order are not copied, so that a memory map stays one.
    """
    codes = _sparse_codes(codes, takes_sparse) if sparse.issparse(codes) else _dense_codes(codes)
    n = codes.shape[0]
    columns = {
        name: as_vector(values if n else np.zeros(0), dim=n, name=f"side column {name!r}")
        for name, values in (side or {}).items()
    }
    matrix = np.zeros((n, len(columns)))
    for at, values in enumerate(columns.values()):
        matrix[:, at] = values
    return Contents(codes, _unique_ids(ids, n), tuple(columns), matrix)


def _dense_codes(codes: Any) -> FloatArray:
    a = np.asarray(codes)
    plain = a.ndim == 2 and a.dtype.kind == "f" and a.dtype.itemsize <= 8 and a.dtype.isnative
    if not plain or not a.flags.c_contiguous:
        if a.dtype.kind == "f" and (a.dtype.itemsize > 8 or not a.dtype.isnative):
            a = a.astype(f"=f{min(a.dtype.itemsize, 8)}")
        a = as_matrix(a, name="codes")
    if a.shape[1] == 0:
        raise BadInput("The codes have no columns; encode the items before indexing them.")
    for start, block in in_blocks(a):
        finite = np.isfinite(block)
        if not finite.all():
            row = start + int(np.flatnonzero(~finite.all(axis=1))[0])
            raise BadInput(
                f"The codes hold NaN or infinity (first in row {row}); leave those rows out."
            )
    return a


def in_blocks(rows: Any) -> Iterator[tuple[int, Any]]:
    """Rows in blocks, each with its first place; what only mirrors a file is let go between."""
    step = max(1, BLOCK_BYTES // (8 * rows.shape[1]))
    for start in range(0, len(rows), step):
        yield start, rows[start : start + step]
        let_go(rows)


def let_go(rows: Any) -> None:
    """Give back the memory of rows that a file holds; they are read again where they are needed."""
    while isinstance(rows, np.ndarray):
        rows = rows.base
    if isinstance(rows, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        rows.madvise(mmap.MADV_DONTNEED)


def _sparse_codes(codes: Any, takes_sparse: bool) -> sparse.csr_array:
    if not takes_sparse:
        raise BadInput(
            "This index holds dense codes only; use a flat or an inverted index for sparse ones."
        )
    rows = sparse.csr_array(codes)
    if rows.dtype.kind not in "fiub":
        raise BadInput(f"The codes must be numbers, not {rows.dtype}.")
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    if not np.isfinite(rows.data).all():
        raise BadInput("The codes hold NaN or infinity; leave those rows out.")
    return rows


def _unique_ids(ids: Any, n: int) -> IdArray:
    if ids is None:
        return np.arange(n, dtype=np.int64)
    given = np.asarray(ids)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise BadInput("The ids must be a list of whole numbers, one an item.")
    if len(given) != n:
        raise BadInput(f"There are {len(given)} ids for {n} items; give one id an item.")
    given = given.astype(np.int64)
    rising = np.sort(given)
    twice = np.flatnonzero(rising[1:] == rising[:-1])
    if len(twice):
        raise BadInput(f"The id {rising[twice[0]]} is given to several items; ids must be unique.")
    return given


def exact_dots(rows: Any, vector: Any) -> NDArray[np.float64]:
    """Scores of gathered rows in float64, each summed in the same order wherever it lies."""
    wide = np.asarray(rows, dtype=np.float64)
    found: NDArray[np.float64] = (wide * vector).sum(axis=1)
    return found


def single_precision(
    vectors: FloatArray, fits: bool
) -> tuple[NDArray[np.float32], NDArray[np.float64] | None]:
    """Vectors as float32, and the factor a row that scores must be multiplied by, if any.

    A positive factor never changes an order, so vectors that do not fit float32 are brought
    to a largest number of one.
    """
    if fits:
        return np.ascontiguousarray(vectors, dtype=np.float32), None
    peak = np.abs(vectors).max(axis=1)
    factor = np.where(peak > 0, peak, 1.0).astype(np.float64)
    return np.ascontiguousarray(vectors / factor[:, None], dtype=np.float32), factor
