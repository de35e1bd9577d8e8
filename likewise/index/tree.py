"""Several k-means partitions, each probed in its best cells, the buckets united: the index of
Kuang et al., section 6.

A cell is probed in the order of ``centre . v``.  The centre is the mean of its bucket, so
that this is the mean score of the bucket under the surrogate, and like the order of the items
it does not change when the surrogate is scaled.  The distance from ``v`` to the centre would:
a surrogate has no natural length.  Whatever is found in a probed bucket is scored exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import faiss as _faiss
import numpy as np
from numba import njit
from numpy.typing import NDArray

from likewise.index._files import SavedFolder, Writer, array_writer
from likewise.index._kernels import dot
from likewise.index._probed import Found, ProbedIndex, ranks_of, scan
from likewise.types import BadInput, IdArray

faiss: Any = _faiss  # its own type hints know but half of it

# Points a cell that k-means looks at: each tree draws its own, which also makes them differ.
_POINTS_A_CELL = 64
_NO_MASK = np.zeros(0, np.bool_)


class Trees(NamedTuple):
    """The partitions: all arrays have one row a tree; items are places in ``codes``.

    ``members[t, starts[t, c] : starts[t, c + 1]]`` is the bucket of cell ``c``, and
    ``homes[t, i]`` the cell of item ``i``.
    """

    centres: NDArray[np.float32]
    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    homes: NDArray[np.int32]


class TreeIndex(ProbedIndex):
    """Multi-probe search in several k-means partitions.

    Made by :meth:`build`.  Codes are kept in the order of the first tree's buckets, so that
    a bucket is read in one go.  Own settings: ``trees``, the number of independent partitions, and
    ``clusters``, the cells of each; fewer where there are fewer than eight items a cell.
    """

    kind = "tree"

    def __init__(
        self,
        codes: NDArray[np.float32],
        rows: NDArray[np.int32],
        trees: Trees,
        **common: Any,
    ) -> None:
        self._codes, self._row, self._trees = codes, rows, trees
        self._place = np.empty(len(rows), np.int64)
        self._place[rows] = np.arange(len(rows))
        super().__init__(**common)

    @classmethod
    def _filled(
        cls, codes: NDArray[np.float32], probing: Mapping[str, Any], seed: int, *,
        trees: int = 3, clusters: int = 1000,
    ) -> Self:  # fmt: skip
        if trees < 1 or clusters < 1:
            raise BadInput("A tree index has at least one tree of at least one cluster.")
        cells, dim = max(1, min(clusters, len(codes) // 8)), probing["dim"]
        homes = np.stack([_partition(codes, dim, cells, seed + 1 + t) for t in range(trees)])
        rows = np.argsort(homes[0], kind="stable").astype(np.int32)
        codes, homes = codes[rows], np.ascontiguousarray(homes[:, rows])
        return cls(codes, rows, _grow(codes, homes, cells), **probing)

    @property
    def trees(self) -> int:
        """Number of partitions."""
        return len(self._trees.homes)

    @property
    def clusters(self) -> int:
        """Cells of each partition."""
        return int(self._trees.starts.shape[1]) - 1

    # -- searching ----------------------------------------------------------

    def _look(self, vectors: NDArray[np.float32], k: int, rows: IdArray | None) -> Found:
        """The best of the united buckets; all items are scanned where those fall short."""
        places = np.empty((len(vectors), k), np.int64)
        scores = np.empty((len(vectors), k), np.float32)
        probes, mask, chosen = self._probes, _NO_MASK, None
        if rows is not None:
            # True hits among a share of the items lie in as many more cells as it is small.
            probes = math.ceil(self._probes * len(self) / len(rows))
            chosen = self._place[rows]
            mask = np.zeros(len(self), np.bool_)
            mask[chosen] = True
        # Looking into nearly all cells of several trees costs more than one scan.
        cells = self._cells(vectors, probes) if probes * self.trees < self.clusters else None
        for q, vector in enumerate(vectors):
            found = 0
            if cells is not None:
                found = _best_in_cells(
                    self._codes, vector, cells[q], *self._trees[1:], mask, scores[q], places[q]
                )
            if found < k:
                rest = np.arange(len(self)) if chosen is None else chosen
                _best_in_list(self._codes, vector, rest, scores[q], places[q])
        return self._row[places].astype(np.int64), scores

    def _look_everywhere(self, vectors: NDArray[np.float32], k: int) -> Found:
        places, scores = scan(self._codes, vectors, k)
        return self._row[places].astype(np.int64), scores

    def _cells(self, vectors: NDArray[np.float32], probes: int) -> NDArray[np.int64]:
        """Cells of each tree with the largest ``centre . v``: (queries, trees, probes)."""
        centres = self._trees.centres
        scores = vectors @ centres.reshape(-1, centres.shape[2]).T
        scores = scores.reshape(len(vectors), self.trees, self.clusters)
        best = np.argpartition(scores, self.clusters - probes, axis=2)[:, :, -probes:]
        return np.ascontiguousarray(best)

    # -- how many probes ----------------------------------------------------

    @property
    def _most_probes(self) -> int:
        return self.clusters

    def _items(self, rows: IdArray) -> NDArray[np.float32]:
        return self._codes[self._place[rows]]

    def _ranks(self, vectors: NDArray[np.float32], rows: IdArray) -> IdArray:
        """The best rank that a row's cell has in any tree."""
        best = np.full(rows.shape, self.clusters, np.int64)
        for centres, homes in zip(self._trees.centres, self._trees.homes):
            order = np.argsort(-(vectors @ centres.T), axis=1, kind="stable")
            cells = homes[self._place[rows]].astype(np.int64)
            best = np.minimum(best, ranks_of(order, cells))
        return best

    # -- files --------------------------------------------------------------

    def _contents(self) -> tuple[dict[str, Any], dict[str, Writer]]:
        arrays = {"codes": self._codes, "rows": self._row, **self._trees._asdict()}
        writers = {f"{name}.npy": array_writer(array) for name, array in arrays.items()}
        return self._probing(), writers

    @classmethod
    def _restore(cls, saved: SavedFolder, common: Mapping[str, Any]) -> Self:
        return cls(
            saved.array("codes.npy"),
            saved.array("rows.npy"),
            Trees(*(saved.array(f"{name}.npy") for name in Trees._fields)),
            **cls._of_probing(saved.manifest["settings"]),
            **common,
        )


def _partition(codes: NDArray[np.float32], dim: int, cells: int, seed: int) -> NDArray[np.int32]:
    """The cell of each item by k-means on the codes proper; side columns have no say."""
    if not len(codes) or cells == 1:
        return np.zeros(len(codes), np.int32)
    rng = np.random.default_rng(seed)
    size = min(len(codes), cells * _POINTS_A_CELL)
    some = np.sort(rng.choice(len(codes), size, replace=False))
    kmeans = faiss.Kmeans(
        dim,
        cells,
        niter=10,
        seed=seed,
        min_points_per_centroid=1,
        max_points_per_centroid=_POINTS_A_CELL,
    )
    kmeans.train(np.ascontiguousarray(codes[some, :dim]))
    home = np.empty(len(codes), np.int32)
    for start in range(0, len(codes), 65536):
        block = np.ascontiguousarray(codes[start : start + 65536, :dim])
        home[start : start + 65536] = kmeans.index.search(block, 1)[1][:, 0]
    return home


def _grow(codes: NDArray[np.float32], homes: NDArray[np.int32], cells: int) -> Trees:
    """Buckets of each tree and their true means."""
    n, dim = codes.shape
    centres = np.zeros((len(homes), cells, dim), np.float32)
    starts = np.zeros((len(homes), cells + 1), np.int64)
    members = np.empty((len(homes), n), np.int32)
    for t, home in enumerate(homes):
        members[t] = np.argsort(home, kind="stable")
        size = np.bincount(home, minlength=cells)
        starts[t, 1:] = np.cumsum(size)
        _means(codes, home, size, centres[t])
    return Trees(centres, starts, members, homes)


@njit(cache=True, nogil=True)
def _means(codes: Any, home: Any, size: Any, centres: Any) -> None:
    sums = np.zeros(centres.shape, np.float64)
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            sums[home[i], j] += codes[i, j]
    for c in range(centres.shape[0]):
        for j in range(centres.shape[1]):
            centres[c, j] = sums[c, j] / max(1, size[c])


@njit(cache=True, nogil=True)
def _keep(scores: Any, places: Any, found: Any, score: Any, place: Any) -> Any:
    """Put a hit into a min-heap of limited size; returns how many it holds."""
    k = scores.shape[0]
    if found < k:
        at = found
        while at > 0 and scores[(at - 1) // 2] > score:
            up = (at - 1) // 2
            scores[at], places[at] = scores[up], places[up]
            at = up
        scores[at], places[at] = score, place
        return found + 1
    if score <= scores[0]:
        return found
    at = 0
    while True:
        child = 2 * at + 1
        if child >= k:
            break
        if child + 1 < k and scores[child + 1] < scores[child]:
            child += 1
        if scores[child] >= score:
            break
        scores[at], places[at] = scores[child], places[child]
        at = child
    scores[at], places[at] = score, place
    return found


@njit(cache=True, nogil=True)
def _sort_hits(scores: Any, places: Any) -> None:
    order = np.argsort(-scores)
    scores[:], places[:] = scores[order], places[order]


@njit(cache=True, nogil=True)
def _best_in_list(codes: Any, vector: Any, rest: Any, scores: Any, places: Any) -> None:
    """The best of the listed places, exactly."""
    found = 0
    for place in rest:
        found = _keep(scores, places, found, dot(codes[place], vector), place)
    _sort_hits(scores, places)


@njit(cache=True, nogil=True)
def _best_in_cells(  # type: ignore[no-untyped-def]
    codes, vector, cells, starts, members, homes, mask, scores, places
):
    """The best of the united buckets; returns how many were found.

    An item is in the union already when an earlier tree's cell of it is probed, which two
    small tables tell: no list of what was seen is kept.
    """
    trees = cells.shape[0]
    probed = np.zeros((trees, starts.shape[1] - 1), np.bool_)
    found = 0
    for t in range(trees):
        for cell in cells[t]:
            probed[t, cell] = True
    for t in range(trees):
        for cell in cells[t]:
            for p in range(starts[t, cell], starts[t, cell + 1]):
                place = members[t, p]
                seen = mask.shape[0] > 0 and not mask[place]
                for earlier in range(t):
                    seen = seen or probed[earlier, homes[earlier, place]]
                if not seen:
                    found = _keep(scores, places, found, dot(codes[place], vector), place)
    if found == scores.shape[0]:
        _sort_hits(scores, places)
    return found
