"""Target search: sessions, what is done to a board, the next round, the end, and the times."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from likewise.server.errors import refusals
from likewise.server.routes.items import no_formula
from likewise.server.schemas import BIGGEST, item_out
from likewise.server.served import Here, Key, Served
from likewise.server.target import (
    COLUMNS,
    board_out,
    draft_out,
    next_round,
    on_board,
    session_out,
    timed,
)
from likewise.server.target_schemas import (
    Act,
    BoardIn,
    BoardOut,
    Ended,
    EndIn,
    Noted,
    SessionIn,
    SessionPage,
    StepIn,
)
from likewise.session import Settings, TargetSession
from likewise.types import BadInput

router = APIRouter(tags=["target"], responses=refusals())
Id = Annotated[int, Path(ge=1, le=BIGGEST)]


@router.get("/sessions", response_model=SessionPage)
def sessions(
    here: Here,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
    state: Literal["open", "finished", "abandoned"] | None = None,
) -> dict[str, Any]:
    """Searches for a target, newest first."""
    found = here.collection.sessions.all(state=state, limit=limit)
    return {"sessions": [session_out(here.collection, s) for s in found if s.kind == "target"]}


@router.post("/sessions", response_model=BoardOut, status_code=201)
def begin(asked: SessionIn, here: Here, key: Key = None) -> dict[str, Any]:
    """Begin a search; the first board is written down when this answers."""

    def act() -> dict[str, Any]:
        begun = _begin(here, asked, {"looked_for": asked.looked_for}, person=asked.person.strip())
        with here.searches.at(begun.id) as search:
            return _shown(here, search)

    return here.replay.once(key, "session", asked.model_dump(), act)


@router.post("/boards", response_model=BoardOut)
def board(asked: BoardIn, here: Here) -> dict[str, Any]:
    """The first board of a search that is not begun: nothing is written down."""
    search = _begin(here, asked, {}, try_out=True)
    return board_out(here.collection, search, None)


def _begin(here: Served, asked: BoardIn, about: dict[str, Any], **more: Any) -> TargetSession:
    query = asked.query.query(here.collection) if asked.query else None
    examples, text = (query.examples, query.text) if query else ((), "")
    wanted = [e.ref for e in examples if e.weight > 0]
    if examples and not wanted:
        raise BadInput("A search for a target begins with what is wanted; give such a picture.")
    given = asked.query.examples if asked.query else []
    origin = {
        "begin": asked.begin,
        "text": text,
        "examples": [e.model_dump(exclude_none=True) for e in given],
        "listed": len(asked.first),
        **about,
    }
    settings = Settings.by(asked.way, asked.orders, shown=asked.shown, layout=asked.layout)
    return here.searches.begin(
        wanted, text, asked.first, asked.choose, settings,
        random=asked.begin == "random", seed=asked.seed, origin=origin, **more,
    )  # fmt: skip


@router.get("/sessions/{session}", response_model=BoardOut)
def look(
    session: Id, here: Here, round: Annotated[int | None, Query(ge=1, le=BIGGEST)] = None
) -> dict[str, Any]:
    """A round of a search as it was left; the one last touched unless given."""
    with here.searches.at(session, round) as search:
        return _shown(here, search)


@router.post("/sessions/{session}/steps", response_model=Noted, status_code=201)
def step(session: Id, asked: StepIn, here: Here, key: Key = None) -> dict[str, Any]:
    """Write down one thing that was done to a board; the next round learns from all of them."""
    with here.searches.at(session, asked.round) as search:
        _check(search, asked)
        payload: dict[str, Any] = {}
        if asked.items:
            payload["items"] = list(dict.fromkeys(asked.items))
        if asked.places:
            payload["places"] = {name: list(place) for name, place in asked.places.items()}
        made = _note(here, search, asked.kind, asked, payload, key)
        return {"step": made, "draft": draft_out(here.searches.draft(search))}


def _check(search: TargetSession, asked: StepIn) -> None:
    if asked.kind == "move":
        if not asked.places or asked.items:
            raise BadInput("A move says where each picture was put; give places, and no items.")
        if str(search.board.query) in asked.places:
            raise BadInput("The query stands at the centre; move the other pictures.")
    elif asked.places:
        raise BadInput("Only a move has places.")
    elif asked.kind in ("give_up", "look"):
        if asked.items:
            raise BadInput(f"A step {asked.kind!r} is about the whole board; name no items.")
    elif not asked.items:
        raise BadInput("Say which pictures are meant.")
    elif asked.kind in ("query", "found") and len(asked.items) != 1:
        raise BadInput("Name one picture.")
    board = on_board(search.board)
    for item in (*asked.items, *(int(name) for name in asked.places)):
        if item not in board:
            raise BadInput(
                f"Picture {item} is not on this board (any more); the board was brought up to date."
            )


@router.post("/sessions/{session}/next", response_model=BoardOut, status_code=201)
def go_on(session: Id, asked: Act, here: Here, key: Key = None) -> dict[str, Any]:
    """Learn from what was done to a board, and show the next one.

    Going on from a round that was gone on from before makes a branch.
    """

    def act() -> dict[str, Any]:
        with here.searches.at(session, asked.round) as search:
            next_round(search, here.searches.draft(search))
            _note(here, search, "next", asked, {"made": search.board.round})
            return _shown(here, search)

    return here.replay.once(key, f"next {session}", asked.model_dump(), act)


@router.post("/sessions/{session}/hundred", response_model=BoardOut, status_code=201)
def hundred(session: Id, asked: Act, here: Here, key: Key = None) -> dict[str, Any]:
    """A hundred other pictures at random: none of those shown was anything like it."""

    def act() -> dict[str, Any]:
        with here.searches.at(session, asked.round) as search:
            search.another_hundred()
            _note(here, search, "hundred", asked, {"made": search.board.round})
            return _shown(here, search)

    return here.replay.once(key, f"hundred {session}", asked.model_dump(), act)


@router.post("/sessions/{session}/undo", response_model=BoardOut)
def undo(session: Id, asked: Act, here: Here, key: Key = None) -> dict[str, Any]:
    """Take back the latest step of a board; where there is none, go back to the board before."""

    def act() -> dict[str, Any]:
        with here.searches.at(session, asked.round) as search:
            if here.searches.can_take_back(search):
                _note(here, search, "undo", asked, {})
            else:
                search.undo()
                _note(here, search, "back", asked, {}, round=search.board.round)
            return _shown(here, search)

    return here.replay.once(key, f"undo {session}", asked.model_dump(), act)


@router.post("/sessions/{session}/end", response_model=Ended)
def end(session: Id, asked: EndIn, here: Here, key: Key = None) -> dict[str, Any]:
    """End a search: found, or given up; only what may be kept teaches others."""

    def act() -> dict[str, Any]:
        with here.searches.at(session, asked.round) as search:
            collection, written = here.collection, 0
            found = None if asked.found is None else collection.items.get(asked.found)
            with collection.transaction():
                _note(here, search, "end", asked, {"keep": asked.keep})
                if found is None:
                    search.give_up(keep=asked.keep)
                else:
                    search.found(found.id, keep=asked.keep)
                if asked.keep:
                    written = collection.targets.teach_others(search, person=asked.person.strip())
            if written:
                here.hub.publish("judgements", {"records": []})
            return {
                "session": session,
                "found": None if found is None else item_out(found),
                "kept": asked.keep,
                "judgements": written,
            }

    return here.replay.once(key, f"end {session}", asked.model_dump(), act)


def _note(
    here: Served,
    search: TargetSession,
    kind: str,
    asked: Act,
    payload: dict[str, Any],
    key: str | None = None,
    *,
    round: int | None = None,
) -> int:
    """Write a step down and tell the other tabs."""
    number, at = search.id, round or asked.round
    step = here.collection.sessions.add_step(
        number, at, kind, payload, seconds=asked.seconds, key=key
    )
    news = {"session": number, "round": search.board.round, "kind": kind, "tab": asked.tab}
    here.hub.publish("session", news)
    return step.id


def _shown(here: Served, search: TargetSession) -> dict[str, Any]:
    record = here.collection.sessions.get(search.id)
    return board_out(here.collection, search, record, here.searches.draft(search))


@router.get("/steps.csv", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
def times(here: Here, session: Annotated[int | None, Query(ge=1, le=BIGGEST)] = None) -> Response:
    """What was done when, and how long it took, as CSV: of one search or of all."""
    records = here.collection.sessions
    wanted = [records.get(session)] if session else records.all(limit=BIGGEST)[::-1]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for one in wanted:
        for row in timed(one, records.rounds(one.id), records.steps(one.id)):
            row["time"] = datetime.fromtimestamp(row["time"], UTC).isoformat()
            writer.writerow([no_formula(row.get(name, "")) for name in COLUMNS])
    name = f"session-{session}-steps.csv" if session else "steps.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(out.getvalue(), headers=headers, media_type="text/csv")
