"""What every route needs: the collection and the things that live beside it while it is served."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Request

from likewise.collection import Collection
from likewise.server.events import Hub
from likewise.server.jobs import Runner
from likewise.server.pictures import Pictures
from likewise.server.policy import Representatives
from likewise.server.target import Searches
from likewise.server.watched import Watched
from likewise.types import BadInput

REMEMBERED = 1024
"""Answers to keyed writes that are kept for a repeated request."""

Answer = TypeVar("Answer")


class Served:
    """A collection being served; its ``id`` is new at every start, so that open pages notice."""

    def __init__(self, opened: Collection) -> None:
        collection = self.collection = Watched.of(opened)
        self.id = secrets.token_hex(8)
        self.hub = Hub()
        self.runner = Runner(collection, self.hub)
        self.pictures = Pictures(collection)
        self.representatives = Representatives(collection)
        self.searches = Searches(collection)
        self.replay = Replay()
        self.threads = ThreadPoolExecutor(32, "search")

    def close(self) -> None:
        """Bring background work to a good end."""
        self.hub.close()
        self.threads.shutdown()
        self.runner.close()
        self.pictures.close()
        self.collection.pictures.close()


class Replay:
    """Answers of writes by idempotency key: the same request again gets the same answer.

    Judgements do not need it, because their keys are in the log itself and outlive a restart.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[str, Any]] = OrderedDict()

    def once(self, key: str | None, what: str, request: Any, act: Callable[[], Answer]) -> Answer:
        """Do something once for a key; a key that was used for another request is refused."""
        if key is None:
            return act()
        name = json.dumps([what, request], sort_keys=True, default=str)
        digest = hashlib.sha256(name.encode()).hexdigest()
        with self._lock:
            if key in self._known:
                before, known = self._known[key]
                given: Answer = known
                if before != digest:
                    raise BadInput("This Idempotency-Key was used for another request; use a new.")
                return given
            answer = act()
            self._known[key] = (digest, answer)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
            return answer


async def served(request: Request) -> Served:
    """The served collection of the app that a request came to.

    Not a plain function: that would cost every request a trip to another thread.
    """
    found: Served = request.app.state.served
    return found


async def source(request: Request) -> str:
    """What the log calls those who ask: a program by its key's name, everybody else ``web``."""
    key = request.scope.get("key")
    return "web" if key is None else str(key.name)


Source = Annotated[str, Depends(source)]
Here = Annotated[Served, Depends(served)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=8,
        max_length=128,
        pattern=r"^[A-Za-z0-9._:-]+$",
        description="The same write with the same key has its effect once.",
    ),
]
