"""Does an approximate index serve the metrics that target search learns?

Simulated searches on clusters of pictures (36 dimensions of colour, 18 of texture) give learned
metrics and their queries; each is one surrogate over the codes ``[x, x o x]``.  The faiss index of
cells, with the probes that it chose for itself, is asked for the 50 nearest, and so is one scan of
all items.  ``recall`` is the share of the true 50 that it finds: where it is below .99, a session's
own exact scan (``session scan``) is what serves.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.round import BLOCKS, mixture
from experiments.report import Report, percentiles_ms, run
from likewise.evaluation.users import SimulatedUser
from likewise.index import REGISTRY
from likewise.session import ArrayHoldings, MemoryRounds, Settings, TargetSession
from likewise.session.scan import nearness
from likewise.types import FloatArray, Surrogate

SHOWN = 50


def main(report: Report) -> None:
    items, searches = (3_000, 2) if report.quick else (100_000, 12)
    x = mixture(items, report.seed)
    asked = learned(x, searches, report.seed)
    codes = np.concatenate([x, x * x], axis=1)
    truth = []
    times: dict[str, list[float]] = {"session scan": []}
    for query, weights in asked:
        began = time.perf_counter()
        score = nearness(x, query, weights)
        best = np.argpartition(-score, SHOWN)[:SHOWN]
        times["session scan"].append(time.perf_counter() - began)
        truth.append(set(best.tolist()))
    recalls = {"session scan": 1.0}
    cells: dict[str, Any] = {"kind": "ivf"}
    for name, kind, how in (("flat", "flat", {}), ("faiss, cells", "faiss", cells)):
        index = REGISTRY[kind].build(codes, **how)
        found, times[name] = [], []
        for query, weights in asked:
            w, q = weights.astype(np.float32), query.astype(np.float32)
            surrogate = Surrogate(np.concatenate([2 * w * q, -w]))
            began = time.perf_counter()
            hits = index.search(surrogate, SHOWN)
            times[name].append(time.perf_counter() - began)
            found.append(set(hits.ids.tolist()))
        recalls[name] = float(np.mean([len(a & b) / SHOWN for a, b in zip(found, truth)]))
    for name, seconds in times.items():
        p50, p99 = percentiles_ms(seconds)
        report.row(
            method=name,
            items=items,
            dim=x.shape[1],
            k=SHOWN,
            queries=len(asked),
            recall=recalls[name],
            p50_ms=p50,
            p99_ms=p99,
        )


def learned(x: FloatArray, searches: int, seed: int) -> list[tuple[FloatArray, FloatArray]]:
    """(query, weights) of every round of some searches, by people who judge by colour."""
    holdings, user = ArrayHoldings(x, BLOCKS), SimulatedUser(x[:, BLOCKS["colour"]])
    settings = Settings(shown=SHOWN, layout="none")
    out = []
    for number in range(searches):
        rng = np.random.default_rng((seed, number))
        query, target = (int(row) for row in rng.choice(len(x), 2, replace=False))
        session = TargetSession.start(holdings, MemoryRounds(), settings, query=query)
        for _ in range(4):
            shown = np.asarray(session.board.shown)
            chosen = user.choose(target, shown, rng)
            order = user.order(chosen, shown, rng)
            session.next(chosen, moved=[int(row) for row in order])
            out.append((x[chosen], session.board.weights))
    return out


if __name__ == "__main__":
    run("metric_recall", main, __doc__)
