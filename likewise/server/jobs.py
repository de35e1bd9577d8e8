"""Long work in the background: one thread a kind, recorded in the store, told to open pages.

Pictures are decoded and described in child processes by the collection itself; the
threads here only commit, so searches stay fast meanwhile.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from likewise.collection import Job
from likewise.collection.learn.methods import DEFAULT, METHODS
from likewise.collection.learn.models import task_of
from likewise.collection.lines.visual_words import NAME as VISUAL_WORDS
from likewise.intake.forecast import Forecast
from likewise.learners.settings import settings_of
from likewise.server.apart import learn_apart, map_apart
from likewise.server.events import Hub
from likewise.server.watched import Watched
from likewise.types import BadInput, LikewiseError, NotFound

log = logging.getLogger("likewise.server")

TELL_EVERY = 0.5
"""Seconds between two reports of one job."""
RECENT = 10.0
"""Seconds over which the rate is taken."""
PAGES = 4
"""Pages of the map that are there when somebody looks: those that are seen from afar."""
PATIENCE = 15.0
"""Seconds that a stopping server waits for its jobs to come to a good end."""


@dataclass
class Running:
    """One job under way: what was asked of it meanwhile, and how fast it is."""

    job: int
    jobs: Any
    hub: Hub
    wanted: str = ""
    told: float = 0.0
    seen: list[tuple[float, int]] = field(default_factory=list)
    forecast: Forecast | None = None

    def progress(self, done: int, total: int, message: str = "") -> bool:
        """Write down and tell how far the work is, now and then; says whether it did."""
        now = time.monotonic()
        if now - self.told < TELL_EVERY and done < total:
            return False
        if self.seen and done < self.seen[-1][1]:
            self.seen = []  # another step of the same job, with a count of its own
        self.told = now
        self.seen = [(t, n) for t, n in self.seen if now - t < RECENT] + [(now, done)]
        start, before = self.seen[0]
        rate = (done - before) / (now - start) if now > start else 0.0
        mark = None
        if self.forecast is not None:
            message = message or f"{self.forecast.sentence}."
            mark = {"seconds_left": self.forecast.seconds if done < total else 0.0}
        self.jobs.progress(self.job, done, total, rate=rate, message=message, mark=mark)
        self.hub.publish("job", as_json(self.jobs.get(self.job)))
        return True

    def should_stop(self) -> bool:
        """Whether somebody asked to pause or cancel."""
        return bool(self.wanted)


Work = Callable[[Watched, Running, dict[str, Any]], str]
"""Does the work of a job, and gives one sentence that says what came of it."""


def index_folder(collection: Watched, running: Running, payload: dict[str, Any]) -> str:
    """Bring the collection up to date with its folder."""
    same = (VISUAL_WORDS,) if payload.get("same_object") else ()

    def progress(done: int, total: int) -> None:
        if running.progress(done, total):
            findable = len(collection.look.view(checked=False))
            running.hub.publish("arrived", {"findable": findable})
        collection.refresh_soon()

    def foreseen(forecast: Forecast) -> None:
        # The length of the whole is told once; what is left is told again and again.
        known = running.forecast or forecast
        running.forecast = replace(known, seconds=forecast.seconds)

    try:
        report = collection.index(
            features=payload.get("features") or same or None,
            retry=bool(payload.get("retry")),
            accept_missing=bool(payload.get("accept_missing")),
            smoothing=payload.get("smoothing"),
            network=payload.get("network"),
            arithmetic=payload.get("arithmetic"),
            quiet=bool(payload.get("quiet")),
            progress=progress,
            foreseen=foreseen,
            should_stop=running.should_stop,
        )
    finally:
        collection.refresh()
    parts = [f"{report.embedded:,} new picture{'' if report.embedded == 1 else 's'}"]
    if report.removed:
        parts.append(f"{report.removed:,} have left")
    if report.problems:
        parts.append(f"{report.problems:,} unreadable")
    if report.unreachable:
        parts.append(f"{report.unreachable:,} unreachable")
    return " ".join([", ".join(parts) + ".", *report.notes])


class _Stop(Exception):
    """Somebody asked a job to stop that has no other way to be told."""


def make_demo(collection: Watched, running: Running, payload: dict[str, Any]) -> str:
    """Bring the demo's pictures into the collection's folder, then index them."""
    from likewise.datasets import photographs, swatches

    drawn = bool(payload.get("swatches", True))  # an earlier version knew nothing else

    def made(done: int, total: int) -> None:
        running.progress(done, total, "Drawing swatches." if drawn else "Copying photographs.")
        if running.wanted:
            raise _Stop

    said, count = "", payload.get("count")
    drawing = swatches(int(count or SWATCHES)) if drawn else None
    # Drawing takes a while: a few first, so that there is something to search at once.
    for part in (FIRST_LOOK, None) if drawing and len(drawing) > FIRST_LOOK else (None,):
        try:
            if drawing:
                drawing.write(collection.folder, made, first=part)
            else:
                photographs.copy(collection.folder, made, first=count)
        except _Stop:
            return "Stopped before all pictures were there; start the demo again to go on."
        said = index_folder(collection, running, payload)
        if running.wanted:
            break
    return said


SWATCHES = 2_000
"""Pictures that the demo draws where nobody says how many ..."""
FIRST_LOOK = 200
"""... and that are drawn and indexed before the rest."""


def asked_for(payload: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Method and settings of a learning job, also of one that an earlier version wrote down."""
    if "method" in payload:
        return str(payload["method"]), dict(payload.get("settings", {}))
    method = METHODS.stored(payload.get("space"), payload.get("objective")) or METHODS[DEFAULT]
    known = {one.name for one in settings_of(method.settings)}
    return method.name, {name: value for name, value in payload.items() if name in known}


def learn_model(collection: Watched, running: Running, payload: dict[str, Any]) -> str:
    """Learn a model; it becomes active if that is asked for and the guard agrees.

    The job's mark names the model, so that a page can show its card.
    """
    running.progress(0, 1, "Learning from the judgements.")
    method, settings = asked_for(payload)
    name = str(payload.get("name", ""))
    known = collection.models.known(method, name=name, settings=settings)
    ready = known or learn_apart(collection, method, settings, name, running.should_stop)
    if ready is None:
        return "Stopped; nothing was kept."
    model = collection.checking.keep(
        ready, activate=bool(payload.get("activate")), person=str(payload.get("person", ""))
    )
    collection.jobs.progress(running.job, 1, 1, mark={"model": model.id})
    sentence, task = str(model.card["guard"]["sentence"]), task_of(model)
    if collection.models.all_active().get(task) == model.id:
        running.hub.publish("model", {"model": model.id, "task": task})
        sentence += " It is active now."
    return sentence if known is None else f"Nothing new was said since it was learned. {sentence}"


def draw_map(collection: Watched, running: Running, payload: dict[str, Any]) -> str:
    """Lay out the map of the generation that answers searches, and keep it."""
    running.progress(0, 1, "Drawing the map.")
    made = map_apart(collection, running.should_stop)
    if made is None:
        return "Stopped; the map is drawn when somebody looks at it again."
    collection.layouts.keep_map(made)
    for name in made.pages[:PAGES]:
        if not running.should_stop():
            collection.layouts.page(name)
    return f"The map shows {len(made.ids):,} picture{'' if len(made.ids) == 1 else 's'}."


KINDS: dict[str, Work] = {
    "index": index_folder,
    "learn": learn_model,
    "demo": make_demo,
    "map": draw_map,
}
TAKES_IN = ("index", "demo")
"""Kinds that bring pictures in: one of them at a time, and a paused one goes on."""
MORE = ("same_object", "smoothing", "network", "arithmetic")
"""What a job under way cannot take on."""


def alike(one: tuple[str, Mapping[str, Any]], other: tuple[str, Mapping[str, Any]]) -> bool:
    """Whether two jobs (kind, payload) do the same work, so that one of them is enough."""
    (kind, payload), (known, before) = one, other
    if kind in TAKES_IN:
        return known in TAKES_IN
    if kind != known or kind != "learn":
        return kind == known
    return asked_for(payload) == asked_for(before)


class Runner:
    """Starts, pauses, resumes and cancels jobs; at most one of those that do the same work."""

    def __init__(self, collection: Watched, hub: Hub) -> None:
        self.collection, self.hub, self.jobs = collection, hub, collection.jobs
        self._lock = threading.Lock()
        self._running: dict[int, tuple[Running, threading.Thread]] = {}
        self._closed = False

    def start(self, kind: str, payload: dict[str, Any]) -> Job:
        """A job for this work: the one under way, a paused one that goes on, or a new one."""
        with self._lock:
            for known in self.jobs.all():
                same = alike((kind, payload), (known.kind, known.payload))
                more = any(payload.get(k) not in (None, False, known.payload.get(k)) for k in MORE)
                if same and known.state in ("queued", "running"):
                    if more:
                        raise BadInput(
                            "Pictures are being taken in; ask for same-object search or another "
                            "smoothing or network after that."
                        )
                    return known
                if kind in TAKES_IN and known.kind == kind and known.state == "paused" and not more:
                    return self._launch(known)
            return self._launch(self.jobs.create(kind, payload))

    def resume(self, job: int) -> Job:
        """Let a paused or failed job go on."""
        with self._lock:
            found = self.jobs.get(job)
            if found.state not in ("paused", "failed"):
                raise BadInput(f"Job {job} is {found.state}; only paused or failed work goes on.")
            if found.kind not in KINDS:
                raise NotFound(f"Nobody here knows how to do a job of kind {found.kind!r}.")
            mine = (found.kind, found.payload)
            if any(
                j.state == "running" and alike(mine, (j.kind, j.payload)) for j in self.jobs.all()
            ):
                raise BadInput(f"Another job of kind {found.kind} is running; wait for it.")
            return self._launch(found)

    def ask(self, job: int, wanted: str) -> Job:
        """Ask a job to pause or to end; it obeys at its next step."""
        with self._lock:
            found = self.jobs.get(job)
            if found.state in ("done", "cancelled") or (found.state, wanted) == (
                "failed",
                "paused",
            ):
                raise BadInput(f"Job {job} is {found.state}; it cannot become {wanted}.")
            self.jobs.ask(job, wanted)
            if job in self._running:
                self._running[job][0].wanted = wanted
            found = self.jobs.get(job)
        self.hub.publish("job", as_json(found))
        return found

    def _launch(self, job: Job) -> Job:
        if self._closed:
            raise BadInput("The server is stopping; start the job again later.")
        running = Running(job.id, self.jobs, self.hub)
        found = self.jobs.move(job.id, "running", "")
        thread = threading.Thread(
            target=self._run, args=(running, job.kind, dict(job.payload)), name=f"job-{job.id}"
        )
        self._running[job.id] = (running, thread)
        thread.start()
        return found

    def _run(self, running: Running, kind: str, payload: dict[str, Any]) -> None:
        state, said = "done", ""
        try:
            said = KINDS[kind](self.collection, running, payload)
            state = running.wanted or "done"
        except LikewiseError as error:
            state, said = "failed", str(error)
        except Exception as error:
            log.exception("Job %d failed", running.job)
            state, said = "failed", f"Something unforeseen happened ({type(error).__name__})."
        finally:
            try:
                ended = self.jobs.move(running.job, state, said)
                self.hub.publish("job", as_json(ended))
                self.hub.publish("collection", {"job": running.job, "kind": kind})
            except LikewiseError as error:
                log.warning("The end of job %d could not be recorded: %s", running.job, error)
            with self._lock:
                self._running.pop(running.job, None)

    def close(self) -> None:
        """Pause what can be paused, and wait a while for the rest."""
        with self._lock:
            self._closed = True
            threads = list(self._running.values())
            for running, _ in threads:
                running.wanted = running.wanted or "paused"
        deadline = time.monotonic() + PATIENCE
        for _, thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def as_json(job: Job) -> dict[str, Any]:
    """A job as pages see it."""
    left = job.mark.get("seconds_left", job.seconds_left)
    return {
        "id": job.id,
        "kind": job.kind,
        "state": job.state,
        "wanted": job.wanted,
        "done": job.done,
        "total": job.total,
        "rate": round(job.rate, 2),
        "seconds_left": None if left is None else round(left, 1),
        "message": job.message,
        "model": job.mark.get("model"),
        "created": job.created,
        "updated": job.updated,
    }
