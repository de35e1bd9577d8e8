"""FAISS behind the common calls: exact for small collections, k-means cells for large ones.

How many cells a search looks into is chosen once, for a stated recall, on a sample of plain
and of learned-like queries; the recall that was measured is kept with the index.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import faiss as _faiss
import numpy as np
from numpy.typing import NDArray

from likewise.index._checks import in_blocks, let_go
from likewise.index._files import SavedFolder, Writer, array_writer
from likewise.index._probed import Found, Goal, ProbedIndex, ranks_of, scan
from likewise.types import BadInput, DataProblem, IdArray

faiss: Any = _faiss  # its own type hints know but half of it

Structure = Literal["flat", "ivf", "ivf-half", "ivf-sq8", "hnsw"]

# An exact scan stays below some milliseconds up to here.
SMALL = 50_000
# Beyond so many bytes of float32 codes a quarter of the memory is worth a second look
# at the best candidates.
LARGE_BYTES = 2 << 30
_MOST_EF = 1024
_CODING = {"ivf": "Flat", "ivf-half": "SQfp16", "ivf-sq8": "SQ8"}


class FaissIndex(ProbedIndex):
    """Inner-product search by FAISS.

    Made by :meth:`build`.  ``structure`` says what was chosen, ``probes`` how many cells
    (or, for a graph, how long a candidate list) a search looks into, ``recall`` what was
    measured with that.

    Own settings: ``kind`` is ``flat`` (exact), ``ivf`` (k-means cells), ``ivf-sq8`` (the same with
    a byte a number in memory and the full codes beside it for the last look), ``ivf-half`` (two
    bytes), ``hnsw`` (a graph; weak where lengths are uneven) or ``auto``: by size; ``cells`` is the
    number of k-means cells, about ``4 sqrt(n)`` by default; ``links`` those of a graph's node.
    ``beside`` names a file that holds the codes already, beside the folder that the index will be
    saved in: none of it is written again.
    """

    kind = "faiss"

    def __init__(
        self,
        engine: Any,
        structure: Structure,
        codes: NDArray[np.float32] | None,
        beside: str = "",
        **common: Any,
    ) -> None:
        self._engine, self.structure = engine, structure
        self._codes, self._beside = codes, beside
        self._codes_at = None if codes is None else faiss.swig_ptr(codes)
        self._selected: tuple[Any, Any] = None, None  # the last rows that were asked for
        super().__init__(**common)

    @classmethod
    def _filled(
        cls, codes: NDArray[np.float32], probing: Mapping[str, Any], seed: int, *,
        kind: str = "auto", cells: int | None = None, links: int = 16, beside: str = "",
    ) -> Self:  # fmt: skip
        structure = _choose(kind, codes, bool(beside))
        engine = _engine(structure, codes, cells, links, seed)
        kept = codes if structure in ("ivf-half", "ivf-sq8") else None
        beside = "" if kept is None or probing["side_names"] else beside
        return cls(engine, structure, kept, beside, **probing)

    def keep(self, codes: NDArray[np.float32]) -> None:
        """Take the codes that lie beside the index from the caller, who has mapped them too."""
        if self._beside:
            self._codes, self._codes_at = codes, faiss.swig_ptr(codes)

    # -- searching ----------------------------------------------------------

    def _look(self, vectors: NDArray[np.float32], k: int, rows: IdArray | None) -> Found:
        if self._codes is None:
            found, places = self._ask(vectors, k, rows)
            return places, found
        room = len(self) if rows is None else len(rows)
        depth = min(room, 2 * k if self.structure == "ivf-sq8" else k + k // 4 + 4)
        scores, places = self._ask(vectors, depth, rows)
        if len(places) == 1:  # scores shown must be true ones: those of the full codes
            true = self._codes[places[0]] @ vectors[0]
            best = (-true).argsort()[None, :k]
            return places.take(best), true.take(best)
        ptr = faiss.swig_ptr
        faiss.fvec_inner_products_by_idx(
            ptr(scores), ptr(vectors), self._codes_at, ptr(places), vectors.shape[1], *places.shape
        )
        order = np.argsort(-scores, axis=1)[:, :k]
        return np.take_along_axis(places, order, axis=1), np.take_along_axis(scores, order, axis=1)

    def _look_everywhere(self, vectors: NDArray[np.float32], k: int) -> Found:
        if self._codes is not None:
            return scan(self._codes, vectors, k)
        found, places = self._all(vectors, k, None)
        return places, found

    def _ask(
        self, vectors: NDArray[np.float32], k: int, rows: IdArray | None
    ) -> tuple[NDArray[np.float32], IdArray]:
        """Scores and rows; what the probed cells cannot fill is asked of all cells."""
        engine, params = self._engine, self._params
        if rows is not None:  # true hits among few items lie in as many more cells
            more = math.ceil(self._probes * len(self) / len(rows))
            engine, params = self._within(min(self._most_probes, more), rows)
        n, ptr = len(vectors), faiss.swig_ptr
        scores, places = np.empty((n, k), np.float32), np.empty((n, k), np.int64)
        # What engine.search would do after looking at its arguments.
        engine.search_c(n, ptr(vectors), k, ptr(scores), ptr(places), params)
        if min(places[:, -1].tolist()) < 0:
            short = places[:, -1] < 0
            scores[short], places[short] = self._all(vectors[short], k, rows)
        return scores, places

    def _all(
        self, vectors: NDArray[np.float32], k: int, rows: IdArray | None
    ) -> tuple[NDArray[np.float32], IdArray]:
        """The exact answer over what the engine holds."""
        engine, params = self._within(self._most_probes, rows)
        scores, places = engine.search(vectors, k, params=params)
        return scores, places

    def _within(self, probes: int, rows: IdArray | None) -> tuple[Any, Any]:
        """Engine and parameters for so many cells (what has none is scanned), for some rows."""
        chosen = {} if rows is None else {"sel": self._selector(rows)}
        if self.structure in ("flat", "hnsw"):
            engine = self._engine if self.structure == "flat" else self._engine.storage
            return faiss.downcast_index(engine), faiss.SearchParameters(**chosen)
        return self._engine, faiss.SearchParametersIVF(nprobe=probes, **chosen)

    def _selector(self, rows: IdArray) -> Any:
        known, selector = self._selected
        if known is not rows:
            wanted = np.zeros(len(self), bool)
            wanted[rows] = True
            selector = faiss.IDSelectorBitmap(np.packbits(wanted, bitorder="little"))
            self._selected = rows, selector
        return selector

    # -- how many probes ----------------------------------------------------

    @property
    def _most_probes(self) -> int:
        if self.structure == "hnsw":
            return _MOST_EF
        return 1 if self.structure == "flat" else int(self._engine.nlist)

    def _set_probes(self, probes: int) -> None:
        super()._set_probes(probes)
        self._params = None
        if self.structure == "hnsw":
            self._params = faiss.SearchParametersHNSW(efSearch=self._probes)
        elif self.structure != "flat":
            self._params = faiss.SearchParametersIVF(nprobe=self._probes)

    def _calibrate(self, goal: Goal, **how: Any) -> None:
        if self.structure != "flat":
            super()._calibrate(goal, **how)

    def _reach(self, goal: Goal, groups: list[NDArray[np.float32]], true: list[Found]) -> None:
        if self.structure != "hnsw":
            super()._reach(goal, groups, true)
            return
        self._set_probes(32)  # a graph tells no ranks: try
        while self._measured(groups, true) < goal.recall and self._probes < self._most_probes:
            self._set_probes(2 * self._probes)

    def _items(self, rows: IdArray) -> NDArray[np.float32]:
        if self._codes is not None:
            return np.array(self._codes[rows])
        if self.structure == "hnsw":
            return np.asarray(self._engine.reconstruct_batch(rows))
        self._engine.make_direct_map()
        try:
            return np.asarray(self._engine.reconstruct_batch(rows))
        finally:
            self._engine.set_direct_map_type(faiss.DirectMap.NoMap)

    def _ranks(self, vectors: NDArray[np.float32], rows: IdArray) -> IdArray:
        home = np.empty(len(self), np.int64)
        lists = self._engine.invlists
        for cell in range(self._most_probes):
            size = lists.list_size(cell)
            if size:
                home[faiss.rev_swig_ptr(lists.get_ids(cell), size)] = cell
        _, order = self._engine.quantizer.search(vectors, self._most_probes)
        return ranks_of(order, home[rows])

    # -- files --------------------------------------------------------------

    def _contents(self) -> tuple[dict[str, Any], dict[str, Writer]]:
        settings = {"structure": self.structure, "beside": self._beside, **self._probing()}

        def write_engine(path: Path) -> None:
            faiss.write_index(self._engine, str(path))

        writers: dict[str, Writer] = {"engine.faiss": write_engine}
        if self._codes is not None and not self._beside:
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
        codes, beside = None, settings.get("beside", "")
        if beside:
            try:
                codes = np.asarray(np.load(saved.folder.parent / beside, mmap_mode="r"))
                codes = codes.reshape(engine.ntotal, engine.d)
            except ValueError:
                raise DataProblem(
                    f"{beside} does not hold the codes of {saved.folder}; build the index anew."
                ) from None
        elif "codes.npy" in saved:
            codes = saved.array("codes.npy")
        structure = settings["structure"]
        return cls(engine, structure, codes, beside, **cls._of_probing(settings), **common)


def _choose(kind: str, codes: NDArray[np.float32], beside: bool) -> Structure:
    n = len(codes)
    kinds = ("auto", "flat", "hnsw", *_CODING)
    if kind not in kinds:
        raise BadInput(f"FAISS is used as one of {', '.join(kinds)}, not {kind!r}.")
    if n == 0 or (kind == "auto" and n < SMALL):
        return "flat"
    if kind != "auto":
        return kind  # type: ignore[return-value]
    if codes.nbytes > LARGE_BYTES:
        return "ivf-sq8"
    peak = max(float(np.abs(part).max()) for _, part in in_blocks(codes)) if beside else 0.0
    return "ivf-half" if 1e-2 < peak < 6e4 else "ivf"  # what half precision holds well


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
        name = f"IVF{max(1, min(wanted, n // 8))},{_CODING[structure]}"
        engine = faiss.index_factory(dim, name, faiss.METRIC_INNER_PRODUCT)
        if structure == "ivf-half":  # nothing is won by coding what a cell's centre leaves
            engine.by_residual = False
        engine.cp.seed = seed + 1
        engine.cp.niter = 10
        engine.cp.min_points_per_centroid = 1
        engine.cp.max_points_per_centroid = 64
        some = min(n, engine.nlist * engine.cp.max_points_per_centroid)
        sample = codes[np.sort(np.random.default_rng(seed).choice(n, some, replace=False))]
        let_go(codes)
        engine.train(sample)
        del sample
        homes = [engine.quantizer.assign(part, 1)[:, 0] for _, part in in_blocks(codes)]
        sizes = np.bincount(np.concatenate(homes), minlength=engine.nlist)
        for cell, size in enumerate(sizes.tolist()):  # else lists grow by doubling
            engine.invlists.resize(cell, size)
            engine.invlists.resize(cell, 0)
        for (_, part), home in zip(in_blocks(codes), homes):
            engine.add_core(len(part), faiss.swig_ptr(part), None, faiss.swig_ptr(home))
        return engine
    for _, part in in_blocks(codes):
        engine.add(part)
    return engine
