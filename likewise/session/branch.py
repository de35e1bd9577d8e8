"""What a branch of a session has said so far, read from its rounds.

Items may have gone since: what they said is passed over, and the rest still counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from likewise.session.holdings import Holdings, is_of, rows_of
from likewise.session.learning import Learn, Order
from likewise.session.target_filter import Choice
from likewise.types import FloatArray, IdArray, Round


@dataclass
class Branch:
    """Everything seen, chosen and ordered on the way to a round.

    ``vector`` is the query where it is no item, ``weights`` the metric that all of it made.
    """

    holdings: Holdings
    vector: FloatArray | None
    weights: FloatArray
    seen: set[int] = field(default_factory=set)
    choices: list[Choice] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        trail: Sequence[Round],
        holdings: Holdings,
        vector: FloatArray | None,
        start: FloatArray,
        learn: Learn | None = None,
    ) -> Branch:
        """The branch that these rounds make, beginning with the metric ``start``.

        A metric of another space than the items are in now says nothing: it is learned anew
        from the same orders by ``learn``.
        """
        branch = cls(holdings, vector, start)
        for record in trail:
            payload = record.payload
            if payload["asked"]:
                if is_of(payload, holdings, "weights"):
                    after = np.asarray(payload["weights"], np.float64)
                    branch.judge(payload["asked"], branch.weights, after)
                    branch.weights = after
                elif learn is not None:
                    branch.teach(payload["asked"], learn)
            branch.see(payload)
        return branch

    def __post_init__(self) -> None:
        self._vectors = self.holdings.vectors

    @property
    def stale(self) -> bool:
        """Whether items have come or gone since."""
        return self.holdings.vectors is not self._vectors

    def copy(self) -> Branch:
        """A branch of its own, to go on with."""
        return replace(
            self, seen=set(self.seen), choices=list(self.choices), orders=list(self.orders)
        )

    def teach(self, asked: Mapping[str, Any], learn: Learn) -> tuple[str, ...]:
        """Add what one round said, and learn the metric from it; gives the learner's notes."""
        before, choices = self.weights, len(self.choices)
        notes: tuple[str, ...] = ()
        if self.judge(asked, before, before):
            self.weights, notes = learn(self.orders, before)
        self.choices[choices:] = [
            choice._replace(after=self.weights) for choice in self.choices[choices:]
        ]
        return notes

    def see(self, payload: Mapping[str, Any]) -> None:
        """Count what a round showed as seen."""
        self.seen.update(payload["shown"])
        if payload["query"] is not None:
            self.seen.add(payload["query"])

    def judge(self, asked: Mapping[str, Any], before: FloatArray, after: FloatArray) -> bool:
        """Add what one round said; whether it gave an order to learn from."""
        held, query = self.holdings, asked["query"]
        own = -1 if query is None else int(rows_of(held, [query])[0])
        at = held.vectors[own] if own >= 0 else self.vector if query is None else None
        dim = held.vectors.shape[1]
        order = Order(np.zeros((0, dim)), np.zeros((0, dim)), np.zeros(0, np.int64))
        if at is not None:
            moved, thrown = (
                _differences(held.vectors, rows_of(held, asked[name]), at)
                for name in ("moved", "discarded")
            )
            if len(moved) + len(thrown) > 1:
                # the query itself heads the chain: N pictures, N inequalities
                there = rows_of(held, asked["moved"]) >= 0
                ranks = np.asarray(asked.get("ranks", range(len(there))), np.int64)[there]
                order = Order(np.vstack([np.zeros((1, dim)), moved]), thrown, np.r_[-1, ranks])
                self.orders.append(order)
        if asked["chosen"] and own >= 0:
            rows = rows_of(held, list(dict.fromkeys([*asked["candidates"], query])))
            rows = rows[rows >= 0]
            place = int(np.flatnonzero(rows == own)[0])
            one_per_rank = np.unique(order.ranks[1:], return_index=True)[1] + 1
            self.choices.append(Choice(rows, place, order.chain[one_per_rank], before, after))
        for items in asked.get("closer", ()):
            rows = rows_of(held, items)
            if len(rows) and rows[0] >= 0 and len(rows := rows[rows >= 0]) > 1:
                self.choices.append(Choice(rows, 0, np.zeros((0, dim)), before, after))
        return len(order.chain) > 0


def _differences(x: FloatArray, rows: IdArray, query: FloatArray) -> FloatArray:
    out: FloatArray = np.square(x[rows[rows >= 0]].astype(np.float64) - query)
    return out
