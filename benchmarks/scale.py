"""Lists and thumbnails of large catalogues: time per page, files, and how both grow.

Catalogues are filled with rows of items (no pictures): `p50_ms` and `p99_ms` are of any page of 100
items as ``GET /items`` reads it, from cursors all over the catalogue; without a filter, below one
of 1,000 folders, and with a tag that one item in 1,000 has.  `ratio` is over the way of reading all
ids first.  `exponent` is the growth from the size before (1 means as the number of items).

``--forget`` instead writes items with captions and vectors of 256 numbers through the store, builds
a scan over them and forgets one in a hundred, 1,000 at most: `seconds` and `cpu_s` until the call
returns, then those of the next build, which rewrites a large catalogue, and `first_ms` of the first
search in between.

    python -m benchmarks.scale [--quick] [--items N] [--forget] [--json FILE]
"""

from __future__ import annotations

import argparse
import hashlib
import math
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.report import Report, percentiles_ms, run
from likewise.collection import Collection
from likewise.filters import Filter
from likewise.store import Result, Seen, Store, Text

PAGE = 100
FILTERS = {"all": Filter(), "folder": Filter(folder="f007"), "tag": Filter(tags=("rare",))}


def main(report: Report) -> None:
    before: dict[str, tuple[int, float]] = {}
    sizes = (1_000, 4_000) if report.quick else (10_000, 100_000, 1_000_000)
    for items in [report.settings["items"]] if report.settings.get("items") else sizes:
        if report.settings.get("forget"):
            with tempfile.TemporaryDirectory() as folder:
                forgetting(report, Path(folder), items)
            continue
        with tempfile.TemporaryDirectory() as folder, Store.open(folder, create=True) as store:
            fill(store, items)
            for name, wanted in FILTERS.items():
                lists(report, store, items, name, wanted, before)
            thumbnails(report, store, min(items, 20_000))


def fill(store: Store, items: int) -> None:
    """Rows of items with a content each, as an ingest would leave them."""
    with store.transaction() as db:
        for trigger in ("items_in", "contents_in"):  # they count rows one by one
            db.execute(f"DROP TRIGGER {trigger}")
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
    before: dict[str, tuple[int, float]],
) -> None:
    cursors = np.random.default_rng(report.seed).integers(0, items, 50).tolist()
    ours = [taken(partial(store.items.page, wanted, PAGE + 1, cursor)) for cursor in cursors]

    def all_first(cursor: int) -> Any:
        found = store.items.matching(wanted)
        return store.items.many(found[found > cursor][:PAGE].tolist())

    theirs = [taken(partial(all_first, cursor)) for cursor in cursors[:5]]
    p50, p99 = percentiles_ms(ours)
    peer = percentiles_ms(theirs)[0]
    grown = {}
    if name in before:
        size, time_before = before[name]
        grown = {"exponent": math.log(p50 / time_before) / math.log(items / size)}
    before[name] = items, p50
    report.row(
        method="page by keyset", items=items, filter=name, k=PAGE, p50_ms=p50, p99_ms=p99,
        peer="all ids first", peer_ms=peer, ratio=p50 / peer, **grown,
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


def forgetting(report: Report, folder: Path, items: int) -> None:
    rng = np.random.default_rng(report.seed)
    with Collection.open(folder, create=True) as collection:
        store = collection.store
        for start in range(0, items, 2_048):
            numbers = range(start, min(start + 2_048, items))
            store.items.see(
                [Seen(b"f%03d/picture-%07d.jpg" % (n % 1000, n), 1, 1, _hash(n)) for n in numbers]
            )
            pending = store.contents.pending(len(numbers))
            said = [" ".join(f"word{w}" for w in rng.integers(0, 20_000, 8)) for _ in pending]
            results = [Result(p.content, width=1, height=1, captions=[Text(text, "embedded")])
                       for p, text in zip(pending, said)]  # fmt: skip
            x = rng.standard_normal((len(pending), 256)).astype(np.float32)
            store.contents.record(results, {"own": x})
        for name, value in (("features", ["own"]), ("engine", "flat"), ("smoothing", "off")):
            store.settings.set(name, value)
        collection.build()
        size = store.catalogue.path.stat().st_size / 2**20
        gone = rng.permutation(items)[: min(1_000, items // 100)] + 1
        kept = int(np.setdiff1d(np.arange(1, items + 1), gone)[0])
        collection.search(kept)
        cpu = time.process_time()
        seconds = taken(lambda: collection.forget(gone.tolist()))
        cpu = time.process_time() - cpu
        first = 1e3 * taken(lambda: collection.search(kept))
        report.row(
            method="forget", items=items, gone=len(gone), catalogue_mib=size, seconds=seconds,
            cpu_s=cpu, first_ms=first, build_s=taken(collection.build),
        )  # fmt: skip


def _hash(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


def taken(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=int, help="one size only")
    parser.add_argument("--forget", action="store_true", help="time forgetting instead")


if __name__ == "__main__":
    run("scale", main, __doc__, options=options)
