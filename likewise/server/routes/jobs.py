"""Status, folders, jobs and their news."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

import likewise
from likewise.collection import printable
from likewise.server.errors import refusals
from likewise.server.jobs import as_json
from likewise.server.routes.originals import Own
from likewise.server.schemas import BIGGEST, JobOut, Strict, Words
from likewise.server.served import Here, Key
from likewise.types import BadInput, Busy

router = APIRouter(tags=["jobs"], responses=refusals())
Id = Annotated[int, Path(ge=1, le=BIGGEST)]


class StatusOut(BaseModel):
    """How the collection is, and what answers searches."""

    server: str
    version: str
    name: str
    items: dict[str, int]
    findable: int
    waiting: int
    unreachable: int
    unreachable_folders: list[str]
    generation: int
    degraded: str
    judgements: int
    model: str
    reader: str
    same_object: bool
    smoothing: Literal["on", "off"]
    network: str
    arithmetic: str


@router.get("/status", response_model=StatusOut)
def status(here: Here) -> dict[str, Any]:
    """How many items are in each state, and what answers searches."""
    found = here.collection.status()
    for where in ("folder", "roots"):  # the page needs the name, not where it lies
        found.pop(where)
    return {
        **found,
        "server": here.id,
        "version": likewise.__version__,
        "name": here.collection.folder.name,
    }


class RootIn(Strict):
    """A folder of the machine that serves, by its whole path."""

    path: Words


class RootOut(BaseModel):
    """A folder that pictures are taken in from."""

    path: str = Field(description="the whole path on this machine, else the name")
    reachable: bool


@router.get("/roots", response_model=list[RootOut])
def roots(here: Here, own: Own) -> list[dict[str, Any]]:
    """The folders of the collection, its own first."""
    every = map(os.fsencode, here.collection.status()["roots"])
    named = [(root, root if own else os.path.basename(root)) for root in every]
    return [{"path": printable(name), "reachable": os.path.isdir(root)} for root, name in named]


@router.post("/roots", response_model=list[RootOut], status_code=201)
def add_root(asked: RootIn, here: Here, own: Own) -> list[dict[str, Any]]:
    """Make another folder part of the collection; the next index job reads it."""
    here.collection.add(_whole(asked, own))
    return roots(here, own)


@router.post("/roots/remove", response_model=list[RootOut])
def remove_root(asked: RootIn, here: Here, own: Own) -> list[dict[str, Any]]:
    """Leave a folder that was added: its pictures are searched no more, marks on them stay."""
    path = _whole(asked, own)
    every = here.collection.jobs.all()
    if any(job.kind in ("index", "demo") and job.state == "running" for job in every):
        raise Busy("Pictures are being read; pause that job or wait, then remove the folder.")
    here.collection.remove(path)
    here.hub.publish("collection", {"removed": os.path.basename(path)})
    return roots(here, own)


def _whole(asked: RootIn, own: bool) -> str:
    if not own:
        raise HTTPException(
            403, "Folders are changed only on the machine that serves, and without a password."
        )
    if not os.path.isabs(asked.path):
        raise BadInput(f"Name the folder by its whole path, not {asked.path!r}.")
    return asked.path


@router.get("/jobs", response_model=list[JobOut])
def jobs(here: Here) -> list[dict[str, Any]]:
    """The latest jobs, newest first."""
    return [as_json(j) for j in here.collection.jobs.all(limit=50)]


class JobIn(Strict):
    """What to do; ``retry`` tries unreadable files again, ``same_object`` reads local features.

    ``smoothing`` says whether pictures take in their neighbours from now on.
    ``network`` and ``arithmetic`` choose what gives the deep features from now on.
    ``quiet`` keeps one core busy instead of all of them.
    """

    kind: Literal["index"] = "index"
    retry: bool = False
    accept_missing: bool = False
    same_object: bool = False
    smoothing: Literal["auto", "on", "off"] | None = None
    network: Literal["lite0", "lite1", "lite2"] | None = None
    arithmetic: Literal["float32", "int8"] | None = None
    quiet: bool = False


@router.post("/jobs", response_model=JobOut, status_code=202)
def start(asked: JobIn, here: Here, key: Key = None) -> dict[str, Any]:
    """Bring the collection up to date with its folder; the job under way, where there is one."""
    payload = asked.model_dump()
    return here.replay.once(
        key, "job", payload, lambda: as_json(here.runner.start("index", payload))
    )


@router.get("/jobs/{job}", response_model=JobOut)
def job(job: Id, here: Here) -> dict[str, Any]:
    """How far one job is."""
    return as_json(here.collection.jobs.get(job))


@router.post("/jobs/{job}/{action}", response_model=JobOut)
def act(job: Id, action: Literal["pause", "resume", "cancel"], here: Here) -> dict[str, Any]:
    """Pause, resume or cancel a job; what is done stays done."""
    if action == "resume":
        return as_json(here.runner.resume(job))
    return as_json(here.runner.ask(job, "paused" if action == "pause" else "cancelled"))


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
def events(here: Here) -> StreamingResponse:
    """News as server-sent events.

    They are ``hello``, ``job``, ``arrived``, ``collection``, ``judgements``, ``model`` and
    ``session``.  ``arrived`` tells how many pictures can be found while others come in, and
    ``hello`` how many seconds ago collection, judgements and model last changed.
    """

    def first() -> list[tuple[str, dict[str, Any]]]:
        latest = reversed(here.collection.jobs.all(limit=10))
        hello = {"server": here.id, "quiet": here.hub.quiet()}
        return [("hello", hello), *(("job", as_json(j)) for j in latest)]

    return StreamingResponse(
        here.hub.stream(first),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
    )
