"""Models out and in as files, and any two of them compared on any judgements."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from likewise.collection.learn.changes import curves
from likewise.collection.learn.guard import finite
from likewise.server.errors import refusals
from likewise.server.routes.layouts import OCTETS
from likewise.server.routes.models import model_out
from likewise.server.routes.uploads import BODY
from likewise.server.schemas import Line, ModelName, ModelOut, Strict
from likewise.server.served import Here, Key
from likewise.types import BadInput, Judgement

router = APIRouter(tags=["models"], responses=refusals())
Id = Annotated[int, Path(ge=1, le=10**9)]
Time = Annotated[float, Field(ge=0, le=1e11, description="seconds since 1970")]


@router.get("/models/{model}/file", response_class=Response, responses=OCTETS)
def export(model: Id, here: Here) -> Response:
    """A model with its card as one safetensors file."""
    data = here.collection.models.packed(model)
    name = here.collection.models.get(model).name
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "model"
    headers = {"Content-Disposition": f'attachment; filename="{model}-{slug}.safetensors"'}
    return Response(data, headers=headers, media_type="application/octet-stream")


@router.post("/models/import", response_model=ModelOut, status_code=201, openapi_extra=BODY)
async def import_(request: Request, here: Here, key: Key = None) -> dict[str, Any]:
    """Take a model that was exported in the same space: the file's bytes as the body."""
    try:
        data = await request.body()
    except ClientDisconnect:
        raise BadInput("The model did not arrive whole; send it again.") from None
    return await run_in_threadpool(_take, data, here, key)


def _take(data: bytes, here: Here, key: str | None) -> dict[str, Any]:
    def act() -> dict[str, Any]:
        return model_out(here, here.collection.models.take(data))

    answer: dict[str, Any] = here.replay.once(key, "import", hashlib.sha256(data).hexdigest(), act)
    here.hub.publish("collection", {"model": answer["id"]})
    return answer


class CompareIn(Strict):
    """Two models, and the judgements to compare them on; what is not set takes all."""

    model: ModelName
    against: ModelName = "plain"
    person: Line | None = None
    source: Line | None = None
    since: Time | None = None
    until: Time | None = None

    def counts(self, said: Judgement) -> bool:
        """Whether a judgement is among those asked for."""
        return (
            self.person in (None, said.person)
            and self.source in (None, said.source)
            and (self.since is None or said.time >= self.since)
            and (self.until is None or said.time <= self.until)
        )


class ComparedOut(BaseModel):
    """Measures of both, curves, and the queries that lost and won most."""

    rows: list[dict[str, Any]]
    by: str
    model: str
    against: str
    judgements: int
    curves: dict[str, dict[str, list[float | None]]]
    changes: dict[str, list[dict[str, Any]]]


@router.post("/models/compare", response_model=ComparedOut)
def compare(asked: CompareIn, here: Here) -> dict[str, Any]:
    """Compare two models on judgements of the log."""
    chosen = [j for j in here.collection.log if asked.counts(j)]
    compared, changed = here.collection.models.contrast(asked.model, asked.against, chosen)
    out: dict[str, Any] = finite(
        {
            "rows": [dict(row) for row in compared.rows],
            "by": compared.by,
            "model": next(n for n in compared.values if n != compared.baseline),
            "against": compared.baseline,
            "judgements": len(chosen),
            "curves": curves(compared),
            "changes": changed,
        }
    )
    return out


class Said(BaseModel):
    """Who said how much; an empty name means that nobody was named."""

    name: str
    judgements: int


class SaidBy(BaseModel):
    """People and sources of the judgements that count, those with most first."""

    people: list[Said]
    sources: list[Said]


@router.get("/judgements/by", response_model=SaidBy)
def said_by(here: Here) -> dict[str, Any]:
    """Who gave the judgements that count, and where they came from."""
    log = list(here.collection.log)

    def listed(names: Counter[str]) -> list[dict[str, Any]]:
        return [{"name": name, "judgements": n} for name, n in names.most_common(100)]

    return {
        "people": listed(Counter(j.person for j in log)),
        "sources": listed(Counter(j.source for j in log)),
    }
