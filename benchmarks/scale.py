"""Collections of 10^4, 10^5 and 10^6 items: what each part takes, and how it grows.

``lists``: catalogues are filled with rows of items (no pictures): `p50_ms` and `p99_ms` are of any
page of 100 items as ``GET /items`` reads it, from cursors all over the catalogue; without a filter,
below one of 1,000 folders, and with a tag that one item in 1,000 has.  `ratio` is over the way of
reading all ids first; `first_ms` is the first page of a process, `cpu_ms` the processor time of the
longest of the others.  `exponent` is the growth from the
size before (1 means as the number of items).

``serve``: items with vectors of 256 numbers, one in ten with a caption and one in a hundred a
near-duplicate of another, are written through the store and indexed by k-means cells (faiss).
Rows: the build, with the size of the data folder and of the index; a fresh process that opens it
and searches; our calls beside faiss called directly, in turn, with the probes that reach a recall
of .95 and .99 of the top 50 (`qps`, `ratio`); near-duplicates of all, in a fresh process; a backup,
restored, and a fresh process that serves it; forgetting one in a hundred, 1,000 at most, the first
search after it and (``--rebuild``) the build that follows.  ``--engine flat``: the same with an
exact scan, without the second and third of these.  `rss_mib` and `peak_mib` are what a
process has while it serves, and had at most, `index_mib` what the codes and the index take on disk.

``rescan``: an index run over so many files (100,000 at most) that did not change; `opened` counts
the pictures that were opened.

    python -m benchmarks.scale [--quick] [--items N] [--only lists,serve,rescan] [--json FILE]
"""

from __future__ import annotations

import argparse
import hashlib
import math
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.index import alternate, resident_mib, surrogates
from experiments.report import Report, percentiles_ms, run
from likewise.collection import Collection
from likewise.collection import backup as backed_up
from likewise.collection import restore as restored
from likewise.filters import Filter
from likewise.index import load
from likewise.index.faiss import FaissIndex
from likewise.index.flat import FlatIndex
from likewise.store import Result, Seen, Store, Text
from likewise.types import Surrogate

PAGE, K = 100, 50
BLOCKS = ("own", "own2")
"""Two blocks of own vectors: each becomes 128 numbers of a code."""
Grown = dict[str, tuple[int, float]]
"""What was measured at the size before, by name."""
FILTERS = {"all": Filter(), "folder": Filter(folder="f007"), "tag": Filter(tags=("rare",))}


def main(report: Report) -> None:
    before: Grown = {}
    sizes = (1_000, 4_000) if report.quick else (10_000, 100_000, 1_000_000)
    only = (report.settings.get("only") or "lists,serve,rescan").split(",")
    for items in [report.settings["items"]] if report.settings.get("items") else sizes:
        for part in only:
            with tempfile.TemporaryDirectory() as folder:
                PARTS[part](report, Path(folder), items, before)


def growth(before: Grown, name: str, items: int, value: float) -> dict[str, float]:
    """The exponent of growth since the size before, where there was one."""
    size, last = before.get(name, (items, value))
    before[name] = items, value
    return {"exponent": math.log(value / last) / math.log(items / size)} if size != items else {}


def listing(report: Report, folder: Path, items: int, before: Grown) -> None:
    with Store.open(folder, create=True) as store:
        fill(store, items)
    with Store.open(folder, write=True) as store:
        for name, wanted in FILTERS.items():
            lists(report, store, items, name, wanted, before)
        thumbnails(report, store, min(items, 20_000))


def fill(store: Store, items: int) -> None:
    """Rows of items with a content each, as an ingest would leave them."""
    with store.transaction() as db:
        db.execute("DROP TRIGGER items_in")  # it counts rows one by one
        keys = ((n + 1, hashlib.sha256(str(n).encode()).digest()) for n in range(items))
        db.executemany(
            "INSERT INTO contents (id, sha256, size, decoded, width, height, format, segment, "
            "added) VALUES (?, ?, 1, 1, 640, 480, 'JPEG', 1, 0)",
            keys,
        )
        db.executemany(
            "INSERT INTO items (id, path, name, folder, content, size, mtime_ns, added) "
            "VALUES (?, ?, ?, ?, ?, 1, 1, 0)",
            (
                (
                    n + 1,
                    b"f%03d/%07d.jpg" % (n % 1000, n),
                    f"{n:07d}.jpg",
                    f"f{n % 1000:03d}",
                    n + 1,
                )
                for n in range(items)
            ),
        )
        db.executemany(
            "INSERT INTO texts (item, kind, text, source) VALUES (?, 'tag', 'rare', 'user')",
            ((n + 1,) for n in range(0, items, 1000)),
        )


def lists(
    report: Report,
    store: Store,
    items: int,
    name: str,
    wanted: Filter,
    before: Grown,
) -> None:
    first = 1e3 * taken(lambda: store.items.page(wanted, PAGE + 1, items // 2))
    cursors = np.random.default_rng(report.seed).integers(0, items, 50).tolist()
    ours, busy = [], []
    for cursor in cursors:
        cpu = time.thread_time()
        ours.append(taken(partial(store.items.page, wanted, PAGE + 1, cursor)))
        busy.append(time.thread_time() - cpu)

    def all_first(cursor: int) -> Any:
        found = store.items.matching(wanted)
        return store.items.many(found[found > cursor][:PAGE].tolist())

    theirs = [taken(partial(all_first, cursor)) for cursor in cursors[:5]]
    p50, p99 = percentiles_ms(ours)
    peer = percentiles_ms(theirs)[0]
    report.row(
        method="page by keyset", items=items, filter=name, k=PAGE, first_ms=first, p50_ms=p50,
        p99_ms=p99, cpu_ms=1e3 * max(busy), peer="all ids first", peer_ms=peer, ratio=p50 / peer,
        **growth(before, name, items, p50),
    )  # fmt: skip


def thumbnails(report: Report, store: Store, count: int) -> None:
    data = b"\xff\xd8" + bytes(8_000)
    keys = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(count)]
    put = [taken(partial(store.thumbnails.put, key, "small", data)) for key in keys]
    got = [taken(partial(store.thumbnails.get, key, "small")) for key in keys[:: count // 500]]
    files = [p for p in Path(store.thumbnails.folder).rglob("*") if p.is_file()]
    for method, times in (("thumbnail kept", put), ("thumbnail read", got)):
        p50, p99 = percentiles_ms(times)
        report.row(method=method, items=count, files=len(files), p50_ms=p50, p99_ms=p99)


def serving(report: Report, folder: Path, items: int, before: Grown) -> None:
    rng, engine = np.random.default_rng(report.seed), report.settings.get("engine") or "faiss"
    pictures, other = folder / "pictures", folder / "restored"
    for place in (pictures, other):
        place.mkdir()
    with Collection.open(pictures, create=True) as collection:
        store = collection.store
        for name, value in (("features", BLOCKS), ("engine", engine), ("smoothing", "off")):
            store.settings.set(name, list(value) if isinstance(value, tuple) else value)
        filled = taken(lambda: _write(store, items, rng))
        cpu = time.process_time()
        seconds = taken(collection.build)
        cpu = time.process_time() - cpu
        generation = store.generations.current()
        assert generation is not None
        index_mib = _mib(generation.folder)
        report.row(
            method="build", items=items, filled_s=filled, seconds=seconds, cpu_s=cpu,
            index_mib=index_mib, mib=_mib(folder), **growth(before, "build", items, cpu),
        )  # fmt: skip
        some = rng.permutation(items)[:100] + 1
        told = apart(opened, str(pictures), some)
        report.row(method="open and search", items=items, k=K, index_mib=index_mib, **told,
                   **growth(before, "open", items, told["open_s"]))  # fmt: skip
        if engine == "faiss":
            directly(report, generation.folder / "faiss", items, before)
            told = apart(doubled, str(pictures))
            report.row(method="near-duplicates", items=items, **told,
                       **growth(before, "doubled", items, told["cpu_s"]))  # fmt: skip
        copied = taken(lambda: backed_up(collection.data, folder / "backup"))
        again = taken(lambda: restored(folder / "backup", other / collection.data.name))
        told = apart(opened, str(other), some)
        report.row(
            method="from a backup", items=items, backup_s=copied, restore_s=again,
            index_mib=index_mib, **told, **growth(before, "restored", items, told["open_s"]),
        )  # fmt: skip
        for copy in (folder / "backup", other):
            shutil.rmtree(copy)
        forgetting(report, collection, items, rng, before)


def _write(store: Store, items: int, rng: np.random.Generator) -> None:
    """Items with vectors; one in ten has a caption, one in a hundred nearly the vector before."""
    for start in range(0, items, 2_048):
        numbers = range(start, min(start + 2_048, items))
        store.items.see(
            [Seen(b"f%03d/picture-%07d.jpg" % (n % 1000, n), 1, 1, _hash(n)) for n in numbers]
        )
        pending = store.contents.pending(len(numbers))
        said = [" ".join(f"word{w}" for w in rng.integers(0, 20_000, 8)) for _ in pending[::10]]
        results = [
            Result(p.content, width=1, height=1,
                   captions=[] if at % 10 else [Text(said[at // 10], "embedded")])
            for at, p in enumerate(pending)
        ]  # fmt: skip
        x = _around(rng, len(pending))
        x[1::100] = x[0::100][: len(x[1::100])] + 0.01 * x[1::100]
        store.contents.record(results, dict(zip(BLOCKS, np.split(x, len(BLOCKS), axis=1))))


def _around(rng: np.random.Generator, count: int) -> np.ndarray:
    """Vectors of 256 numbers around the same 1,000 centres each time, as benchmarks.index has."""
    fixed = np.random.default_rng(7)
    basis = fixed.standard_normal((64, 256)) / 16
    x = fixed.standard_normal((1_000, 64))[rng.integers(0, 1_000, count)]
    x = (x + 0.5 * rng.standard_normal((count, 64))) @ basis
    out: np.ndarray = (x + 0.05 * rng.standard_normal((count, 256))).astype(np.float32)
    return out


def apart(work: Callable[..., dict[str, float]], *given: Any) -> dict[str, float]:
    """What a fresh process measures."""
    with multiprocessing.get_context("spawn").Pool(1) as fresh:
        return fresh.apply(work, given)


def opened(place: str, some: np.ndarray) -> dict[str, float]:
    """Open a collection and search: until the first answer, and then."""
    empty = resident_mib()
    begun = time.perf_counter()
    with Collection.open(place) as collection:
        collection.search(int(some[0]), k=K)
        first = time.perf_counter() - begun
        collection.look.view()  # the one that is compared with its checksums
        whole = time.perf_counter() - begun
        times = [taken(partial(collection.search, int(item), k=K)) for item in some]
        memory = resident_mib() - empty
    p50, p99 = percentiles_ms(times)
    return {"open_s": first, "checked_s": whole, "p50_ms": p50, "p99_ms": p99,
            "rss_mib": memory, "peak_mib": peak_mib() - empty}  # fmt: skip


def doubled(place: str) -> dict[str, float]:
    """All near-duplicates."""
    with Collection.open(place) as collection:
        cpu = time.process_time()
        begun = time.perf_counter()
        found = collection.duplicates()
        cpu, seconds = time.process_time() - cpu, time.perf_counter() - begun
    return {"groups": len(found), "seconds": seconds, "cpu_s": cpu, "peak_mib": peak_mib()}


def peak_mib() -> float:
    # Not ru_maxrss, which begins with what the parent held when it started this process.
    said = Path("/proc/self/status").read_text(encoding="ascii")
    return int(said.partition("VmHWM:")[2].split()[0]) / 2**10


def directly(report: Report, folder: Path, items: int, before: Grown) -> None:
    """Our calls beside faiss called directly, in turn, at two recalls."""
    index = load(folder)
    assert isinstance(index, FaissIndex)
    rows = np.random.default_rng(report.seed).permutation(items)[:200]
    codes = np.load(folder.parent / "codes.npy", mmap_mode="r")
    queries = np.asarray(codes[np.sort(rows)])
    exact = FlatIndex.build(codes, index.ids).search_many(surrogates(queries), K)
    for wanted in (0.95, 0.99):
        index.calibrate([Surrogate(v) for v in queries[100:]], recall=wanted)
        engine = index._engine
        if index.structure.startswith("ivf"):
            engine.nprobe = index.probes
        ours = [partial(index.search, Surrogate(v), K) for v in queries[:100]]
        theirs = [partial(engine.search, v[None], K) for v in queries[:100]]
        our, their = alternate(ours, theirs, 0.3 if report.quick else 10.0)
        found = np.mean([np.isin(ask().ids, e.ids).mean() for ask, e in zip(ours, exact)])
        p50, p99 = percentiles_ms(our)
        peer = percentiles_ms(their)[0]
        report.row(
            method="one query", items=items, k=K, wanted=wanted, probes=index.probes, recall=found,
            p50_ms=p50, p99_ms=p99, qps=1e3 / p50, peer="faiss directly", peer_ms=peer,
            peer_qps=1e3 / peer, ratio=p50 / peer, **growth(before, f"query{wanted}", items, p50),
        )  # fmt: skip


def forgetting(
    report: Report, collection: Collection, items: int, rng: np.random.Generator, before: Grown
) -> None:
    size = collection.store.catalogue.path.stat().st_size / 2**20
    gone = rng.permutation(items)[: min(1_000, items // 100)] + 1
    kept = int(np.setdiff1d(np.arange(1, items + 1), gone)[0])
    collection.search(kept)
    cpu = time.process_time()
    seconds = taken(lambda: collection.forget(gone.tolist()))
    cpu = time.process_time() - cpu
    first = 1e3 * taken(lambda: collection.search(kept))
    built = taken(collection.build) if report.settings.get("rebuild") or report.quick else None
    report.row(
        method="forget", items=items, gone=len(gone), catalogue_mib=size, seconds=seconds,
        cpu_s=cpu, first_ms=first, build_s=built, **growth(before, "forget", items, cpu),
    )  # fmt: skip


def rescan(report: Report, folder: Path, items: int, before: Grown) -> None:
    """An index run over files that did not change since the one before."""
    count = min(items, 100_000)
    pictures = folder / "many"
    for number in range(0, count, 1_000):
        (pictures / f"{number // 1_000:03d}").mkdir(parents=True)
    files = [b"%03d/%07d.png" % (n // 1_000, n) for n in range(count)]
    with Collection.open(pictures, create=True) as collection:
        store = collection.store
        store.settings.set("features", ["colour"])
        store.settings.set("smoothing", "off")
        for start in range(0, count, 2_048):
            seen = []
            for n in range(start, min(start + 2_048, count)):
                path = pictures / files[n].decode()
                path.write_bytes(b"picture %d" % n)
                told = path.stat()
                seen.append(Seen(files[n], told.st_size, told.st_mtime_ns, _hash(n)))
            store.items.see(seen)
            pending = store.contents.pending(len(seen))
            x = np.random.default_rng(start).random((len(pending), 96)).astype(np.float32)
            store.contents.record([Result(p.content, width=1, height=1) for p in pending],
                                  {"colour": x})  # fmt: skip
        collection.build()
        names: list[str] = []
        root = str(pictures)

        def note(event: str, given: tuple[Any, ...]) -> None:
            if NOTING and event == "open" and str(given[0]).startswith(root):
                names.append(str(given[0]))

        sys.addaudithook(note)
        NOTING.append(True)
        cpu = time.process_time()
        seconds = taken(lambda: collection.index(processes=1))
        cpu = time.process_time() - cpu
        NOTING.clear()
        pictures_opened = [name for name in names if name.endswith(".png")]
        report.row(
            method="rescan", files=count, seconds=seconds, cpu_s=cpu, opened=len(pictures_opened),
            **growth(before, "rescan", count, cpu),
        )  # fmt: skip


NOTING: list[bool] = []
"""Not empty while opened files are counted: an audit hook cannot be taken away."""


def _mib(folder: Path) -> float:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 2**20


def _hash(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


def taken(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


PARTS: dict[str, Callable[[Report, Path, int, Grown], None]] = {
    "lists": listing, "serve": serving, "rescan": rescan
}  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=int, help="one size only")
    parser.add_argument("--only", help="some parts, with commas: " + ",".join(PARTS))
    parser.add_argument("--engine", choices=("faiss", "flat"), help="what serves (faiss)")
    parser.add_argument("--rebuild", action="store_true", help="also the build after forgetting")


if __name__ == "__main__":
    run("scale", main, __doc__, options=options)
