"""The search after a mark, when much was said before: marks of other queries, and clicks.

    python -m benchmarks.after_a_mark

``plain`` is a search of a query without marks; ``after a mark`` marks one more picture and
searches again, and ``after an undo`` takes it back and searches.  ``cpu_ms`` is the median CPU
time of the search alone, ``ratio`` that of its row to ``plain``.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

import likewise
from experiments.report import Report, run
from likewise.collection import Collection
from likewise.store import Result, Seen
from likewise.types import Judgement, QueryRef

PER_QUERY = 10


def make_collection(folder: Path, items: int, seed: int) -> None:
    """A collection of made-up vectors: the catalogue, segments and index are real."""
    rng = np.random.default_rng(seed)
    centres = {"deep": rng.normal(size=(200, 256)), "colour": rng.random((200, 64))}
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
                name: (c[which] + 0.3 * rng.normal(size=(len(which), c.shape[1]))).astype("f4")
                for name, c in centres.items()
            }
            facts = [Result(c, width=10, height=10, format="JPEG") for c in contents]
            store.contents.record(facts, blocks)
        collection.build()


def say_much(collection: Collection, marks: int, clicks: int, seed: int) -> None:
    """Marks of many queries, ten for each, and clicks on queries at random."""
    rng = np.random.default_rng(seed)
    paths = [collection.item(int(i)).file for i in collection.look.view().ids]
    said = []
    for number in range(marks // PER_QUERY):
        query = QueryRef("item", paths[10 + number % (len(paths) - 10)])
        for at in rng.choice(len(paths), PER_QUERY, replace=False):
            said.append(Judgement(query, (paths[at],), "label", float(rng.random() < 0.6)))
    for one, other in rng.integers(len(paths), size=(clicks, 2)):
        said.append(Judgement(QueryRef("item", paths[one]), (paths[other],), "click"))
    collection.log.add(said)


def cpu(collection: Collection, item: int) -> float:
    """CPU seconds of one search."""
    started = time.process_time()
    collection.search(item, k=20)
    return time.process_time() - started


def after_a_mark(collection: Collection, rounds: int) -> dict[str, float]:
    """Median CPU seconds of a plain search, of one after a mark, and of one after an undo."""
    for item in (1, 2):
        collection.search(item)
    times: dict[str, list[float]] = {"plain": [], "after a mark": [], "after an undo": []}
    for number in range(rounds):
        times["plain"].append(cpu(collection, 1))
        collection.mark(2, [3 + number], number % 3 > 0)
        times["after a mark"].append(cpu(collection, 2))
        if number % 2:
            collection.undo()
            times["after an undo"].append(cpu(collection, 2))
    return {name: float(np.median(seen)) for name, seen in times.items()}


def main(report: Report) -> None:
    items, rounds = (500, 4) if report.quick else (5_000, 30)
    logs = [(150, 0), (150, 850)] if report.quick else [(0, 0), (15_000, 0), (15_000, 85_000)]
    for marks, clicks in logs:
        with tempfile.TemporaryDirectory() as place:
            make_collection(Path(place), items, report.seed)
            with likewise.open(place, write=True) as collection:
                say_much(collection, marks, clicks, report.seed)
                started = time.process_time()
                collection.search(1)
                first = time.process_time() - started
                found = after_a_mark(collection, rounds)
        told = {"items": items, "marks": marks, "clicks": clicks}
        report.row(method="first of the process", **told, cpu_ms=1e3 * first, ratio=None)
        for name, seconds in found.items():
            ratio = seconds / found["plain"]
            report.row(method=name, **told, cpu_ms=1e3 * seconds, ratio=ratio)


if __name__ == "__main__":
    run("after_a_mark", main, __doc__)
