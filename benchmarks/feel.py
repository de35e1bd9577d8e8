"""What a person waits for around a search, against the least it could take, in one run.

python -m benchmarks.feel                      10,000, 100,000 and 1,000,000 items
python -m benchmarks.feel --items 100000       one size

Items are written through the store, with 64 numbers each (few, so that a million fit; what lies
around a search weighs the more).  Times are processor time, the least of several turns.  ``ratio``
is to ``peer`` (for a time in ms: to the goal's 5 ms), ``before`` the same on 93a8f1c as it was
measured there, ``growth`` rows the exponent of n between the smallest and the largest size.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import math
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import faiss as _faiss
import numpy as np

import likewise
from experiments.report import Report, run
from likewise.collection import Collection
from likewise.filters import Filter
from likewise.index.faiss import FaissIndex
from likewise.store import Result, Seen, as_file
from likewise.store.catalogue import Catalogue
from likewise.types import FloatArray, Judgement, QueryRef, Surrogate

faiss: Any = _faiss
DIM, BATCH, K = 64, 8_192, 20
GOALS: Mapping[str, float] = {
    "--help": 2.0, "search from a cold start": 3.0, "Python call": 2.0, "statements": 8.0,
    "HTTP": 2.0, "filter, half pass": 3.0, "search after a commit of 64": 1.0,
    "counts after a commit of 64": 1.0, "index, plain query": 1.5, "neighbours": 3.0,
    "duplicates": 3.0, "lost pairs of duplicates": 0.01, "own vectors": 3.0,
    "memory of a build": 2.5, "disk": 2.7, "PCA on a busy machine": 1.5,
    "growth, neighbours": 1.2, "growth, duplicates": 1.2, "learn from marks": 1.0,
}  # fmt: skip
BEFORE: Mapping[str, float | dict[int, float]] = {
    "--help": 6.0, "search from a cold start": 8.0, "Python call": 4.1, "statements": 23.0,
    "HTTP": 3.5, "filter, half pass": {10**4: 6.6, 10**5: 52.0, 10**6: 450.0},
    "search after a commit of 64": {10**6: 277.0}, "counts after a commit of 64": {10**6: 95.0},
    "index, plain query": 4.5, "neighbours": 15.0, "duplicates": 28.0, "memory of a build": 5.8,
    "disk": 3.7, "PCA on a busy machine": 6.0, "growth, neighbours": 1.1,
    "growth, duplicates": 1.96, "learn from marks": {10**5: 4.65},
}  # fmt: skip
"""On 93a8f1c."""


def told(report: Report, what: str, items: int, ratio: float, peer: str) -> None:
    """One row, with what it was before and what it should be."""
    before = BEFORE.get(what)
    if isinstance(before, dict):
        before = before.get(items)
    goal = 5.0 if what == "filter, half pass" and items >= 10**6 else GOALS.get(what)
    report.row(
        what=what, items=items, ratio=ratio, peer=peer, goal=goal if goal is not None else "",
        before=before if before is not None else "",
    )  # fmt: skip


def least(*acts: Callable[[int], Any], turns: int = 15, calls: int = 12) -> list[float]:
    """Least processor time of one call of each in ms, taken in turns."""
    found = [math.inf] * len(acts)
    for turn in range(turns):
        for at, act in enumerate(acts):
            started = time.process_time()
            for call in range(calls):
                act(turn * calls + call)
            found[at] = min(found[at], (time.process_time() - started) / calls * 1e3)
    return found


def once(act: Callable[[], Any]) -> float:
    """Processor time of one call in ms."""
    started = time.process_time()
    act()
    return (time.process_time() - started) * 1e3


# -- a collection -----------------------------------------------------------------


def vectors(items: int, seed: int) -> Iterator[FloatArray]:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(200, DIM)).astype(np.float32)
    for start in range(0, items, BATCH):
        count = min(BATCH, items - start)
        noise = rng.normal(size=(count, DIM)).astype(np.float32)
        yield centres[rng.integers(0, 200, count)] + 0.5 * noise


def add(collection: Collection, first: int, rows: FloatArray) -> None:
    """Items with facts and vectors, in one commit as ingest makes it."""
    store, numbers = collection.store, range(first, first + len(rows))
    with store.transaction():
        store.items.see(
            [Seen(f"{'ab'[n % 2]}/{n % 90}/{n}.jpg".encode(), 1_000 + n, 10**18 + n,
                  n.to_bytes(32, "big")) for n in numbers]
        )  # fmt: skip
        contents = [p.content for p in store.contents.pending(limit=len(rows))]
        facts = [
            Result(c, width=100, height=c % 900, format="JPEG" if c % 2 else "PNG")
            for c in contents
        ]
        store.contents.record(facts, {"own": rows})


def make_collection(folder: Path, items: int, seed: int) -> None:
    """The catalogue, segments and index are real; every fiftieth picture has a near-duplicate."""
    folder.mkdir()
    with likewise.open(folder, create=True) as collection:
        collection.store.settings.set("features", ["own"])
        collection.store.settings.set("smoothing", "off")
        first = 1
        for rows in vectors(items, seed):
            rows[50::50] = rows[49:-1:50] * 1.001
            add(collection, first, rows)
            first += len(rows)
        collection.build()


# -- rows -------------------------------------------------------------------------


def cold(report: Report, folder: Path, items: int) -> None:
    """From a process that has imported nothing."""
    me = [sys.executable, "-m", "likewise"]
    commands = {
        "import numpy": [sys.executable, "-c", "import numpy"],
        "import numpy, faiss": [sys.executable, "-c", "import numpy, faiss"],
        "--help": [*me, "--help"],
        "search": [*me, "search", "b/1/1.jpg", "-c", str(folder)],
    }
    found = dict.fromkeys(commands, math.inf)
    for _ in range(1 if report.quick else 5):
        for name, command in commands.items():
            before = _of_children()
            subprocess.run(command, check=True, capture_output=True)
            found[name] = min(found[name], _of_children() - before)
    ratio = found["--help"] / found["import numpy"]
    told(report, "--help", items, ratio, "import numpy")
    ratio = found["search"] / found["import numpy, faiss"]
    told(report, "search from a cold start", items, ratio, "import numpy, faiss")


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def calls(report: Report, collection: Collection, items: int) -> float:
    """The Python call beside its own index, with a filter, and its statements; gives its ms."""
    view = collection.look.view()
    assert view.old is not None
    index = view.old.index
    asked = [view.plain.surrogate(view.rows([n + 1])[0]) for n in range(180)]
    half = Filter(formats=("JPEG",))
    collection.search(1, k=K, filter=half)
    own, plain, filtered = least(
        lambda n: index.search(asked[n], K),
        lambda n: collection.search(n + 1, k=K),
        lambda n: collection.search(n + 1, k=K, filter=half),
    )
    told(report, "Python call", items, plain / own, "its index")
    said: list[str] = []
    opened = Catalogue._connect

    def traced(self: Catalogue, uri: str) -> Any:
        db = opened(self, uri)
        db.set_trace_callback(said.append)
        return db

    Catalogue._connect = traced  # type: ignore[method-assign]
    try:
        with likewise.open(collection.folder) as other:
            for item in (1, 2):
                other.look.view()
                other.search(item, k=K)
            said.clear()
            other.search(3, k=K)
    finally:
        Catalogue._connect = opened  # type: ignore[method-assign]
    told(report, "statements", items, float(len(said)), "one search")
    told(report, "filter, half pass", items, filtered / plain, "plain search")
    return plain


def after_commits(report: Report, folder: Path, items: int, rounds: int, seed: int) -> float:
    """Another connection commits 64 pictures; then the first search and the first counts."""
    rng, first = np.random.default_rng(seed), items + 1
    searched, counted = math.inf, math.inf
    with likewise.open(folder, write=True) as writer, likewise.open(folder) as reader:
        reader.look.view()
        reader.search(1, k=K)
        reader.items.counts()
        for _ in range(rounds):
            add(writer, first, rng.normal(size=(64, DIM)).astype(np.float32))
            first += 64
            searched = min(searched, once(lambda: reader.search(1, k=K)))
            counted = min(counted, once(reader.items.counts))
        assert len(reader) == items + 64 * rounds
    told(report, "search after a commit of 64", items, searched / 5, "5 ms")
    told(report, "counts after a commit of 64", items, counted / 5, "5 ms")
    return searched


def over_http(report: Report, folder: Path, items: int, call_ms: float) -> None:
    """Processor time of the server for a search, beside the call and a bare route."""
    body = json.dumps({"examples": [{"item": 1}], "k": K})
    served = [sys.executable, "-m", "likewise", "serve", "-c", str(folder)]
    with _server(served) as (pid, port, key):
        ours, length = _request_ms(pid, port, "/api/v1/search", key, body, report.quick)
    app = (
        "import socket, sys, uvicorn\n"
        f"answer = b'x' * {length}\n"
        "async def app(scope, receive, send):\n"
        "    if scope['type'] != 'http': return\n"
        "    await receive()\n"
        "    head = [(b'content-length', str(len(answer)).encode())]\n"
        "    await send({'type': 'http.response.start', 'status': 200, 'headers': head})\n"
        "    await send({'type': 'http.response.body', 'body': answer})\n"
        "bound = socket.create_server(('127.0.0.1', 0))\n"
        "where = 'http://127.0.0.1:%d/?token=x' % bound.getsockname()[1]\n"
        "print('{\"address\": \"' + where + '\"}', flush=True)\n"
        "config = uvicorn.Config(app, http='httptools', log_level='warning', lifespan='off')\n"
        "uvicorn.Server(config).run(sockets=[bound])\n"
    )
    with _server([sys.executable, "-c", app]) as (pid, port, key):
        bare, _ = _request_ms(pid, port, "/", key, body, report.quick)
    told(report, "HTTP", items, ours / call_ms, "Python call")
    told(report, "HTTP beside a bare route", items, ours / bare, "bare uvicorn")


@contextlib.contextmanager
def _server(command: list[str]) -> Iterator[tuple[int, int, str]]:
    likewise_ = "likewise" in command
    process = subprocess.Popen(
        [*command, "--port", "0", "--json"] if likewise_ else command,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        said = ""
        while not said.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, "the server ended before it was ready"
            said += line
        base, _, token = json.loads(said)["address"].partition("/?token=")
        yield process.pid, int(base.rpartition(":")[2]), token
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def _request_ms(
    pid: int, port: int, path: str, token: str, body: str, quick: bool
) -> tuple[float, int]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    count, found = (5, 1) if quick else (200, 3)
    best, length = math.inf, 0
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=120)) as wire:

        def ask(times: int) -> int:
            size = 0
            for _ in range(times):
                wire.request("POST", path, body, headers)
                answer = wire.getresponse()
                size = len(answer.read())
                assert answer.status == 200
            return size

        length = ask(20)
        used = -1.0
        while _cpu_of(pid) - used > 0.05:  # it still reads what lists and filters will ask for
            used = _cpu_of(pid)
            time.sleep(0.5)
        for _ in range(found):
            before = _cpu_of(pid)
            ask(count)
            best = min(best, (_cpu_of(pid) - before) / count * 1e3)
    return max(best, 1e-3), length


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def probed(report: Report, codes: FloatArray, items: int, seed: int) -> None:
    """The index of cells that serves beside FAISS's IVF with the fewest probes of recall .99."""
    ones = np.ones(codes.shape[1])
    index = FaissIndex.build(codes, kind="ivf-half", weights=ones, seed=seed)
    rows = np.random.default_rng(seed + 1).choice(len(codes), 180, replace=False)
    queries = np.ascontiguousarray(codes[rows])
    true = np.argsort(-(queries @ codes.T), axis=1)[:, :50]
    engine = FaissIndex.build(codes, kind="ivf", weights=ones, seed=seed)._engine
    for probes in range(1, engine.nlist + 1):
        params = faiss.SearchParametersIVF(nprobe=probes)
        _, found = engine.search(queries, 50, params=params)
        if np.mean([len(set(a) & set(b)) / 50 for a, b in zip(found, true)]) >= 0.99:
            break
    asked = [Surrogate(q, plain=True) for q in queries]
    plain, bare = least(
        lambda n: index.search(asked[n], K),
        lambda n: engine.search(queries[n : n + 1], K, params=params),
    )
    told(report, "index, plain query", items, plain / bare, "faiss IVF")
    found = np.array([index.search(one, 50).ids for one in asked])
    recall = np.mean([len(set(a) & set(b)) / 50 for a, b in zip(found, true)])
    told(report, "recall of plain queries", items, float(recall), "exact")


def of_all(report: Report, collection: Collection, items: int) -> tuple[float, float]:
    """Neighbours and duplicates of all items beside one batched pass of FAISS."""
    view = collection.look.view()
    _, codes = view.all_rows()
    queries = np.asarray(codes * view.plain.w0, np.float32)
    assert view.old is not None
    kind: Any = "flat" if view.old.index.kind == "flat" else "ivf"
    index = FaissIndex.build(np.asarray(codes), kind=kind, weights=view.plain.w0)
    params = index._for_plain._params

    def batched() -> None:
        for start in range(0, len(queries), 1_024):
            index._engine.search(queries[start : start + 1_024], 11, params=params)

    bare = once(batched)
    with tempfile.TemporaryDirectory() as place:
        near = once(lambda: collection.neighbours(Path(place) / "near.parquet", 10))
    groups: list[list[int]] = []
    alike = once(lambda: groups.extend(collection.duplicates()))
    told(report, "neighbours", items, near / bare, f"batched faiss {kind}")
    told(report, "duplicates", items, alike / bare, f"batched faiss {kind}")
    held = {item: at for at, group in enumerate(groups) for item in group}
    starts = range(0, items, BATCH)
    pairs = [(s + n, s + n + 1) for s in starts for n in range(50, min(BATCH, items - s), 50)]
    lost = sum(held.get(a, -1) != held.get(b, -2) for a, b in pairs)
    told(report, "lost pairs of duplicates", items, lost / max(len(pairs), 1), "planted")
    return near, alike


def own_vectors(report: Report, place: Path, items: int, seed: int) -> None:
    """A Parquet that names items, beside adding and building in FAISS."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rows = np.concatenate(list(vectors(items, seed)))
    file = place / "own.parquet"
    column = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), DIM)
    names = pa.array([f"shop/{n}" for n in range(items)])
    parquet.write_table(pa.table({"file": names, "vector": column}), file)
    bare = once(lambda: FaissIndex.build(rows, kind="ivf" if items > 1_000 else "flat"))
    folder = place / "own"
    folder.mkdir()
    with likewise.open(folder, create=True) as collection:
        taken = once(lambda: collection.index(vectors=file, smoothing="off", processes=1))
        assert len(collection) == items
    shutil.rmtree(folder)
    told(report, "own vectors", items, taken / bare, "add and build")


def learning(report: Report, folder: Path, judgements: int, seed: int) -> None:
    """Learning a similarity from marks: 20 per query, half of them right, in a copy."""
    rng, place = np.random.default_rng(seed), folder.parent / "taught"
    shutil.copytree(folder, place)
    centres = np.random.default_rng(seed).normal(size=(200, DIM)).astype(np.float32)
    with likewise.open(place, write=True) as collection:
        ids, contents = collection.items.described()
        rows = collection.store.segments.read("own", contents)
        home = (rows @ centres.T - (centres**2).sum(axis=1) / 2).argmax(axis=1)
        paths = {i: as_file(p) for i, p in collection.items.paths(ids.tolist()).items()}
        said = []
        for at in rng.integers(0, len(ids), judgements // 20).tolist():
            near = np.flatnonzero(home == home[at])
            some = {1.0: rng.choice(near, 10), 0.0: rng.integers(0, len(ids), 10)}
            query = QueryRef("item", paths[int(ids[at])])
            said += [
                Judgement(query, (paths[int(ids[one])],), "label", value)
                for value, chosen in some.items()
                for one in chosen.tolist()
            ]
        collection.log.add(said)
        before = _of_children()
        taken = once(collection.models.prepare) / 1e3 + _of_children() - before
    shutil.rmtree(place)
    told(report, "learn from marks", judgements, taken / 60, "60 s")


def of_disk(report: Report, folder: Path, items: int) -> None:
    """Bytes of segments and index, and the memory of a build, per byte of vectors."""
    data = folder / ".likewise"
    parts = [data / name for name in ("segments", "generations")]
    size = sum(f.stat().st_size for part in parts for f in part.rglob("*") if f.is_file())
    told(report, "disk", items, size / (4 * DIM * items), "vectors")
    peaks = multiprocessing.get_context("spawn").Queue()
    spawn = multiprocessing.get_context("spawn")
    grown = []
    for built in (False, True):
        child = spawn.Process(target=_build, args=(str(folder), built, peaks))
        child.start()
        grown.append(peaks.get(timeout=1_200))
        child.join()
    told(
        report, "memory of a build", items, (grown[1] - grown[0]) / (4 * DIM * items),
        "vectors",
    )  # fmt: skip


def _build(folder: str, built: bool, out: Any) -> None:
    """The peak of a process that opens a collection, and that of one that builds it too."""
    import scipy.linalg  # noqa: F401  as much as a build imports

    from likewise.collection.lines.building import build_generation, ensure_space

    with likewise.open(folder, write=True) as collection:
        if built:
            fitted = ensure_space(collection.store)
            assert fitted is not None
            build_generation(collection.store, fitted)
    # Not ru_maxrss, which begins with what the parent held when it started this process.
    said = Path("/proc/self/status").read_text()
    out.put(int(said.partition("VmHWM:")[2].split()[0]) * 1024)


def busy(report: Report) -> None:
    """A PCA of 20,000 x 512 while every core is taken, beside the same alone."""
    items = 500 if report.quick else 20_000
    context = multiprocessing.get_context("spawn")
    found = []
    for others in (0, 1 if report.quick else 2 * (os.cpu_count() or 1)):
        over = context.Event()
        turning = [context.Process(target=_turn, args=(over,)) for _ in range(others)]
        for process in turning:
            process.start()
        if others and not report.quick:
            while os.getloadavg()[0] < (os.cpu_count() or 1):
                time.sleep(1)
        out = context.Queue()
        child = context.Process(target=_fit, args=(items, out))
        child.start()
        found.append(out.get(timeout=1_200))
        child.join()
        over.set()
        for process in turning:
            process.join()
    told(report, "PCA on a busy machine", items, found[1] / found[0], "quiet machine")


def _turn(over: Any) -> None:
    while not over.is_set():
        sum(range(10_000))


def _fit(items: int, out: Any) -> None:
    from likewise.collection.lines.defaults import OTHER
    from likewise.solvers.threads import free_blas_threads
    from likewise.spaces import Blocks

    x = np.random.default_rng(0).normal(size=(items, 512)).astype(np.float32)
    with free_blas_threads():
        out.put(once(lambda: Blocks.fit({"own": x}, {"own": OTHER})))


def growth(report: Report, times: Mapping[str, Mapping[int, float]]) -> None:
    """Exponents of n between the smallest and the largest size."""
    for what, by_size in times.items():
        if len(by_size) > 1:
            small, large = min(by_size), max(by_size)
            ratio = math.log(by_size[large] / by_size[small]) / math.log(large / small)
            told(report, f"growth, {what}", large, ratio, "exponent of n")


def main(report: Report) -> None:
    sizes = report.settings.get("items") or ([400] if report.quick else [10**4, 10**5, 10**6])
    times: dict[str, dict[int, float]] = {}
    faiss.omp_set_num_threads(1)
    for items in sizes:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "pictures"
            make_collection(folder, items, report.seed)
            cold(report, folder, items)
            with likewise.open(folder) as collection:
                plain = calls(report, collection, items)
                codes = np.asarray(collection.look.view().all_rows()[1])
                probed(report, codes, items, report.seed)
                found = {"plain search": plain}
                if items <= 10**5:
                    near, alike = of_all(report, collection, items)
                    found |= {"neighbours": near, "duplicates": alike}
            over_http(report, folder, items, plain)
            of_disk(report, folder, items)
            if items == min(sizes):
                learning(report, folder, 400 if report.quick else 10**5, report.seed)
            rounds = 2 if report.quick else 5
            found["search after a commit of 64"] = after_commits(
                report, folder, items, rounds, report.seed
            )
            own_vectors(report, Path(place), items, report.seed)
            for what, ms in found.items():
                times.setdefault(what, {})[items] = ms
    growth(report, times)
    busy(report)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=int, nargs="+", help="sizes of collections")


if __name__ == "__main__":
    run("feel", main, __doc__, options=options)
