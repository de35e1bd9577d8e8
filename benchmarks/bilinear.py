"""A million vectors of 60 dimensions: teaching 2,000 reference queries, and what surrogates cost.

The setting of section 5.4 of Kuang et al. with planted relevance: each class is told apart by
dimensions of its own.  Rows: the time to learn all reference queries (50 labels each) on all
cores; then, on three k-means trees and on faiss IVF, single searches with plain queries and
with surrogates at equal probes, one after the other in turn.  ``ratio`` is the p50 of surrogates
over that of plain queries, ``recall`` that of the first ten against an exact search, ``p10`` the
share of relevant items among them.  The rows ``buckets`` have the form of the paper's Table 2:
there ``recall`` is the share of all relevant items that the probed buckets hold, and ``share`` that
of all items.
"""

from __future__ import annotations

import time

import numpy as np

from experiments.kuang_cifar10 import bucket_recall
from experiments.paper_sets import Floats, PaperSet, planted, reference_rows
from experiments.paper_teaching import SIGMA, Taught
from experiments.references import Learned, clipped, combine, learn_references
from experiments.report import Report, best_of, peak_mib, percentiles_ms, run
from likewise.index.faiss import FaissIndex
from likewise.index.flat import FlatIndex
from likewise.index.tree import TreeIndex
from likewise.types import Hits, Surrogate

K = 10
ASKED_OF_BUCKETS = 100


def main(report: Report) -> None:
    quick = report.quick
    items, references, clusters = (4_000, 40, 30) if quick else (1_000_000, 2_000, 1_000)
    asked = 20 if quick else 400
    vectors, labels = planted(items + asked, dim=60, classes=12 if quick else 200, seed=report.seed)
    data = PaperSet.split(vectors, labels, asked, report.seed)
    size = {"items": items, "dim": 60}

    own = reference_rows(data.items, references, report.seed)
    n, pool = (12, 200) if quick else (50, 20_000)
    taught = Taught.by("pool500", data, own, n, seed=report.seed, pool=pool)
    learned = _learned(report, taught, n)
    kept = clipped(learned)
    one = data.queries[:1]
    report.row(
        method="make a surrogate",
        references=references,
        p50_ms=1e3 * best_of(20, lambda: combine(kept.weights, taught.references, one)),
    )

    queries = {"plain": data.queries, "surrogate": taught.surrogates(learned, clip=True)}
    exact = FlatIndex.build(data.items)
    true = {name: exact.search_many(_all(found), K) for name, found in queries.items()}
    trees = TreeIndex.build(data.items, trees=3, clusters=clusters, probes=1, seed=report.seed)
    for probes in (2, 4) if quick else (5, 10, 15, 20):
        _race(report, "three trees", trees.with_probes(probes), queries, true, data)
        _buckets(report, trees, probes, queries, data)
    ivf = FaissIndex.build(
        data.items, kind="ivf", cells=30 if quick else None, probes=1, seed=report.seed
    )
    for probes in (2, 4) if quick else (16, 64):
        _race(report, "faiss ivf", ivf.with_probes(probes), queries, true, data)
    report.row(method="memory", **size, rss_mib=peak_mib())


def _learned(report: Report, taught: Taught, n: int) -> Learned:
    """All reference queries, to a relative gap of a thousandth and of a hundred-thousandth."""
    preferences = taught.preferences
    taught.weights(0.0)  # compile
    for tol in (1e-5, 1e-3):
        start = time.perf_counter()
        learned = learn_references(
            taught.data.items, taught.references, preferences, sigma=SIGMA, clip=False, tol=tol
        )
        seconds = time.perf_counter() - start
        report.row(
            method="learn references",
            references=len(taught.own),
            n=n,
            preferences=len(preferences),
            coverage=taught.coverage,
            seconds=seconds,
            per_second=len(taught.own) / seconds,
            gap=float((learned.gap / np.maximum(1, learned.objective)).max()),
        )
    return learned


def _buckets(
    report: Report, trees: TreeIndex, probes: int, queries: dict[str, Floats], data: PaperSet
) -> None:
    """The form of the paper's Table 2: relevant items that the probed buckets hold."""
    some = slice(0, ASKED_OF_BUCKETS)
    for kind, found in queries.items():
        vectors = found[some].astype(np.float32)
        recall, share = bucket_recall(trees, vectors, data.query_labels[some], data, probes)
        report.row(method=f"buckets, {kind}", k=probes, recall=recall, share=share)


def _race(
    report: Report,
    name: str,
    index: TreeIndex | FaissIndex,
    queries: dict[str, Floats],
    true: dict[str, list[Hits]],
    data: PaperSet,
) -> None:
    """Plain and surrogate searches in turn, so that both meet the same load of the machine."""
    asked = {kind: _all(found) for kind, found in queries.items()}
    for kind in asked:
        index.search(asked[kind][0], K)  # compile, and wake the caches
    times: dict[str, list[float]] = {kind: [] for kind in asked}
    found: dict[str, list[Hits]] = {kind: [] for kind in asked}
    for number in range(len(data.queries)):
        for kind in asked if number % 2 else reversed(asked):
            start = time.perf_counter()
            hits = index.search(asked[kind][number], K)
            times[kind].append(time.perf_counter() - start)
            found[kind].append(hits)
    for kind in asked:
        p50, p99 = percentiles_ms(times[kind])
        report.row(
            method=f"{name}, {kind}",
            items=len(data.items),
            dim=data.items.shape[1],
            k=index.probes,
            p50_ms=p50,
            p99_ms=p99,
            recall=_recall(found[kind], true[kind]),
            p10=_precision(found[kind], data),
            ratio=None if kind == "plain" else p50 / percentiles_ms(times["plain"])[0],
            peer=None if kind == "plain" else "plain",
        )


def _all(vectors: Floats) -> list[Surrogate]:
    return [Surrogate(row) for row in vectors.astype(np.float32)]


def _recall(found: list[Hits], true: list[Hits]) -> float:
    return float(np.mean([np.isin(b.ids, a.ids).mean() for a, b in zip(found, true)]))


def _precision(found: list[Hits], data: PaperSet) -> float:
    right = [
        (data.item_labels[hits.ids] == label).mean()
        for hits, label in zip(found, data.query_labels)
    ]
    return float(np.mean(right))


if __name__ == "__main__":
    run("bilinear", main, __doc__)
