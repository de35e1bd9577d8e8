"""What goes in and out over HTTP in a target search."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from likewise.server.schemas import BIGGEST, ItemId, ItemOut, Line, QueryIn, Share, Strict
from likewise.session.draft import Kind
from likewise.session.settings import Orders, Way

RoundId = Annotated[int, Field(ge=1, le=BIGGEST)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]
MOST_SHOWN = 100
"""Pictures of one board, at most."""
Shown = Annotated[list[ItemId], Field(max_length=MOST_SHOWN + 1)]
Places = Annotated[
    dict[Annotated[str, Field(pattern=r"^[1-9][0-9]{0,15}$")], tuple[Share, Share]],
    Field(max_length=MOST_SHOWN + 1),
]


class BoardIn(Strict):
    """How to begin: a query, pictures to show first, representatives, or a random hundred."""

    begin: Literal["representatives", "random"] = "representatives"
    query: QueryIn | None = None
    first: Annotated[list[ItemId], Field(max_length=MOST_SHOWN, default_factory=list)]
    choose: ItemId | None = Field(None, description="the one of ``first`` that is closest")
    shown: Annotated[int, Field(ge=2, le=MOST_SHOWN)] = 30
    way: Way = Field("ours", description="``paper``: the nearest by the order of the last round")
    orders: Orders | None = Field(None, description="which orders teach")
    layout: Literal["board", "grid"] = "board"
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


class SessionIn(BoardIn):
    """A search to begin."""

    person: Line = ""
    looked_for: ItemId | None = Field(None, description="in a study, the picture to look for")


class Act(Strict):
    """Which round is meant, how long the person took, and from which tab."""

    round: RoundId
    seconds: Seconds | None = None
    tab: Line = ""


class StepIn(Act):
    """One thing done to a board.

    ``move`` puts pictures somewhere in a box of side one whose centre is the query, ``discard``
    says that they are farther than all moved ones, ``aside`` that they are not it, ``pin`` keeps
    them, ``restore`` takes back what was said of them, ``query`` chooses one to search from,
    ``close`` names the next closest to the target,
    ``found`` and ``give_up`` ask for the end, ``look`` only says that the round is looked at.
    """

    kind: Kind | Literal["look"]
    items: Annotated[Shown, Field(default_factory=list)]
    places: Annotated[Places, Field(default_factory=dict)]


class EndIn(Act):
    """How a search ended, and whether later searches and models may learn from it."""

    found: ItemId | None = None
    keep: bool = False
    person: Line = ""


class DraftOut(BaseModel):
    """What was done to a board so far."""

    moved: dict[str, tuple[float, float]]
    discarded: list[int]
    aside: list[int]
    pinned: list[int]
    query: int | None
    close: list[int]
    ending: str
    target: int | None


class PlacedOut(ItemOut):
    """A picture of a board and where it stands in a box of side one."""

    x: float
    y: float


class RoundOut(BaseModel):
    """A round in the history."""

    round: int
    parent: int | None
    depth: int
    query: int | None
    thumbnail: str | None
    shown: int
    made: float


class BoardOut(BaseModel):
    """A round: the board, what the metric favours, what was done so far, and all rounds."""

    session: int
    state: str
    outcome: dict[str, Any]
    origin: dict[str, Any]
    round: int
    depth: int
    query: ItemOut | None
    has_centre: bool = Field(description="whether there is a query that pictures are near to")
    pictures: list[PlacedOut]
    gone: int = Field(description="pictures of this board that are no longer there")
    side: float
    shares: dict[str, float]
    words: str
    left: int
    notes: list[str]
    draft: DraftOut
    rounds: list[RoundOut]


class SessionOut(BaseModel):
    """A search in a list."""

    session: int
    state: str
    person: str
    started: float
    ended: float | None
    rounds: int
    outcome: dict[str, Any]
    origin: dict[str, Any]


class SessionPage(BaseModel):
    """Searches, newest first."""

    sessions: list[SessionOut]


class Noted(BaseModel):
    """The step that was written down, and the draft after it."""

    step: int
    draft: DraftOut


class Ended(BaseModel):
    """How a search ended, and how many judgements it gave."""

    session: int
    found: ItemOut | None
    kept: bool
    judgements: int
