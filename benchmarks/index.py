"""Every index beside FAISS called directly: time, recall and memory in one run.

Vectors are clustered and of uneven length, and compared by inner product.  The first rows
show what our checks, ids and ties cost on top of FAISS: calls alternate, ours and its own, on
the same FAISS index with the same number of probes.  `ratio` is ours over the peer's, `more_us`
the microseconds a call that ours takes longer, `overlap` the share of hits that are FAISS's own
up to score ties of 1e-5.  The other rows show the kinds of index for plain queries and for
queries under random weights such as learning gives; `rss_mib` is what a saved index adds to the
process once it is loaded and has answered.

    python -m benchmarks.index [--quick] [--hnsw] [--json FILE]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from experiments.report import Report, percentiles_ms, run
from likewise.index import BaseIndex, load
from likewise.index._probed import learned_like
from likewise.index.faiss import FaissIndex
from likewise.index.flat import FlatIndex
from likewise.index.tree import TreeIndex
from likewise.types import Hits, Surrogate

K = 50
Calls = Sequence[Callable[[], Any]]


def main(report: Report) -> None:
    items, dim = (3000, 24) if report.quick else (200_000, 128)
    rng = np.random.default_rng(report.seed)
    codes = clustered(items + 1000, dim, rng)
    codes, fresh = codes[:items], codes[items:]
    queries = {
        "plain": fresh[: 100 if report.quick else 400],
        "learned": learned_like(fresh[-100 if report.quick else -400 :], dim, rng),
    }
    size = {"items": items, "dim": dim, "k": K}

    report.say(f"Ours over FAISS and FAISS called directly, {items:,} x {dim}, top {K}")
    ivf, seconds = timed(lambda: FaissIndex.build(codes, kind="ivf", seed=report.seed))
    exact = FaissIndex.build(codes, kind="flat")
    for index in (exact, ivf):
        for batch in (1, 100):
            overhead(report, index, queries["plain"], batch, size)

    report.say("The kinds of index, one query at a time")
    flat = FlatIndex.build(codes)
    truth = {name: flat.search_many(surrogates(q), K) for name, q in queries.items()}
    makers: dict[str, Callable[[], BaseIndex]] = {
        "ours flat": lambda: flat,
        "ours faiss flat": lambda: exact,
        "ours faiss ivf": lambda: ivf,
        "ours faiss ivf-sq8": lambda: FaissIndex.build(codes, kind="ivf-sq8", seed=report.seed),
        "ours tree": lambda: TreeIndex.build(codes, seed=report.seed),
    }
    if report.settings.get("hnsw"):
        makers["ours faiss hnsw"] = lambda: FaissIndex.build(codes, kind="hnsw", seed=report.seed)
    for method, make in makers.items():
        index, built = timed(make)
        kind_rows(report, method, index, seconds if index is ivf else built, queries, truth, size)


def clustered(n: int, dim: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Vectors around centres that themselves have structure, their lengths uneven."""
    basis = rng.standard_normal((max(8, dim // 4), dim)) / np.sqrt(dim)
    centres = rng.standard_normal((1000, len(basis))) @ basis
    x = centres[rng.integers(0, len(centres), n)]
    x = x + 0.5 * rng.standard_normal((n, len(basis))) @ basis
    x += 0.05 * rng.standard_normal((n, dim))
    lengths = np.exp(0.3 * rng.standard_normal((n, 1)))
    return np.asarray(x * lengths, np.float32)


def surrogates(vectors: NDArray[np.float32]) -> list[Surrogate]:
    return [Surrogate(vector) for vector in vectors]


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    made = make()
    return made, time.perf_counter() - start


def overhead(
    report: Report,
    index: FaissIndex,
    queries: NDArray[np.float32],
    batch: int,
    size: dict[str, int],
) -> None:
    """One row: our search beside FAISS's own on the same engine."""
    engine = index._engine
    if index.structure == "ivf":
        engine.nprobe = index.probes
    groups = [queries[i : i + batch] for i in range(0, len(queries), batch)]
    asked = [surrogates(group) for group in groups]
    ours: list[Callable[[], Any]]
    if batch == 1:
        ours = [partial(index.search, one[0], K) for one in asked]
    else:
        ours = [partial(index.search_many, some, K) for some in asked]
    theirs: list[Callable[[], Any]] = [partial(engine.search, x, K) for x in groups]
    our_times, their_times = alternate(ours, theirs, 0.3 if report.quick else 15.0)
    p50, p99 = percentiles_ms(our_times)
    peer_p50, _ = percentiles_ms(their_times)
    report.row(
        method=f"ours over {index.structure}",
        peer=f"faiss {index.structure}",
        **size,
        batch=batch,
        p50_ms=p50,
        p99_ms=p99,
        peer_ms=peer_p50,
        ratio=p50 / peer_p50,
        more_us=1e3 * (p50 - peer_p50),
        overlap=agreement(index.search_many(surrogates(queries), K), engine.search(queries, K)),
    )


def alternate(ours: Calls, theirs: Calls, budget: float) -> tuple[list[float], list[float]]:
    """Times of two lists of calls, taken in turn for so many seconds (three turns at least).

    Each side asks another question than the one before, so that neither finds the cache
    filled by the other's look at the same cells.
    """
    times: tuple[list[float], list[float]] = ([], [])
    ours[0](), theirs[0]()
    half = len(ours) // 2
    end = time.perf_counter() + budget
    for turn in range(4000):
        if turn >= 3 and time.perf_counter() > end:
            break
        for side, calls, shift in ((0, ours, 0), (1, theirs, half)):
            call = calls[(turn + shift) % len(calls)]
            start = time.perf_counter()
            call()
            times[side].append(time.perf_counter() - start)
    return times


def agreement(hits: list[Hits], found: tuple[NDArray[Any], NDArray[Any]]) -> float:
    """Share of hits whose id is FAISS's, or whose score ties with the one it has there."""
    scores, ids = found
    same = [
        (hit.ids == name) | (np.abs(hit.scores - score) <= 1e-5 * np.abs(score).max())
        for hit, score, name in zip(hits, scores, ids, strict=True)
    ]
    return float(np.mean(same))


def kind_rows(
    report: Report,
    method: str,
    index: BaseIndex,
    seconds: float,
    queries: dict[str, NDArray[np.float32]],
    truth: dict[str, list[Hits]],
    size: dict[str, int],
) -> None:
    """Rows of one kind of index: for plain queries and for learned ones."""
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "index")
        before = resident_mib()
        loaded = load(Path(folder) / "index")
        loaded.search_many(surrogates(queries["plain"]), K)
        memory = resident_mib() - before
        for name, vectors in queries.items():
            asked = surrogates(vectors)
            times, hits = [], []
            for one in asked:
                start = time.perf_counter()
                hits.append(loaded.search(one, K))
                times.append(time.perf_counter() - start)
            p50, p99 = percentiles_ms(times)
            report.row(
                method=method,
                queries=name,
                **size,
                probes=getattr(loaded, "probes", None),
                p50_ms=p50,
                p99_ms=p99,
                recall=np.mean([np.isin(h.ids, t.ids).mean() for h, t in zip(hits, truth[name])]),
                seconds=seconds,
                rss_mib=memory,
            )
        del loaded


def resident_mib() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hnsw", action="store_true", help="also the graph (minutes to build)")


if __name__ == "__main__":
    run("index", main, __doc__, options=options)
