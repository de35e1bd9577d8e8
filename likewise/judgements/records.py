"""A log of judgements as columns: built from records, filtered, joined, resolved to rows.

A judgement names its query and items by key (a path or an id).  Learners want
rows of matrices; :meth:`Judgements.resolve` is the one place where keys become
rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from likewise.types import (
    LOOK,
    OBJECTS,
    BadInput,
    IdArray,
    Judgement,
    JudgementKind,
    QueryKind,
    QueryRef,
)

KINDS: tuple[str, ...] = get_args(JudgementKind)
QUERY_KINDS: tuple[str, ...] = get_args(QueryKind)

Texts = NDArray[np.object_]
Numbers = NDArray[np.float64]


def check_judgement(judgement: Judgement) -> Judgement:
    """The judgement itself, or BadInput with the reason why it says nothing usable."""
    if judgement.kind not in KINDS:
        raise BadInput(f"A judgement is a label, a click or an ordering, not {judgement.kind!r}.")
    items: object = judgement.items
    if not isinstance(items, (tuple, list)) or not items:
        raise BadInput("A judgement needs a list of at least one item.")
    texts = (judgement.query.value, judgement.person, judgement.source, *judgement.items)
    if not all(isinstance(text, str) for text in texts):
        raise BadInput("Query, items, person and source of a judgement must be text.")
    if not math.isfinite(judgement.value) or not math.isfinite(judgement.time):
        raise BadInput("Value and time of a judgement must be finite numbers.")
    if judgement.position < 0:
        raise BadInput("The position of a result counts from 1; 0 says that nobody knows it.")
    if judgement.line not in (LOOK, OBJECTS):
        raise BadInput(f"A judgement is about the line look or objects, not {judgement.line!r}.")
    if judgement.kind == "click" and judgement.value < 0:
        raise BadInput(f"A number of clicks cannot be negative, but {judgement.value:g} is.")
    return judgement


@dataclass(frozen=True, eq=False)
class Resolved:
    """A log in rows: one entry for each item of each judgement, ``record`` in the log.

    ``query`` and ``item`` are rows of the query and the item matrix, -1 where unknown; ``head`` is
    the row of the item that *is* the query (an uncropped item of the collection), else -1;
    ``asked`` the place of the query among all that the log has.
    """

    record: IdArray
    asked: IdArray
    query: IdArray
    item: IdArray
    head: IdArray
    kind: Texts
    value: Numbers
    time: Numbers

    def __len__(self) -> int:
        return len(self.record)

    def where(self, keep: NDArray[Any]) -> Resolved:
        """The entries that a mask or index array selects."""
        return Resolved(*(getattr(self, f.name)[keep] for f in fields(self)))


@dataclass(frozen=True, eq=False)
class Judgements:
    """Labels, clicks and orderings as columns; make one with :meth:`of`.

    ``crop`` is (left, top, right, bottom), NaN where nothing was cropped; the items of judgement
    ``i`` are ``items[offsets[i]:offsets[i + 1]]``; the rest is as in
    :class:`likewise.types.Judgement`.

    Examples
    --------
    >>> from likewise.types import Judgement, QueryRef
    >>> log = Judgements.of([Judgement(QueryRef("item", "a.jpg"), ("b.jpg", "c.jpg"), "label")])
    >>> len(log), log[0].items
    (1, ('b.jpg', 'c.jpg'))
    """

    query_kind: Texts
    query: Texts
    crop: Numbers
    items: Texts
    offsets: IdArray
    kind: Texts
    value: Numbers
    time: Numbers
    person: Texts
    source: Texts
    position: IdArray
    line: Texts

    def __post_init__(self) -> None:
        for column in fields(self):
            getattr(self, column.name).setflags(write=False)

    # -- making and reading ------------------------------------------------

    @classmethod
    def of(cls, judgements: Iterable[Judgement] = ()) -> Judgements:
        """The columns of some judgements; a bad one is refused by its place."""
        rows: list[Judgement] = []
        for place, judgement in enumerate(judgements):
            try:
                rows.append(check_judgement(judgement))
            except BadInput as problem:
                raise BadInput(f"Judgement {place} cannot be used: {problem}") from None
        nothing = (np.nan,) * 4
        return cls(
            query_kind=_texts([j.query.kind for j in rows]),
            query=_texts([j.query.value for j in rows]),
            crop=np.array([j.query.crop or nothing for j in rows], np.float64).reshape(-1, 4),
            items=_texts([item for j in rows for item in j.items]),
            offsets=_offsets(np.array([len(j.items) for j in rows], np.int64)),
            kind=_texts([j.kind for j in rows]),
            value=np.array([j.value for j in rows], np.float64),
            time=np.array([j.time for j in rows], np.float64),
            person=_texts([j.person for j in rows]),
            source=_texts([j.source for j in rows]),
            position=np.array([j.position for j in rows], np.int64),
            line=_texts([j.line for j in rows]),
        )

    def __len__(self) -> int:
        return len(self.query)

    def __getitem__(self, place: int) -> Judgement:
        place = range(len(self))[place]  # negative places, and IndexError past the end
        return Judgement(
            query=self._query_ref(place),
            items=tuple(self.items[self.offsets[place] : self.offsets[place + 1]]),
            kind=self.kind[place],
            value=float(self.value[place]),
            time=float(self.time[place]),
            person=self.person[place],
            source=self.source[place],
            position=int(self.position[place]),
            line=self.line[place],
        )

    def __iter__(self) -> Iterator[Judgement]:
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Judgements):
            return NotImplemented
        same_crops = np.array_equal(self.crop, other.crop, equal_nan=True)
        names = (f.name for f in fields(self) if f.name != "crop")
        return same_crops and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        counts = ", ".join(f"{int((self.kind == kind).sum())} {kind}s" for kind in KINDS)
        return f"<Judgements: {counts}>"

    def _query_ref(self, place: int) -> QueryRef:
        crop = self.crop[place]
        left, top, right, bottom = crop.tolist()
        return QueryRef(
            self.query_kind[place],
            self.query[place],
            None if np.isnan(left) else (left, top, right, bottom),
        )

    # -- joining and filtering ---------------------------------------------

    @classmethod
    def concat(cls, logs: Iterable[Judgements]) -> Judgements:
        """Several logs after one another."""
        parts = list(logs) or [cls.of()]
        columns = {
            f.name: np.concatenate([getattr(part, f.name) for part in parts])
            for f in fields(cls)
            if f.name != "offsets"
        }
        counts = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(offsets=_offsets(counts), **columns)

    def __add__(self, other: Judgements) -> Judgements:
        if not isinstance(other, Judgements):
            return NotImplemented
        return Judgements.concat([self, other])

    def where(self, keep: NDArray[Any] | Iterable[int] | Iterable[bool]) -> Judgements:
        """The judgements that a mask or index array selects, in that order."""
        index = np.arange(len(self))[np.asarray(keep, dtype=None if len(self) else np.int64)]
        counts = np.diff(self.offsets)[index]
        offsets = _offsets(counts)
        flat = np.arange(offsets[-1]) + np.repeat(self.offsets[index] - offsets[:-1], counts)
        columns = {
            f.name: getattr(self, f.name)[index]
            for f in fields(self)
            if f.name not in ("items", "offsets")
        }
        return Judgements(items=self.items[flat], offsets=offsets, **columns)

    def of_kind(self, *kinds: JudgementKind) -> Judgements:
        """The labels, the clicks, the orderings, or several of these."""
        unknown = set(kinds) - set(KINDS)
        if unknown:
            raise BadInput(
                f"A judgement is a label, a click or an ordering, not {sorted(unknown)[0]!r}."
            )
        return self.where(_among(self.kind, kinds))

    # -- queries and rows --------------------------------------------------

    def queries(self) -> list[QueryRef]:
        """The distinct queries, in the order of their first judgement."""
        return list(self.query_codes[0])

    @cached_property
    def query_codes(self) -> tuple[list[QueryRef], IdArray]:
        """The distinct queries, and for each judgement the place of its query among them."""
        seen: dict[tuple[Any, ...], int] = {}
        first: list[int] = []
        code = np.empty(len(self), np.int64)
        crops: list[Any] = [None] * len(self)
        for cropped in np.flatnonzero(~np.isnan(self.crop[:, 0])):
            crops[cropped] = tuple(self.crop[cropped].tolist())
        for place, key in enumerate(zip(self.query_kind, self.query, crops)):
            known = seen.setdefault(key, len(seen))
            if known == len(first):
                first.append(place)
            code[place] = known
        return [self._query_ref(place) for place in first], code

    def resolve(
        self, rows: Mapping[str, int], queries: Mapping[QueryRef, int] | None = None
    ) -> Resolved:
        """Keys become rows, of items and of queries.

        Without ``queries`` the item matrix is the query matrix too, so that only uncropped items of
        it are known queries.
        """
        distinct, code = self.query_codes
        own = np.array([own_row(query, rows) for query in distinct], np.int64)
        row = own
        if queries is not None:
            row = np.array([queries.get(query, -1) for query in distinct], np.int64)
        counts = np.diff(self.offsets)
        record = np.repeat(np.arange(len(self)), counts)
        spread = code[record]
        return Resolved(
            record=record,
            asked=spread,
            query=row[spread],
            item=np.array([rows.get(key, -1) for key in self.items], np.int64),
            head=own[spread],
            kind=self.kind[record],
            value=self.value[record],
            time=self.time[record],
        )


def own_row(query: QueryRef, rows: Mapping[str, int]) -> int:
    """Row of the item that is the query itself, -1 where it is a crop, an upload or a text."""
    if query.kind != "item" or query.crop is not None:
        return -1
    return int(rows.get(query.value, -1))


def _texts(values: list[Any]) -> Texts:
    column: Texts = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _offsets(counts: IdArray) -> IdArray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _among(column: Texts, wanted: Iterable[str]) -> NDArray[np.bool_]:
    chosen = set(wanted)
    return np.array([value in chosen for value in column], dtype=bool)
