"""The inverted file beside qdrant-edge and scipy: time, exactness, bytes a posting, build rate.

Documents are drawn from Zipf's law over a million words, about 190 different words each; the
score is the binary idf cosine, which all three can compute from the same sparse codes.  Calls
alternate between the engines, one query at a time; `recall` is the share of the true best ten
that an engine gives, up to ties.  A second table has three levels of counts and a table with
negative evidence in it, whose side columns the peers do not have, and one with a million documents.

    python -m benchmarks.inverted [--quick] [--documents N] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from experiments.report import Report, peak_mib, percentiles_ms, run
from likewise.index.inverted import InvertedIndex
from likewise.learners.word_table import WordTable
from likewise.spaces import Words
from likewise.types import Surrogate

TOP = 10
DRAWS = 232
"""Words drawn for a document, with repetition: about 190 different ones among a million."""

Answer = tuple[NDArray[np.int64], NDArray[np.float64]]
Engine = Callable[[int], Answer]


def main(report: Report) -> None:
    words, items = (20_000, 2_000) if report.quick else (1_000_000, 100_000)
    rng = np.random.default_rng(report.seed)
    counts = zipf_documents(items, words, rng)
    queries = zipf_documents(100 if report.quick else 300, words, rng)
    size = {"items": items, "words": words, "k": TOP}
    report.say(
        f"{items:,} documents of {counts.nnz / items:.0f} different words, {words:,} words in all"
    )
    space = Words(idf(counts), levels=1)
    peers(report, space, counts, queries, size)
    space = Words(idf(counts), levels=3)
    table = negative_evidence()
    similarity = WordTable(space, table)
    index, _ = built(report, "three levels", similarity, counts, size)
    side(report, "three levels", index, similarity, counts, queries, size)
    many = report.settings.get("documents") or (6_000 if report.quick else 1_000_000)
    if many > items:
        large(report, similarity, queries, many, items, rng)


def zipf_documents(items: int, words: int, rng: np.random.Generator) -> sparse.csr_array:
    """Counts of words; word r comes about as often as 1 / (r + 1)."""
    drawn = np.exp(rng.random(items * DRAWS) * np.log(words + 1)) - 1
    columns = np.minimum(drawn.astype(np.int32), words - 1)
    starts = np.arange(items + 1) * DRAWS
    counts = sparse.csr_array(
        (np.ones(len(columns), np.float32), columns, starts), shape=(items, words)
    )
    counts.sum_duplicates()
    return counts


def first_of(index: InvertedIndex, asked: Surrogate) -> Answer:
    hits = index.search(asked, TOP)
    return hits.ids, np.asarray(hits.scores, np.float64)


def idf(counts: sparse.csr_array) -> NDArray[np.float64]:
    """log(documents / documents with the word)."""
    held = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.log(counts.shape[0] / np.maximum(held, 1))


def negative_evidence() -> NDArray[np.float64]:
    """A table like those that are learned: repeats add less, and words on one side cost."""
    gain = np.array([0, 1.0, 1.2, 1.3])
    table = np.sqrt(np.outer(gain, gain))
    table[1:, 0], table[0, 1:] = -0.02, -0.01
    return table


def built(
    report: Report, method: str, similarity: WordTable, counts: sparse.csr_array, size: Any
) -> tuple[InvertedIndex, float]:
    space = similarity.space
    codes, beside = space.encode(counts), similarity.side_columns(counts)
    started = time.perf_counter()
    index = InvertedIndex.build(codes, space=space.fingerprint, levels=space.levels, side=beside)
    seconds = time.perf_counter() - started
    report.row(
        method=f"build, {method}",
        **size,
        seconds=seconds,
        per_second=counts.shape[0] / seconds,
        bytes_per_posting=index.nbytes / index.codes().nnz,
    )
    return index, seconds


# -- beside the peers ------------------------------------------------------------


def peers(
    report: Report, space: Words, counts: sparse.csr_array, queries: sparse.csr_array, size: Any
) -> None:
    similarity = WordTable.binary_idf(space)
    codes = space.encode(counts)
    index, _ = built(report, "one level", similarity, counts, size)
    asked = [_plain(similarity.surrogate(queries[[q]])) for q in range(queries.shape[0])]
    engines: dict[str, Engine] = {
        "ours inverted": lambda q: first_of(index, asked[q]),
        "scipy CSR": scipy_engine(codes, asked),
    }
    with tempfile.TemporaryDirectory() as folder:
        engines["qdrant-edge"] = qdrant_engine(folder, codes, asked)
        times, answers = alternate(engines, len(asked))
    truth = answers["scipy CSR"]
    ours = percentiles_ms(times["ours inverted"])[0]
    for name, seconds in times.items():
        p50, p99 = percentiles_ms(seconds)
        report.row(method=name, **size, p50_ms=p50, p99_ms=p99, recall=recall(answers[name], truth))
    for name in ("qdrant-edge", "scipy CSR"):
        report.row(
            method="ours inverted", **size, p50_ms=ours, peer=name,
            ratio=ours / percentiles_ms(times[name])[0],
        )  # fmt: skip


def _plain(asked: Surrogate) -> Surrogate:
    """Binary idf has no side columns: their coefficients are left out."""
    return Surrogate(asked.vector, asked.offset, {}, asked.space)


def alternate(
    engines: dict[str, Engine], count: int
) -> tuple[dict[str, list[float]], dict[str, list[Answer]]]:
    """Each query by each engine in turn; the first few are not counted."""
    times: dict[str, list[float]] = {name: [] for name in engines}
    answers: dict[str, list[Answer]] = {name: [] for name in engines}
    for q in [*range(min(10, count)), *range(count)]:
        warm = len(answers[next(iter(engines))]) < min(10, count)
        for name, engine in engines.items():
            started = time.perf_counter()
            answer = engine(q)
            times[name].append(time.perf_counter() - started)
            answers[name].append(answer)
            if warm:
                times[name].pop()
    return times, {name: found[min(10, count) :] for name, found in answers.items()}


def scipy_engine(codes: sparse.csr_array, asked: Sequence[Surrogate]) -> Engine:
    vector = np.zeros(codes.shape[1])

    def search(q: int) -> Answer:
        thin: Any = asked[q].vector
        vector[thin.indices] = thin.data
        scores = codes @ vector
        vector[thin.indices] = 0
        best = np.argpartition(-scores, TOP)[:TOP]
        best = best[np.lexsort((best, -scores[best]))]
        return best.astype(np.int64), scores[best]

    return search


def qdrant_engine(folder: str, codes: sparse.csr_array, asked: Sequence[Surrogate]) -> Engine:
    """One optimised segment in memory, the peer's best case; queries are made ready outside."""
    edge = importlib.import_module("qdrant_edge")
    config = edge.EdgeConfig(
        sparse_vectors={"words": edge.EdgeSparseVectorParams(full_scan_threshold=0)},
        optimizers=edge.EdgeOptimizersConfig(default_segment_number=1, indexing_threshold=1),
        wal_enabled=False,
    )
    shard = edge.EdgeShard.create(folder, config)
    for start in range(0, codes.shape[0], 2000):
        points = [
            edge.Point(i, {"words": edge.SparseVector(*_lists(codes, i))}, None)
            for i in range(start, min(start + 2000, codes.shape[0]))
        ]
        shard.update(edge.UpdateOperation.upsert_points(points))
    shard.optimize()
    requests = []
    for one in asked:
        thin: Any = one.vector
        vector = edge.SparseVector(thin.indices.tolist(), thin.data.tolist())
        requests.append(edge.SearchRequest(edge.Query.Nearest(vector, using="words"), TOP))

    def search(q: int) -> Answer:
        found = shard.search(requests[q])
        return np.array([p.id for p in found], dtype=np.int64), np.array([p.score for p in found])

    return search


def _lists(codes: sparse.csr_array, row: int) -> tuple[list[int], list[float]]:
    part = slice(codes.indptr[row], codes.indptr[row + 1])
    return codes.indices[part].tolist(), codes.data[part].tolist()


def recall(found: Sequence[Answer], truth: Sequence[Answer]) -> float:
    """Share of hits that score no less than the worst true hit (to 1e-5)."""
    good = [
        float((scores >= true[1][-1] - 1e-5 * abs(true[1][-1])).sum()) / len(true[1])
        for (_, scores), true in zip(found, truth)
    ]
    return float(np.mean(good))


# -- tables with side columns, a million documents -------------------------------


def side(
    report: Report,
    method: str,
    index: InvertedIndex,
    similarity: WordTable,
    counts: sparse.csr_array,
    queries: sparse.csr_array,
    size: Any,
) -> None:
    """A table with side columns, beside scipy with the same codes and columns."""
    codes, columns = similarity.space.encode(counts), similarity.side_columns(counts)
    asked = [similarity.surrogate(queries[[q]]) for q in range(min(100, queries.shape[0]))]
    vector = np.zeros(codes.shape[1])

    def whole(q: int) -> Answer:
        thin: Any = asked[q].vector
        vector[:] = 0
        vector[thin.indices] = thin.data
        scores = codes @ vector + sum(c * columns[name] for name, c in asked[q].side.items())
        best = np.argpartition(-scores, TOP)[:TOP]
        best = best[np.lexsort((best, -scores[best]))]
        return best.astype(np.int64), scores[best]

    engines: dict[str, Engine] = {
        "ours inverted": lambda q: first_of(index, asked[q]),
        "scipy CSR": whole,
    }
    times, answers = alternate(engines, len(asked))
    p50, p99 = percentiles_ms(times["ours inverted"])
    report.row(
        method=f"ours, {method}", **size, p50_ms=p50, p99_ms=p99,
        recall=recall(answers["ours inverted"], answers["scipy CSR"]), peer="scipy CSR",
        ratio=p50 / percentiles_ms(times["scipy CSR"])[0],
    )  # fmt: skip


def large(
    report: Report,
    similarity: WordTable,
    queries: sparse.csr_array,
    items: int,
    step: int,
    rng: np.random.Generator,
) -> None:
    """More documents than one would hand over at once: they come in generations."""
    space = similarity.space
    index = None
    seconds = 0.0
    for start in range(0, items, step):
        counts = zipf_documents(min(step, items - start), space.words, rng)
        codes, beside = space.encode(counts), similarity.side_columns(counts)
        ids = np.arange(start, start + counts.shape[0])
        started = time.perf_counter()
        if index is None:
            index = InvertedIndex.build(
                codes, ids, space=space.fingerprint, levels=space.levels, side=beside
            )
        else:
            index = index.added(codes, ids, side=beside)
        seconds += time.perf_counter() - started
        del codes, counts
    assert index is not None
    asked = [similarity.surrogate(queries[[q]]) for q in range(min(100, queries.shape[0]))]
    times = []
    for one in asked:
        started = time.perf_counter()
        index.search(one, TOP)
        times.append(time.perf_counter() - started)
    p50, p99 = percentiles_ms(times)
    report.row(
        method="ours, in generations", items=items, words=space.words, k=TOP, p50_ms=p50,
        p99_ms=p99, seconds=seconds, per_second=items / seconds,
        bytes_per_posting=index.nbytes / index.codes().nnz, rss_mib=peak_mib(),
    )  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", type=int, help="of the large table (default: a million)")


if __name__ == "__main__":
    run("inverted", main, __doc__, options=options)
