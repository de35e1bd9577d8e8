"""Models: learn, look at the card, activate, roll back."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from likewise.collection.modelling import DEFAULT, slot_of
from likewise.server.errors import refusals
from likewise.server.jobs import as_json
from likewise.server.schemas import JobOut, Line, ModelOut, Strict
from likewise.server.served import Here, Key
from likewise.store import Model

router = APIRouter(tags=["models"], responses=refusals())
Id = Annotated[int, Path(ge=1, le=10**9)]


def model_out(model: Model, active: set[int]) -> dict[str, Any]:
    """A model as JSON values; numbers that JSON does not know become null."""
    card = finite(json.loads(json.dumps(dict(model.card), default=str)))
    return {
        "id": model.id,
        "name": model.name,
        "slot": slot_of(model),
        "active": model.id in active,
        "made": model.made,
        "card": card,
    }


def finite(value: Any) -> Any:
    """JSON knows no NaN: what could not be measured is null."""
    if isinstance(value, dict):
        return {key: finite(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def active_id(here: Here, slot: str = DEFAULT) -> int | None:
    """The number of the active model of a slot, None for none."""
    active = here.collection.models.active(slot)
    return None if active is None else active.id


def all_active(here: Here) -> set[int]:
    """Numbers of the models that are active in any slot."""
    return set(here.collection.models.all_active().values())


@router.get("/models", response_model=list[ModelOut])
def models(here: Here) -> list[dict[str, Any]]:
    """Every model, newest first."""
    active = all_active(here)
    return [model_out(m, active) for m in reversed(here.collection.models.all())]


@router.get("/models/{model}", response_model=ModelOut)
def model(model: Id, here: Here) -> dict[str, Any]:
    """One model with its card: how it was made, and what the guard said."""
    return model_out(here.collection.store.models.get(model), all_active(here))


class LearnIn(Strict):
    """How to learn."""

    objective: Literal["bilinear", "top-precision", "clicks"] = "bilinear"
    space: Literal["", "words"] = Field(
        "", description="words: learn the table of same-object search from the marks instead"
    )
    activate: bool = False
    propensity: Annotated[float, Field(ge=0, le=5)] = Field(
        0.0, description="for clicks: at place r results are looked at with chance r ** -propensity"
    )
    more: bool = Field(False, description="for clicks: go on from the active words model")
    person: Line = ""


@router.post("/models/learn", response_model=JobOut, status_code=202)
def learn(asked: LearnIn, here: Here, key: Key = None) -> dict[str, Any]:
    """Learn a model from the judgements, as a job; it stays inactive unless asked otherwise.

    Where the same is being learned already, the answer is that job.
    """
    payload = asked.model_dump()
    return here.replay.once(
        key, "learn", payload, lambda: as_json(here.runner.start("learn", payload))
    )


class ActivateIn(Strict):
    """Who wants it; ``force`` overrules the guard."""

    person: Line = ""
    force: bool = False


class Activated(BaseModel):
    """What ranks now, or reads words: a model's number, or null for none."""

    model: int | None
    previous: int | None


@router.post("/models/{model}/activate", response_model=Activated)
def activate(model: Id, asked: ActivateIn, here: Here, key: Key = None) -> dict[str, Any]:
    """Let a model rank everyone's searches, if its guard let it pass."""

    def act() -> dict[str, Any]:
        before = active_id(here, slot_of(here.collection.store.models.get(model)))
        done = here.collection.models.activate(model, person=asked.person, force=asked.force)
        return {"model": done.model, "previous": before}

    answer: dict[str, Any] = here.replay.once(key, f"activate {model}", asked.model_dump(), act)
    slot = slot_of(here.collection.store.models.get(model))
    here.hub.publish("model", {**answer, "slot": slot})
    return answer


class RollbackIn(Strict):
    """Who wants it, and of which slot."""

    person: Line = ""
    slot: Literal["default", "words", "same-object"] = "default"


@router.post("/models/rollback", response_model=Activated)
def rollback(asked: RollbackIn, here: Here, key: Key = None) -> dict[str, Any]:
    """Go back to what ranked before."""

    def act() -> dict[str, Any]:
        before = active_id(here, asked.slot)
        done = here.collection.models.rollback(person=asked.person, slot=asked.slot)
        return {"model": done.model, "previous": before}

    answer: dict[str, Any] = here.replay.once(key, "rollback", asked.model_dump(), act)
    here.hub.publish("model", {**answer, "slot": asked.slot})
    return answer
