"""The hot loops that indexes share; each is a few lines and never allocates per item.

They release the GIL and use no threads of their own, so that several searches may run
at once.
"""

from __future__ import annotations

from typing import Any

from numba import njit

# Sums may be reordered (that is what makes a dot product fast); NaN keeps its meaning.
REORDER = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=REORDER)
def dot(a: Any, b: Any) -> Any:
    """Inner product of two vectors of one length, in their own precision."""
    total = a[0] * b[0]
    for j in range(1, a.shape[0]):
        total += a[j] * b[j]
    return total


@njit(cache=True, nogil=True)
def dots_at(codes: Any, rows: Any, vector: Any, out: Any) -> None:
    """``out[i] = codes[rows[i]] . vector``, without gathering the rows first."""
    for i in range(rows.shape[0]):
        out[i] = dot(codes[rows[i]], vector)


@njit(cache=True, nogil=True)
def csr_dots(data: Any, columns: Any, starts: Any, rows: Any, vector: Any, out: Any) -> None:
    """The same for the chosen rows of a sparse matrix; sums in the precision of ``vector``."""
    for i in range(rows.shape[0]):
        total = 0.0
        for p in range(starts[rows[i]], starts[rows[i] + 1]):
            total += data[p] * vector[columns[p]]
        out[i] = total
