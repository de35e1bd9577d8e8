"""The inverted file: exact search over sparse codes by the postings of the query's words.

    score(d) = tau(d) sum over the query's columns c of v_c [d has c]  +  side(d)  +  offset

Only postings of the query's own words are touched, and yet the answer is exact: rows that
share no word with the query can still win by their side columns, so they are looked at too,
by a scan or, where the query touches little, in the order of tau and of the side columns
until a bound says that no row beyond can be among the best.

An index never changes.  ``added`` and ``without`` give a new one that shares the old one's
postings: a part more, or a mask; small parts are merged as they come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise.index import _postings as postings
from likewise.index._base import Asked, BaseIndex, not_finite
from likewise.index._checks import Contents, check_contents
from likewise.index._files import SavedFolder, Writer, array_writer
from likewise.index._postings import Part, ask, bits_of_level, make_part, orders, rows_of
from likewise.types import BadInput, FloatArray, IdArray, Surrogate, as_vector

_FEW = 16
"""A query that touches less than one in so many rows is finished by walking, not by a scan."""

MOST_PARTS = 8
"""More parts than this are merged, but never a large one for the sake of a small one."""

_ARRAYS = ("starts", "posts", "values", "scale", "common", "rising", "packed", "side", "order")


class InvertedIndex(BaseIndex):
    """Exact search over sparse codes, above all those of visual words.

    Made by :meth:`build`; its setting ``levels`` says how many neighbouring columns are levels
    of one word, of which a row has one at most: 3 for codes of ``Words(levels=3)``.  Where the
    numbers of each row are one number (the document normaliser tau), a posting is its row and its
    level, four bytes; any other codes keep a number a posting.
    """

    kind = "inverted"
    exact = True
    takes_sparse = True

    def __init__(
        self, parts: Sequence[Part], gone: NDArray[np.bool_] | None = None, **common: Any
    ) -> None:
        super().__init__(**common)
        self._parts = tuple(parts)
        self._gone = gone if gone is not None and gone.any() else None

    @classmethod
    def _build(cls, given: Contents, common: Mapping[str, Any], seed: int, levels: int = 1) -> Self:
        if not 1 <= levels <= 255:
            raise BadInput(f"A word has 1 to 255 levels, not {levels}.")
        return cls([make_part(_canonical(given.codes), levels, given.side)], **common)

    # -- what it holds -----------------------------------------------------------

    @property
    def ids(self) -> IdArray:
        """Ids of the items held, in the order in which they were handed in."""
        return self._ids if self._gone is None else self._ids[~self._gone]

    def __len__(self) -> int:
        return len(self._ids) - (0 if self._gone is None else int(self._gone.sum()))

    @property
    def nbytes(self) -> int:
        """Bytes of all postings and columns."""
        return self._ids.nbytes + sum(part.nbytes for part in self._parts)

    def codes(self) -> sparse.csr_array:
        """The codes of the items held, one row each, in the order of :attr:`ids`."""
        rows = [rows_of(part, self.dim) for part in self._parts]
        whole = rows[0] if len(rows) == 1 else sparse.csr_array(sparse.vstack(rows, format="csr"))
        return whole if self._gone is None else whole[np.flatnonzero(~self._gone)]

    # -- new ones from old ones --------------------------------------------------

    def added(self, codes: Any, ids: Any, *, side: Mapping[str, Any] | None = None) -> Self:
        """An index with more items, and the same side columns; the old one stays as it is."""
        if set(side or {}) != set(self.side_names):
            raise BadInput(
                "Items are added with the side columns that the index has: "
                f"{', '.join(self.side_names) or 'none'}."
            )
        named = {name: (side or {})[name] for name in self.side_names}
        given = check_contents(codes, ids, named, takes_sparse=True)
        rows = _canonical(given.codes)
        if rows.shape[1] != self.dim:
            raise BadInput(f"The codes have {rows.shape[1]} columns, but the index {self.dim}.")
        held = np.intersect1d(given.ids, self.ids)
        if len(held):
            raise BadInput(f"The id {held[0]} is held already; take it out of the index first.")
        old = self
        if self._gone is not None and len(np.intersect1d(given.ids, self._ids)):
            old = self.merged()  # an id that was taken out comes back: its old row must go
        parts = [*old._parts, make_part(rows, old._levels, given.side)]
        gone = None
        if old._gone is not None:
            gone = np.r_[old._gone, np.zeros(len(given.ids), bool)]
        if len(parts) > MOST_PARTS:
            first = _first_small(parts)
            parts[first:] = [_joined(parts[first:], self.dim, old._levels)]
        return old._like(parts, gone, np.r_[old._ids, given.ids])

    def without(self, ids: Any) -> Self:
        """An index without some items; ids that it does not hold are passed over."""
        gone = np.zeros(len(self._ids), bool) if self._gone is None else self._gone.copy()
        gone[self._rows(ids)] = True
        made = self._like(self._parts, gone, self._ids)
        return made.merged() if 2 * gone.sum() > len(gone) else made

    def merged(self) -> Self:
        """The same items in one part, without the rows of those that were taken out."""
        if len(self._parts) == 1 and self._gone is None:
            return self
        side = np.concatenate([part.side for part in self._parts])
        if self._gone is not None:
            side = side[~self._gone]
        part = make_part(_canonical(self.codes()), self._levels, np.ascontiguousarray(side))
        return self._like([part], None, self.ids)

    def with_side(self, side: Mapping[str, Any]) -> Self:
        """The same postings with other side columns, one number an item of :attr:`ids`."""
        whole = self.merged()
        names = tuple(side)
        matrix = np.zeros((len(whole), len(names)))
        for at, name in enumerate(names):
            matrix[:, at] = as_vector(side[name], dim=len(whole), name=f"side column {name!r}")
        (part,) = whole._parts
        new = part._replace(side=matrix, order=orders(part.scale, matrix))
        return type(self)([new], ids=whole._ids, dim=self.dim, space=self.space, side_names=names)

    @property
    def _levels(self) -> int:
        """Levels of the words, for new parts; 1 where the codes turned out to be no levels."""
        return max(part.levels for part in self._parts)

    def _like(self, parts: Sequence[Part], gone: NDArray[np.bool_] | None, ids: IdArray) -> Self:
        return type(self)(
            parts, gone, ids=ids, dim=self.dim, space=self.space, side_names=self.side_names
        )

    # -- searching ---------------------------------------------------------------

    @cached_property
    def _present(self) -> IdArray:
        assert self._gone is not None
        return np.flatnonzero(~self._gone)

    def _room(self, k: int, among: Any) -> tuple[int, IdArray | None]:
        k, rows = super()._room(k, among)
        if self._gone is None:
            return k, rows
        rows = self._present if rows is None else rows[~self._gone[rows]]
        return min(k, len(rows)), rows

    def _asked(self, surrogates: Sequence[Surrogate]) -> tuple[Asked, NDArray[np.float64]]:
        """Surrogates by their columns other than zero: a vocabulary is far longer than those."""
        side = np.zeros((len(surrogates), len(self.side_names)))
        offsets = np.empty(len(surrogates))
        thin: Any = []
        for at, one in enumerate(surrogates):
            self._check_kind(one)
            columns, numbers = self._columns(one.vector)
            if not (np.isfinite(numbers).all() and np.isfinite(one.offset)):
                raise not_finite()
            thin.append((columns, numbers))
            offsets[at] = one.offset
            if one.side:
                side[at] = self._coefficients(one.side)
        return Asked(thin, side), offsets

    def _columns(self, vector: Any) -> tuple[IdArray, NDArray[np.float64]]:
        if sparse.issparse(vector):
            row = sparse.csr_array(self._thin(vector))
            if row.shape[0] != 1:
                raise BadInput(f"A surrogate is one vector, not an array of shape {row.shape}.")
            if not row.has_canonical_format:
                row = row.copy()
                row.sum_duplicates()
            columns, numbers = row.indices.astype(np.int64), row.data.astype(np.float64)
        else:
            dense: Any = np.asarray(vector)
            if dense.dtype.kind != "f" or dense.shape != (self.dim,):
                dense = as_vector(dense, dim=self.dim, name="surrogate")
            columns = np.flatnonzero(dense)
            numbers = dense[columns]
        loud = numbers != 0
        return columns[loud], numbers[loud].astype(np.float64)

    def _best(
        self, asked: Asked, k: int, rows: IdArray | None
    ) -> tuple[IdArray, NDArray[np.float64]]:
        places = np.empty((len(asked.side), k), np.int64)
        scores = np.empty((len(asked.side), k))
        for q, (columns, numbers) in enumerate(asked.vectors):
            found = []
            start = 0
            for part in self._parts:
                stop = start + part.rows
                mine = None
                if rows is not None:
                    mine = rows[np.searchsorted(rows, start) : np.searchsorted(rows, stop)] - start
                ids = self._ids[start:stop]
                got = _best_of_part(part, columns, numbers, asked.side[q], k, ids, mine)
                found.append((got[0] + start, got[1]))
                start = stop
            place = np.concatenate([p for p, _ in found])
            score = np.concatenate([s for _, s in found])
            order = np.lexsort((self._ids[place], -score))[:k]
            places[q], scores[q] = place[order], score[order]
        return places, scores

    # -- files -------------------------------------------------------------------

    def _contents(self) -> tuple[dict[str, Any], dict[str, Writer]]:
        (part,) = self._parts
        return {"levels": part.levels}, {
            f"{name}.npy": array_writer(getattr(part, name)) for name in _ARRAYS
        }

    def save(self, folder: Any) -> None:
        """Write the index, merged into one part; see :meth:`BaseIndex.save`."""
        whole = self.merged()
        if whole is self:
            super().save(folder)
        else:
            whole.save(folder)

    @classmethod
    def _restore(cls, saved: SavedFolder, common: Mapping[str, Any]) -> Self:
        arrays = {name: saved.array(f"{name}.npy") for name in _ARRAYS}
        return cls([Part(saved.manifest["settings"]["levels"], **arrays)], **common)


def _best_of_part(
    part: Part,
    columns: IdArray,
    numbers: NDArray[np.float64],
    side: NDArray[np.float64],
    k: int,
    ids: IdArray,
    rows: IdArray | None,
) -> tuple[IdArray, NDArray[np.float64]]:
    """Rows of one part and their scores, the ``k`` best or all there are, in no order."""
    k = min(k, part.rows if rows is None else len(rows))
    if k == 0:
        return np.empty(0, np.int64), np.empty(0)
    scores, places = np.empty(k), np.empty(k, np.int64)
    asked = ask(part, columns, numbers)
    total = np.zeros(part.rows)
    lists = (part.starts, part.posts, part.values, bits_of_level(part.levels), asked.words)
    shared = (part.scale, part.side, side, asked.groups, asked.tables, part.packed, asked.most, ids)
    if rows is None and asked.touched * _FEW < part.rows:
        seen = np.zeros(part.rows, np.uint8)
        noted = np.empty(asked.touched, np.int64)
        count = postings.accumulate_noting(*lists, asked.gains, total, seen, noted)
        count = postings.walk(total, *shared, seen, noted[:count], part.order, scores, places)
        if count == k:
            return places, scores
    else:
        postings.accumulate(*lists, asked.gains, total)
    every = np.empty(0, np.int64) if rows is None else rows
    postings.scan(total, *shared, every, scores, places)
    return places, scores


def _first_small(parts: Sequence[Part]) -> int:
    """Where the parts begin that are worth merging: none is far larger than all behind it."""
    rest = 0
    for at in range(len(parts) - 1, 0, -1):
        rest += parts[at].rows
        if parts[at - 1].rows > 4 * rest and at < len(parts) - 1:
            return at
    return 0


def _joined(parts: Sequence[Part], width: int, levels: int) -> Part:
    rows = sparse.csr_array(sparse.vstack([rows_of(part, width) for part in parts], format="csr"))
    return make_part(_canonical(rows), levels, np.concatenate([part.side for part in parts]))


def _canonical(codes: Any) -> sparse.csr_array:
    """Sparse rows without zeros, each column once and ascending; the caller's stay as they are."""
    if not sparse.issparse(codes):
        dense: FloatArray = codes
        wide = dense.astype(np.float32) if dense.dtype == np.float16 else dense
        made: sparse.csr_array = sparse.csr_array(wide)
        return made
    thin: Any = codes
    rows: sparse.csr_array = sparse.csr_array(thin)
    if not rows.has_canonical_format or (rows.nnz and not rows.data.all()):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows
