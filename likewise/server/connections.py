"""Connections: strangers who send slowly, or in great numbers, do not keep the owner out.

A connection is a stranger's until a request on it came with a good token or cookie.  There is
room for so many of them; one more, and one of the address that holds most is closed: the oldest
that has begun to speak and waits for no answer, else the oldest.  The newest is never refused,
since it may be the owner's.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

ACCEPTED_AT_ONCE = 16
"""Connections taken up in one go.  Far fewer than the room for strangers, so that a request which
came with its connection is read before others push it out."""
WAITING = 1024
"""Connections that the system holds for us meanwhile."""


class Connection(HttpToolsProtocol):
    """One connection with limits; tests make subclasses with narrower ones."""

    seconds = 10.0
    """In which a head must be complete; a body is looked at as often."""
    longest_head = 1 << 16
    """Bytes of a head that is not complete yet."""
    least_rate = 1024
    """Bytes per second of a request's body, on average over ``seconds``."""
    room = 64
    """Strangers' connections at once."""
    reserve, few = 64, 8
    """Where fewer descriptors than the reserve are left, there is room for a few strangers only."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.signed_in = self._heard = False
        self.since = self.loop.time()
        self._coming = "head"
        self._owed, self._arrived = "", 0
        self._timer: asyncio.TimerHandle | None = None
        asked = self.app

        async def introduced(scope: Scope, receive: Receive, send: Send) -> None:
            scope["signed_in"] = self._sign_in
            await asked(scope, receive, send)

        self.app = introduced

    def _sign_in(self) -> None:
        self.signed_in = True

    @property
    def gives_way(self) -> bool:
        """Whether it is closed before others: it said something, and we owe it no answer."""
        return self._heard and (self.cycle is None or self.cycle.response_complete)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a head, and make room where there are too many strangers now."""
        super().connection_made(transport)
        self._wait_for("head")
        # The system gives the lowest free number, so the number says how many are in use.
        number = transport.get_extra_info("socket").fileno()
        scarce = number >= most_descriptors() - self.reserve
        make_room(self.connections, self.few if scarce else self.room)

    def data_received(self, data: bytes) -> None:
        """Take bytes in."""
        self._heard = True
        self._arrived += len(data)
        super().data_received(data)
        if self._coming == self._owed == "head" and self._arrived > self.longest_head:
            self.transport.abort()
        self._wait_for(self._coming)

    def on_message_begin(self) -> None:
        """See the first byte of a head."""
        super().on_message_begin()
        self._coming = "head"

    def on_headers_complete(self) -> None:
        """See the last byte of a head."""
        self._coming = "body"
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """See the last byte of a request."""
        self._coming = ""
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        super().connection_lost(exc)
        self._wait_for("")

    def _wait_for(self, owed: str, again: bool = False) -> None:
        """Wait for what the client owes: a head that it began, or the first one, or a body."""
        if owed == self._owed and not again:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._owed, self._arrived = owed, 0
        self._timer = self.loop.call_later(self.seconds, self._look) if owed else None

    def _look(self) -> None:
        """Close a connection that owes too much; not where it is us who do not read."""
        enough = self._arrived >= self.least_rate * self.seconds
        if self._owed == "body" and (enough or self.flow.read_paused):
            self._wait_for("body", again=True)
        else:
            self.transport.abort()


def make_room(connections: Iterable[Any], room: int) -> None:
    """Close strangers' connections until there are so few."""
    strangers = [c for c in connections if not c.signed_in and not c.transport.is_closing()]
    while len(strangers) > room:
        held = Counter(c.client and c.client[0] for c in strangers)
        first = min(
            strangers, key=lambda c: (-held[c.client and c.client[0]], not c.gives_way, c.since)
        )
        strangers.remove(first)
        first.transport.abort()


def most_descriptors() -> float:
    """How many files and connections this process may have open."""
    with contextlib.suppress(ImportError):  # Windows has no such limit
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if limit != resource.RLIM_INFINITY:
            return limit
    return float("inf")
