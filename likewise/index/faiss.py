"""FAISS behind the common calls: exact for small collections, k-means cells for large ones.

How many cells a search looks into is chosen once, for a stated recall, on a sample of plain
and of learned-like queries; the recall that was measured is kept with the index.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import faiss
import numpy as np
from numpy.typing import NDArray

from likewise.index._base import Asked, BaseIndex, check_contents
from likewise.index._files import SavedFolder, Writer, array_writer
from likewise.index._kernels import exact_dots
from likewise.index._lift import Lifted, SideLift
from likewise.index._recall import AT, RECALL, SAMPLE, Goal, learned_like, probes_for, recall_of
from likewise.index.flat import FlatIndex
from likewise.types import BadInput, DataProblem, IdArray, Surrogate

Structure = Literal["flat", "ivf", "ivf-sq8", "hnsw"]

# An exact scan stays below some milliseconds up to here.
SMALL = 50_000
# Beyond so many bytes of float32 codes a quarter of the memory is worth a second look
# at the best candidates.
LARGE_BYTES = 2 << 30
_MOST_EF = 1024

Truth = Callable[[NDArray[np.float32], int], tuple[Any, Any]]


class FaissIndex(BaseIndex):
    """Inner-product search by FAISS.

    Made by :meth:`build`.  ``structure`` says what was chosen, ``probes`` how many cells
    (or, for a graph, how long a candidate list) a search looks into, ``recall`` what was
    measured with that.
    """

    kind = "faiss"

    def __init__(
        self,
        engine: Any,
        structure: Structure,
        lift: SideLift,
        *,
        probes: int = 1,
        recall: float = 1.0,
        codes: NDArray[np.float32] | None = None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self._engine, self._structure, self._lift = engine, structure, lift
        self._codes = codes
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
        kind: Literal["auto"] | Structure = "auto",
        recall: float = RECALL,
        at: int = AT,
        cells: int | None = None,
        probes: int | None = None,
        links: int = 16,
    ) -> Self:
        """An index of dense codes; see :meth:`BaseIndex.build` for what all kinds take.

        Parameters
        ----------
        kind
            ``flat`` (exact), ``ivf`` (k-means cells), ``ivf-sq8`` (the same with a byte a
            number in memory and the full codes beside it for the last look), ``hnsw`` (a
            graph; weak where lengths are uneven) or ``auto``: by size.
        recall, at
            The recall to choose ``probes`` for, and the number of hits it is measured on.
        cells
            Number of k-means cells; about ``4 sqrt(n)`` by default.
        probes
            Cells (or candidates of a graph) to look into; chosen by default.
        links
            Links a node of a graph.
        """
        given = check_contents(codes, ids, side)
        goal = Goal(recall, at).checked()
        structure = _choose(kind, *given.codes.shape)
        lift = SideLift.fit(given.codes, given.side)
        full = lift.codes(given.codes, given.side)
        index = cls(
            _engine(structure, full, cells, links, seed),
            structure,
            lift,
            codes=full if structure == "ivf-sq8" else None,
            ids=given.ids,
            dim=given.codes.shape[1],
            space=space,
            side_names=given.side_names,
        )
        if structure != "flat":
            rng = np.random.default_rng(seed)
            index._calibrate(index._halves(full, rng), goal, _scan(full), probes)
        return index

    @property
    def structure(self) -> Structure:
        """What FAISS was asked to build."""
        return self._structure

    @property
    def probes(self) -> int:
        """Cells that a search looks into (candidates kept, for a graph)."""
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
        if self._structure == "flat" or not len(self):
            return self._recall
        if sample is None:
            rng = np.random.default_rng(seed)
            groups = self._halves(None, rng)
        elif len(sample):
            groups = [self._lift.queries(self._asked(sample)[0]).vectors]
        else:
            raise BadInput("A sample needs at least one surrogate; leave it out for the default.")
        self._calibrate(groups, goal, self._exhaustive, None)
        return self._recall

    # -- searching ----------------------------------------------------------

    def _best(
        self, asked: Asked, k: int, rows: IdArray | None
    ) -> tuple[IdArray, NDArray[np.floating[Any]]]:
        lifted = self._lift.queries(asked)
        if self._codes is None:
            found, places = self._ask(lifted.vectors, k, rows)
            return places, lifted.scores(found)
        room = len(self) if rows is None else len(rows)
        _, places = self._ask(lifted.vectors, min(room, 2 * k), rows)
        return self._second_look(lifted, places, k)

    def _ask(
        self, vectors: NDArray[np.float32], k: int, rows: IdArray | None
    ) -> tuple[NDArray[np.float32], IdArray]:
        """Scores and rows; what the probed cells cannot fill is asked of all cells."""
        engine, params = (self._engine, self._params) if rows is None else self._among(rows)
        scores, places = engine.search(vectors, k, params=params)
        if min(places[:, -1].tolist()) < 0:
            short = places[:, -1] < 0
            scores[short], places[short] = self._all(vectors[short], k, rows)
        return scores, places

    def _all(
        self, vectors: NDArray[np.float32], k: int, rows: IdArray | None
    ) -> tuple[NDArray[np.float32], IdArray]:
        """The exact answer over what the engine holds."""
        chosen = {} if rows is None else {"sel": self._selector(rows)}
        if self._structure == "hnsw":
            storage = faiss.downcast_index(self._engine.storage)
            return _pair(storage.search(vectors, k, params=faiss.SearchParameters(**chosen)))
        params = faiss.SearchParametersIVF(nprobe=self._engine.nlist, **chosen)
        return _pair(self._engine.search(vectors, k, params=params))

    def _among(self, rows: IdArray) -> tuple[Any, Any]:
        """Engine and parameters for a search among some rows only.

        The true hits among a share of the items lie in as many more cells as the share is
        small; cells without any of them cost next to nothing.
        """
        sel = self._selector(rows)
        if self._structure in ("flat", "hnsw"):
            engine = self._engine if self._structure == "flat" else self._engine.storage
            return faiss.downcast_index(engine), faiss.SearchParameters(sel=sel)
        probes = min(self._engine.nlist, math.ceil(self._probes * len(self) / len(rows)))
        return self._engine, faiss.SearchParametersIVF(nprobe=probes, sel=sel)

    def _selector(self, rows: IdArray) -> Any:
        wanted = np.zeros(len(self), bool)
        wanted[rows] = True
        return faiss.IDSelectorBitmap(np.packbits(wanted, bitorder="little"))

    def _second_look(
        self, lifted: Lifted, places: IdArray, k: int
    ) -> tuple[IdArray, NDArray[np.float64]]:
        """Score the candidates by their full codes: scores shown must be true ones."""
        assert self._codes is not None
        best = np.empty((len(places), k), np.int64)
        scores = np.empty((len(places), k))
        for q, candidates in enumerate(places):
            true = exact_dots(self._codes[candidates], lifted.vectors[q])
            order = np.lexsort((self._ids[candidates], -true))[:k]
            best[q], scores[q] = candidates[order], true[order]
        return best, lifted.scores(scores)

    # -- how many probes ----------------------------------------------------

    def _set_probes(self, probes: int) -> None:
        if probes < 1:
            raise BadInput(f"A search looks into at least one cell, not {probes}.")
        self._probes = int(probes)
        self._params = None
        if self._structure == "hnsw":
            self._params = faiss.SearchParametersHNSW(efSearch=self._probes)
        elif self._structure != "flat":
            self._probes = min(self._probes, self._engine.nlist)
            self._params = faiss.SearchParametersIVF(nprobe=self._probes)

    def _halves(
        self, codes: NDArray[np.float32] | None, rng: np.random.Generator
    ) -> list[NDArray[np.float32]]:
        rows = np.sort(rng.choice(len(self), min(len(self), SAMPLE), replace=False))
        items = codes[rows] if codes is not None else self._stored(rows)
        plain = items.copy()
        plain[:, self._dim :] = 0.0
        groups = [plain, learned_like(items, self._dim, rng)]
        return [g[g.any(axis=1)] for g in groups if g.any()]

    def _stored(self, rows: IdArray) -> NDArray[np.float32]:
        if self._codes is not None:
            return np.array(self._codes[rows])
        if self._structure == "hnsw":
            return np.asarray(self._engine.reconstruct_batch(rows))
        self._engine.make_direct_map()
        try:
            return np.asarray(self._engine.reconstruct_batch(rows))
        finally:
            self._engine.set_direct_map_type(faiss.DirectMap.NoMap)

    def _exhaustive(self, vectors: NDArray[np.float32], k: int) -> tuple[Any, Any]:
        if self._codes is not None:
            return _scan(self._codes)(vectors, k)
        return self._all(vectors, k, None)

    def _calibrate(
        self,
        groups: list[NDArray[np.float32]],
        goal: Goal,
        truth: Truth,
        probes: int | None,
    ) -> None:
        """Set the probes that every group needs (or those given), and measure the recall."""
        if not groups:
            return
        k = min(goal.k, len(self))
        true = [truth(group, k) for group in groups]

        def measured() -> float:
            return min(
                recall_of(self._measured(group, k), scores)
                for group, (scores, _) in zip(groups, true)
            )

        if probes is not None:
            self._set_probes(probes)
        elif self._structure == "hnsw":
            self._set_probes(max(32, k))
            while measured() < goal.recall and self._probes < _MOST_EF:
                self._set_probes(2 * self._probes)
        else:
            home = self._homes()
            needs = [
                probes_for(self._cell_ranks(group, home[places]), goal.recall)
                for group, (_, places) in zip(groups, true)
            ]
            self._set_probes(max(needs))
        self._recall = measured()

    def _measured(self, vectors: NDArray[np.float32], k: int) -> NDArray[np.floating[Any]]:
        if self._codes is None:
            return self._ask(vectors, k, None)[0]
        _, places = self._ask(vectors, min(len(self), 2 * k), None)
        return self._second_look(Lifted(vectors, None, None), places, k)[1]

    def _homes(self) -> IdArray:
        """The cell of each row."""
        home = np.empty(len(self), np.int64)
        lists = self._engine.invlists
        for cell in range(self._engine.nlist):
            size = lists.list_size(cell)
            if size:
                home[faiss.rev_swig_ptr(lists.get_ids(cell), size)] = cell
        return home

    def _cell_ranks(self, vectors: NDArray[np.float32], cells: IdArray) -> IdArray:
        """Rank of each of a query's cells in the order in which they would be probed."""
        _, order = self._engine.quantizer.search(vectors, self._engine.nlist)
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.arange(order.shape[1])[None, :], axis=1)
        ranks: IdArray = np.take_along_axis(rank, cells, axis=1)
        return ranks

    # -- files --------------------------------------------------------------

    def _contents(self) -> tuple[dict[str, Any], dict[str, Writer]]:
        settings = {
            "structure": self._structure,
            "probes": self._probes,
            "recall": None if math.isnan(self._recall) else self._recall,
            "lift": self._lift.as_json(),
        }

        def write_engine(path: Path) -> None:
            faiss.write_index(self._engine, str(path))

        writers: dict[str, Writer] = {"engine.faiss": write_engine}
        if self._codes is not None:
            writers["codes.npy"] = array_writer(self._codes)
        return settings, writers

    @classmethod
    def _restore(cls, saved: SavedFolder, common: Mapping[str, Any]) -> Self:
        settings = saved.manifest["settings"]
        flags = faiss.IO_FLAG_MMAP_IFC if saved.mmap else 0
        try:
            engine = faiss.read_index(str(saved.path("engine.faiss")), flags)
        except RuntimeError:
            raise DataProblem(
                f"FAISS cannot read the index in {saved.folder}; build the index anew."
            ) from None
        recall = settings["recall"]
        return cls(
            engine,
            settings["structure"],
            SideLift.of_json(settings["lift"]),
            probes=settings["probes"],
            recall=float("nan") if recall is None else recall,
            codes=saved.array("codes.npy") if "codes.npy" in saved else None,
            **common,
        )


def _choose(kind: str, n: int, dim: int) -> Structure:
    if kind not in ("auto", "flat", "ivf", "ivf-sq8", "hnsw"):
        raise BadInput(
            f"FAISS is used as auto, flat, ivf, ivf-sq8 or hnsw here, not {kind!r}; name one of these."
        )
    if n == 0 or (kind == "auto" and n < SMALL):
        return "flat"
    if kind == "auto":
        return "ivf" if 4 * n * dim <= LARGE_BYTES else "ivf-sq8"
    return kind  # type: ignore[return-value]


def _engine(
    structure: Structure, codes: NDArray[np.float32], cells: int | None, links: int, seed: int
) -> Any:
    """FAISS's own index, trained and filled."""
    n, dim = codes.shape
    if structure == "flat":
        engine = faiss.IndexFlatIP(dim)
    elif structure == "hnsw":
        engine = faiss.IndexHNSWFlat(dim, links, faiss.METRIC_INNER_PRODUCT)
    else:
        wanted = round(4 * math.sqrt(n)) if cells is None else cells
        if wanted < 1:
            raise BadInput(f"An index has at least one cell, not {cells}.")
        coding = "SQ8" if structure == "ivf-sq8" else "Flat"
        name = f"IVF{max(1, min(wanted, n // 8))},{coding}"
        engine = faiss.index_factory(dim, name, faiss.METRIC_INNER_PRODUCT)
        engine.cp.seed = seed + 1
        engine.cp.niter = 10
        engine.cp.min_points_per_centroid = 1
        engine.cp.max_points_per_centroid = 64
        engine.train(codes)
    if n:
        engine.add(codes)
    return engine


def _scan(codes: NDArray[np.float32]) -> Truth:
    """Exact scores and rows by our own flat index, in one pass over the codes."""
    exact = FlatIndex.build(codes)

    def truth(vectors: NDArray[np.float32], k: int) -> tuple[Any, Any]:
        places, scores = exact._best(Asked(vectors, np.zeros((len(vectors), 0))), k, None)
        return scores, places

    return truth


def _pair(found: Any) -> tuple[NDArray[np.float32], IdArray]:
    scores, places = found
    return scores, places
