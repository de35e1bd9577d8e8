"""Search, and why a result is there."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Query as Asked
from pydantic import BaseModel, Field

from likewise.server.errors import refusals
from likewise.server.schemas import (
    AnswerOut,
    ItemId,
    ModelName,
    QueryIn,
    SearchIn,
    Words,
    answer_out,
)
from likewise.server.served import Here
from likewise.types import Busy

CHECKED = 20
"""First results of a same-object search that get a geometric check."""

router = APIRouter(tags=["search"], responses=refusals())


@router.post("/search", response_model=AnswerOut)
def search(asked: SearchIn, here: Here) -> dict[str, Any]:
    """Search by pictures, words, or both."""
    collection = here.collection
    query = asked.query(collection)
    answer = collection.ask(
        query,
        k=asked.k,
        filter=asked.filter.filter(),
        model=asked.model,
        use_marks=asked.use_marks,
        pin_query=asked.pin_query,
        collapse=asked.collapse,
        compact=asked.compact,
        same_object=asked.same_object,
        check=min(asked.k, CHECKED) if asked.same_object else 0,
    )
    if asked.generation is not None and asked.generation != answer.generation:
        raise Busy(
            f"The index changed meanwhile (it was {asked.generation}, now it is "
            f"{answer.generation}); search again."
        )
    return answer_out(collection, query, answer)


class WhyIn(QueryIn):
    """Which result is to be explained."""

    item: ItemId
    model: ModelName | None = None


class WhyOut(BaseModel):
    """Share of each block in the score, words of the query that the item carries, marks."""

    item: int
    model: str
    blocks: dict[str, float]
    words: list[str]
    words_model: str
    learned_words: list[str] = Field(description="words that the words model knows")
    clicks: int = Field(description="how often it was chosen for this query")
    marks: int
    score: float | None = None


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
    query = asked.query(here.collection)
    found = here.collection.why(query, asked.item, model=asked.model)
    found["blocks"] = {name: float(share) for name, share in dict(found["blocks"]).items()}
    return found
