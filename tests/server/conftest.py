"""A small served collection, and a client that is signed in by the token."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from likewise.server import Access, make_app
from likewise.server.connections import Connection
from likewise.server.serving import _bind, _Server, configured
from tests.conftest import indexed


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """An indexed folder of swatches with one unreadable file."""
    return indexed(tmp_path_factory.mktemp("made") / "pictures", 40, problems=1)


class Server:
    """A real server on a port of its own, in a thread."""

    def __init__(self, collection, connection=Connection, **access) -> None:
        self.socket = _bind("127.0.0.1", 0)
        self.port = self.socket.getsockname()[1]
        given = {"token": "the-token-of-the-tests", **access}
        self.access = Access(b"s" * 32, self.port, **given)
        self.app = make_app(collection, self.access)
        self.server = _Server(configured(self.app, connection), lambda: None, lambda: None)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],))

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def document(self) -> dict:
        """The OpenAPI document."""
        return self.app.app.openapi()

    def client(self, **headers: str) -> httpx.Client:
        return httpx.Client(base_url=self.base, headers=headers, timeout=60, trust_env=False)

    @contextlib.contextmanager
    def running(self) -> Iterator[Server]:
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        try:
            yield self
        finally:
            self.app.app.state.served.hub.close()
            self.server.should_exit = True
            self.thread.join(60)
            self.socket.close()
            assert not self.thread.is_alive()


@pytest.fixture
def server(collection):
    with Server(collection).running() as running:
        yield running


@pytest.fixture
def client(server):
    """A client that is signed in by the token."""
    with server.client(Authorization=f"Bearer {server.access.token}") as opened:
        yield opened


@pytest.fixture
def stranger(server):
    """A client that is not signed in."""
    with server.client() as opened:
        yield opened


def picture(folder: Path, number: int = 1) -> bytes:
    return (folder / f"swatch-{number:04d}.jpg").read_bytes()


def ids(collection) -> list[int]:
    """Items that can be found."""
    return [int(i) for i in collection.look.view().ids]


def wait_for(client, job: int, *states: str, seconds: float = 90.0) -> dict:
    """A job, once it is in one of these states."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = client.get(f"/api/v1/jobs/{job}").json()
        if found["state"] in states:
            return found
        time.sleep(0.05)
    raise AssertionError(f"job {job} did not become {states}: {found}")
