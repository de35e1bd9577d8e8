"""What smoothing by neighbours costs: building a generation, and searching it.

Made-up vectors of about the default space's width (384 numbers) in clusters, in a real data folder.
Codes and index are built with smoothing off and on; ``ratio`` is the time of the build over that
with it off.  Searches: an item as query, and a vector from elsewhere, which is smoothed by one more
search.  All times are of the processor, so that what else the machine does counts little.

    python -m benchmarks.smoothing --json results/smoothing_cost.json
"""

from __future__ import annotations

import tempfile
import time

import numpy as np

import likewise
from experiments.report import Report, peak_mib, percentiles_ms, run
from likewise.collection import Collection
from likewise.store import Result, Seen

BLOCKS, WIDTH = ("one", "two", "three"), 128


def main(report: Report) -> None:
    for items in (500,) if report.quick else (10_000, 100_000):
        with (
            tempfile.TemporaryDirectory() as folder,
            likewise.open(folder, create=True) as collection,
        ):
            fill(collection, items, report.seed)
            before = None
            for smoothing in ("off", "on"):
                collection.store.settings.set("smoothing", smoothing)
                collection.store.generations.withdraw()
                started = time.process_time()
                collection.build()
                seconds = time.process_time() - started
                before = before or seconds
                tell(report, collection, items, smoothing, seconds, seconds / before)


def fill(collection: Collection, items: int, seed: int) -> None:
    """Vectors in clusters of about fifty, written straight into the store; nothing is built."""
    rng = np.random.default_rng(seed)
    sizes = dict.fromkeys(BLOCKS, WIDTH)
    centres = rng.normal(size=(items // 50 + 1, sum(sizes.values())))
    store = collection.store
    store.settings.set("features", list(sizes))
    for start in range(0, items, 5_000):
        numbers = range(start, min(start + 5_000, items))
        store.items.see(
            [Seen(f"{n:07d}.jpg".encode(), 1, 1, n.to_bytes(32, "big")) for n in numbers]
        )
        contents = [p.content for p in store.contents.pending(limit=5_000)]
        near = centres[rng.integers(0, len(centres), len(contents))]
        rows = (near + rng.normal(size=near.shape)).astype(np.float32)
        ends = np.cumsum(list(sizes.values()))[:-1]
        results = [Result(c, width=96, height=96, format="JPEG") for c in contents]
        store.contents.record(results, dict(zip(sizes, np.split(rows, ends, axis=1))))


def tell(
    report: Report, collection: Collection, items: int, smoothing: str, seconds: float, ratio: float
) -> None:
    view = collection.look.view()
    asked = view.ids[:: max(1, items // 100)][:100].tolist()
    vectors = np.random.default_rng(1).normal(size=(len(asked), view.plain.space.dim))
    item: list[float] = []
    vector: list[float] = []
    for at in (0, *range(len(asked))):  # the first one warms
        started = time.process_time()
        collection.search(asked[at])
        between = time.process_time()
        collection.search(vector=vectors[at])
        item.append(between - started)
        vector.append(time.process_time() - between)
    report.row(
        items=items,
        smoothing=smoothing,
        build_s=seconds,
        ratio=ratio,
        item_p50_ms=percentiles_ms(item[1:])[0],
        vector_p50_ms=percentiles_ms(vector[1:])[0],
        peak_mib=peak_mib(),
    )


if __name__ == "__main__":
    run("smoothing_cost", main, __doc__)
