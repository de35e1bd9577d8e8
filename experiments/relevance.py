"""What is relevant to each query, in one compact form whatever it came from.

A judged item is an id with a grade; a query owns a slice of one long column of judged
items.  Queries of one class share their slice, so that class labels never grow into a
matrix of queries by items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.types import BadInput, IdArray


@dataclass(frozen=True, eq=False)
class Relevance:
    """Judged items of every query; make one with a class method, not by hand.

    Parameters
    ----------
    start, stop
        Query ``q`` owns ``ids[start[q]:stop[q]]`` and the grades beside them.
    ids
        Item ids, ascending and unique inside a slice.
    grades
        Above zero means relevant, the higher the more so; others mean irrelevant.
    complete
        Whether an item that is not listed is irrelevant (true) or unjudged (false).
    items
        How many items there are to find, where that is known.
    """

    start: IdArray
    stop: IdArray
    ids: IdArray
    grades: NDArray[np.float32]
    complete: bool
    items: int | None = None

    def __len__(self) -> int:
        return len(self.start)

    def of_query(self, query: int) -> tuple[IdArray, NDArray[np.float32]]:
        """Judged ids of one query and their grades."""
        own = slice(self.start[query], self.stop[query])
        return self.ids[own], self.grades[own]

    @classmethod
    def from_labels(
        cls, queries: ArrayLike, items: ArrayLike, *, ids: ArrayLike | None = None
    ) -> Relevance:
        """An item is relevant when its class label equals the query's.

        Parameters
        ----------
        queries, items
            One label each, numbers or strings.
        ids
            Ids of the items where they are not 0, 1, 2, ...
        """
        asked, held = _labels(queries, "queries"), _labels(items, "items")
        if len(asked) and len(held) and (asked.dtype.kind in "US") != (held.dtype.kind in "US"):
            raise BadInput("Labels of queries and items must both be numbers or both be strings.")
        names = np.arange(len(held)) if ids is None else _ids(ids)
        if len(names) != len(held) or len(np.unique(names)) != len(names):
            raise BadInput(f"Give one id to each of the {len(held)} labelled items, none twice.")
        order = np.lexsort((names, held))
        sorted_labels = held[order]
        return cls(
            np.searchsorted(sorted_labels, asked, side="left").astype(np.int64),
            np.searchsorted(sorted_labels, asked, side="right").astype(np.int64),
            names[order].astype(np.int64),
            np.ones(len(held), dtype=np.float32),
            complete=True,
            items=len(held),
        )

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Relevance:
        """One row a query, one column an item: true or false, or a grade; NaN means unjudged.

        Only where a NaN stands are the judgements partial.
        """
        grades = np.asarray(matrix)
        if grades.ndim != 2 or grades.dtype.kind not in "biuf":
            raise BadInput("A relevance matrix has one row a query and one column an item.")
        unjudged = np.isnan(grades) if grades.dtype.kind == "f" else None
        complete = unjudged is None or not unjudged.any()
        # In a complete matrix the irrelevant items need no entry; in a partial one they do.
        listed = grades > 0 if unjudged is None or complete else ~unjudged
        bounds = np.concatenate([[0], np.cumsum(np.count_nonzero(listed, axis=1))])
        return cls(
            bounds[:-1].astype(np.int64),
            bounds[1:].astype(np.int64),
            np.nonzero(listed)[1].astype(np.int64),
            _grades(grades[listed]),
            complete,
            items=grades.shape[1],
        )

    @classmethod
    def from_ids(cls, relevant: Sequence[ArrayLike], *, items: int | None = None) -> Relevance:
        """The relevant ids of each query; every other item is irrelevant."""
        rows = [np.unique(_ids(row)) for row in relevant]
        return cls._of_rows(rows, [np.ones(len(row)) for row in rows], True, items)

    @classmethod
    def from_judged(
        cls, judged: Sequence[Mapping[int, float]], *, items: int | None = None
    ) -> Relevance:
        """The grade of each judged item of each query; every other item is unjudged."""
        ids, grades = [], []
        for row in judged:
            names, values = _ids(list(row.keys())), np.asarray(list(row.values()), dtype=float)
            order = np.argsort(names)
            ids.append(names[order])
            grades.append(values[order])
        return cls._of_rows(ids, grades, False, items)

    @classmethod
    def _of_rows(
        cls, ids: list[IdArray], grades: list[Any], complete: bool, items: int | None
    ) -> Relevance:
        bounds = np.concatenate([[0], np.cumsum([len(row) for row in ids])]).astype(np.int64)
        flat = np.concatenate(ids) if ids else np.empty(0, dtype=np.int64)
        values = _grades(np.concatenate(grades) if grades else np.empty(0))
        return cls(bounds[:-1], bounds[1:], flat, values, complete, items)


RelevanceLike = Relevance | NDArray[Any] | Sequence[Any]
"""A :class:`Relevance`, a matrix, or one array of ids (or mapping to grades) a query."""


def as_relevance(relevance: RelevanceLike, *, items: int | None = None) -> Relevance:
    """The relevance that a matrix, lists of ids or mappings from id to grade mean.

    A two-dimensional array is a matrix of queries by items.  A list holds one entry a
    query: ids of the relevant items, or a mapping from judged ids to grades.
    """
    if isinstance(relevance, Relevance):
        return relevance
    if isinstance(relevance, np.ndarray) and relevance.dtype != object:
        return Relevance.from_matrix(relevance)
    if isinstance(relevance, (str, Mapping)) or not isinstance(relevance, (Sequence, np.ndarray)):
        raise BadInput(
            "Relevance is a matrix of queries by items, a list with one array of ids (or one "
            "mapping from id to grade) a query, or a Relevance."
        )
    rows = list(relevance)
    mappings = [isinstance(row, Mapping) for row in rows]
    if any(mappings):
        if not all(mappings):
            raise BadInput("Give either ids or a mapping to grades for every query, not a mixture.")
        return Relevance.from_judged(rows, items=items)
    return Relevance.from_ids(rows, items=items)


def _labels(labels: ArrayLike, name: str) -> NDArray[Any]:
    a = np.asarray(labels)
    if a.ndim != 1 or a.dtype.kind not in "biufUS":
        raise BadInput(f"Labels of {name} must be one row of numbers or strings.")
    if a.dtype.kind == "f" and np.isnan(a).any():
        raise BadInput(f"Labels of {name} hold NaN; leave those {name} out.")
    return a


def _ids(ids: ArrayLike) -> IdArray:
    a = np.asarray(ids)
    if a.size == 0:
        return np.empty(0, dtype=np.int64)
    if a.ndim != 1 or a.dtype.kind not in "iu":
        raise BadInput(
            "Ids of items must be one row of whole numbers (for a mask of true and false, "
            "give a two-dimensional array)."
        )
    return a.astype(np.int64)


def _grades(values: NDArray[Any]) -> NDArray[np.float32]:
    if not np.isfinite(values).all():
        raise BadInput("Grades must be finite numbers; leave unjudged items out.")
    return values.astype(np.float32)
