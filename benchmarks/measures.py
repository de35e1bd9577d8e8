"""MAP from a score matrix beside scikit-learn's in a loop, and the randomisation test.

Rows: our MAP and scikit-learn's on the same tie-free scores (``ratio`` is our time over
theirs, ``gap`` the largest difference of an average precision), all measures of one
ranking, and a randomisation test.  ``rss_mib`` is the peak of the whole process, the score
matrix included.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.metrics import average_precision_score

from experiments.relevance import Relevance
from experiments.report import Report, best_of, peak_mib, run
from experiments.score_ranking import rank
from likewise.evaluation import average_precision, evaluate, randomisation_test

ALL = ("map", "p1", "p10", "recall10", "ndcg10", "top4", "top_precision", "bpref")


def main(report: Report) -> None:
    queries, items, draws = (20, 2_000, 2_000) if report.quick else (1_000, 69_000, 100_000)
    rng = np.random.default_rng(report.seed)
    asked, held = rng.integers(0, 10, queries), rng.integers(0, 10, items)
    scores = np.empty((queries, items))
    for row, label in zip(scores, asked):
        rng.random(out=row)
        row += 0.3 * (held == label)
    relevance = Relevance.from_labels(asked, held)
    size = {"queries": queries, "items": items}

    average_precision(rank(scores[:2], Relevance.from_labels(asked[:2], held)))  # compile
    ours = average_precision(rank(scores, relevance))
    ours_rss = peak_mib()
    # Once before and once after the peer, so that a machine that changes pace favours nobody.
    seconds = best_of(1, lambda: average_precision(rank(scores, relevance))) / 2
    start = time.perf_counter()
    theirs = [average_precision_score(held == label, row) for row, label in zip(scores, asked)]
    peer_seconds = time.perf_counter() - start
    seconds += best_of(1, lambda: average_precision(rank(scores, relevance))) / 2
    report.row(
        method="map",
        **size,
        map=float(ours.mean()),
        seconds=seconds,
        rss_mib=ours_rss,
        peer="scikit-learn loop",
        ratio=seconds / peer_seconds,
        gap=float(np.abs(ours - theirs).max()),
    )
    report.row(method="scikit-learn loop", **size, map=float(np.mean(theirs)), seconds=peer_seconds)

    ranked = rank(scores, relevance)
    seconds = best_of(1, lambda: evaluate(ranked, ALL))
    report.row(method="all, once ranked", **size, **evaluate(ranked, ALL), seconds=seconds)

    other = ours + rng.normal(0.002, 0.05, queries)
    randomisation_test(ours[:20], other[:20], draws=1)  # compile
    outcome = randomisation_test(ours, other, draws=draws, seed=report.seed)
    seconds = best_of(3, lambda: randomisation_test(ours, other, draws=draws, seed=report.seed))
    report.row(
        method="randomisation test",
        queries=queries,
        draws=draws,
        seconds=seconds,
        p_value=outcome.p_value,
        rss_mib=peak_mib(),
    )


if __name__ == "__main__":
    run("measures", main, __doc__)
