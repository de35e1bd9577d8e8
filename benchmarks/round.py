"""One round of target search: learn, match and lay out, beside one exact faiss scan.

N = 50 pictures are shown and all put in order; the collection has 10,000 and then 1,000,000 items
of 54 dimensions (36 of colour, 18 of texture; drawn as a mixture of clusters).  A round is one call
of ``TargetSession.next`` with the defaults, the target filter and the board included; the first
round is not counted.  ``ratio`` compares its median with one exact scan of the same vectors by
faiss (``IndexFlatL2``, 50 nearest, same threads).
"""

from __future__ import annotations

import time

import faiss
import numpy as np

from experiments.report import Report, peak_mib, percentiles_ms, run
from likewise.evaluation.users import SimulatedUser
from likewise.session import ArrayHoldings, MemoryRounds, Settings, TargetSession
from likewise.types import FloatArray

BLOCKS = {"colour": slice(0, 36), "texture": slice(36, 54)}
GOALS_MS = {10_000: 100.0, 1_000_000: 350.0}
SHOWN = 50


def main(report: Report) -> None:
    sizes = (2_000,) if report.quick else tuple(GOALS_MS)
    searches, rounds = (2, 3) if report.quick else (6, 6)
    for items in sizes:
        x = mixture(items, report.seed)
        index = faiss.IndexFlatL2(x.shape[1])
        index.add(x)
        holdings = ArrayHoldings(x, BLOCKS)
        user = SimulatedUser(x[:, BLOCKS["colour"]])
        steps: dict[str, list[float]] = {"learn": [], "match": [], "layout": []}
        whole, scans = [], []
        for number in range(searches):
            store = MemoryRounds()
            rng = np.random.default_rng((report.seed, number))
            query, target = (int(row) for row in rng.choice(items, 2, replace=False))
            settings = Settings(shown=SHOWN)
            session = TargetSession.start(holdings, store, settings, query=query)
            for depth in range(rounds):
                shown = np.asarray(session.board.shown)
                chosen = user.choose(target, shown, rng)
                order = user.order(chosen, shown, rng)
                began = time.perf_counter()
                session.next(chosen, moved=[int(row) for row in order])
                taken = time.perf_counter() - began
                began = time.perf_counter()
                index.search(x[query : query + 1], SHOWN)
                if depth:  # the first round also computes what is fixed for the session
                    whole.append(taken)
                    scans.append(time.perf_counter() - began)
                    seconds = store.rounds(1)[-1].seconds
                    for step, kept in steps.items():
                        kept.append(seconds[step])
        p50, p99 = percentiles_ms(whole)
        scan = percentiles_ms(scans)[0]
        report.row(
            method="round (default)",
            n=SHOWN,
            items=items,
            dim=x.shape[1],
            p50_ms=p50,
            p99_ms=p99,
            goal_ms=GOALS_MS.get(items),
            **{f"{step}_ms": percentiles_ms(kept)[0] for step, kept in steps.items()},
            peer="faiss exact scan",
            peer_ms=scan,
            ratio=p50 / scan,
            rss_mib=peak_mib(),
        )


def mixture(items: int, seed: int) -> FloatArray:
    """Clusters of pictures, as photographs make them."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(200, 54)).astype(np.float32)
    x = rng.standard_normal((items, 54), dtype=np.float32)
    x += 1.5 * centres[rng.integers(0, len(centres), items)]
    return x


if __name__ == "__main__":
    run("round", main, __doc__)
