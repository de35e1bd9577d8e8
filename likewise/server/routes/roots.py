"""The folders of a collection: which they are, and one more."""

from __future__ import annotations

import os
from typing import Any

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field

from likewise.collection import printable
from likewise.server.errors import refusals
from likewise.server.routes.originals import Own
from likewise.server.schemas import Strict, Words
from likewise.server.served import Here
from likewise.types import BadInput

router = APIRouter(tags=["roots"], responses=refusals())


class RootIn(Strict):
    """A folder of the machine that serves."""

    path: Words = Field(min_length=1, description="the whole path")


class RootOut(BaseModel):
    """A folder that pictures are taken in from; the first one is the collection's own."""

    path: str = Field(description="the whole path on this machine, else its name")
    reachable: bool


@router.get("/roots", response_model=list[RootOut])
def roots(here: Here, own: Own) -> list[dict[str, Any]]:
    """The folders of the collection, its own first."""
    every = map(os.fsencode, here.collection.status()["roots"])
    named = [(root, root if own else os.path.basename(root)) for root in every]
    return [{"path": printable(name), "reachable": os.path.isdir(root)} for root, name in named]


@router.post("/roots", response_model=list[RootOut], status_code=201)
def add(asked: RootIn, here: Here, own: Own) -> list[dict[str, Any]]:
    """Make another folder part of the collection; the next index job reads it."""
    if not own:
        raise HTTPException(
            403, "Folders are added only on the machine that serves, and without a password."
        )
    if not os.path.isabs(asked.path):
        raise BadInput(f"Name the folder by its whole path, not {asked.path!r}.")
    here.collection.add(asked.path)
    return roots(here, own)
