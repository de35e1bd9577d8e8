"""A search from a cold process, against a bare ``import faiss, numpy`` and one exact scan.

python -m benchmarks.cold            100,000 items
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import likewise
from experiments.report import Report, percentiles_ms, run
from likewise.store import Result, Seen

PEER = """
import faiss, numpy as np
codes = np.load({codes!r}, mmap_mode="r")
index = faiss.IndexFlatIP(codes.shape[1])
index.add(np.ascontiguousarray(codes))
index.search(np.ascontiguousarray(codes[:1]), 20)
"""


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


def timed(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def main(report: Report) -> None:
    items, runs = (2_000, 2) if report.quick else (100_000, 5)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_collection(folder, items, report.seed)
        (codes,) = (folder / ".likewise" / "generations").glob("*/codes.npy")
        ours = [sys.executable, "-m", "likewise", "search", "0000001.jpg", "-c", str(folder)]
        theirs = [sys.executable, "-c", PEER.format(codes=str(codes))]
        pairs = [(timed(ours), timed(theirs)) for _ in range(runs)]
        cold, peer = (float(np.median([p[i] for p in pairs])) for i in (0, 1))
        with likewise.open(folder) as collection:
            collection.search(1, k=20)
            times = []
            for item in range(2, 22 if report.quick else 202):
                started = time.perf_counter()
                answer = collection.search(item, k=20)
                times.append(time.perf_counter() - started)
            assert len(answer) == 20
    p50, p99 = percentiles_ms(times)
    report.row(
        method="cold process", items=items, seconds=cold, peer="import faiss, numpy; exact scan",
        ratio=cold / peer,
    )  # fmt: skip
    report.row(method="second query", items=items, p50_ms=p50, p99_ms=p99)


if __name__ == "__main__":
    run("cold", main, __doc__)
