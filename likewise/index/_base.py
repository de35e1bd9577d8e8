"""What every index has in common: checks of what is handed in, ids, ties, saving.

A kind of index adds how codes are kept and how the best of them are found; it may
count on clean arguments, and what it must give back is said in one place
(:meth:`BaseIndex._best`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likewise.filters import Allowed
from likewise.index._checks import BLOCK_BYTES, Contents, check_contents
from likewise.index._files import SavedFolder, Writer, array_writer, write_folder
from likewise.later import sparse
from likewise.types import (
    BadInput,
    FloatArray,
    Hits,
    IdArray,
    SpaceMismatch,
    Surrogate,
    as_vector,
    check_k,
)


class Asked(NamedTuple):
    """Checked surrogates as arrays, one row each: what ``_best`` works on.

    ``fits`` says that float32 holds the vectors well; ``silent`` counts the rows that are
    all zero (``_best`` never sees one); ``plain`` says that all are plain.
    """

    vectors: FloatArray
    side: NDArray[np.float64]
    fits: bool = True
    silent: int = 0
    plain: bool = False

    def take(self, rows: Any) -> Asked:
        """Some of them."""
        return Asked(self.vectors[rows], self.side[rows], self.fits, 0, self.plain)


class BaseIndex(ABC):
    """The parent of every index; follows :class:`likewise.types.Index`.

    It has one unique id a row of the codes, which have ``dim`` columns and came from ``space`` (a
    fingerprint, empty for "any"); ``side_names`` are in the order in which side columns are kept.
    """

    kind: ClassVar[str]
    exact: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = False
    """Whether ``build`` takes ``weights``, what plain queries multiply the columns by."""

    def __init__(
        self, ids: IdArray, dim: int, space: str = "", side_names: Sequence[str] = ()
    ) -> None:
        self._ids = np.array(ids, dtype=np.int64)
        self._ids.flags.writeable = False
        self.dim, self.space = int(dim), space
        self.side_names = tuple(side_names)
        rising = len(ids) < 2 or bool((np.diff(self._ids) > 0).all())
        self._order = None if rising else np.argsort(self._ids, kind="stable")
        self._rising_ids = self._ids if self._order is None else self._ids[self._order]
        self._recent: tuple[tuple[NDArray[Any], IdArray], ...] = ()

    # -- what a kind adds ---------------------------------------------------

    @classmethod
    @abstractmethod
    def _build(cls, given: Contents, common: Mapping[str, Any], seed: int) -> Self:
        """An index of checked contents, with the settings of its kind as further arguments.

        ``common`` is what :meth:`__init__` takes.
        """

    @classmethod
    def build(
        cls, codes: Any, ids: Any = None, *, space: str = "", side: Mapping[str, Any] | None = None,
        seed: int = 0, **settings: Any
    ) -> Self:  # fmt: skip
        """An index of codes, one row an item; they are kept as they are, never normalised.

        ``ids`` are unique whole numbers, one an item (by default its row), ``space`` the
        fingerprint of what made the codes; ``side`` has columns by name: a number an item, which a
        surrogate may give a coefficient.  Settings of its own the class of an index tells.
        """
        given = check_contents(codes, ids, side, takes_sparse=cls.takes_sparse)
        common = {
            "ids": given.ids, "dim": given.codes.shape[1], "space": space,
            "side_names": given.side_names,
        }  # fmt: skip
        return cls._build(given, common, seed, **settings)

    @abstractmethod
    def _best(
        self, asked: Asked, k: int, rows: IdArray | None
    ) -> tuple[IdArray, NDArray[np.floating[Any]]]:
        """Rows of the codes and their scores without offset, both of shape (queries, k).

        ``k`` is at least 1 and at most the number of items in question: all of them, or
        those that ``rows`` (ascending) names.  No answer may be short.
        """

    @abstractmethod
    def _contents(self) -> tuple[dict[str, Any], dict[str, Writer]]:
        """Settings for the manifest, and what writes each file but the ids."""

    @classmethod
    @abstractmethod
    def _restore(cls, saved: SavedFolder, common: Mapping[str, Any]) -> Self:
        """The index of a saved folder; ``common`` is what :meth:`__init__` takes."""

    # -- what all of them do ------------------------------------------------

    @property
    def ids(self) -> IdArray:
        """Ids of the items held, in the order in which they were handed in."""
        return self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def search(self, surrogate: Surrogate, k: int, *, among: Any = None) -> Hits:
        """The ``k`` best items for one surrogate of the index's space; fewer where there are fewer.

        With ``among``, only items with these ids; those that the index does not hold are passed
        over.  Scores are true ones (side columns and offset included), ties in order of id.
        """
        return self._answer((surrogate,), *self._room(k, among))[0]

    def search_many(
        self, surrogates: Sequence[Surrogate], k: int, *, among: Any = None
    ) -> list[Hits]:
        """The ``k`` best items for each of several surrogates; see :meth:`search`."""
        k, rows = self._room(k, among)
        at_a_time = max(1, BLOCK_BYTES // (8 * (self.dim + 1)))
        hits: list[Hits] = []
        for start in range(0, len(surrogates), at_a_time):
            hits += self._answer(surrogates[start : start + at_a_time], k, rows)
        return hits

    def save(self, folder: str | Path) -> None:
        """Write the index as a folder of plain files with checksums, all or nothing.

        A folder that already holds an index is replaced; any other is refused.
        """
        settings, writers = self._contents()
        manifest = {
            "kind": self.kind, "space": self.space, "items": len(self), "dim": self.dim,
            "side": list(self.side_names), "settings": settings
        }  # fmt: skip
        write_folder(Path(folder), manifest, {"ids.npy": array_writer(self._ids), **writers})

    @classmethod
    def load(cls, folder: str | Path, mmap: bool = True, *, compared: bool = False) -> Self:
        """The index that was saved in a folder.

        With ``mmap`` large arrays stay on disk and are read as they are needed; ``compared`` says
        that the caller has compared every checksum already.
        """
        saved = SavedFolder(folder, cls.kind, mmap=mmap, compared=compared)
        common = {
            "ids": saved.array("ids.npy"), "dim": saved.manifest["dim"],
            "space": saved.manifest["space"], "side_names": saved.manifest["side"]
        }  # fmt: skip
        return cls._restore(saved, common)

    # -- inside -------------------------------------------------------------

    def _room(self, k: int, among: Any) -> tuple[int, IdArray | None]:
        """How many hits there can be, and the rows they may come from."""
        rows = None if among is None else self._rows(among)
        return min(check_k(k), len(self._ids) if rows is None else len(rows)), rows

    def _answer(self, surrogates: Sequence[Surrogate], k: int, rows: IdArray | None) -> list[Hits]:
        asked, offsets = self._asked(surrogates)
        if k == 0:
            return [Hits(np.empty(0, np.int64), np.empty(0)) for _ in surrogates]
        best = self._best_of_some if asked.silent else self._best
        places, found = best(asked, k, rows)
        ids, scores = self._ids[places], found.astype(np.float64)
        falling = scores[:, 1:] < scores[:, :-1]
        if np.count_nonzero(falling) < falling.size:  # ties, or not in order
            order = np.arange(len(ids))[:, None], np.lexsort((ids, -scores))
            ids, scores = ids[order], scores[order]
        if offsets is not None:
            scores += offsets[:, None]
        return list(map(Hits, ids, scores))

    def _best_of_some(
        self, asked: Asked, k: int, rows: IdArray | None
    ) -> tuple[IdArray, NDArray[np.floating[Any]]]:
        """A query of zeros likes all items equally: it gets the first ids, from any engine."""
        heard = np.flatnonzero(asked.vectors.any(axis=1) | asked.side.any(axis=1))
        places = np.tile(self._first(k, rows), (len(asked.vectors), 1))
        scores = np.zeros(places.shape)
        if len(heard):
            places[heard], scores[heard] = self._best(asked.take(heard), k, rows)
        return places, scores

    def _asked(self, surrogates: Sequence[Surrogate]) -> tuple[Asked, NDArray[np.float64] | None]:
        """Surrogates as arrays, and their offsets; or one sentence about what is wrong."""
        vectors, plain, shifted = [], True, False
        side = np.zeros((len(surrogates), len(self.side_names)))
        for at, one in enumerate(surrogates):
            self._check_kind(one)
            vectors.append(self._vector(one.vector))
            if one.side:
                side[at] = self._coefficients(one.side)
            plain, shifted = plain and one.plain, shifted or one.offset != 0
        matrix = vectors[0][None, :] if len(vectors) == 1 else np.array(vectors)
        offsets = None
        if shifted:
            offsets = np.array([one.offset for one in surrogates], dtype=np.float64)
            if not np.isfinite(offsets).all():
                raise not_finite()
        return Asked(matrix, side, *_looked_over(matrix, side), plain), offsets

    def _check_kind(self, one: Any) -> None:
        """Refuse what is no surrogate, or one of another space."""
        if not isinstance(one, Surrogate):
            raise BadInput(
                f"An index answers surrogates, not {type(one).__name__}: "
                "let a similarity make one of the query."
            )
        if one.space != self.space and one.space and self.space:
            raise SpaceMismatch(
                f"The surrogate was made for the space {one.space} and the index holds "
                f"{self.space}; use a similarity of the index's space or build the index anew."
            )

    def _vector(self, vector: Any) -> FloatArray:
        if type(vector) is np.ndarray and vector.shape == (self.dim,) and vector.dtype.char in "fd":
            return vector
        if sparse.issparse(vector):
            vector = self._thin(vector).toarray()
        return as_vector(vector, dim=self.dim, name="surrogate")

    def _thin(self, vector: Any) -> Any:
        """A sparse vector of the right length."""
        if vector.shape[-1] != self.dim:
            raise BadInput(
                f"The surrogate has {vector.shape[-1]} numbers, but {self.dim} are needed: "
                "was it made with other features?"
            )
        return vector

    def _coefficients(self, side: Mapping[str, float]) -> NDArray[np.float64]:
        unknown = sorted(n for n, c in side.items() if n not in self.side_names and c != 0)
        if unknown:
            raise BadInput(
                f"The surrogate uses the side column {unknown[0]!r}, which this index does not "
                "hold; build the index with it."
            )
        given = np.array([side.get(name, 0.0) for name in self.side_names], dtype=np.float64)
        if not np.isfinite(given).all():
            raise BadInput("A surrogate's side coefficients must be finite; look at the model.")
        return given

    def _rows(self, among: Any) -> IdArray:
        """Rows of the ids that the index holds, ascending, each once; kept for the last few."""
        wanted = among.ids if isinstance(among, Allowed) else np.asarray(among)
        kept = next((rows for ids, rows in self._recent if ids is wanted), None)
        if kept is None:
            kept = self._rows_of(wanted)
            if not wanted.flags.writeable:
                self._recent = ((wanted, kept), *self._recent[:3])
        return kept

    def _rows_of(self, wanted: NDArray[Any]) -> IdArray:
        if wanted.size == 0:
            return np.empty(0, np.int64)
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
            raise BadInput("among must be a list of item ids, whole numbers.")
        wanted = wanted.astype(np.int64)
        place = np.searchsorted(self._rising_ids, wanted)
        place[place == len(self)] = 0
        held = self._rising_ids[place] == wanted if len(self) else np.zeros(len(wanted), bool)
        place = place[held]
        found: IdArray = place if self._order is None else self._order[place]
        return found if (found[1:] > found[:-1]).all() else np.unique(found)

    def _first(self, k: int, rows: IdArray | None) -> IdArray:
        """Rows of the ``k`` smallest ids."""
        if rows is None:
            return np.arange(k) if self._order is None else self._order[:k]
        ids = self._ids[rows]
        first: IdArray = rows[np.argsort(ids, kind="stable")[:k]]
        return first


def _looked_over(vectors: FloatArray, side: NDArray[np.float64]) -> tuple[bool, int]:
    """Whether float32 holds the vectors well, and how many rows are zero; all must be finite."""
    # One row apart: a dozen calls of numpy's would cost as much as a small search.
    if len(vectors) == 1:
        sizes = np.abs(vectors[0])
        if 1e-15 < sizes[sizes.argmax()] < 1e15:
            return True, 0
    peaks = np.abs(vectors).max(axis=1)
    if not np.isfinite(peaks).all():
        raise not_finite()
    loud = peaks > 0
    fits = bool(((peaks[loud] > 1e-15) & (peaks[loud] < 1e15)).all())
    return fits, int((~loud & ~side.any(axis=1)).sum())


def not_finite() -> BadInput:
    """The error for a surrogate with NaN or infinity in it."""
    return BadInput(
        "A surrogate holds NaN or infinity; look at the query's features or at the model."
    )
