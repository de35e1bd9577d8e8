"""What a search gives back: results in order, and what the answer rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from likewise.types import Hits, IdArray


@dataclass(frozen=True)
class Result:
    """One item found.

    Parameters
    ----------
    score
        The true score; scores of one answer can be compared, not those of two.
    found_by
        Which evidence found it: ``picture``, ``words`` (full text),
        ``learned words``, ``picture with words`` (both added), ``query``.
    copies
        Near-duplicates folded into this result, where that was asked for.
    inliers
        Places that agree with the query on one view change, where a same-object search
        looked into that.
    """

    item: int
    path: str
    score: float
    found_by: tuple[str, ...] = ("picture",)
    copies: tuple[int, ...] = ()
    inliers: int | None = None


@dataclass(frozen=True)
class Answer:
    """Results of a search, best first; ``ids, scores = answer`` gives the arrays.

    Parameters
    ----------
    model
        Name of the model that ranked, ``plain`` where none did.
    words_model
        Name of the words model that read the text, empty where none did.
    marks
        How many marks of this very query shaped the answer.
    generation
        The index generation that answered, 0 for an exact scan without one.
    degraded
        One sentence where the answer is not what it should be; else empty.
    """

    results: Sequence[Result]
    model: str = "plain"
    words_model: str = ""
    marks: int = 0
    generation: int = 0
    degraded: str = ""
    seconds: float = 0.0
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def ids(self) -> IdArray:
        """Item ids, best first."""
        return np.array([r.item for r in self.results], dtype=np.int64)

    @property
    def scores(self) -> Any:
        """Scores, best first."""
        return np.array([r.score for r in self.results], dtype=np.float64)

    @property
    def paths(self) -> list[str]:
        """Paths, best first."""
        return [r.path for r in self.results]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.ids, self.scores))

    def __len__(self) -> int:
        return len(self.results)

    def as_json(self) -> dict[str, Any]:
        """The whole answer as JSON values."""
        out = asdict(self)
        out["results"] = [asdict(r) for r in self.results]
        return out


FUSION = 60.0
"""The constant of reciprocal rank fusion: how little the very first places weigh."""


def fuse(lists: Mapping[str, Hits], k: int) -> tuple[Hits, dict[int, tuple[str, ...]]]:
    """Join rankings by reciprocal rank: an item scores the sum of 1 / (60 + its place).

    Gives the joined hits and, for each item, the names of the lists that found it.  The
    rule needs no common scale of scores, which full-text and picture scores do not have.
    """
    total: dict[int, float] = {}
    found: dict[int, list[str]] = {}
    for name, hits in lists.items():
        for place, item in enumerate(hits.ids.tolist()):
            total[item] = total.get(item, 0.0) + 1.0 / (FUSION + place + 1)
            found.setdefault(item, []).append(name)
    order = sorted(total, key=lambda item: (-total[item], item))[:k]
    hits = Hits(np.array(order, dtype=np.int64), np.array([total[i] for i in order]))
    return hits, {item: tuple(found[item]) for item in order}
