"""What people say: labels, clicks, orderings; undo; and whom to ask about what next."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query, Request
from pydantic import BaseModel, Field

from likewise.collection import Record, as_key
from likewise.server.errors import refusals
from likewise.server.policy import untaught
from likewise.server.schemas import (
    BIGGEST,
    ItemId,
    ItemOut,
    Line,
    Made,
    OfferName,
    QueryIn,
    Strict,
    Undone,
    item_out,
    shown_query,
)
from likewise.server.scopes import lacking
from likewise.server.served import Here, Key, Source
from likewise.types import BadInput

Place = Annotated[int, Field(ge=0, le=1_000_000)]
router = APIRouter(tags=["judgements"], responses=refusals())
WINDOW = 1000
"""Records that are looked through at a time when the newest are listed."""
LESSON, REFERENCES = 40, 100
"""Typical pictures of the first lesson, and how many are offered after it."""


class JudgementIn(Strict):
    """What a person says about items for a query."""

    query: QueryIn
    items: Annotated[list[ItemId], Field(min_length=1, max_length=1000)]
    kind: Literal["label", "click", "ordering"] = "label"
    relevant: bool = Field(True, description="for labels: is it what the query wants?")
    positions: Annotated[list[Place], Field(max_length=1000)] | None = Field(
        None, description="where the items stood among the results, from 1; 0: not known"
    )
    person: Line = ""


@router.post("/judgements", response_model=Made, status_code=201)
def judge(
    asked: JudgementIn, here: Here, request: Request, source: Source, key: Key = None
) -> dict[str, Any]:
    """Write judgements down; they are on the disk when this answers."""
    program, wanted = request.scope.get("key"), "click" if asked.kind == "click" else "teach"
    if program is not None and not program.may(wanted):
        raise HTTPException(403, lacking(program, wanted))
    collection, query = here.collection, asked.query.query(here.collection)
    if len(set(asked.items)) != len(asked.items):
        raise BadInput("Name each item once.")
    said: dict[str, Any] = {"person": asked.person.strip(), "source": source}
    if asked.kind == "ordering":
        records = [collection.order(query, asked.items, key=key, **said)]
    elif asked.kind == "click":
        keys = _keys(key, asked.items)
        places = asked.positions or [0] * len(asked.items)
        if len(places) != len(asked.items):
            raise BadInput("Give one position for each item, or none at all.")
        records = [
            collection.click(query, item, key=k, position=place, **said)
            for item, k, place in zip(asked.items, keys, places)
        ]
    else:
        records = collection.mark(
            query, asked.items, asked.relevant, keys=_keys(key, asked.items),
            positions=asked.positions, **said
        )  # fmt: skip
    here.hub.publish("judgements", {"records": records})
    return {"records": records}


def _keys(key: str | None, items: list[int]) -> list[str | None]:
    return [None if key is None else f"{key}:{item}" for item in items]


class UndoIn(Strict):
    """Who takes it back."""

    person: Line = ""


@router.post("/judgements/{record}/undo", response_model=Undone)
def undo(
    record: Annotated[int, Path(ge=1, le=BIGGEST)],
    here: Here,
    source: Source,
    asked: UndoIn | None = None,
    key: Key = None,
) -> dict[str, Any]:
    """Take a judgement back; undoing the undo brings it back again."""
    person = asked.person.strip() if asked else ""
    number = here.collection.log.undo(record, person=person, source=source, key=key)
    here.hub.publish("judgements", {"records": [number]})
    return {"record": record, "undo": number}


class UndoAllIn(UndoIn):
    """Whose judgements are taken back: a person's, a source's, or those of one by the other."""

    by: Line | None = None
    of: Line | None = None


@router.post("/judgements/undo", response_model=Made)
def undo_all(asked: UndoAllIn, here: Here, source: Source) -> dict[str, Any]:
    """Take back all that counts of a person or source; gives the numbers of the undos."""
    records = here.collection.log.undo_all(
        by=asked.by, of=asked.of, person=asked.person.strip(), source=source
    )
    here.hub.publish("judgements", {"records": records})
    return {"records": records}


class ReplyIn(Strict):
    """What a person did with an offer: taken, refused, or (null) that word taken back."""

    query: QueryIn
    offer: OfferName
    taken: bool | None
    likeness: Annotated[float, Field(ge=-1e6, le=1e6)] = Field(0.0, description="as it was offered")
    person: Line = ""


class Replied(BaseModel):
    """Number of the answer."""

    record: int


@router.post("/offers", response_model=Replied, status_code=201, tags=["teach"])
def reply(asked: ReplyIn, here: Here) -> dict[str, Any]:
    """Write down whether earlier teaching was taken or refused; later offers learn from it."""
    query = asked.query.query(here.collection)
    record = here.collection.teaching.reply(
        query, asked.offer, asked.taken, likeness=asked.likeness, person=asked.person.strip()
    )
    return {"record": record}


class JudgementOut(BaseModel):
    """A record of the log."""

    id: int
    kind: str
    query: dict[str, Any]
    items: list[int]
    value: float
    time: float
    person: str
    source: str
    position: int
    undone: bool


class JudgementPage(BaseModel):
    """Records, newest first; ``next`` is the cursor of the page after, null on the last."""

    records: list[JudgementOut]
    next: int | None
    counting: int


@router.get("/judgements", response_model=JudgementPage)
def judgements(
    here: Here,
    cursor: Annotated[int, Query(ge=0, le=BIGGEST, description="records before this one")] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    undone: bool = False,
    by: Annotated[str | None, Query(max_length=200, description="of this person only")] = None,
    source: Annotated[str | None, Query(max_length=200, description="from here only")] = None,
) -> dict[str, Any]:
    """The log of judgements, newest first."""
    log = here.collection.log
    newest = log.newest()
    top = min(cursor, newest + 1) if cursor else newest + 1
    found: list[Record] = []
    while top > 1 and len(found) <= limit:
        low = max(0, top - 1 - WINDOW)
        window = log.records(after=low, upto=top - 1, undone=undone, person=by, source=source)
        found += reversed(list(window))
        top = low + 1
    shown = found[:limit]
    more = len(found) > limit
    return {
        "records": [_record(here, r) for r in shown],
        "next": shown[-1].id if more else None,
        "counting": len(log),
    }


def _record(here: Here, record: Record) -> dict[str, Any]:
    judgement = record.judgement
    keys = [as_key(path) for path in judgement.items]
    found = here.collection.items.ids(keys)
    return {
        "id": record.id,
        "kind": judgement.kind,
        "query": shown_query(here.collection, judgement.query),
        "items": [found[k] for k in keys if k in found],
        "value": judgement.value,
        "time": judgement.time,
        "person": judgement.person,
        "source": judgement.source,
        "position": judgement.position,
        "undone": record.undone,
    }


# -- teaching ------------------------------------------------------------------------


class CandidatesIn(QueryIn):
    """The reference query, and how many candidates."""

    count: Annotated[int, Field(ge=1, le=100)] = 20


class Candidates(BaseModel):
    """Items to judge, in this order."""

    items: list[ItemOut]


@router.post("/teach/candidates", response_model=Candidates, tags=["teach"])
def teach_candidates(asked: CandidatesIn, here: Here) -> dict[str, Any]:
    """Items to judge for a query, none judged yet: near ones, and those that models dispute."""
    found = here.collection.candidates(asked.query(here.collection), asked.count)
    return {"items": [item_out(i) for i in here.collection.items.many(found)]}


class TeachOut(BaseModel):
    """The next reference query, and how far teaching has come."""

    reference: ItemOut | None
    judgements: int
    queries: int
    both: int = Field(description="queries with right and wrong items, which teach most")
    new: bool = Field(description="whether something was said since the newest model was learned")
    lesson: int = Field(description="typical pictures of the first lesson that are still to teach")


@router.get("/teach/next", response_model=TeachOut, tags=["teach"])
def teach_next(
    here: Here,
    skip: Annotated[list[ItemId] | None, Query(max_length=200)] = None,
) -> dict[str, Any]:
    """A reference query that nobody has taught yet: first the typical pictures of the lesson."""
    collection = here.collection
    typical = untaught(collection, here.representatives(LESSON))
    left = [i for i in typical if i not in (skip or ())]
    if not left:
        more = untaught(collection, here.representatives(REFERENCES))
        left = [i for i in more if i not in (skip or ())]
    taught = collection.teaching.taught.queries()
    said = [m.values() for (_, name), m in taught.items() if not name.startswith("session:")]
    return {
        "reference": item_out(collection.items.get(left[0])) if left else None,
        "judgements": sum(map(len, said)),
        "queries": len(said),
        "both": sum(len({value > 0 for value in values}) == 2 for values in said),
        "new": bool(said) and collection.models.has_news(),
        "lesson": len(typical),
    }
