"""An index of cells that a search looks into some of: what all such kinds share.

How many cells that is gets chosen once, for a stated recall, on a sample.  A surrogate of a
learned similarity is no item of the collection: weights stretch some directions and silence
others, and a number of probes that serves plain queries may be too small for it.  So the sample
has items, and items under random diagonal weights of the kinds that learning gives; what the
harder half needs is what is kept.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likewise.index._base import Asked, BaseIndex
from likewise.index._checks import Contents, in_blocks, let_go, single_precision
from likewise.index.flat import FlatIndex
from likewise.types import BadInput, FloatArray, IdArray, Surrogate

# Beyond this a float32 inner product may overflow (queries are kept below it as well).
_LARGEST = 1e15


class Lifted(NamedTuple):
    """Queries for the engine: ``score = factor * (engine's score) + shift``."""

    vectors: NDArray[np.float32]
    factor: NDArray[np.float64] | None
    shift: NDArray[np.float64] | None

    def scores(self, found: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """True scores of what the engine found, without offset."""
        if self.factor is None and self.shift is None:
            return found
        wide = found.astype(np.float64)
        if self.factor is not None:
            wide *= self.factor[:, None]
        if self.shift is not None:
            wide += self.shift[:, None]
        return wide


class SideLift(NamedTuple):
    """Side columns as extra dimensions, for engines that know inner products only.

    A side column becomes one more column of the code, and its coefficient one more number of the
    surrogate, so that any coefficient can be asked for without building anew.  Columns are centred
    and scaled first, ``(column - mean) / scale``, lest they rule the clustering; the constant that
    centring takes away is added to the score again.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, codes: FloatArray, side: NDArray[np.float64]) -> Self:
        """Mean and scale that bring each side column to the size of a code's column."""
        mean = side.mean(axis=0) if len(side) else np.zeros(side.shape[1])
        spread = np.sqrt(np.square(side - mean).mean(axis=0)) if len(side) else np.zeros_like(mean)
        some = np.asarray(codes[:: max(1, len(codes) // 4096)], dtype=np.float64)
        usual = float(np.sqrt(np.square(some).mean())) if some.size else 1.0
        scale = np.where(spread > 0, spread, 1.0) / (usual or 1.0)
        return cls(mean, scale)

    @classmethod
    def of_json(cls, entry: dict[str, Any]) -> Self:
        """What :meth:`as_json` wrote."""
        return cls(np.array(entry["mean"], float), np.array(entry["scale"], float))

    def as_json(self) -> dict[str, Any]:
        """Plain lists for the manifest."""
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist()}

    def codes(self, codes: FloatArray, side: NDArray[np.float64]) -> NDArray[np.float32]:
        """Codes with the lifted side columns beside them, float32; not copied where none are."""
        peak = max((float(np.abs(part).max()) for _, part in in_blocks(codes)), default=0.0)
        if peak > _LARGEST:
            raise BadInput(
                f"The codes hold numbers up to {peak:.3g}, too large for single precision; "
                "scale the features or use a flat index."
            )
        if not len(self.mean):
            return np.ascontiguousarray(codes, dtype=np.float32)
        out = np.empty((len(codes), codes.shape[1] + len(self.mean)), np.float32)
        out[:, : codes.shape[1]] = codes
        out[:, codes.shape[1] :] = (side - self.mean) / self.scale
        return out

    def queries(self, asked: Asked) -> Lifted:
        """Queries with the coefficients of the side columns beside them."""
        if not len(self.mean):
            return Lifted(*single_precision(asked.vectors, asked.fits), None)
        full = np.hstack([asked.vectors.astype(np.float64), asked.side * self.scale])
        peak = np.abs(full).max(axis=1)
        fits = bool(((peak < 1e15) & (peak > 1e-15)).all())
        return Lifted(*single_precision(full, fits), asked.side @ self.mean)


RECALL, AT = 0.99, 50
"""The recall that is aimed at, and the number of hits it is measured on."""
SAMPLE = 256
"""Queries a half of the sample."""


class Goal(NamedTuple):
    """A recall to reach on so many hits."""

    recall: float = RECALL
    k: int = AT

    def checked(self) -> Goal:
        """Itself, if it can be reached at all."""
        if not 0 < self.recall <= 1 or self.k < 1:
            raise BadInput(
                f"A recall lies above 0 and up to 1 and is measured on at least one hit, "
                f"not {self.recall} on {self.k}."
            )
        return self


def learned_like(items: FloatArray, dim: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Items under random weights: log-normal, clipped at zero, and one weight a block, in turn.

    ``items`` may have side columns after the first ``dim``; those get coefficients of any
    sign, of the size of a query's number.
    """
    weights = np.ones(items.shape)
    n = len(items)
    weights[0::3, :dim] = np.exp(rng.standard_normal((len(range(0, n, 3)), dim)))
    weights[1::3, :dim] = np.maximum(0.0, 0.5 + rng.standard_normal((len(range(1, n, 3)), dim)))
    for row in range(2, n, 3):
        cuts = np.sort(rng.integers(0, dim + 1, rng.integers(1, 8)))
        bounds = np.concatenate([[0], cuts, [dim]])
        weights[row, :dim] = np.repeat(
            np.exp(1.5 * rng.standard_normal(len(bounds) - 1)), np.diff(bounds)
        )
    queries = items * weights
    size = np.sqrt(np.square(queries[:, :dim]).mean(axis=1, keepdims=True))
    queries[:, dim:] = size * rng.standard_normal((n, items.shape[1] - dim))
    return queries.astype(np.float32)


def probes_for(ranks: IdArray, recall: float) -> int:
    """Smallest number of probes that finds this share of the true hits.

    ``ranks`` has, for each query (row) and each of its true hits, the rank (from 0) of the cell in
    which the hit lies: with ``p`` probes it is found when its rank is below ``p``.  Two standard
    errors of the sample are kept in hand: queries that are no items are a little harder.
    """
    most = int(ranks.max(initial=0)) + 1
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        found = (ranks < middle).mean(axis=1)
        in_hand = 2 * found.std() / math.sqrt(len(found))
        if found.mean() - in_hand >= recall:
            high = middle
        else:
            low = middle + 1
    return low


def recall_of(found: FloatArray, true: FloatArray) -> float:
    """Share of true hits found, by score: a hit that ties with the last true one counts."""
    floor = true[:, -1:]
    near = 1e-5 * np.maximum(np.abs(true).max(axis=1, keepdims=True), 1e-30)
    return float((found >= floor - near).mean())


Found = tuple[IdArray, NDArray[np.floating[Any]]]
"""Rows and scores, one line a query."""


class ProbedIndex(BaseIndex):
    """The parent of indexes that look into ``probes`` of their cells.

    Settings of :meth:`build` that all of them take: ``recall`` and ``at``, the recall to choose
    ``probes`` for and the number of hits it is measured on; ``probes`` themselves; and, but for
    servers, ``weights``, what plain queries multiply each column by.
    For plain queries ``plain_probes`` are enough; as many where not known.
    """

    takes_weights = True

    def __init__(
        self,
        lift: SideLift,
        probes: int,
        recall: float,
        plain_probes: int | None = None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self._lift, self._recall, self._plain_probes = lift, recall, plain_probes
        self._set_probes(probes)

    # -- what a kind adds; vectors are lifted float32 queries -----------------

    @classmethod
    @abstractmethod
    def _filled(cls, codes: NDArray[np.float32], probing: Mapping[str, Any], seed: int) -> Self:
        """An index of lifted codes, with the settings of its kind as further arguments.

        ``probing`` is what :meth:`__init__` takes.
        """

    @property
    @abstractmethod
    def _most_probes(self) -> int:
        """Number of cells."""

    @abstractmethod
    def _items(self, rows: IdArray) -> NDArray[np.float32]:
        """Lifted codes of some rows."""

    @abstractmethod
    def _look(self, vectors: NDArray[np.float32], k: int, rows: IdArray | None) -> Found:
        """The best of the probed cells; never fewer than ``k``."""

    @abstractmethod
    def _look_everywhere(self, vectors: NDArray[np.float32], k: int) -> Found:
        """The best of all items."""

    @abstractmethod
    def _ranks(self, vectors: NDArray[np.float32], rows: IdArray) -> IdArray:
        """For each query and row, how many cells are probed before one that holds the row."""

    # -- what all of them do --------------------------------------------------

    @classmethod
    def _build(
        cls, given: Contents, common: Mapping[str, Any], seed: int, *, recall: float = RECALL,
        at: int = AT, probes: int | None = None, weights: Any = None, **own: Any,
    ) -> Self:  # fmt: skip
        goal = Goal(recall, at).checked()
        lift = SideLift.fit(given.codes, given.side)
        codes = lift.codes(given.codes, given.side)
        index = cls._filled(
            codes, {"lift": lift, "probes": 1, "recall": 1.0, **common}, seed, **own
        )
        index._calibrate(goal, probes=probes, codes=codes, weights=weights, seed=seed)
        return index

    @property
    def probes(self) -> int:
        """Cells that a search looks into."""
        return self._probes

    @property
    def plain_probes(self) -> int:
        """Cells that a search by plain similarity looks into."""
        return self._probes if self._plain_probes is None else self._plain_probes

    @cached_property
    def _for_plain(self) -> Self:
        return self if self._plain_probes is None else self.with_probes(self._plain_probes)

    @property
    def recall(self) -> float:
        """The recall that was measured, on the harder half of the sample."""
        return self._recall

    def with_probes(self, probes: int) -> Self:
        """The same index with another number of probes; nothing is copied or measured."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.__dict__.pop("_for_plain", None)
        other._recall, other._plain_probes = math.nan, None
        other._set_probes(probes)
        return other

    def calibrate(
        self,
        sample: Sequence[Surrogate] | None = None,
        *,
        recall: float = RECALL,
        at: int = AT,
        seed: int = 0,
    ) -> float:
        """Choose ``probes`` anew for a recall on ``at`` hits; gives the recall then measured.

        ``sample`` are surrogates like those that will be asked; by default (by ``seed``) items, and
        items under random weights such as learning gives.
        """
        groups = None
        if sample is not None:
            if not len(sample):
                raise BadInput("A sample needs a surrogate at least; leave it out for the default.")
            groups = [self._lift.queries(self._asked(sample)[0]).vectors]
        self._calibrate(Goal(recall, at).checked(), groups=groups, seed=seed)
        return self._recall

    def _best(self, asked: Asked, k: int, rows: IdArray | None) -> Found:
        lifted = self._lift.queries(asked)
        index = self._for_plain if asked.plain else self
        places, found = index._look(lifted.vectors, k, rows)
        return places, lifted.scores(found)

    def _set_probes(self, probes: int) -> None:
        if probes < 1:
            raise BadInput(f"A search looks into at least one cell, not {probes}.")
        self._probes = min(int(probes), self._most_probes)

    def _calibrate(
        self,
        goal: Goal,
        *,
        groups: list[NDArray[np.float32]] | None = None,
        probes: int | None = None,
        codes: NDArray[np.float32] | None = None,
        weights: FloatArray | None = None,
        seed: int = 0,
    ) -> None:
        """Set the probes that every group of queries needs (or those given); measure the recall.

        ``codes`` are all lifted codes, where they are at hand: one pass over them answers the
        whole sample.
        """
        if groups is None:
            groups = self._halves(np.random.default_rng(seed), codes, weights)
        self._plain_probes = None
        self.__dict__.pop("_for_plain", None)
        if probes is not None:
            self._set_probes(probes)
        if not groups:
            return
        k = min(goal.k, len(self))
        true = [
            self._look_everywhere(group, k) if codes is None else scan(codes, group, k)
            for group in groups
        ]
        if probes is None:
            self._reach(goal, groups, true)
        self._recall = self._measured(groups, true)

    def _reach(self, goal: Goal, groups: list[NDArray[np.float32]], true: list[Found]) -> None:
        """Set the fewest probes that reach the goal in every group; fewer for plain queries."""
        needs = [
            probes_for(self._ranks(group, rows), goal.recall)
            for group, (rows, _) in zip(groups, true)
        ]
        self._set_probes(max(needs))
        self._plain_probes = needs[0] if len(needs) == 2 else None

    def _measured(self, groups: list[NDArray[np.float32]], true: list[Found]) -> float:
        def found(index: Self, group: NDArray[np.float32], k: int) -> Iterator[Any]:
            for one in group:
                yield index._look(one[None], k, None)[1]
                let_go(getattr(self, "_codes", None))  # else all of a file is held at the end

        return min(
            recall_of(np.concatenate([*found(index, group, scores.shape[1])]), scores)
            for index, group, (_, scores) in zip((self._for_plain, self), groups, true)
        )

    def _halves(
        self,
        rng: np.random.Generator,
        codes: NDArray[np.float32] | None,
        weights: FloatArray | None,
    ) -> list[NDArray[np.float32]]:
        """Items by plain similarity, and items under weights such as learning gives."""
        if not len(self):
            return []
        rows = np.sort(rng.choice(len(self), min(len(self), SAMPLE), replace=False))
        items = self._items(rows) if codes is None else codes[rows]
        plain = items.copy()
        plain[:, : self.dim] *= 1.0 if weights is None else weights
        plain[:, self.dim :] = 0.0
        halves = [plain, learned_like(items, self.dim, rng)]
        return [half[half.any(axis=1)] for half in halves if half.any()]

    def _probing(self) -> dict[str, Any]:
        """Settings for the manifest."""
        recall = None if math.isnan(self._recall) else self._recall
        return {
            "probes": self._probes, "plain_probes": self._plain_probes, "recall": recall,
            "lift": self._lift.as_json(),
        }  # fmt: skip

    @staticmethod
    def _of_probing(settings: dict[str, Any]) -> dict[str, Any]:
        """What :meth:`__init__` takes, from the manifest's settings."""
        recall = settings["recall"]
        return {
            "lift": SideLift.of_json(settings["lift"]),
            "probes": settings["probes"],
            "plain_probes": settings.get("plain_probes"),
            "recall": math.nan if recall is None else recall,
        }


def scan(codes: NDArray[np.float32], vectors: FloatArray, k: int) -> Found:
    """Exact rows and scores by flat indexes, in one pass over the codes."""
    asked = Asked(vectors, np.zeros((len(vectors), 0)))
    places: Any = np.zeros((len(vectors), 0), np.int64)
    scores: Any = np.zeros((len(vectors), 0))
    for start, part in in_blocks(codes):
        found = FlatIndex.build(part)._best(asked, min(k, len(part)), None)
        places, scores = np.hstack([places, found[0] + start]), np.hstack([scores, found[1]])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        places, scores = (np.take_along_axis(x, order, axis=1) for x in (places, scores))
    return places, scores


def ranks_of(order: IdArray, cells: IdArray) -> IdArray:
    """Rank of each of a query's cells, given the order in which cells are probed."""
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None, :], axis=1)
    ranks: IdArray = np.take_along_axis(rank, cells, axis=1)
    return ranks
