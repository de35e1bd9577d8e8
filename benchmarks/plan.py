"""How much a collection of any size will take: laws fitted to small indexes, and what they say.

The scan and the k-means cells that serve large collections are built over clustered codes of `d`
numbers at 10^4 and 10^5 items, and at 10^4 of half as many numbers.  Memory, room on the disk and
the time of a scan are `a + b n d` (the first numbers are what every process pays), the other times
`a n^b d^c`; recall is that of the largest one, since probes are chosen for a stated recall.
`build_s` and `p50_ms` are time of one core, so that other work on the machine changes them little
(of builds that take less than three seconds, the shortest of five);
`rss_mib` is what a saved index adds to a fresh process that loads it and answers.  Rows `predicted`
are for 10^6, 10^7 and 10^8, or ``--items``; ``--compare N`` also builds so many items and prints
`ratio`, measured over predicted.

    python -m benchmarks.plan [--dim 256] [--items N] [--compare N] [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.index import K, clustered, resident_mib, surrogates
from experiments.report import Report, run
from likewise.index import BaseIndex, load
from likewise.index.faiss import FaissIndex
from likewise.index.flat import FlatIndex

QUERIES = 100
KINDS: dict[str, Callable[[np.ndarray, int], BaseIndex]] = {
    "flat": lambda codes, seed: FlatIndex.build(codes, seed=seed),
    "faiss": lambda codes, seed: FaissIndex.build(codes, kind="ivf", seed=seed),
}
GROWING = ("build_s", "disk_mib", "rss_mib", "p50_ms")
Measured = dict[str, float]


def main(report: Report) -> None:
    dim = 16 if report.quick else report.settings.get("dim") or 256
    small, large = (1_000, 4_000) if report.quick else (10_000, 100_000)
    wanted = report.settings.get("items")
    sizes = [wanted] if wanted else [10 * large, 100 * large, 1_000 * large]
    compared = report.settings.get("compare")
    only = report.settings.get("kind")
    for kind in [only] if only else KINDS:
        at = (small, dim), (large, dim), (small, dim // 2)
        points = [measured(kind, *one, report.seed) for one in at]
        for (items, numbers), found in zip(at, points):
            report.row(method=f"{kind} measured", items=items, dim=numbers, **found)
        laws = {
            name: law(at, [point[name] for point in points], is_linear(kind, name))
            for name in GROWING
        }
        told: Measured = {}
        for items in [*sizes, *([compared] if compared else [])]:
            told = {name: say(items, dim) for name, say in laws.items()}
            told["recall"] = points[1]["recall"]
            report.row(method=f"{kind} predicted", items=items, dim=dim, **told)
        if compared:
            truly = measured(kind, compared, dim, report.seed)
            report.row(method=f"{kind} measured", items=compared, dim=dim, **truly)
            ratios = {name: truly[name] / told[name] for name in told}
            report.row(method=f"{kind} ratio", items=compared, dim=dim, **ratios)


def is_linear(kind: str, name: str) -> bool:
    """Whether a measure is a sum over all numbers of all codes, beside what every process pays."""
    return name in ("disk_mib", "rss_mib") or kind == "flat"


def law(
    at: Sequence[tuple[int, int]], values: Sequence[float], linear: bool
) -> Callable[[int, int], float]:
    """What is foretold by three points: few items, many, and few of half as many numbers."""
    (small, dim), (large, _), _ = at
    first, many, narrow = (max(value, 1e-9) for value in values)
    if linear:
        each = max(many - first, 0.0) / ((large - small) * dim)
        return lambda n, d: many + each * (n * d - large * dim)
    by_items = math.log(many / first) / math.log(large / small)
    by_dim = math.log(first / narrow) / math.log(2)
    return lambda n, d: many * (n / large) ** by_items * (d / dim) ** by_dim


def measured(kind: str, items: int, dim: int, seed: int) -> Measured:
    """Build an index, save it, and let a fresh process load it and answer."""
    codes = clustered(items + QUERIES, dim, np.random.default_rng(seed))
    codes, queries = codes[:items], codes[items:]
    with tempfile.TemporaryDirectory() as folder:
        KINDS[kind](codes[:1_000], seed)  # what is compiled or imported at the first call
        seconds, tries = math.inf, 0
        while tries < 1 or (tries < 5 and seconds < 3):  # short ones once more: noise only adds
            index, tries, begun = None, tries + 1, time.process_time()
            index = KINDS[kind](codes, seed)
            seconds = min(seconds, time.process_time() - begun)
        assert index is not None
        index.save(Path(folder) / kind)
        size = sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file())
        del index
        with multiprocessing.get_context("spawn").Pool(1) as fresh:
            memory, p50, found = fresh.apply(answered, (str(Path(folder) / kind), queries))
    exact = FlatIndex.build(codes).search_many(surrogates(queries), K)
    right = [np.isin(ids, true.ids).mean() for ids, true in zip(found, exact)]
    return {
        "build_s": seconds, "disk_mib": size / 2**20, "rss_mib": memory, "p50_ms": p50,
        "recall": float(np.mean(right)),
    }  # fmt: skip


def answered(folder: str, queries: np.ndarray) -> tuple[float, float, list[np.ndarray]]:
    """In a process of its own: memory that a loaded index took, and its answers."""
    before = resident_mib()
    index = load(Path(folder))
    times, found = [], []
    for one in surrogates(queries):
        begun = time.process_time()
        found.append(index.search(one, K).ids)
        times.append(time.process_time() - begun)
    return resident_mib() - before, 1e3 * float(np.median(times)), found


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dim", type=int, help="numbers of a code (256)")
    parser.add_argument("--kind", choices=sorted(KINDS), help="one kind of index only")
    parser.add_argument("--items", type=int, help="foretell this size only")
    parser.add_argument("--compare", type=int, help="build so many items too, and compare")


if __name__ == "__main__":
    run("plan", main, __doc__, options=options)
