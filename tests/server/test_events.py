"""News: a stream tells what happens, survives slow readers, and ends when the server does."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor

from likewise.server.events import WAITING, Hub
from tests.server.conftest import ids

API = "/api/v1"


def read(server, act, until, seconds: float = 60.0) -> list[tuple[str, dict]]:
    """Events up to the one that ``until`` accepts; ``act`` is called after the greeting."""
    out: list[tuple[str, dict]] = []
    headers = {"Authorization": f"Bearer {server.access.token}"}
    with (
        server.client(**headers) as client,
        client.stream("GET", f"{API}/events", timeout=seconds) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        kind = ""
        for line in answer.iter_lines():
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                out.append((kind, json.loads(line[6:])))
                if len(out) == 1:
                    act()
                if until(*out[-1]):
                    return out
    raise AssertionError(f"the stream ended after {out}")


def test_the_stream_greets_then_tells_of_jobs(server, client, folder):
    (folder / "more.jpg").write_bytes((folder / "swatch-0001.jpg").read_bytes() + b"\0")
    events = read(
        server,
        lambda: client.post(f"{API}/jobs", json={}),
        lambda kind, news: kind == "job" and news["state"] == "done",
    )
    kind, hello = events[0]
    assert (kind, hello["server"]) == ("hello", server.app.app.state.served.id)
    assert set(hello["quiet"]) == {"collection", "judgements", "model"}
    states = [news["state"] for kind, news in events if kind == "job"]
    assert states[-1] == "done"
    assert "running" in states


def test_judgements_are_announced(server, client, collection):
    a, b = ids(collection)[:2]
    asked = {"query": {"examples": [{"item": a}]}, "items": [b]}
    events = read(
        server,
        lambda: client.post(f"{API}/judgements", json=asked),
        lambda kind, news: kind == "judgements",
    )
    assert events[-1][1]["records"]


def test_the_greeting_tells_how_long_nothing_changed(server, client, collection):
    a, b = ids(collection)[:2]
    asked = {"query": {"examples": [{"item": a}]}, "items": [b]}
    assert client.post(f"{API}/judgements", json=asked).status_code == 201
    started = time.monotonic()
    quiet = read(server, lambda: None, lambda kind, news: True)[0][1]["quiet"]
    assert quiet["judgements"] < quiet["model"]
    assert quiet["judgements"] < time.monotonic() - started + 30


def test_nothing_is_lost_between_the_greeting_and_the_stream():
    async def scene() -> list[str]:
        hub = Hub()

        def first():
            hub.publish("job", {"n": 1})  # happens while the reader is being greeted
            return [("hello", {})]

        stream = hub.stream(first)
        got = [await anext(stream) for _ in range(3)]
        await stream.aclose()
        return got

    with ThreadPoolExecutor(1) as pool:
        got = pool.submit(lambda: asyncio.run(scene())).result(60)
    assert "hello" in got[1]
    assert '"n": 1' in got[2]


def test_a_slow_reader_loses_the_oldest_news_only():
    async def scene() -> list[str]:
        hub = Hub()
        stream = hub.stream(list)
        await anext(stream)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        for number in range(WAITING + 30):
            hub.publish("job", {"n": number})
        await asyncio.sleep(0.05)
        got = [await waiting]
        got += [await anext(stream) for _ in range(WAITING - 1)]
        hub.close()
        await stream.aclose()
        return got

    # A thread of its own: the browser driver of other tests may keep a loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        got = pool.submit(lambda: asyncio.run(scene())).result()
    assert f'"n": {WAITING + 29}' in got[-1]
    assert len(got) == WAITING


def test_publishing_without_readers_or_loop_is_harmless():
    hub = Hub()
    hub.publish("job", {})
    hub.close()
