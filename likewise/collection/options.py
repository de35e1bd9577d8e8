"""What is asked and what comes back: Query, Options, Result, Answer.

One name per thing: a field of :class:`Options` has the same name in Python, over HTTP and on
the command line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np

from likewise.filters import NO_FILTER, Filter
from likewise.types import LOOK, BadInput, FloatArray, IdArray, QueryRef, check_k

Crop = tuple[float, float, float, float]
MAX_TEXT = 20_000
"""Characters of a text query that are looked at."""
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), " ")


@dataclass(frozen=True)
class Example:
    """One picture of a query: wanted with a positive weight, unwanted with a negative one."""

    ref: QueryRef
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.ref.kind == "text":
            raise BadInput("An example is a picture; words go into the query's text.")
        if not np.isfinite(self.weight) or self.weight == 0:
            raise BadInput(f"An example needs a weight other than 0, not {self.weight}.")


@dataclass(frozen=True, eq=False)
class Query:
    """Everything that is asked at once.

    Parameters
    ----------
    examples
        Pictures of the collection or uploaded ones.
    text
        Words, matched against names, folders, tags, captions and metadata, and turned
        into picture space by a model that reads text where there is one.
    vector
        A picture vector of one's own, in the collection's space.
    line
        What is searched: ``look``, or ``objects`` for pictures that show the same object.
    """

    examples: tuple[Example, ...] = ()
    text: str = ""
    vector: FloatArray | None = field(default=None, repr=False)
    line: str = LOOK

    def __post_init__(self) -> None:
        if not self.has_pictures and not self.text.strip():
            raise BadInput("Ask for something: a picture, words, or both.")

    @property
    def has_pictures(self) -> bool:
        """Whether something is asked for by look, and not by words alone."""
        return bool(self.examples) or self.vector is not None

    @property
    def ref(self) -> QueryRef:
        """What judgements are kept under: the first wanted picture, or the words."""
        wanted = [e.ref for e in self.examples if e.weight > 0]
        if wanted:
            return wanted[0]
        if self.text.strip():
            return QueryRef("text", normal_text(self.text))
        raise BadInput("Judgements need a query with a wanted picture or words.")

    @property
    def can_be_judged(self) -> bool:
        """Whether judgements can be about this query."""
        return bool(self.text.strip()) or any(e.weight > 0 for e in self.examples)

    @property
    def own_items(self) -> list[str]:
        """Paths of collection items that are whole examples of this query: pinned or left out."""
        return [e.ref.value for e in self.examples if e.ref.kind == "item" and e.ref.crop is None]


def normal_text(text: str) -> str:
    """Words as they are kept: one space between them, no control characters, not endless."""
    whole = text.encode("utf-8", "replace").decode()[:MAX_TEXT]
    return " ".join(whole.translate(_CONTROLS).split())


def make_query(
    pictures: Any = (),
    text: str = "",
    *,
    without: Any = (),
    weights: Sequence[float] | None = None,
    crop: Crop | None = None,
    vector: Any | None = None,
    line: str = LOOK,
    locate: Callable[[Any, Crop | None], QueryRef],
) -> Query:
    """A query from what people write; see :meth:`~likewise.collection.Collection.search`.

    ``locate`` is the collection's: it turns one picture into a :class:`QueryRef`.
    """
    wanted, against = _listed(pictures), _listed(without)
    given = [1.0] * len(wanted) if weights is None else [float(w) for w in weights]
    if len(given) != len(wanted):
        raise BadInput(f"There are {len(wanted)} pictures but {len(given)} weights; give one each.")
    examples = []
    for at, (picture, weight) in enumerate(zip(wanted, given)):
        examples.append(Example(locate(picture, crop if at == 0 else None), weight))
    examples += [Example(locate(picture, None), -1.0) for picture in against]
    own = None if vector is None else np.asarray(vector)
    return Query(tuple(examples), normal_text(text), own, line)


def _listed(pictures: Any) -> list[Any]:
    if isinstance(pictures, (str, bytes, bytearray, int, np.integer, Path, os.PathLike, QueryRef)):
        return [pictures]
    return list(pictures)


@dataclass(frozen=True)
class Options:
    """How a query is to be answered.

    Parameters
    ----------
    k
        How many results.
    filter
        Folder, tags, dates, sizes, formats.
    model
        A model's number or name, ``"plain"``, or None for the active one.  A text is read by
        it if it reads text, by the active reader otherwise; with ``"plain"``, only full text
        is searched.
    marks
        Whether marks on this very query shape the answer.
    use
        Names of taught queries whose marks are used too: those of :class:`Offer`.
    pin
        Whether items that are the query come first; else they are left out.
    fold
        Whether near-duplicates are folded into the best of them.
    compact
        Whether words alone are searched over a small index of the reader's own, which is
        kept in memory; the scores are the same.
    check
        How many of the first results of the line ``objects`` get a geometric check, and come in
        the order of the places that agree on one view change (``inliers``).
    """

    k: int = 20
    filter: Filter = NO_FILTER
    model: int | str | None = None
    marks: bool = True
    use: tuple[str, ...] = ()
    pin: bool = False
    fold: bool = False
    compact: bool = False
    check: int = 0

    def __post_init__(self) -> None:
        check_k(self.k)

    @classmethod
    def of(cls, **given: Any) -> Options:
        """Options by name; None for a filter means none."""
        for name in given:
            if name not in cls.__dataclass_fields__:
                known = ", ".join(cls.__dataclass_fields__)
                raise BadInput(f"A search has no option {name!r}; it has {known}.")
        if given.get("filter") is None:
            given.pop("filter", None)
        if "use" in given:
            use = given["use"]
            given["use"] = (use,) if isinstance(use, str) else tuple(use)
        return cls(**given)


class Result(NamedTuple):
    """One item found.

    Parameters
    ----------
    score
        The true score; scores of one answer can be compared, not those of two.
    found_by
        Which evidence found it: ``picture``, ``words`` (full text), ``class names``,
        ``learned words``, ``picture with words`` (both added), ``same object``, ``query``.
    copies
        Near-duplicates folded into this result, where that was asked for.
    inliers
        Places that agree with the query on one view change, where that was looked into.
    """

    item: int
    path: str
    score: float
    found_by: tuple[str, ...] = ("picture",)
    copies: tuple[int, ...] = ()
    inliers: int | None = None


@dataclass(frozen=True)
class Offer:
    """Earlier teaching that could be used for a query, or is.

    Parameters
    ----------
    name
        What the option ``use`` takes.
    kind
        ``item``, ``upload``, ``text`` or ``session`` (a finished target search).
    item, upload, text
        What was taught: an item's number (of a target search, the target), an upload's hash,
        or words.
    right, wrong
        How many pictures were marked so.
    likeness
        How near this query stands to it.
    used
        Whether its marks shaped this answer.
    """

    name: str
    kind: str
    item: int | None
    upload: str
    text: str
    right: int
    wrong: int
    likeness: float = 0.0
    used: bool = False


@dataclass(frozen=True)
class Answer(Sequence[Result]):
    """Results of a search, best first, with ``.ids``, ``.scores`` and ``.paths``.

    Parameters
    ----------
    model
        Name of the model that ranked, ``plain`` where none did.
    reader
        Name of the model that read the text, empty where none did.
    marks
        How many marks of this very query shaped the answer.
    generation
        The index generation that answered, 0 for an exact scan without one.
    degraded
        One sentence where the answer is not what it should be; else empty.
    seek
        What looks for :attr:`offers`.
    """

    results: tuple[Result, ...] = ()
    model: str = "plain"
    reader: str = ""
    marks: int = 0
    generation: int = 0
    degraded: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    seek: Callable[[], tuple[Offer, ...]] = field(default=tuple, repr=False, compare=False)

    @property
    def offers(self) -> tuple[Offer, ...]:
        """Earlier teaching that is used, and at most three that could be; sought when read."""
        kept = self.__dict__  # a cached_property would let the answers of all threads wait
        if "_offers" not in kept:
            kept["_offers"] = self.seek()
        found: tuple[Offer, ...] = kept["_offers"]
        return found

    @property
    def ids(self) -> IdArray:
        """Item ids, best first."""
        return np.array([r.item for r in self.results], dtype=np.int64)

    @property
    def scores(self) -> FloatArray:
        """Scores, best first."""
        return np.array([r.score for r in self.results], dtype=np.float64)

    @property
    def paths(self) -> list[str]:
        """Paths, best first."""
        return [r.path for r in self.results]

    @overload
    def __getitem__(self, place: int) -> Result: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, place: int | slice) -> Result | tuple[Result, ...]:
        return self.results[place]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def as_json(self) -> dict[str, Any]:
        """The whole answer as JSON values."""
        said = {name: value for name, value in vars(self).items() if name not in ("seek", "offers")}
        said["results"] = [result._asdict() for result in self.results]
        return {**said, "offers": [asdict(offer) for offer in self.offers]}
