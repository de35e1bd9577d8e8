"""An index of cells that a search looks into some of: what all such kinds share.

How many cells that is gets chosen once, for a stated recall; see ``_recall`` for the sample.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likewise.index._base import Asked, BaseIndex
from likewise.index._lift import SideLift
from likewise.index._recall import AT, RECALL, SAMPLE, Goal, learned_like, probes_for, recall_of
from likewise.index.flat import FlatIndex
from likewise.types import BadInput, FloatArray, IdArray, Surrogate

Found = tuple[IdArray, NDArray[np.floating[Any]]]
"""Rows and scores, one line a query."""


class ProbedIndex(BaseIndex):
    """The parent of indexes that look into ``probes`` of their cells.

    Parameters
    ----------
    lift
        How side columns became dimensions of the codes.
    probes
        How many cells a search looks into.
    recall
        What was measured with that.
    plain_probes
        How many are enough for plain queries; as many where not known.
    common
        What :class:`BaseIndex` takes.
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
        """Choose ``probes`` anew for a recall, and return the recall then measured.

        Parameters
        ----------
        sample
            Surrogates like those that will be asked; by default items, and items under
            random weights such as learning gives.
        recall, at
            The recall to reach, and the number of hits it is measured on.
        seed
            Seed of the default sample.
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
        return min(
            recall_of(index._look(group, scores.shape[1], None)[1], scores)
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
        plain[:, : self._dim] *= 1.0 if weights is None else weights
        plain[:, self._dim :] = 0.0
        halves = [plain, learned_like(items, self._dim, rng)]
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
    """Exact rows and scores by the flat index, in one pass over the codes."""
    asked = Asked(vectors, np.zeros((len(vectors), 0)))
    return FlatIndex.build(codes)._best(asked, k, None)


def ranks_of(order: IdArray, cells: IdArray) -> IdArray:
    """Rank of each of a query's cells, given the order in which cells are probed."""
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None, :], axis=1)
    ranks: IdArray = np.take_along_axis(rank, cells, axis=1)
    return ranks
