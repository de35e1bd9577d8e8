"""A search by words against one by a picture, and how long the shipped table takes to load.

python -m benchmarks.words            100,000 items

Vectors are made up; catalogue, index and full text are real.  Times are of the process (one
thread), medians over the queries; ``ratio`` is to the search by a picture.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import likewise
from experiments.report import Report, run
from likewise.features.class_words import ClassWords, class_words
from likewise.store import Result, Seen

COLOURS = ("red", "green", "blue", "yellow", "brown", "pink", "white", "black")


def make_collection(folder: Path, items: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    centres = {"deep": rng.normal(size=(200, 256)), "colour": np.tile(rng.random((200, 36)), 4)}
    with likewise.open(folder, create=True) as collection:
        store = collection.store
        store.settings.set("features", list(centres))
        for start in range(0, items, 5_000):
            numbers = range(start, min(start + 5_000, items))
            seen = [Seen(f"{n:07d}.jpg".encode(), 1, 1, n.to_bytes(32, "big")) for n in numbers]
            store.items.see(seen)
            contents = [p.content for p in store.contents.pending(limit=5_000)]
            which = rng.integers(0, 200, len(contents))
            blocks = {
                name: np.abs(c[which] + 0.3 * rng.normal(size=(len(which), c.shape[1])))
                for name, c in centres.items()
            }
            facts = [Result(c, width=10, height=10, format="JPEG") for c in contents]
            store.contents.record(facts, {n: b.astype(np.float32) for n, b in blocks.items()})
        collection.build()


def median_ms(work: Callable[[Any], Any], queries: list[Any]) -> float:
    work(queries[0])
    taken = []
    for query in queries:
        started = time.process_time()
        work(query)
        taken.append(time.process_time() - started)
    return 1000 * float(np.median(taken))


def main(report: Report) -> None:
    items = 2_000 if report.quick else 100_000
    loads = [_load() for _ in range(5)]
    report.row(method="load the table", cpu_ms=1000 * min(loads))
    class_words()
    with tempfile.TemporaryDirectory() as place:
        make_collection(Path(place), items, report.seed)
        with likewise.open(Path(place)) as collection:
            some = list(collection.items.contents())[:: max(1, items // 40)][:40]
            picture = median_ms(lambda item: collection.search(item, k=20), some)
            report.row(method="picture", items=items, cpu_ms=picture, ratio=1.0)
            for method, texts in (
                ("word", list(COLOURS) * 4),
                ("two words", [f"{a} {b}" for a, b in itertools.pairwise(COLOURS)] * 4),
            ):
                text = median_ms(lambda words: collection.search(text=words, k=20), texts)
                report.row(method=method, items=items, cpu_ms=text, ratio=text / picture)


def _load() -> float:
    started = time.process_time()
    ClassWords()
    return time.process_time() - started


if __name__ == "__main__":
    run("words", main, __doc__)
