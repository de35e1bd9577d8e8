"""Status, jobs and their news."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel
from starlette.responses import StreamingResponse

import likewise
from likewise.server.errors import refusals
from likewise.server.jobs import as_json
from likewise.server.schemas import BIGGEST, JobOut, Strict
from likewise.server.served import Here, Key

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
