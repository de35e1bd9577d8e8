"""The exact index: every code is looked at, and nothing is ever missed.

Dense scores are found in two steps.  A fast pass in the codes' own precision keeps all
items that could be among the best, given how far rounding can move a score; those few
are scored again in float64, each in the same order of summation.  So equal codes get
equal scores, ties fall to the smaller id exactly, and one query alone is answered like
the same query among many.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likewise.index._base import Asked, BaseIndex
from likewise.index._checks import BLOCK_BYTES, Contents, exact_dots, in_blocks, single_precision
from likewise.index._files import SavedFolder, Writer, array_writer
from likewise.later import sparse
from likewise.types import Codes, FloatArray, IdArray

# Queries that share one pass over the codes; more gain nothing from the cache.
_TOGETHER = 256
# Up to so many queries a row-by-row product beats the matrix product of BLAS.
_FEW = 2
# Below so many rows a scan takes less time than to import numba; used where it is there already.
_SMALL = 500_000


class FlatIndex(BaseIndex):
    """Exact search over dense or sparse codes.

    Made by :meth:`build`.  Codes are kept as they are handed in (float16, float32 or
    float64, a memory map if it is one), not copied: do not change them afterwards.
    """

    kind = "flat"
    exact = True
    takes_sparse = True

    def __init__(self, codes: Any, side: NDArray[np.float64], reach: float, **common: Any) -> None:
        super().__init__(**common)
        self._codes, self._side, self._reach = codes, side, reach
        self._side_peak = np.abs(side).max(axis=0, initial=0.0)

    @classmethod
    def _build(cls, given: Contents, common: Mapping[str, Any], seed: int) -> Self:
        return cls(given.codes, given.side, _longest(given.codes), **common)

    def _best(
        self, asked: Asked, k: int, rows: IdArray | None
    ) -> tuple[IdArray, NDArray[np.float64]]:
        places = np.empty((len(asked.vectors), k), np.int64)
        scores = np.empty((len(asked.vectors), k))
        for start in range(0, len(places), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            if sparse.issparse(self._codes):
                self._sparse_part(asked.take(part), rows, places[part], scores[part])
            else:
                self._dense_part(asked.take(part), rows, places[part], scores[part])
        return places, scores

    # -- dense --------------------------------------------------------------

    def _dense_part(
        self, asked: Asked, rows: IdArray | None, places: IdArray, scores: NDArray[np.float64]
    ) -> None:
        k = places.shape[1]
        vectors, factor = self._working(asked)
        side = asked.side if factor is None else asked.side / factor[:, None]
        slack = self._slack(vectors, side)
        heaps = np.full((len(vectors), k), -np.inf, vectors.dtype)
        kept: list[list[tuple[IdArray, FloatArray]]] = [[] for _ in vectors]
        for start, found in self._rough(vectors, side, rows):
            for q, row in enumerate(found):
                best = np.concatenate([heaps[q], row])
                heaps[q] = np.partition(best, len(row))[len(row) :]
                near = np.flatnonzero(row >= heaps[q, 0] - slack[q])
                kept[q].append((near + start, row[near]))
        for q, parts in enumerate(kept):
            place = np.concatenate([p[r >= heaps[q, 0] - slack[q]] for p, r in parts])
            place = place if rows is None else rows[place]
            true = self._true(place, asked.vectors[q], asked.side[q])
            order = np.lexsort((self._ids[place], -true))[:k]
            places[q], scores[q] = place[order], true[order]

    def _working(self, asked: Asked) -> tuple[FloatArray, NDArray[np.float64] | None]:
        """Vectors in the precision of the fast pass, and the factor they were divided by."""
        if self._codes.dtype == np.float64 or self._reach > 1e15:
            return np.ascontiguousarray(asked.vectors, dtype=np.float64), None
        return single_precision(asked.vectors, asked.fits)

    def _slack(self, vectors: FloatArray, side: NDArray[np.float64]) -> NDArray[np.float64]:
        """Twice the most that rounding can move a score: n u |x| |v| for n terms."""
        size = np.linalg.norm(vectors.astype(np.float64), axis=1) * self._reach
        size += np.abs(side) @ self._side_peak
        terms = self.dim + len(self.side_names) + 4
        slack: NDArray[np.float64] = 2 * terms * np.finfo(vectors.dtype).eps * size
        return slack

    def _rough(
        self, vectors: FloatArray, side: NDArray[np.float64], rows: IdArray | None
    ) -> Iterator[tuple[int, FloatArray]]:
        """Blocks of scores of the fast pass, each with the place of its first column."""
        total = len(self) if rows is None else len(rows)
        few, same = len(vectors) <= _FEW, self._codes.dtype == vectors.dtype
        copies = not same or (rows is not None and not few)
        width = max(len(vectors), self.dim if copies else 1)
        step = max(1, BLOCK_BYTES // (vectors.itemsize * width))
        at = few and same and rows is not None and (total >= _SMALL or "numba" in sys.modules)
        if at:
            from likewise.index._kernels import dots_at
        for start in range(0, total, step):
            part = slice(start, min(start + step, total))
            where = part if rows is None else rows[part]
            found = np.empty((len(vectors), part.stop - start), vectors.dtype)
            if at:
                for vector, row in zip(vectors, found):
                    dots_at(self._codes, where, vector, row)
            else:
                block = self._codes[where].astype(vectors.dtype, copy=False)
                if few and total >= _SMALL and hasattr(np, "vecdot"):  # numpy 2
                    np.vecdot(vectors[:, None], block, out=found)
                else:
                    np.matmul(vectors, block.T, out=found)
            if side.any():
                found += (side @ self._side[where].T).astype(found.dtype)
            yield start, found

    def _true(
        self, places: IdArray, vector: FloatArray, side: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Scores of a few items in float64, gathered a bounded number at a time."""
        scores = np.empty(len(places))
        step = max(1, BLOCK_BYTES // (8 * self.dim))
        for start in range(0, len(places), step):
            part = places[start : start + step]
            scores[start : start + step] = exact_dots(self._codes[part], vector)
        return scores + self._side_score(places, side)

    # -- sparse -------------------------------------------------------------

    def _sparse_part(
        self, asked: Asked, rows: IdArray | None, places: IdArray, scores: NDArray[np.float64]
    ) -> None:
        from likewise.index._kernels import csr_dots

        codes, k = self._codes, places.shape[1]
        where = np.arange(len(self)) if rows is None else rows
        true = np.empty(len(where))
        for q, vector in enumerate(asked.vectors.astype(np.float64)):
            csr_dots(codes.data, codes.indices, codes.indptr, where, vector, true)
            full = true + self._side_score(where, asked.side[q])
            floor = np.partition(full, len(full) - k)[len(full) - k]
            near = np.flatnonzero(full >= floor)
            order = near[np.lexsort((self._ids[where[near]], -full[near]))[:k]]
            places[q], scores[q] = where[order], full[order]

    def _side_score(
        self, places: IdArray, coefficients: NDArray[np.float64]
    ) -> NDArray[np.float64] | float:
        """Sum of coefficient times column, column by column so that each item's is the same."""
        total: NDArray[np.float64] | float = 0.0
        for at in np.flatnonzero(coefficients):
            total = total + coefficients[at] * self._side[places, at]
        return total

    # -- files --------------------------------------------------------------

    def _contents(self) -> tuple[dict[str, Any], dict[str, Writer]]:
        codes = self._codes
        settings = {"sparse": sparse.issparse(codes), "reach": self._reach}
        arrays = {"side.npy": self._side}
        if settings["sparse"]:
            arrays |= {"data.npy": codes.data, "indices.npy": codes.indices}
            arrays |= {"indptr.npy": codes.indptr}
        else:
            arrays["codes.npy"] = codes
        return settings, {name: array_writer(array) for name, array in arrays.items()}

    @classmethod
    def _restore(cls, saved: SavedFolder, common: Mapping[str, Any]) -> Self:
        settings = saved.manifest["settings"]
        if settings["sparse"]:
            names = ("data.npy", "indices.npy", "indptr.npy")
            shape = (saved.manifest["items"], saved.manifest["dim"])
            codes: Codes = sparse.csr_array(tuple(saved.array(n) for n in names), shape=shape)
        else:
            codes = saved.array("codes.npy")
        return cls(codes, saved.array("side.npy"), settings["reach"], **common)


def _longest(codes: Codes) -> float:
    """Length of the longest code: what bounds the rounding of a score."""
    if sparse.issparse(codes) or not len(codes):
        return 0.0
    wide: Any = {"dtype": np.float64, "casting": "same_kind"}
    squares = (np.einsum("ij,ij->i", part, part, **wide).max() for _, part in in_blocks(codes))
    return float(np.sqrt(max(squares)))
