"""What is asked: pictures with weights and crops, words, a vector, or several of these together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from likewise.types import BadInput, FloatArray, QueryRef

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
        into picture space by a model learned from clicks where there is one.
    vector
        A picture vector of one's own, in the collection's space.
    """

    examples: tuple[Example, ...] = ()
    text: str = ""
    vector: FloatArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.examples and not self.text.strip() and self.vector is None:
            raise BadInput("Ask for something: a picture, words, or both.")

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
    unwanted: Any = (),
    weights: Sequence[float] | None = None,
    crop: Crop | None = None,
    vector: Any | None = None,
    locate: Any,
) -> Query:
    """A query from what people write.

    Parameters
    ----------
    pictures, unwanted
        One or several: an item's path or number, a picture file, or bytes of one.
    weights
        One for each of ``pictures``.
    crop
        Part of the first picture that is meant.
    locate
        Turns one picture into a :class:`QueryRef`; the collection's.
    """
    wanted, against = _listed(pictures), _listed(unwanted)
    given = [1.0] * len(wanted) if weights is None else [float(w) for w in weights]
    if len(given) != len(wanted):
        raise BadInput(f"There are {len(wanted)} pictures but {len(given)} weights; give one each.")
    examples = []
    for at, (picture, weight) in enumerate(zip(wanted, given)):
        examples.append(Example(locate(picture, crop if at == 0 else None), weight))
    examples += [Example(locate(picture, None), -1.0) for picture in against]
    own = None if vector is None else np.asarray(vector)
    return Query(tuple(examples), normal_text(text), own)


def _listed(pictures: Any) -> list[Any]:
    if isinstance(pictures, (str, bytes, bytearray, int, np.integer, Path, os.PathLike, QueryRef)):
        return [pictures]
    return list(pictures)
