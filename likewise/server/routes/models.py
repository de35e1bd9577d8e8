"""Models: learn, look at the card, activate, roll back."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from likewise.collection import Model
from likewise.collection.learn.check import Check
from likewise.collection.learn.guard import finite
from likewise.collection.learn.methods import DEFAULT, METHODS
from likewise.collection.learn.models import task_of
from likewise.learners.settings import Setting
from likewise.server.errors import refusals
from likewise.server.jobs import as_json
from likewise.server.schemas import ItemId, ItemOut, JobOut, Line, ModelOut, Strict, item_out
from likewise.server.served import Here, Key

router = APIRouter(tags=["models"], responses=refusals())
Id = Annotated[int, Path(ge=1, le=10**9)]
Task = Literal["look", "objects", "text"]


def model_out(here: Here, model: Model) -> dict[str, Any]:
    """A model as JSON values; numbers that JSON does not know become null."""
    active = here.collection.models.all_active().values()
    text = json.dumps(finite(METHODS.as_json(model, active)), default=str)
    return dict(json.loads(text))


@router.get("/models", response_model=list[ModelOut])
def models(here: Here) -> list[dict[str, Any]]:
    """Every model, newest first."""
    return [model_out(here, m) for m in reversed(here.collection.models.all())]


@router.get("/models/{model}", response_model=ModelOut)
def model(model: Id, here: Here) -> dict[str, Any]:
    """One model with its card: how it was made, and what the guard said."""
    return model_out(here, here.collection.models.get(model))


class MethodOut(BaseModel):
    """A way of learning."""

    name: str
    title: str
    help: str
    line: Literal["look", "objects"]
    role: Literal["ranks", "reads"]
    task: Task
    package: str = Field(description="the installed package that brought it; empty for our own")
    settings: list[Setting]


@router.get("/methods", response_model=list[MethodOut])
def methods() -> list[dict[str, Any]]:
    """The ways of learning, with what can be set."""
    return [method.as_json() for method in METHODS.values()]


class LearnIn(Strict):
    """How to learn."""

    method: Line = Field(DEFAULT, description="a name of GET /methods")
    settings: dict[str, Any] = Field({}, description="by name, as GET /methods has them")
    name: Line = Field("", description="of the model; the method's where it is empty")
    activate: bool = Field(True, description="make it active if the guard lets it pass")
    person: Line = ""


@router.post("/models/learn", response_model=JobOut, status_code=202)
def learn(asked: LearnIn, here: Here, key: Key = None) -> dict[str, Any]:
    """Learn a model from what people said, as a job; it serves if the guard lets it pass.

    Where the same is being learned already, the answer is that job.
    """
    payload = asked.model_dump()
    METHODS[asked.method].read(asked.settings)  # refused now, not by the job
    return here.replay.once(
        key, "learn", payload, lambda: as_json(here.runner.start("learn", payload))
    )


class ActivateIn(Strict):
    """Who wants it; ``force`` overrules the guard."""

    person: Line = ""
    force: bool = False


class Activated(BaseModel):
    """What ranks now, or reads text: a model's number, or null for none."""

    model: int | None
    previous: int | None


@router.post("/models/{model}/activate", response_model=Activated)
def activate(model: Id, asked: ActivateIn, here: Here, key: Key = None) -> dict[str, Any]:
    """Let a model rank everyone's searches, or read their text, if its guard let it pass."""
    task = task_of(here.collection.models.get(model))

    def act() -> dict[str, Any]:
        before = here.collection.models.all_active().get(task)
        done = here.collection.models.activate(model, person=asked.person, force=asked.force)
        return {"model": done.model, "previous": before}

    answer: dict[str, Any] = here.replay.once(key, f"activate {model}", asked.model_dump(), act)
    here.hub.publish("model", {**answer, "task": task})
    return answer


class CheckOut(BaseModel):
    """How far the short check of a model is, and what it asks next."""

    model: int
    done: int = Field(description="searches that are answered")
    size: int = Field(description="searches that must be, before the next look at them")
    item: ItemOut | None = Field(description="the picture that is searched for next")
    items: list[ItemOut] = Field(description="which of these are right for it?")
    passed: bool
    active: bool
    sentence: str
    taught: int = Field(description="marks given freely until the last look; 0 before the first")
    asked: int = Field(description="answers in checks until then")


@router.get("/models/{model}/check", response_model=CheckOut)
def check(model: Id, here: Here) -> dict[str, Any]:
    """What the short check of a model asks next: which of these pictures are right?"""
    return _check_out(here, here.collection.check(model))


class CheckIn(Strict):
    """An answer: those of the asked pictures that are right; all others are wrong."""

    item: ItemId
    right: Annotated[list[ItemId], Field(max_length=1000)] = Field(
        [], description="of the asked ones"
    )
    skip: bool = Field(False, description="leave this search out: nobody can tell")
    person: Line = ""


@router.post("/models/{model}/check", response_model=CheckOut)
def answer_check(model: Id, asked: CheckIn, here: Here, key: Key = None) -> dict[str, Any]:
    """Answer, and hear what is asked next; a model that passes serves at once."""
    said = asked.model_dump()

    def act() -> dict[str, Any]:
        before = here.collection.models.all_active()
        answer = here.collection.check(model, **said)
        now = here.collection.models.all_active()
        here.hub.publish("judgements", {"records": []})
        for task in (task for task in now if now[task] != before.get(task)):
            here.hub.publish("model", {"model": now[task], "task": task})
        return _check_out(here, answer)

    return here.replay.once(key, f"check {model}", said, act)


def _check_out(here: Here, found: Check) -> dict[str, Any]:
    shown = {i.id: item_out(i) for i in here.collection.items.many([*found.items, found.item or 0])}
    asked = [shown[i] for i in found.items if i in shown]
    return {**asdict(found), "item": shown.get(found.item or 0), "items": asked}


class RollbackIn(Strict):
    """Who wants it, and for which task."""

    person: Line = ""
    task: Task = "look"


@router.post("/models/rollback", response_model=Activated)
def rollback(asked: RollbackIn, here: Here, key: Key = None) -> dict[str, Any]:
    """Go back to what ranked before."""

    def act() -> dict[str, Any]:
        before = here.collection.models.all_active().get(asked.task)
        done = here.collection.models.rollback(person=asked.person, task=asked.task)
        return {"model": done.model, "previous": before}

    answer: dict[str, Any] = here.replay.once(key, "rollback", asked.model_dump(), act)
    here.hub.publish("model", {**answer, "task": asked.task})
    return answer
