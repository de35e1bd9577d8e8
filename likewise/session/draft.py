"""What a person has done to a board so far: its steps, folded into one draft of the round.

Every step is written down as it happens, so a draft outlives a reload and a restart.  An undo is
a step too: it takes the latest one that still stands back.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from likewise.layout.board import CENTRE
from likewise.session.settings import Board, Place
from likewise.types import BadInput, Step

Kind = Literal[
    "move", "discard", "aside", "pin", "unpin", "restore", "query", "close", "found", "give_up"
]  # fmt: skip
KINDS: tuple[str, ...] = get_args(Kind)
"""Steps that change the draft; others (``look``, ``next``, ...) only say what happened when."""


@dataclass(frozen=True)
class Draft:
    """The board as the person left it.

    Of pictures that were ``moved``, the distance to the centre counts; ``discarded`` ones are
    farther than all of those; ``aside`` are those that are not it, which says nothing about how
    near they are; ``pinned`` stay for the next board; ``close`` are those named as the next
    closest to the target, in order.  ``ending`` is ``found`` (the ``target``) or ``give up`` once
    the person said so: whether others may learn from it is open then.
    """

    moved: Mapping[int, Place] = field(default_factory=dict)
    discarded: tuple[int, ...] = ()
    aside: tuple[int, ...] = ()
    pinned: tuple[int, ...] = ()
    query: int | None = None
    close: tuple[int, ...] = ()
    ending: Literal["", "found", "give up"] = ""
    target: int | None = None

    def after(self, kind: str, payload: Mapping[str, Any]) -> Draft:
        """The draft after one more step."""
        items = list(dict.fromkeys(int(item) for item in payload.get("items", ())))
        places = {int(i): (float(p[0]), float(p[1])) for i, p in payload.get("places", {}).items()}
        now = replace(self, ending="", target=None)
        if kind == "move":
            left = now._without(places, pins=False)
            return replace(left, moved={**self.moved, **places}, close=self.close)
        if kind == "discard":
            clear = now._without(items)
            return replace(clear, discarded=(*clear.discarded, *items))
        if kind == "aside":
            clear = now._without(items)
            return replace(clear, aside=(*clear.aside, *items))
        if kind == "pin":
            discarded, aside = _less(self.discarded, items), _less(self.aside, items)
            pinned = (*_less(self.pinned, items), *items)
            return replace(now, discarded=discarded, aside=aside, pinned=pinned)
        if kind == "unpin":
            return replace(now, pinned=_less(self.pinned, items))
        if kind == "restore":
            return now._without(items, pins=False)
        if kind == "query":
            return replace(now._without(items, pins=False), query=items[0])
        if kind == "close":
            kept = replace(
                now, discarded=_less(self.discarded, items), aside=_less(self.aside, items)
            )
            return replace(kept, close=(*_less(self.close, items), *items))
        if kind == "found":
            return replace(self, ending="found", target=items[0])
        if kind == "give_up":
            return replace(self, ending="give up", target=None)
        raise BadInput(f"A step is one of {', '.join(KINDS)}, not {kind!r}.")

    def within(self, items: Collection[int]) -> Draft:
        """The draft without pictures that are no longer there."""
        gone = [
            item
            for item in (*self.moved, *self.discarded, *self.aside, *self.pinned, *self.close)
            if item not in items
        ]
        kept = self._without(gone)
        if self.query is not None and self.query not in items:
            kept = replace(kept, query=None)
        if self.target is not None and self.target not in items:
            kept = replace(kept, ending="", target=None)
        return kept

    def _without(self, items: Iterable[int], *, pins: bool = True) -> Draft:
        gone = set(items)
        return replace(
            self,
            moved={item: place for item, place in self.moved.items() if item not in gone},
            discarded=_less(self.discarded, gone),
            aside=_less(self.aside, gone),
            close=_less(self.close, gone),
            pinned=_less(self.pinned, gone) if pins else self.pinned,
        )


def _less(items: tuple[int, ...], gone: Collection[int]) -> tuple[int, ...]:
    return tuple(item for item in items if item not in gone)


def standing(steps: Iterable[Step]) -> list[Step]:
    """The steps of a round that change its draft and were not taken back."""
    stack: list[Step] = []
    for step in steps:
        if step.kind in KINDS:
            stack.append(step)
        elif step.kind == "undo" and stack:
            stack.pop()
    return stack


def fold(steps: Iterable[Step], pinned: Sequence[int] = ()) -> Draft:
    """The draft that the steps of a round make; pins of the round before still hold.

    Examples
    --------
    >>> from types import SimpleNamespace as Step
    >>> moved = Step(kind="move", payload={"places": {"7": [0.5, 0.4]}})
    >>> fold([moved]).moved
    {7: (0.5, 0.4)}
    >>> fold([moved, Step(kind="undo", payload={})]).moved
    {}
    """
    draft = Draft(pinned=tuple(pinned))
    for step in standing(steps):
        draft = draft.after(step.kind, step.payload)
    return draft


def ordered(moved: Sequence[int] | Mapping[int, Place]) -> list[int]:
    """The moved items, nearest first: as listed, or by where they were put around the query."""
    if not isinstance(moved, Mapping):
        return [int(item) for item in dict.fromkeys(moved)]

    def far(item: int) -> float:  # hypot rounds otherwise in the page, which orders by this too
        x, y = (side - middle for side, middle in zip(moved[item], CENTRE))
        return math.sqrt(x * x + y * y)

    return [int(item) for item in sorted(moved, key=lambda item: (far(item), item))]


def closest_first(named: Sequence[int], shown: Iterable[int]) -> list[list[int]]:
    """What naming some of the shown in order says: each is closer than all that are left."""
    left, out = list(shown), list[list[int]]()
    for item in named:
        if item in left:
            left.remove(item)
            out.append([item, *left])
    return out


def ranks(moved: Sequence[int] | Mapping[int, Place], chain: Sequence[int]) -> list[int]:
    """Which place each of the chain has; those put equally far from the query share one."""
    if not isinstance(moved, Mapping):
        return list(range(len(chain)))
    places = [round(math.dist(moved[item], CENTRE), 6) for item in chain]
    return [sorted(set(places)).index(place) for place in places]


def chains(asked: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """Orders without ties that say what a round's moves said."""
    moved, ranks = asked["moved"], asked.get("ranks") or range(len(asked["moved"]))
    if len(set(ranks)) == len(moved):
        return [tuple(moved)] if len(moved) > 1 else []
    at = list(zip(moved, ranks))
    return [(near, far) for near, rank in at for far, next_rank in at if next_rank == rank + 1]


def check_moves(
    board: Board, moved: Sequence[int], discarded: Sequence[int], pinned: Sequence[int]
) -> None:
    """Refuse what was not on the board, and what was both moved and thrown out."""
    shown = {*board.shown, board.query}
    for item in (*moved, *discarded, *pinned):
        if item not in shown:
            raise BadInput(
                f"Item {item} is not on the board; only pictures that are shown can be moved."
            )
    both = set(moved) & set(discarded)
    if both:
        raise BadInput(f"Item {min(both)} cannot be both moved and discarded.")
