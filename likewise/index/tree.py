"""Several k-means partitions, each probed in its best cells, the buckets united: the index of
Kuang et al., section 6.

A cell is probed in the order of ``centre . v``.  The centre is the mean of its bucket, so
that this is the mean score of the bucket under the surrogate, and like the order of the items
it does not change when the surrogate is scaled.  The distance from ``v`` to the centre would:
a surrogate has no natural length.  Whatever is found in a probed bucket is scored exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import faiss
import numpy as np
from numba import njit
from numpy.typing import NDArray

from likewise.index._base import Asked, BaseIndex, check_contents
from likewise.index._files import SavedFolder, Writer, array_writer
from likewise.index._kernels import dot
from likewise.index._lift import SideLift
from likewise.index._recall import AT, RECALL, SAMPLE, Goal, learned_like, probes_for, recall_of
from likewise.types import BadInput, IdArray, Surrogate

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


class TreeIndex(BaseIndex):
    """Multi-probe search in several k-means partitions.

    Made by :meth:`build`.  Codes are kept in the order of the first tree's buckets, so that
    a bucket is read in one go.
    """

    kind = "tree"

    def __init__(
        self,
        codes: NDArray[np.float32],
        rows: NDArray[np.int32],
        trees: Trees,
        lift: SideLift,
        *,
        probes: int = 1,
        recall: float = 1.0,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self._codes, self._rows_of_place, self._trees, self._lift = codes, rows, trees, lift
        self._place = np.empty(len(rows), np.int64)
        self._place[rows] = np.arange(len(rows))
        self._recall = recall
        self._set_probes(probes)

    @classmethod
    def build(
        cls,
        codes: Any,
        ids: Any = None,
        *,
        space: str = "",
        side: Mapping[str, Any] | None = None,
        seed: int = 0,
        trees: int = 3,
        clusters: int = 1000,
        probes: int | None = None,
        recall: float = RECALL,
        at: int = AT,
    ) -> Self:
        """An index of dense codes; see :meth:`BaseIndex.build` for what all kinds take.

        Parameters
        ----------
        trees
            Number of independent partitions.
        clusters
            Cells of each; fewer where there are fewer than eight items a cell.
        probes
            Cells of each tree to look into; chosen for the recall by default.
        recall, at
            The recall to choose ``probes`` for, and the number of hits it is measured on.
        """
        given = check_contents(codes, ids, side)
        goal = Goal(recall, at).checked()
        if trees < 1 or clusters < 1:
            raise BadInput("A tree index has at least one tree of at least one cluster.")
        lift = SideLift.fit(given.codes, given.side)
        full = lift.codes(given.codes, given.side)
        cells = max(1, min(clusters, len(full) // 8))
        homes = np.stack(
            [_partition(full, given.codes.shape[1], cells, seed + 1 + t) for t in range(trees)]
        )
        rows = np.argsort(homes[0], kind="stable").astype(np.int32)
        full, homes = full[rows], np.ascontiguousarray(homes[:, rows])
        index = cls(
            full,
            rows,
            _grow(full, homes, cells),
            lift,
            ids=given.ids,
            dim=given.codes.shape[1],
            space=space,
            side_names=given.side_names,
        )
        index._calibrate(index._halves(np.random.default_rng(seed)), goal, probes)
        return index

    @property
    def trees(self) -> int:
        """Number of partitions."""
        return len(self._trees.homes)

    @property
    def clusters(self) -> int:
        """Cells of each partition."""
        return self._trees.starts.shape[1] - 1

    @property
    def probes(self) -> int:
        """Cells of each tree that a search looks into."""
        return self._probes

    @property
    def recall(self) -> float:
        """The recall that was measured, on the harder half of the sample."""
        return self._recall

    def with_probes(self, probes: int) -> Self:
        """The same index with another number of probes; nothing is copied."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._set_probes(probes)
        other._recall = float("nan")
        return other

    def calibrate(
        self,
        sample: Sequence[Surrogate] | None = None,
        *,
        recall: float = RECALL,
        at: int = AT,
        seed: int = 0,
    ) -> float:
        """Choose ``probes`` anew for a recall, and return the recall then measured.

        Parameters
        ----------
        sample
            Surrogates like those that will be asked; by default items, and items under
            random weights such as learning gives.
        recall, at
            The recall to reach, and the number of hits it is measured on.
        seed
            Seed of the default sample.
        """
        goal = Goal(recall, at).checked()
        if sample is not None and not len(sample):
            raise BadInput("A sample needs at least one surrogate; leave it out for the default.")
        if sample is None:
            groups = self._halves(np.random.default_rng(seed))
        else:
            groups = [self._lift.queries(self._asked(sample)[0]).vectors]
        self._calibrate(groups, goal, None)
        return self._recall

    # -- searching ----------------------------------------------------------

    def _best(
        self, asked: Asked, k: int, rows: IdArray | None
    ) -> tuple[IdArray, NDArray[np.floating[Any]]]:
        lifted = self._lift.queries(asked)
        chosen = None if rows is None else self._place[rows]
        places, found = self._probe(lifted.vectors, k, chosen)
        return self._rows_of_place[places].astype(np.int64), lifted.scores(found)

    def _probe(
        self, vectors: NDArray[np.float32], k: int, chosen: IdArray | None
    ) -> tuple[IdArray, NDArray[np.float32]]:
        """Places and scores from the united buckets; all are scanned where those fall short."""
        places = np.empty((len(vectors), k), np.int64)
        scores = np.empty((len(vectors), k), np.float32)
        probes, mask = self._probes, _NO_MASK
        if chosen is not None:
            # True hits among a share of the items lie in as many more cells as it is small.
            probes = math.ceil(self._probes * len(self) / max(1, len(chosen)))
            mask = np.zeros(len(self), np.bool_)
            mask[chosen] = True
        cells = self._cells(vectors, probes) if probes * self.trees < self.clusters else None
        for q, vector in enumerate(vectors):
            found = 0
            if cells is not None:
                found = _best_in_cells(
                    self._codes, vector, cells[:, q], *self._trees[1:], mask, scores[q], places[q]
                )
            if found < k:
                rest = np.arange(len(self)) if chosen is None else chosen
                _best_in_list(self._codes, vector, rest, scores[q], places[q])
        return places, scores

    def _cells(self, vectors: NDArray[np.float32], probes: int) -> NDArray[np.int64]:
        """Cells of each tree with the largest ``centre . v``: (trees, queries, probes)."""
        centres = self._trees.centres
        scores = (vectors @ centres.reshape(-1, centres.shape[2]).T).reshape(
            len(vectors), self.trees, self.clusters
        )
        best = np.argpartition(scores, self.clusters - probes, axis=2)[:, :, -probes:]
        return np.ascontiguousarray(best.transpose(1, 0, 2))

    # -- how many probes ----------------------------------------------------

    def _set_probes(self, probes: int) -> None:
        if probes < 1:
            raise BadInput(f"A search looks into at least one cell, not {probes}.")
        self._probes = min(int(probes), self.clusters)

    def _halves(self, rng: np.random.Generator) -> list[NDArray[np.float32]]:
        places = np.sort(rng.choice(len(self), min(len(self), SAMPLE), replace=False))
        items = self._codes[places]
        plain = items.copy()
        plain[:, self._dim :] = 0.0
        groups = [plain, learned_like(items, self._dim, rng)]
        return [g[g.any(axis=1)] for g in groups if g.any()]

    def _calibrate(self, groups: list[NDArray[np.float32]], goal: Goal, probes: int | None) -> None:
        """Set the probes that every group needs (or those given), and measure the recall."""
        if probes is not None:
            self._set_probes(probes)
        if not groups:
            return
        k = min(goal.k, len(self))
        exact = self.with_probes(self.clusters)
        true = [exact._probe(group, k, None) for group in groups]
        if probes is None:
            needs = [
                probes_for(self._ranks(group, places), goal.recall)
                for group, (places, _) in zip(groups, true)
            ]
            self._set_probes(max(needs))
        self._recall = min(
            recall_of(self._probe(group, k, None)[1], scores)
            for group, (_, scores) in zip(groups, true)
        )

    def _ranks(self, vectors: NDArray[np.float32], places: IdArray) -> IdArray:
        """For each true hit, the best rank that its cell has in any tree."""
        best = np.full(places.shape, self.clusters, np.int64)
        for centres, homes in zip(self._trees.centres, self._trees.homes):
            order = np.argsort(-(vectors @ centres.T), axis=1, kind="stable")
            rank = np.empty_like(order)
            np.put_along_axis(rank, order, np.arange(self.clusters)[None, :], axis=1)
            best = np.minimum(best, np.take_along_axis(rank, homes[places].astype(int), axis=1))
        return best

    # -- files --------------------------------------------------------------

    def _contents(self) -> tuple[dict[str, Any], dict[str, Writer]]:
        settings = {
            "probes": self._probes,
            "recall": None if math.isnan(self._recall) else self._recall,
            "lift": self._lift.as_json(),
        }
        arrays = {"codes": self._codes, "rows": self._rows_of_place, **self._trees._asdict()}
        return settings, {f"{name}.npy": array_writer(array) for name, array in arrays.items()}

    @classmethod
    def _restore(cls, saved: SavedFolder, common: Mapping[str, Any]) -> Self:
        settings = saved.manifest["settings"]
        recall = settings["recall"]
        return cls(
            saved.array("codes.npy"),
            saved.array("rows.npy"),
            Trees(*(saved.array(f"{name}.npy") for name in Trees._fields)),
            SideLift.of_json(settings["lift"]),
            probes=settings["probes"],
            recall=float("nan") if recall is None else recall,
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
def _best_in_cells(
    codes: Any,
    vector: Any,
    cells: Any,
    starts: Any,
    members: Any,
    homes: Any,
    mask: Any,
    scores: Any,
    places: Any,
) -> Any:
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
