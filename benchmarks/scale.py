"""Lists and thumbnails of large catalogues: time per page, files, and how both grow.

Catalogues are filled with rows of items (no pictures): `p50_ms` and `p99_ms` are of any page of 100
items as ``GET /items`` reads it, from cursors all over the catalogue; without a filter, below one
of 1,000 folders, and with a tag that one item in 1,000 has.  `ratio` is over the way of reading all
ids first.  `exponent` is the growth from the size before (1 means as the number of items).

    python -m benchmarks.scale [--quick] [--json FILE]
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
from likewise.filters import Filter
from likewise.store import Store

PAGE = 100
FILTERS = {"all": Filter(), "folder": Filter(folder="f007"), "tag": Filter(tags=("rare",))}


def main(report: Report) -> None:
    before: dict[str, tuple[int, float]] = {}
    sizes = (1_000, 4_000) if report.quick else (10_000, 100_000, 1_000_000)
    for items in [report.settings["items"]] if report.settings.get("items") else sizes:
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


def taken(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=int, help="one size only")


if __name__ == "__main__":
    run("scale", main, __doc__, options=options)
