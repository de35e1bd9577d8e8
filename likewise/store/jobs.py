"""Jobs: long work with a state, progress and a mark from which it goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from likewise.store.catalogue import Catalogue
from likewise.types import BadInput, NotFound

# What may follow what; done, failed and cancelled are final, but failed work may be resumed.
_MOVES = {
    "queued": {"running", "cancelled"}, "running": {"paused", "done", "failed", "cancelled"},
    "paused": {"running", "cancelled"}, "failed": {"running", "cancelled"}, "done": set(),
    "cancelled": set()
}  # fmt: skip


@dataclass(frozen=True)
class Job:
    """One piece of long work as the catalogue knows it.

    ``wanted`` is what a person asked for meanwhile (``paused``, ``cancelled`` or empty),
    ``mark`` whatever the worker needs to go on where it stopped.
    """

    id: int
    kind: str
    state: str
    wanted: str
    done: int
    total: int
    rate: float
    problems: int
    message: str
    payload: Mapping[str, Any]
    mark: Mapping[str, Any]
    created: float
    started: float | None
    updated: float

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at the present rate; None where nobody knows."""
        return (self.total - self.done) / self.rate if self.rate > 0 and self.total else None


class Jobs:
    """Create, move through states, report progress, ask to pause or cancel."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def create(self, kind: str, payload: Mapping[str, Any] | None = None, *, total: int = 0) -> Job:
        """Queue a job."""
        now = time.time()
        number = self._catalogue.insert(
            "INSERT INTO jobs (kind, state, total, payload, created, updated) "
            "VALUES (?, 'queued', ?, ?, ?, ?)",
            (kind, total, json.dumps(dict(payload or {})), now, now),
        )
        return self.get(number)

    def move(self, job: int, state: str, message: str | None = None) -> Job:
        """Bring a job into another state; moves that make no sense are refused."""
        with self._catalogue.transaction() as db:
            found = self.get(job)
            if state not in _MOVES or (state != found.state and state not in _MOVES[found.state]):
                raise BadInput(f"Job {job} is {found.state} and cannot become {state}.")
            db.execute(
                "UPDATE jobs SET state = ?, wanted = '', message = COALESCE(?, message), "
                "started = CASE WHEN ? = 'running' THEN COALESCE(started, ?) ELSE started END, "
                "updated = ? WHERE id = ?",
                (state, message, state, time.time(), time.time(), job),
            )
            return self.get(job)

    def progress(
        self, job: int, done: int, total: int, *, rate: float = 0.0, problems: int = 0,
        message: str = "", mark: Mapping[str, Any] | None = None
    ) -> None:  # fmt: skip
        """Report how far a running job is; call it in the transaction of the batch itself."""
        kept = None if mark is None else json.dumps(dict(mark))
        self._catalogue.write(
            "UPDATE jobs SET done = ?, total = ?, rate = ?, problems = ?, message = ?, "
            "mark = COALESCE(?, mark), updated = ? WHERE id = ?",
            (done, total, rate, problems, message, kept, time.time(), job),
        )

    def ask(self, job: int, wanted: str) -> None:
        """Ask the worker of a running job to pause or cancel when it next looks."""
        if wanted not in ("paused", "cancelled"):
            raise BadInput(f"A job can be asked to be paused or cancelled, not {wanted!r}.")
        with self._catalogue.transaction() as db:
            if self.get(job).state == "running":
                db.execute("UPDATE jobs SET wanted = ? WHERE id = ?", (wanted, job))
            else:
                self.move(job, wanted)

    def get(self, job: int) -> Job:
        """One job."""
        found = self._select("WHERE id = ?", job)
        if not found:
            raise NotFound(f"There is no job {job}.")
        return found[0]

    def all(self, limit: int = 100) -> list[Job]:
        """The latest jobs, newest first."""
        return self._select("ORDER BY id DESC LIMIT ?", limit)

    def interrupted(self) -> None:
        """Pause the jobs that a dead writer left running; for the next writer, on opening."""
        for job in self._select("WHERE state = ?", "running"):
            self.move(job.id, "paused", "Interrupted; start it again to go on.")

    def _select(self, rest: str, value: Any) -> list[Job]:
        rows = self._catalogue.rows(
            "SELECT id, kind, state, wanted, done, total, rate, problems, message, payload, "
            f"mark, created, started, updated FROM jobs {rest}",
            (value,),
        )
        return [Job(*(*r[:9], json.loads(r[9]), json.loads(r[10]), *r[11:])) for r in rows]
