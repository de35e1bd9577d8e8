"""Slow strangers and many strangers: the owner comes in whatever they do."""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import socket
import threading
import time
from collections import deque
from http.client import HTTPResponse
from types import SimpleNamespace

import httpx
import pytest

from likewise.server.connections import Connection, make_room
from tests.server.conftest import Server, ids
from tests.server.test_serving import start, stop

API = "/api/v1"
HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half:"


class Hasty(Connection):
    seconds = 0.2


class Narrow(Connection):
    room = 4


class Scarce(Connection):
    reserve, few = 10**9, 2


@pytest.fixture
def at(request, collection):
    """A server with the limits of a class, and how to connect to it."""
    opened = []

    def connect() -> socket.socket:
        opened.append(socket.create_connection(("127.0.0.1", running.port), timeout=60))
        return opened[-1]

    with Server(collection, request.param).running() as running:
        yield running, connect
        for wire in opened:
            wire.close()


def until(true, what: str) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def is_closed(wire: socket.socket) -> bool:
    """Whether the other side has closed; nothing else may have come."""
    wire.setblocking(False)
    try:
        return wire.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    finally:
        wire.settimeout(60)


def ask(wire: socket.socket, server: Server, *more: str) -> int:
    """The status of an answer that was read whole."""
    lines = [f"GET {API}/status HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *more, "", ""]
    wire.sendall("\r\n".join(lines).encode())
    answer = HTTPResponse(wire)
    answer.begin()
    answer.read()
    return answer.status


def drip(wire: socket.socket) -> None:
    """Send a little again and again until the server has had enough."""

    def gone() -> bool:
        try:
            wire.sendall(b"x")
        except ConnectionError:
            return True
        return is_closed(wire)

    until(gone, "the server waited on and on")


@pytest.mark.parametrize("at", [Hasty], indirect=True)
def test_a_head_that_comes_slowly_is_not_waited_for(at):
    server, connect = at
    silent = connect()
    until(lambda: is_closed(silent), "the server listened to silence")
    wire = connect()
    wire.sendall(HALF)
    drip(wire)
    wire = connect()
    good = f"Authorization: Bearer {server.access.token}"
    assert ask(wire, server, good) == 200
    wire.sendall(HALF)  # the next head on a connection that is signed in
    drip(wire)


@pytest.mark.parametrize("at", [Hasty], indirect=True)
def test_a_body_that_comes_slowly_is_not_waited_for(at, collection):
    server, connect = at
    for who in (f"Authorization: Bearer {server.access.token}", "X: stranger"):
        wire = connect()
        lines = (f"POST {API}/uploads HTTP/1.1", f"Host: 127.0.0.1:{server.port}", who)
        wire.sendall("\r\n".join([*lines, "Content-Length: 1000000", "", ""]).encode())
        if who.startswith("X"):
            assert wire.recv(65536).startswith(b"HTTP/1.1 401")
        drip(wire)
    assert collection.store.uploads.all() == []


@pytest.mark.parametrize("at", [Connection], indirect=True)
def test_a_body_that_comes_fast_enough_is_waited_for(at):
    server, connect = at
    wire = connect()
    wire.sendall(
        f"POST {API}/uploads HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer "
        f"{server.access.token}\r\nContent-Length: 1000000\r\n\r\n".encode()
    )
    connections = server.server.server_state.connections
    until(lambda: [c._owed for c in connections] == ["body"], "the head never came")
    (connection,) = connections
    for _ in range(2):  # ten seconds, and ten more
        wire.sendall(b"x" * 10_240)
        until(lambda: connection._arrived >= 10_240, "the bytes never came")
        connection.loop.call_soon_threadsafe(connection._look)
        until(lambda: connection._arrived == 0, "nobody looked")
        assert not is_closed(wire)
    wire.sendall(b"x" * 1_000)
    until(lambda: connection._arrived, "the bytes never came")
    connection.loop.call_soon_threadsafe(connection._look)
    until(lambda: is_closed(wire), "a tenth of the least rate was enough")


@pytest.mark.parametrize("at", [Narrow], indirect=True)
def test_the_oldest_strangers_give_way_and_who_is_signed_in_stays(at):
    server, connect = at
    owner = connect()
    good = f"Authorization: Bearer {server.access.token}"
    assert ask(owner, server, good) == 200
    wires = [connect() for _ in range(10)]
    until(lambda: all(map(is_closed, wires[:6])), "the oldest stayed")
    for wire in wires[6:]:
        assert ask(wire, server) == 401
    assert ask(owner, server, good) == 200


@pytest.mark.parametrize("at", [Scarce], indirect=True)
def test_where_descriptors_are_scarce_there_is_room_for_few_strangers(at):
    _, connect = at
    wires = [connect() for _ in range(6)]
    until(lambda: all(map(is_closed, wires[:4])), "the oldest stayed")
    assert not any(map(is_closed, wires[4:]))


def test_the_address_that_holds_most_gives_way():
    closed = []

    def held(address: str, since: int, gives_way: bool = True) -> SimpleNamespace:
        transport = SimpleNamespace(
            is_closing=lambda: False, abort=lambda: closed.append((address, since))
        )
        return SimpleNamespace(
            signed_in=False, client=(address, 1), since=since, gives_way=gives_way,
            transport=transport,
        )  # fmt: skip

    owner, many = held("192.0.2.1", 0), [held("192.0.2.66", n) for n in range(1, 7)]
    make_room([owner, *many], 4)
    assert closed == [("192.0.2.66", n) for n in (1, 2, 3)]
    closed.clear()
    just_come = held("192.0.2.66", 0, gives_way=False)
    make_room([just_come, *many], 2)
    assert closed == [("192.0.2.66", n) for n in (1, 2, 3, 4, 5)]


@pytest.mark.parametrize("at", [Connection], indirect=True)
def test_without_descriptors_the_server_waits_and_comes_back(at):
    server, connect = at
    said: list[str] = []
    listener = logging.Handler()
    listener.emit = lambda record: said.append(record.getMessage())
    stranger = connect()
    until(lambda: server.server.server_state.connections, "nobody was accepted")
    logging.getLogger("uvicorn.error").addHandler(listener)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket() as wire:
        wire.settimeout(60)
        lowest_free = os.dup(0)
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
        try:
            wire.connect(("127.0.0.1", server.port))
            until(lambda: said, "no descriptor was missing")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            logging.getLogger("uvicorn.error").removeHandler(listener)
        until(lambda: is_closed(stranger), "the stranger kept its descriptor")
        good = f"Authorization: Bearer {server.access.token}"
        assert ask(wire, server, good) == 200
    assert [line for line in said if "ulimit" in line] == said
    assert len(said) == 1


@pytest.mark.parametrize("anew", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_half_sent_requests_do_not_shut_the_owner_out(folder, collection, anew):
    """1,300 of them, held (and made anew), against a server with the usual 1,024 descriptors."""
    item = ids(collection)[0]
    collection.close()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    process, address = start("serve", "-c", str(folder), "--port", "0", descriptors=1024)
    base, _, token = address.partition("/?token=")
    place = ("127.0.0.1", int(base.rpartition(":")[2]))
    held: deque[socket.socket] = deque()
    enough, ended = threading.Event(), threading.Event()

    def attack() -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError):
                held.append(socket.create_connection(place, timeout=1))
                held[-1].sendall(HALF)
            if len(held) > 1300:
                enough.set()
                if not anew:
                    return
                held.popleft().close()

    attacker = threading.Thread(target=attack)
    attacker.start()
    try:
        assert enough.wait(60)
        for _ in range(5):  # each time the owner comes in anew
            with httpx.Client(base_url=base, trust_env=False, timeout=30) as owner:
                page = owner.get("/", params={"token": token}, follow_redirects=True)
                assert page.status_code == 200
                own = {"Origin": base}
                asked = {"examples": [{"item": item}], "k": 5}
                found = owner.post(f"{API}/search", json=asked, headers=own)
                assert len(found.json()["results"]) == 5
    finally:
        ended.set()
        attacker.join()
        for wire in held:
            wire.close()
        code = stop(process)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert code == 0
