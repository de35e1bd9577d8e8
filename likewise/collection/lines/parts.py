"""What a view is put together from: parts that one index each holds, and how answers are joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from likewise.filters import Among
from likewise.later import sparse
from likewise.types import Hits, IdArray, Index, Similarity, Surrogate

NONE = np.zeros(0, np.int64)


class Part:
    """Pictures that one index holds: ids in order, and the rows that similarities take.

    ``bare`` is the same part before pictures were smoothed by their neighbours; ``contents`` says
    of the part of a generation which content each row is of.
    """

    def __init__(
        self,
        ids: IdArray,
        index: Callable[[], Index],
        rows: Callable[[], Any],
        bare: Part | None = None,
    ) -> None:
        self.ids, self._make_index, self._read_rows = ids, index, rows
        self._bare = bare
        self.contents = NONE
        self._sided: tuple[Similarity, Index] | None = None

    @property
    def bare(self) -> Part:
        """The same pictures, each as it is."""
        return self._bare or self

    @cached_property
    def index(self) -> Index:
        """What answers surrogates; made when it is first asked, as that may read everything."""
        return self._make_index()

    @cached_property
    def rows(self) -> Any:
        """What similarities take, one row per id; read when they are first needed."""
        return self._read_rows()

    @property
    def trouble(self) -> str:
        """Why an engine did not give the last answer in this thread; else empty."""
        index = self.__dict__.get("index")
        return str(getattr(getattr(index, "_index", index), "trouble", ""))

    def search_many(
        self,
        surrogates: Sequence[Surrogate],
        k: int,
        similarity: Similarity | None,
        among: Among | None,
    ) -> list[Hits]:
        """The ``k`` best for each surrogate, with the side columns that the similarity owns."""
        index = self.index
        if any(surrogate.side for surrogate in surrogates):
            assert similarity is not None
            if self._sided is None or self._sided[0] is not similarity:
                order = np.searchsorted(self.ids, index.ids)
                columns = similarity.side_columns(self.rows)
                sided = {name: column[order] for name, column in columns.items()}
                self._sided = similarity, index.with_side(sided)  # type: ignore[attr-defined]
            index = self._sided[1]
        if len(surrogates) == 1:
            return [index.search(surrogates[0], k, among=among)]
        return index.search_many(surrogates, k, among=among)


def places(ids: IdArray, items: IdArray) -> IdArray:
    """Where each item stands among ids in order, -1 where it does not."""
    if not len(ids):
        return np.full(len(items), -1, np.int64)
    at = np.minimum(np.searchsorted(ids, items), len(ids) - 1)
    return np.where(ids[at] == items, at, -1)


def stacked(parts: list[Any]) -> Any:
    """Rows one below the other, in the form they have."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def best_of(parts: list[Hits], k: int) -> Hits:
    """The ``k`` best of several lists of hits; ties are broken by id."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Hits(NONE, np.zeros(0))
    ids = np.concatenate([p.ids for p in parts])
    scores = np.concatenate([p.scores for p in parts])
    order = np.lexsort((ids, -scores))[:k]
    return Hits(ids[order], scores[order])


def without(hits: Hits, gone: IdArray, k: int) -> Hits:
    """The first ``k`` that are not among those."""
    keep = ~np.isin(hits.ids, gone)
    return Hits(hits.ids[keep][:k], hits.scores[keep][:k])
