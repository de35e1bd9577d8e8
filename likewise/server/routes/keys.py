"""Keys of programs: make one, list them, take one back."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from likewise.server.errors import refusals
from likewise.server.schemas import Strict
from likewise.server.served import Here

router = APIRouter(tags=["keys"], responses=refusals())
Name = Annotated[str, Field(min_length=1, max_length=64)]
Scope = Literal["search", "click", "teach", "administer"]


class KeyIn(Strict):
    """Who is to have it, and what for."""

    name: Name
    scope: Scope = "search"


class KeyOut(BaseModel):
    """A key without what opens."""

    name: str
    scope: str
    made: float


class NewKey(KeyOut):
    """A key that was just made; ``key`` is shown this once."""

    key: str = Field(description="send it as a bearer token")


@router.get("/keys", response_model=list[KeyOut])
def keys(here: Here) -> list[dict[str, Any]]:
    """Every key that opens something, oldest first."""
    return [key._asdict() for key in here.collection.keys.all()]


@router.post("/keys", response_model=NewKey, status_code=201)
def add_key(asked: KeyIn, here: Here) -> dict[str, Any]:
    """Make a key; only its hash is kept."""
    key, text = here.collection.keys.add(asked.name, asked.scope)
    return {**key._asdict(), "key": text}


@router.delete("/keys/{name}", response_model=list[KeyOut])
def remove_key(
    name: Annotated[str, Path(min_length=1, max_length=64)], here: Here
) -> list[dict[str, Any]]:
    """Let a key open nothing from now on; gives those that are left."""
    here.collection.keys.remove(name)
    return keys(here)
