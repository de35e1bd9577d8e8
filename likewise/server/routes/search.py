"""Search, and why a result is there."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Query as Asked
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from likewise.server.errors import refusals
from likewise.server.schemas import (
    AnswerOut,
    ItemId,
    OptionsIn,
    SearchIn,
    Words,
    answer_out,
)
from likewise.server.served import Here, Served
from likewise.types import Busy

router = APIRouter(tags=["search"], responses=refusals())


@router.post("/search", response_model=AnswerOut)
def search(asked: SearchIn, here: Here) -> Response:
    """Search by pictures, words, or both."""
    collection = here.collection
    with collection.one_state(asked.line):
        query = asked.query(collection)
        answer = collection.ask(query, asked.options())
        if asked.generation is not None and asked.generation != answer.generation:
            raise Busy(
                f"The index changed meanwhile (it was {asked.generation}, now it is "
                f"{answer.generation}); search again."
            )
        out = answer_out(collection, query, answer)
    return Response(to_json(out), media_type="application/json")


async def search_at_once(request: Request) -> Response:
    """The same without what FastAPI does around it, which takes as long as the search."""
    kind, body = request.headers.get("content-type", ""), await request.body()
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(422, "Send the search as application/json.")
    try:
        asked = SearchIn.model_validate_json(body)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None
    here: Served = request.app.state.served
    return await asyncio.get_running_loop().run_in_executor(here.threads, search, asked, here)


class WhyIn(OptionsIn):
    """Which result of which search is to be explained."""

    item: ItemId


class PlaceOut(BaseModel):
    """Where a list that is fused has an item."""

    place: int
    score: float


class WhyOut(BaseModel):
    """What a score is made of; ``blocks`` and ``parts`` each sum to it with side and offset."""

    item: int
    model: str
    blocks: dict[str, float] = Field(description="by block of features, or by visual word")
    parts: dict[str, float] = Field(description="by evidence: picture, taught, marks, used, text")
    side: float = 0.0
    offset: float = 0.0
    score: float | None = None
    lists: dict[str, PlaceOut] = Field(description="where each fused list has the item")
    fused: float | None = Field(None, description="the sum of 1 / (60 + place) over the lists")
    words: list[str] = Field(description="words of the query that the item carries")
    reader: str = Field(description="what read the text; empty for full text alone")
    learned_words: list[str] = Field(description="words that the reader knows")
    looks_like: list[str] = Field(description="classes and colours that speak for the item")
    clicks: int = Field(description="how often it was chosen for this query")
    marks: int


class Suggestion(BaseModel):
    """Another query, and how near it is (a cosine)."""

    text: str
    score: float


@router.get("/suggest", response_model=list[Suggestion])
def suggest(
    here: Here,
    text: Annotated[Words, Asked()],
    k: Annotated[int, Asked(ge=1, le=50)] = 8,
) -> list[dict[str, Any]]:
    """Queries near this one: earlier ones, and tags, that ask for alike pictures."""
    return [{"text": t, "score": score} for t, score in here.collection.suggest(text, k)]


@router.post("/why", response_model=WhyOut)
def why(asked: WhyIn, here: Here) -> dict[str, Any]:
    """Say why an item scores as it does for a query."""
    return here.collection.why(asked.query(here.collection), asked.item, asked.options())
