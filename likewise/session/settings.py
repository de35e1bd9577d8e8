"""What a session is told, and what it shows: two records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from likewise.learners.metric import PRICE
from likewise.types import BadInput, FloatArray

Place = tuple[float, float]
Way = Literal["ours", "paper"]
Orders = Literal["all", "latest"]


@dataclass(frozen=True)
class Settings:
    """How a session learns and shows.

    Parameters
    ----------
    shown
        N, the pictures of a board.
    C
        Price of a broken order, on the balanced scale.
    accumulate
        Learn from the orders of all rounds; the paper learns from the latest only.
    pairs
        ``neighbours``: each picture before the next; ``all``: before all that follow.
    pull
        Regularise towards the metric of the round before instead of towards zero.
    signed
        Allow negative weights, as ranking-SVM does; only to compare with.
    use_filter
        Show what the target filter thinks likely; without it, the nearest to the query.
    views
        Whether the filter looks through each block alone too, or through the learned metric only.
    power, mistake
        h and e of the target filter's rule: how sharply the person sees and how often a choice
        is mistaken; several of both are weighed against each other unless given.
    learn_on
        Blocks that the metric may use; all of them unless given.
    layout
        ``board``, ``grid`` (no picture covers another) or ``none``.
    """

    shown: int = 20
    C: float = PRICE
    accumulate: bool = True
    pairs: Literal["neighbours", "all"] = "neighbours"
    pull: bool = False
    signed: bool = False
    use_filter: bool = True
    views: bool = True
    power: int | None = None
    mistake: float | None = None
    learn_on: tuple[str, ...] | None = None
    layout: Literal["board", "grid", "none"] = "board"

    def __post_init__(self) -> None:
        if isinstance(self.shown, bool) or not isinstance(self.shown, int) or self.shown < 1:
            raise BadInput(f"A board shows at least one picture, not {self.shown!r}.")
        if self.layout not in ("board", "grid", "none"):
            raise BadInput(f"A layout is 'board', 'grid' or 'none', not {self.layout!r}.")
        if self.power is not None and (not isinstance(self.power, int) or self.power < 1):
            raise BadInput(f"power must be a whole number from 1 on, not {self.power!r}.")
        if self.mistake is not None and not 0 <= self.mistake <= 1:
            raise BadInput(f"mistake must lie between 0 and 1, not {self.mistake!r}.")

    @classmethod
    def by(cls, way: str = "ours", orders: str | None = None, **more: Any) -> Settings:
        """As a person chooses: ``paper`` shows what is nearest by the order of the latest round.

        ``orders`` says which orders teach; ``all`` of them unless the way is the paper's.
        """
        if way not in get_args(Way):
            raise BadInput(f"A search goes the way 'ours' or 'paper', not {way!r}.")
        if orders not in (None, *get_args(Orders)):
            raise BadInput(f"Orders that count are 'all' or the 'latest', not {orders!r}.")
        latest = orders == "latest" or (orders is None and way == "paper")
        return cls(use_filter=way == "ours", accumulate=not latest, **more)


@dataclass(frozen=True)
class Board:
    """What is shown.

    Attributes
    ----------
    session, round, depth
        Numbers of the session and the round, and how many rounds came before.
    query
        Id of the query, None while there is none (or where it is no item).
    shown
        Ids of the pictures: pinned ones first, then best first.
    pinned
        Ids of the shown pictures that were kept from the last board.
    positions
        Where each stands in a box of side one, the query being at the centre.
    weights
        The metric.
    shares, words
        Which blocks of features the metric listens to, as numbers and in words.
    views
        Belief of the target filter in each view of what similar means.
    left
        Items that were not shown yet.
    notes
        What the person should know, in sentences.
    """

    session: int
    round: int
    depth: int
    query: int | None
    shown: tuple[int, ...]
    pinned: tuple[int, ...]
    positions: tuple[Place, ...]
    weights: FloatArray
    shares: Mapping[str, float]
    words: str
    views: Mapping[str, float]
    left: int
    notes: tuple[str, ...]
