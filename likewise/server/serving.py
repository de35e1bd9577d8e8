"""Serve a collection: bind first, print the address, run until somebody stops it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import uvicorn

from likewise.collection import Collection
from likewise.server.access import (
    Access,
    check_exposure,
    is_loopback,
    names_of,
    new_secret,
    stored_secret,
)
from likewise.server.app import make_app
from likewise.server.connections import ACCEPTED_AT_ONCE, WAITING, Connection, make_room
from likewise.server.gate import Gate
from likewise.server.served import Served
from likewise.solvers.threads import one_blas_thread
from likewise.types import BadInput

PORT = 8420
"""Where the page is when nothing else is asked for; any free port where this one is taken."""


def serve(
    collection: Collection,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    password: str = "",
    allow: Sequence[str] = (),
    job: str = "",
    payload: Mapping[str, Any] | None = None,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a collection, opened for writing, until Ctrl-C or a signal to end.

    Other machines reach only a ``host`` that is not loopback, which demands a password; ``allow``
    names under which a proxy asks.  ``job`` is a kind of job to begin with, ``payload`` what it is
    to know.  ``ready`` is called with the address, token included, once the page answers.
    """
    check_exposure(host, password)
    listening = _bind(host, port)
    with contextlib.closing(listening):
        bound = int(listening.getsockname()[1])
        folder = collection.data
        access = Access(
            stored_secret(folder),
            bound,
            names_of(host, tuple(allow)),
            password,
            renew=lambda: new_secret(folder),
        )

        def started(served: Served) -> None:
            if job:
                served.runner.start(job, dict(payload or {}))

        gate = make_app(collection, access, started=started, warm=True)
        config = configured(gate)
        shown = "127.0.0.1" if is_loopback(host) or host in ("0.0.0.0", "::") else host
        address = f"http://{shown}:{bound}/?token={access.token}"
        served: Served = gate.app.state.served  # type: ignore[attr-defined]
        server = _Server(config, lambda: ready(address), served.hub.close)
        # uvicorn repeats the signal when it has ended; a request to terminate must not cut off
        # what is still to be tidied up, so it ends the way Ctrl-C does.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        # A thread that scans or commits gives way to searches after .5 ms, not after Python's 5.
        sys.setswitchinterval(0.0005)
        # Searches share the cores already; each of them waiting for all cores made the slow slower.
        with contextlib.suppress(KeyboardInterrupt), one_blas_thread():
            server.run(sockets=[listening])


def configured(gate: Gate, connection: type[Connection] = Connection) -> uvicorn.Config:
    """How uvicorn serves us."""
    return uvicorn.Config(
        gate,
        http=connection,
        loop="asyncio",
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        backlog=ACCEPTED_AT_ONCE,
        proxy_headers=False,  # anybody could write an address there and try passwords for ever
        timeout_graceful_shutdown=3,
        timeout_keep_alive=75,
    )


class _Server(uvicorn.Server):
    """A server that says when it is ready, and ends its open streams when told to stop."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], stopping: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._ready, self._stopping = ready, stopping
        self._told = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        asyncio.get_running_loop().set_exception_handler(self._unforeseen)
        for listening in sockets or ():
            listening.listen(WAITING)
        if self.started:
            self._ready()

    def _unforeseen(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Make room where a new connection got no descriptor; asyncio tries again in a second."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
            return
        make_room(self.server_state.connections, 0)
        if not self._told:
            logging.getLogger("uvicorn.error").warning(
                "Too many files are open, so a connection had to wait; raise the limit (ulimit -n)."
            )
        self._told = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.getLogger("uvicorn.error").addFilter(_is_news)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._stopping()
        # A second Ctrl-C ends at once; so does a request to terminate that was repeated.
        super().handle_exit(signal.SIGINT if self.should_exit else sig, frame)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line is worth printing: that a stopping server cut off an answer is not."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, asyncio.CancelledError) and "Cancel" not in str(record.msg)


def _bind(host: str, port: int | None) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    wanted = [PORT, 0] if port is None else [port]
    for candidate in wanted:
        try:
            made = socket.create_server((host.strip("[]"), candidate), family=family, backlog=128)
            # Accepted connections inherit it; without, every answer waits 40 ms for an
            # acknowledgement, because head and body go out one after the other.
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
        except OSError as error:
            reason = error.strerror or str(error)
        except OverflowError:
            raise BadInput(f"A port is a number up to 65535, not {port}.") from None
    raise BadInput(
        f"The server cannot listen at {host}, port {wanted[-1]} ({reason}); give another --port."
    )
