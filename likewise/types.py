"""Value types and protocols that join the rooms of the house, and the named errors.

Everything that crosses from one room to another is a value of a type in this
file.  Nothing here computes anything worth testing twice: types hold, check and
combine; rooms do.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from likewise.filters import Among
from likewise.later import sparse

FloatArray = NDArray[np.floating[Any]]
IdArray = NDArray[np.int64]
Codes: TypeAlias = "FloatArray | sparse.csr_array"
"""Encoded items, one row an item: a dense matrix or a sparse one."""


# --------------------------------------------------------------------------
# Errors: each is one sentence that says what to do.


class LikewiseError(Exception):
    """The parent of every error that likewise raises on purpose."""


class BadInput(LikewiseError, ValueError):
    """What was handed in cannot be used; the sentence says how to mend it."""


class SpaceMismatch(LikewiseError, ValueError):
    """Two things made for different spaces were put together."""


class NotFound(LikewiseError, LookupError):
    """A named item, model, session or file is not there."""


class DataProblem(LikewiseError):
    """Stored data is damaged, truncated or of another version."""


class Damaged(DataProblem):
    """Vectors do not match their checksum: which contents must do without, until described anew."""

    def __init__(self, sentence: str, contents: Sequence[int]) -> None:
        super().__init__(sentence)
        self.contents = tuple(contents)


class Busy(LikewiseError):
    """Another process is writing; the sentence says which."""


class MissingExtra(LikewiseError, ImportError):
    """An optional package is needed; the sentence says what to install."""


# --------------------------------------------------------------------------
# The surrogate and the hits


@dataclass(frozen=True, eq=False)
class Surrogate:
    """What a query becomes: ``score(x) = phi(x) . vector + side + offset``.

    Surrogates of one space add up and scale: two pictures minus a third is ``a + b - c``.

    Parameters
    ----------
    vector
        A dense vector of the space's dimension, or a sparse row of shape ``(1, dim)``.
    offset
        Added to every score; never changes an order.
    side
        Coefficient by name of a side column: a few numbers an item that a model owns beside the
        static codes.  ``side`` of an item is the sum of coefficient times column.
    space
        Fingerprint of the space it was made for.
    plain
        Whether it is one picture by plain similarity: what it looks for lies in few cells of an
        index, where learned weights scatter it.
    """

    vector: FloatArray | sparse.csr_array
    offset: float = 0.0
    side: Mapping[str, float] = field(default_factory=dict)
    space: str = ""
    plain: bool = False

    @property
    def dim(self) -> int:
        """Number of columns that the vector multiplies."""
        return int(self.vector.shape[-1])

    @property
    def is_sparse(self) -> bool:
        """Whether the vector is a sparse row."""
        return sparse.issparse(self.vector)

    def __add__(self, other: Surrogate) -> Surrogate:
        if not isinstance(other, Surrogate):
            return NotImplemented
        if self.space != other.space or self.dim != other.dim:
            raise SpaceMismatch(
                f"These surrogates belong to different spaces ({_short(self.space)} of "
                f"{self.dim} and {_short(other.space)} of {other.dim} dimensions); "
                "make both with the same space."
            )
        side = dict(self.side)
        for name, coefficient in other.side.items():
            side[name] = side.get(name, 0.0) + coefficient
        return Surrogate(
            _row_sum(self.vector, other.vector), self.offset + other.offset, side, self.space
        )

    def __mul__(self, factor: float) -> Surrogate:
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        factor = float(factor)
        if not np.isfinite(factor):
            raise BadInput("A surrogate can be multiplied by a finite number only.")
        side = {name: coefficient * factor for name, coefficient in self.side.items()}
        plain = self.plain and factor > 0
        return Surrogate(self.vector * factor, self.offset * factor, side, self.space, plain)

    __rmul__ = __mul__

    def __neg__(self) -> Surrogate:
        return self * -1.0

    def __sub__(self, other: Surrogate) -> Surrogate:
        return self + (-other)


def _row_sum(a: Any, b: Any) -> Any:
    if sparse.issparse(a) == sparse.issparse(b):
        return sparse.csr_array(a + b) if sparse.issparse(a) else a + b
    dense: Any = b if sparse.issparse(a) else a
    thin: Any = a if sparse.issparse(a) else b
    return dense + thin.toarray().ravel()


def _short(fingerprint: str) -> str:
    return fingerprint[:12] or "unnamed"


class Hits(NamedTuple):
    """Items found, best first: ``ids, scores = hits``.  Ties are broken by id."""

    ids: IdArray
    scores: FloatArray


# --------------------------------------------------------------------------
# Judgements and what learners make of them


JudgementKind = Literal["label", "click", "ordering"]
QueryKind = Literal["item", "upload", "text"]
DATA_FOLDER = ".likewise"
"""Where a folder of pictures keeps what is known of it."""
LOOK, OBJECTS = "look", "objects"
"""The lines that can be searched: how pictures look, and which objects they show."""


@dataclass(frozen=True)
class QueryRef:
    """What was asked: an item, an uploaded picture (by content hash) or a text.

    ``crop`` is ``(left, top, right, bottom)`` as shares of width and height.
    """

    kind: QueryKind
    value: str
    crop: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("item", "upload", "text"):
            raise BadInput(f"A query is an item, an upload or a text, not {self.kind!r}.")
        if self.crop is not None:
            left, top, right, bottom = self.crop if len(self.crop) == 4 else (0, 0, 0, 0)
            if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
                raise BadInput(
                    "A crop is left, top, right, bottom with 0 <= left < right <= 1 and "
                    f"0 <= top < bottom <= 1, not {self.crop}."
                )


@dataclass(frozen=True)
class Judgement:
    """One thing a person said about a query.

    Parameters
    ----------
    kind
        ``label``: each of ``items`` is (value > 0) or is not (value <= 0) relevant, higher meaning
        more so.  ``click``: each item was chosen ``value`` times.  ``ordering``: ``items`` from
        nearest to farthest; value is not used.
    position
        Where the item stood among the results when it was judged, from 1; 0 where nobody knows.
    line
        What was searched when it was judged.
    """

    query: QueryRef
    items: tuple[str, ...]
    kind: JudgementKind
    value: float = 1.0
    time: float = 0.0
    person: str = ""
    source: str = ""
    position: int = 0
    line: str = LOOK


@dataclass(frozen=True, eq=False)
class Preferences:
    """Triplets as index arrays: for query ``query[t]``, ``better[t]`` before ``worse[t]``.

    ``better`` and ``worse`` are rows of the item matrix that a learner is fitted on; ``query`` is a
    row of its query matrix (the same matrix unless another is given).
    """

    query: IdArray
    better: IdArray
    worse: IdArray
    weight: FloatArray

    def __post_init__(self) -> None:
        lengths = {len(self.query), len(self.better), len(self.worse), len(self.weight)}
        if len(lengths) != 1:
            raise BadInput("query, better, worse and weight of preferences must have one length.")

    def __len__(self) -> int:
        return len(self.query)

    @classmethod
    def of(cls, query: Any, better: Any, worse: Any, weight: Any | None = None) -> Preferences:
        """Preferences from anything array-like; weight defaults to one each."""
        q, b, w = (np.asarray(a, dtype=np.int64).ravel() for a in (query, better, worse))
        g = np.ones(len(q)) if weight is None else np.asarray(weight, dtype=np.float64).ravel()
        return cls(q, b, w, g)

    def where(self, keep: NDArray[Any]) -> Preferences:
        """The preferences that a mask or index array selects."""
        return Preferences(self.query[keep], self.better[keep], self.worse[keep], self.weight[keep])

    def check(self, queries: int, items: int) -> None:
        """Refuse rows that are not there, and weights that nothing can be learned from."""
        for name, count in (("query", queries), ("better", items), ("worse", items)):
            rows = getattr(self, name)
            if len(rows) and not 0 <= rows.min() <= rows.max() < count:
                raise BadInput(
                    f"Preferences name {name} rows that are not there: there are {count}."
                )
        if not np.isfinite(self.weight).all() or (self.weight < 0).any():
            raise BadInput("Weights of preferences must be finite and not negative.")


@dataclass(frozen=True)
class Session:
    """One search for a target: how it began and, once ended, how."""

    id: int
    kind: str
    person: str
    state: str
    payload: Mapping[str, Any]
    outcome: Mapping[str, Any]
    started: float
    ended: float | None


@dataclass(frozen=True)
class Round:
    """One round; ``parent`` is the round it went on from, ``seconds`` the time of each step."""

    id: int
    session: int
    parent: int | None
    depth: int
    payload: Mapping[str, Any]
    seconds: Mapping[str, float]
    made: float


@dataclass(frozen=True)
class Step:
    """One thing a person did to a round's board; ``seconds`` is how long it took, where known."""

    id: int
    session: int
    round: int
    kind: str
    payload: Mapping[str, Any]
    seconds: float | None
    made: float
    key: str | None


@dataclass(frozen=True)
class FitReport:
    """What every fit tells of itself; goes onto the model's card.

    ``gap`` is a certified duality gap, or a gradient norm where ``gap_is`` says so.
    """

    method: str
    preferences: int
    queries: int
    covered: float
    objective: float = float("nan")
    gap: float = float("nan")
    gap_is: str = "duality gap"
    seconds: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    held_out: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


# --------------------------------------------------------------------------
# Protocols


@runtime_checkable
class Similarity(Protocol):
    """A similarity, learned or not: queries in, surrogates out.

    ``score`` is the slow, obvious formula of the paper; the law that every
    registered similarity is tested for is
    ``space.encode(X) @ surrogate(q).vector + side + offset == score(q, X)``.
    """

    kind: ClassVar[str]

    @property
    def space(self) -> Any:
        """The space (:data:`likewise.spaces.SPACES`) whose codes the surrogates multiply."""

    def surrogate(self, query: Any) -> Surrogate:
        """The surrogate of one query vector."""

    def score(self, query: Any, items: Any) -> FloatArray:
        """Scores of items for one query, straight from the formula."""

    def side_columns(self, items: Any) -> dict[str, FloatArray]:
        """Numbers an item that the surrogates' side coefficients multiply; often none."""

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Numbers and settings that ``from_arrays`` restores it from (no pickle)."""

    @classmethod
    def from_arrays(
        cls, space: Any, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]
    ) -> Similarity:
        """The similarity that ``to_arrays`` described."""


@runtime_checkable
class Index(Protocol):
    """Static codes that answer surrogates.

    Ids are the caller's own (int64, unique).  ``among`` restricts the answer to
    these ids, or to what a filter lets through; ids that the index does not hold are
    passed over.  Fewer than ``k`` hits come back where there are fewer items.
    """

    kind: ClassVar[str]

    @property
    def space(self) -> str:
        """Fingerprint of the space the codes came from."""

    @property
    def ids(self) -> IdArray:
        """Ids of the items held."""

    def __len__(self) -> int: ...

    def search(self, surrogate: Surrogate, k: int, *, among: Among | None = None) -> Hits:
        """The ``k`` best items for one surrogate."""

    def search_many(
        self, surrogates: Sequence[Surrogate], k: int, *, among: Among | None = None
    ) -> list[Hits]:
        """The same for several surrogates at once."""


@runtime_checkable
class Features(Protocol):
    """Pictures in, vectors out: one named block of the space."""

    name: ClassVar[str]

    @property
    def dim(self) -> int:
        """Length of a vector."""

    @property
    def version(self) -> str:
        """Changes whenever the numbers it gives would change."""

    def __call__(self, pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """One float32 row a picture; a picture is height x width x 3, sRGB, uint8."""


class Registry(Mapping[str, Any]):
    """Classes by ``{"plain": "likewise.learners.plain:Plain"}``, imported when asked for."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = self._places[name].partition(":")
        return getattr(importlib.import_module(module), attribute)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


Progress = Callable[[int, int], None]
"""Called with (done, total) now and then by work that takes long."""


# --------------------------------------------------------------------------
# Checks that several rooms share


def as_matrix(x: Any, *, dim: int | None = None, name: str = "vectors") -> FloatArray:
    """A finite, C-contiguous float matrix; integers become float64, one row becomes a matrix."""
    a = np.asarray(x)
    if a.dtype == object or a.dtype.kind not in "fiub":
        raise BadInput(f"The {name} must be numbers, not {a.dtype}.")
    if a.dtype.kind != "f" or a.dtype.itemsize < 4:
        a = a.astype(np.float32 if a.dtype == np.float16 else np.float64)
    if a.ndim == 1:
        a = a[None, :]
    if a.ndim != 2:
        raise BadInput(f"The {name} must form a matrix with one row each, not {a.ndim} axes.")
    if dim is not None and a.shape[1] != dim:
        raise BadInput(
            f"The {name} have {a.shape[1]} numbers each, but {dim} are needed: "
            "were they made with other features?"
        )
    if not np.isfinite(a).all():
        row = int(np.flatnonzero(~np.isfinite(a).all(axis=1))[0])
        raise BadInput(
            f"The {name} hold NaN or infinity (first in row {row}); leave those rows out."
        )
    return np.ascontiguousarray(a)


def as_vector(x: Any, *, dim: int | None = None, name: str = "query") -> FloatArray:
    """One finite float vector."""
    a = np.asarray(x)
    if a.ndim == 2 and a.shape[0] == 1:
        a = a[0]
    if a.ndim != 1:
        raise BadInput(f"The {name} must be one vector, not an array of shape {a.shape}.")
    row: FloatArray = as_matrix(a, dim=dim, name=name)[0]
    return row


def check_k(k: int) -> int:
    """How many hits to give: a positive whole number."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k <= 0:
        raise BadInput(f"k must be a whole number of at least 1, not {k!r}.")
    return int(k)
