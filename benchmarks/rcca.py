"""Ranked CCA's descent beside the algorithm as printed, at the paper's size.

50,000 words, 1,000 picture dimensions, 80 shared ones, queries of three words, float64, one
thread (two and three beside it).  Peers: ``as printed`` takes the products of the paper's
Algorithm 1 from left to right, at O(d_q d_v d) a triplet; ``dense`` is the same step as ours
with whole matrices, bracketed well.  Further rows: time over the number of triplets, how far
lazy decay is from dense decay, and what it costs to score a million pictures for a text: the text
becomes one vector, so the search is one scan of the static index.
"""

from __future__ import annotations

import time
from typing import Any

import faiss
import numpy as np
from scipy import sparse

from benchmarks.rcca_by_hand import descend_dense, literal
from experiments.report import Report, best_of, peak_mib, run
from likewise.learners.clicks import Clicks
from likewise.solvers.rcca import Model, Settings, Triplets, rcca
from likewise.solvers.rcca_descent import Moving, Run, descend_round, stream
from likewise.spaces import Blocks

PAPER_PER_SECOND = 3.5
"""1.5 million triplets within five days."""


def problem(words: int, dims: int, d: int, n: int, seed: int) -> tuple[Any, Any, Any, Model]:
    """Queries of three words, unit pictures, triplets, and a start of about the right size."""
    rng = np.random.default_rng(seed)
    queries, pictures = 5_000, 5_000
    # Few words are frequent and many are rare.
    columns = (words ** rng.random((queries, 3))).astype(np.int64) % words
    data = np.full(3 * queries, 3**-0.5)
    T = sparse.csr_array(
        (data, columns.ravel(), np.arange(0, 3 * queries + 1, 3)), (queries, words)
    )
    T.sum_duplicates()
    X = rng.normal(size=(pictures, dims))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    triplets = tuple(rng.integers(0, k, n) for k in (queries, pictures, pictures))
    start = Model(
        rng.normal(size=(words, d)) * d**-0.25, np.eye(d), rng.normal(size=(dims, d)) * d**-0.25
    )
    return T, X, triplets, start


def main(report: Report) -> None:
    words, dims, d = (2_000, 100, 16) if report.quick else (50_000, 1_000, 80)
    counts = [500, 1_000, 2_000] if report.quick else [10_000, 100_000, 1_500_000]
    T, X, triplets, start = problem(words, dims, d, counts[-1], report.seed)
    size = {"words": words, "dims": dims, "dim": d}
    few = tuple(column[:100] for column in triplets)
    rcca(T, X, few, start, Settings(rounds=1))  # compiled outside of the clock

    printed = dense_seconds(T, X, triplets, start, literal, 2 if report.quick else 3)
    dense = dense_seconds(T, X, triplets, start, descend_dense, 5 if report.quick else 20)
    report.row(
        method="as printed", **size, threads=1, per_second=1 / printed, paper=PAPER_PER_SECOND
    )
    report.row(method="dense", **size, threads=1, per_second=1 / dense)

    def clocked(n: int) -> None:
        seconds = descent_seconds(T, X, tuple(c[:n] for c in triplets), start, 1)
        for peer, each in (("as printed", printed), ("dense", dense)):
            report.row(
                method="rcca", **size, threads=1, triplets=n, seconds=seconds,
                per_second=n / seconds, ratio=each * n / seconds, peer=peer, rss_mib=peak_mib(),
            )  # fmt: skip

    for n in counts[:-1]:
        clocked(n)
    most = counts[-2]
    some = tuple(c[:most] for c in triplets)
    for threads in (2, 3):
        seconds = descent_seconds(T, X, some, start, threads)
        report.row(
            method="rcca", **size, threads=threads, triplets=most, seconds=seconds,
            per_second=most / seconds,
        )  # fmt: skip
    report.row(method="lazy - dense", **size, gap=lazy_gap(T, X, triplets, start, report.quick))
    clocked(counts[-1])
    scan(report, X, start, T)


def descent_seconds(T: Any, X: Any, triplets: Any, start: Model, threads: int) -> float:
    """One pass over the triplets: the descent and the average, without the final report."""
    n = len(triplets[0])
    how = Settings(rounds=1, round_size=n, threads=threads)
    run_ = Run(T, X, Triplets.of(T, X, *triplets), how, start)
    began = time.perf_counter()
    now = Moving(np.zeros_like(start.wq), start.w.copy(), np.zeros_like(start.wv))
    descend_round(run_, now, stream(n, 0, n, 0))
    return time.perf_counter() - began


def dense_seconds(T: Any, X: Any, triplets: Any, start: Model, method: Any, steps: int) -> float:
    """Seconds a triplet of a dense reference."""
    some = slice(0, steps)
    rows = T[triplets[0][some]].toarray()
    own = Triplets(
        np.arange(steps), triplets[1][some], triplets[2][some], np.ones(steps, np.float64)
    )
    began = time.perf_counter()
    method(rows, X, own, np.arange(steps), start, Settings(step=1e-3))
    return (time.perf_counter() - began) / steps


def lazy_gap(T: Any, X: Any, triplets: Any, start: Model, quick: bool) -> float:
    """Largest difference to dense decay, of weights and of averages, relative to the largest."""
    n = 40 if quick else 60
    few = tuple(column[:n] for column in triplets)
    rows = sparse.csr_array(T[few[0]])
    few = (np.arange(n), *few[1:])
    how = Settings(step=0.05, mu=3.0, gamma=5.0, eta=4.0, rounds=1)
    found = rcca(rows, X, few, start, how)
    dense = descend_dense(rows, X, Triplets.of(rows, X, *few), stream(n, 0, n, 0), start, how)
    pairs = [(found.state.current, dense[0]), (found.model, dense[1])]
    return max(
        float(np.abs(a - b).max() / np.abs(b).max())
        for ours, theirs in pairs
        for a, b in zip(ours, theirs)
    )


def scan(report: Report, X: Any, start: Model, T: Any) -> None:
    """A text against many pictures: our surrogate and one exact scan, beside the scan alone."""
    dims = X.shape[1]
    # A million pictures of 256 dimensions fit into memory everywhere; the ratio is what counts.
    n, width = (20_000, dims) if report.quick else (1_000_000, 256)
    rng = np.random.default_rng(report.seed)
    codes = rng.standard_normal((n, width), dtype=np.float32)
    index = faiss.IndexFlatIP(width)
    index.add(codes)
    del codes
    model = Clicks(Blocks.identity({"logits": width}), start.wq, start.w, start.wv[:width])
    text = T[[0]]

    def ask() -> Any:
        return index.search(np.asarray(model.surrogate(text).vector, np.float32)[None], 10)

    vector = np.asarray(model.surrogate(text).vector, np.float32)[None]
    ask()
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        ours, theirs = best_of(5, ask), best_of(5, lambda: index.search(vector, 10))
    finally:
        faiss.omp_set_num_threads(threads)
    report.row(
        method="text query", items=n, dim=width, k=10, seconds=ours, ratio=ours / theirs,
        peer="one faiss scan",
    )  # fmt: skip


if __name__ == "__main__":
    run("rcca", main, __doc__)
