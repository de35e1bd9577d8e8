"""The central claim of Kuang et al.: search the whole index with the surrogate, do not re-rank.

MNIST as in Table 1 (pool500 labels, N = 50).  The same learned similarity is used twice: on the
whole index, and to re-rank the first 100 and 1,000 results of plain search.  What plain search
did not bring cannot be put in order: ``recall`` is that among the first 1,000.
"""

from __future__ import annotations

import numpy as np

from experiments.paper_plots import lines
from experiments.paper_sets import (
    Floats,
    PaperSet,
    means,
    mnist,
    of_scores,
    planted,
    reference_rows,
)
from experiments.paper_teaching import SIGMA, Taught
from experiments.report import Report, run
from experiments.rivals.rerank import reranked
from likewise.evaluation import randomisation_test

BLOCK = 250
CUTS = (100, 300, 1_000, 3_000, 6_000, 10_000)


def main(report: Report) -> None:
    seed = report.seed
    if report.quick:
        data = PaperSet.split(*planted(1_200, seed=seed), 100, seed)
        references, n, pool = 40, 12, 60
        cuts: tuple[int, ...] = (10, 30, 100)
        depths: tuple[int, ...] = (10, 100)
    else:
        data = PaperSet.split(*mnist()[:2], 1_000, seed)
        references, n, pool = 1_000, 50, 500
        cuts, depths = CUTS, (100, 1_000)
    own = reference_rows(data.items, references, seed)
    taught = Taught.by("pool500", data, own, n, seed=seed, pool=pool)
    learned = taught.weights(SIGMA)
    surrogates = {
        "paper": taught.surrogates(learned),
        "clip": taught.surrogates(learned, clip=True),
        "extension": taught.extension()[0],
    }
    names = ("map", "p1", *(f"recall{cut}" for cut in cuts))
    at = f"recall{cuts[-1] if report.quick else 1_000}"
    drawn = {}
    plain = _searched(data.queries, data.queries, data, None, names)
    drawn["euclid"] = _curve(plain, cuts)
    report.row(method="euclid", n=n, **_shown(plain, at))
    for method, vectors in surrogates.items():
        whole = _searched(vectors, data.queries, data, None, names)
        report.row(method=method, n=n, search="whole index", **_shown(whole, at))
        if method != "clip":
            drawn[f"{method}, whole index"] = _curve(whole, cuts)
        for depth in depths:
            values = _searched(vectors, data.queries, data, depth, names)
            report.row(
                method=method,
                n=n,
                search=f"re-rank {depth}",
                **_shown(values, at),
                # of the whole index being as good as this one
                p_value=randomisation_test(whole["map"], values["map"]).p_value,
            )
    lines(
        report.path("kuang_rerank.png"),
        drawn,
        across="first R results",
        up="recall",
        log=True,
    )


def _searched(
    vectors: Floats, queries: Floats, data: PaperSet, depth: int | None, names: tuple[str, ...]
) -> dict[str, Floats]:
    """Measures of a search with the surrogates, or of re-ranking the first of plain search."""
    parts = []
    for start in range(0, len(vectors), BLOCK):
        some = slice(start, start + BLOCK)
        scores: Floats = vectors[some].astype(np.float32) @ data.items.T
        if depth is not None:
            scores = reranked(queries[some] @ data.items.T, scores, depth)
        parts.append(of_scores(scores, data, some, names))
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def _shown(values: dict[str, Floats], at: str) -> dict[str, float]:
    every = means(values)
    return {"map": every["map"], "p1": every["p1"], "recall": every[at]}


def _curve(values: dict[str, Floats], cuts: tuple[int, ...]) -> tuple[list[float], list[float]]:
    return [float(c) for c in cuts], [float(values[f"recall{c}"].mean()) for c in cuts]


if __name__ == "__main__":
    run("kuang_rerank", main, __doc__)
