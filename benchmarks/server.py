"""Search over HTTP by 8 readers, idle and while ingest and learning run, beside the bare call.

python -m benchmarks.server            100,000 items, 60 s a phase

Rows: the collection's own call in this process; one reader over HTTP (``ratio`` to the call);
8 readers with nothing else going on; 8 readers while pictures come in and a model is learned
again and again (``ratio`` to the 8 idle ones, the goal is a p99 of at most 3 times).  The
readers live in a process of their own.  Any status of 500 or more, and any answer that did
not come from one published generation, ends the run.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import likewise
from experiments.report import Report, percentiles_ms, run
from likewise.datasets import swatches
from likewise.features import feature_set
from likewise.store import Result, Seen

FEATURES = ("colour", "texture")
READERS = 8


def make_collection(folder: Path, items: int, seed: int) -> None:
    """Made-up vectors of the real features' lengths, with a file for each, and some marks."""
    rng = np.random.default_rng(seed)
    probe = feature_set(FEATURES)([np.zeros((32, 32, 3), np.uint8)])
    centres = {name: rng.random((200, row.shape[1])) for name, row in probe.items()}
    with likewise.open(folder, create=True) as collection:
        store = collection.store
        store.settings.set("features", list(FEATURES))
        for start in range(0, items, 5_000):
            numbers = range(start, min(start + 5_000, items))
            for n in numbers:
                file = folder / f"{n:07d}.jpg"
                file.write_bytes(b"x")
                os.utime(file, ns=(1, 1))
            seen = [Seen(f"{n:07d}.jpg".encode(), 1, 1, n.to_bytes(32, "big")) for n in numbers]
            store.items.see(seen)
            contents = [p.content for p in store.contents.pending(limit=5_000)]
            which = rng.integers(0, 200, len(contents))
            blocks = {
                name: (c[which] + 0.1 * rng.random((len(which), c.shape[1]))).astype("f4")
                for name, c in centres.items()
            }
            store.contents.record(
                [Result(c, width=10, height=10, format="JPEG") for c in contents], blocks
            )
        collection.build()
        for item in range(1, 61):
            query = collection.query(item)
            near = collection.ask(query, k=10).ids.tolist()
            far = [int(i) for i in rng.integers(1, items + 1, 10) if i != item]
            collection.mark(query, near[::2], True)
            collection.mark(query, [i for i in dict.fromkeys(far) if i not in near], False)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[int, str]]:
    """``likewise serve`` in a process of its own; gives port and token."""
    command = [sys.executable, "-m", "likewise", "serve", "-c", str(folder), "--port", "0"]
    process = subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = ""
    while not said.rstrip().endswith("}"):
        line = process.stdout.readline()
        assert line, "the server ended before it was ready"
        said += line
    base, _, token = json.loads(said)["address"].partition("/?token=")
    try:
        yield int(base.rpartition(":")[2]), token
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def connected(port: int) -> contextlib.closing[http.client.HTTPConnection]:
    return contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=120))


def ask(
    wire: http.client.HTTPConnection, token: str, path: str, body: Any = None
) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body)
    wire.request("GET" if body is None else "POST", f"/api/v1{path}", data, headers)
    answer = wire.getresponse()
    return answer.status, json.loads(answer.read())


def read(
    port: int, token: str, items: int, readers: int, seconds: float, seed: int, out: Any
) -> None:
    """So many readers, each asking one search after another; sends what they saw."""
    times: list[float] = []
    bad: list[int] = []
    generations: set[int] = set()

    def reader(number: int) -> None:
        rng = np.random.default_rng([seed, number])
        with connected(port) as wire:
            while time.perf_counter() < end:
                item = int(rng.integers(1, items + 1))
                started = time.perf_counter()
                status, found = ask(wire, token, "/search", {"examples": [{"item": item}], "k": 20})
                times.append(time.perf_counter() - started)
                if status != 200:
                    bad.append(status)
                else:
                    generations.add(found["generation"])

    end = time.perf_counter() + seconds
    threads = [threading.Thread(target=reader, args=(n,)) for n in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.send((times, bad, sorted(generations)))


def measure(port: int, token: str, items: int, readers: int, seconds: float, seed: int) -> Any:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=read, args=(port, token, items, readers, seconds, seed, there))
    process.start()
    found = here.recv()
    process.join()
    return found


@contextlib.contextmanager
def background(port: int, token: str) -> Iterator[dict[str, int]]:
    """Ingest and learning, started again whenever they end."""
    stop, jobs = threading.Event(), {"index": 0, "learn": 0}

    def keep(kind: str, path: str, body: dict[str, Any]) -> None:
        with connected(port) as wire:
            while not stop.is_set():
                status, job = ask(wire, token, path, body)
                assert status == 202, job
                while not stop.wait(0.2):
                    _, job = ask(wire, token, f"/jobs/{job['id']}")
                    if job["state"] != "running":
                        assert job["state"] == "done", job
                        break
                jobs[kind] += 1

    threads = [
        threading.Thread(target=keep, args=("index", "/jobs", {})),
        threading.Thread(target=keep, args=("learn", "/models/learn", {"activate": False})),
    ]
    for thread in threads:
        thread.start()
    yield jobs
    stop.set()
    for thread in threads:
        thread.join()


def main(report: Report) -> None:
    items = 1_500 if report.quick else int(report.settings.get("items") or 100_000)
    seconds = 2.0 if report.quick else float(report.settings.get("seconds") or 60.0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_collection(folder, items, report.seed)
        direct = in_process(folder, items, 20 if report.quick else 300)
        p50, p99 = percentiles_ms(direct)
        report.row(method="in process", items=items, readers=1, p50_ms=p50, p99_ms=p99)
        with served(folder) as (port, token):
            measure(port, token, items, 2, min(3.0, seconds), 1)  # warm
            one = show(report, "http", items, 1, seconds / 2, port, token, ("in process", direct))
            assert one
            idle = show(report, "http, idle", items, READERS, seconds, port, token, None)
            swatches(200 if report.quick else 3_000, size=96).write(folder / "new", jobs=1)
            with background(port, token) as jobs:
                time.sleep(1)
                show(
                    report, "http, busy", items, READERS, seconds, port, token,
                    ("http, idle", idle), jobs,
                )  # fmt: skip


def in_process(folder: Path, items: int, count: int) -> list[float]:
    rng, times = np.random.default_rng(0), []
    with likewise.open(folder) as collection:
        collection.search(1, k=20)
        for item in rng.integers(1, items + 1, count).tolist():
            started = time.perf_counter()
            collection.search(item, k=20)
            times.append(time.perf_counter() - started)
    return times


def show(
    report: Report,
    method: str,
    items: int,
    readers: int,
    seconds: float,
    port: int,
    token: str,
    peer: tuple[str, list[float]] | None,
    jobs: dict[str, int] | None = None,
) -> list[float]:
    times, bad, generations = measure(port, token, items, readers, seconds, report.seed)
    assert not bad, f"{len(bad)} searches failed: {sorted(set(bad))}"
    assert generations, "nobody got an answer"
    p50, p99 = percentiles_ms(times)
    theirs = percentiles_ms(peer[1]) if peer else None
    report.row(
        method=method,
        items=items,
        readers=readers,
        p50_ms=p50,
        p99_ms=p99,
        qps=len(times) / seconds,
        generations=len(generations),
        jobs=None if jobs is None else sum(jobs.values()),
        peer=None if peer is None else peer[0],
        ratio=None if theirs is None else p50 / theirs[0],
        ratio_p99=None if theirs is None else p99 / theirs[1],
    )
    return list(times)


def options(parser: Any) -> None:
    parser.add_argument("--items", type=int, help="how many (default: 100,000)")
    parser.add_argument("--seconds", type=float, help="length of a phase (default: 60)")


if __name__ == "__main__":
    run("server", main, __doc__, options=options)
