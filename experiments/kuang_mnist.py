"""Table 1, Fig. 5 and Fig. 6 of Kuang et al. on MNIST, with the paper's numbers beside ours.

1,000 queries, 1,000 medoids as reference queries, N labelled items each, C = 1, M = 10.

labels   literal: the top N of the whole database, as the paper's text has it.
         pool500: the top N of one random pool of 500 that all references share, ten draws.
method   euclid, qi-rsvm, qd-rsvm (sigma 0), paper (sigma .95), clip (the same, negative weights
         set to zero), identity-prior (|w - 1|^2), extension (directions, strength validated).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from experiments.paper_plots import fig5, fig6
from experiments.paper_sets import (
    Floats,
    Ints,
    PaperSet,
    means,
    measured,
    mnist,
    planted,
    reference_rows,
)
from experiments.paper_teaching import SIGMA, Taught
from experiments.report import Report, run
from likewise.evaluation import randomisation_test

PAPER = {
    "paper": {15: 0.480, 25: 0.529, 35: 0.558, 50: 0.578},
    "qd-rsvm": {15: 0.419, 25: 0.488, 35: 0.530, 50: 0.570},
    "qi-rsvm": {15: 0.450, 25: 0.454, 35: 0.468, 50: 0.476},
    "euclid": dict.fromkeys((15, 25, 35, 50), 0.462),
}
MEASURES = ("map", "p1", "p300")
SIGMAS = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.992)
CURVE = ("map", "p1", "p10", "p30", "p100", "p300", "p1000", "curve")
SLOW_DRAWS = 3
"""Draws on which the query-independent SVM and the identity prior are learned."""

Values = dict[str, Floats]


def main(report: Report) -> None:
    quick, seed = report.quick, report.seed
    counts = (6, 12) if quick else (15, 25, 35, 50)
    draws, pool = (2, 60) if quick else (10, 500)
    if quick:
        data = PaperSet.split(*planted(1_200, seed=seed), 100, seed)
    else:
        data = PaperSet.split(*mnist()[:2], 1_000, seed)
    own = reference_rows(data.items, 40 if quick else 1_000, seed)

    plain = measured(data.queries, data, MEASURES)
    report.row(method="euclid", **means(plain), paper=None if quick else 0.462)
    for n in counts:
        taught = Taught.by("literal", data, own, n, seed=seed)
        _literal(report, taught, n, plain)
    for n in counts:
        _pooled(report, data, own, n, pool, draws, plain)
    _figures(report, data, own, counts, pool)


def _literal(report: Report, taught: Taught, n: int, plain: Values) -> None:
    for method, values, extra in _methods(taught, slow=True):
        _row(report, "literal", n, method, values, plain, coverage=taught.coverage, **extra)


def _pooled(
    report: Report, data: PaperSet, own: Ints, n: int, pool: int, draws: int, plain: Values
) -> None:
    """Every draw, then for each method the mean over the draws, query by query."""
    found: dict[str, list[Values]] = defaultdict(list)
    extras: dict[str, list[dict[str, Any]]] = defaultdict(list)
    covered = []
    for draw in range(draws):
        taught = Taught.by("pool500", data, own, n, seed=report.seed + draw, pool=pool)
        covered.append(taught.coverage)
        for method, values, extra in _methods(taught, slow=draw < SLOW_DRAWS):
            found[method].append(values)
            extras[method].append(extra)
    for method, runs in found.items():
        values = {name: np.mean([one[name] for one in runs], axis=0) for name in MEASURES}
        maps = [float(one["map"].mean()) for one in runs]
        firsts = [float(one["p1"].mean()) for one in runs]
        extra = {
            "coverage": float(np.mean(covered)),
            "draws": len(runs),
            "map_low": min(maps),
            "map_high": max(maps),
            "p1_low": min(firsts),
        }
        if "beta" in extras[method][0]:
            extra["beta"] = float(np.mean([one["beta"] for one in extras[method]]))
        _row(report, "pool500", n, method, values, plain, **extra)
    gain = [
        float(a["map"].mean() - b["map"].mean()) for a, b in zip(found["paper"], found["qd-rsvm"])
    ]
    report.row(
        method="paper minus qd-rsvm",
        labels="pool500",
        n=n,
        map=float(np.mean(gain)),
        p_value=_p(_mean_map(found["paper"]), _mean_map(found["qd-rsvm"])),
        p_draws=_p(np.array(gain), np.zeros(len(gain))),
        map_low=min(gain),
        map_high=max(gain),
    )


def _methods(taught: Taught, *, slow: bool) -> Any:
    """(method, measures a query, settings found) of every method on the same labels."""
    data = taught.data

    def done(surrogates: Floats) -> Values:
        return measured(surrogates, data, MEASURES)

    if slow:
        yield "qi-rsvm", done(taught.query_independent()), {}
        yield "identity-prior", done(taught.identity_prior()), {}
    yield "qd-rsvm", done(taught.surrogates(taught.weights(0.0))), {}
    learned = taught.weights(SIGMA)
    yield "paper", done(taught.surrogates(learned)), {}
    yield "clip", done(taught.surrogates(learned, clip=True)), {}
    surrogates, strength = taught.extension()
    yield "extension", done(surrogates), {"beta": strength.beta}


def _row(
    report: Report, labels: str, n: int, method: str, values: Values, plain: Values, **extra: Any
) -> None:
    report.row(
        method=method,
        labels=labels,
        n=n,
        **means(values),
        p_value=_p(values["map"], plain["map"]),
        **extra,
        paper=None if report.quick else PAPER.get(method, {}).get(n),
    )


def _mean_map(runs: list[Values]) -> Floats:
    mean: Floats = np.mean([one["map"] for one in runs], axis=0)
    return mean


def _p(a: Floats, b: Floats) -> float:
    return randomisation_test(a, b).p_value


def _figures(report: Report, data: PaperSet, own: Ints, counts: Any, pool: int) -> None:
    """Fig. 5: MAP and precision against sigma.  Fig. 6: curves of all methods at the largest N."""
    sweep: dict[int, list[Values]] = {}
    for n in counts:
        taught = Taught.by("pool500", data, own, n, seed=report.seed, pool=pool)
        sweep[n] = []
        for sigma in SIGMAS[-3:] if report.quick else SIGMAS:
            values = measured(
                taught.surrogates(taught.weights(sigma)), data, ("map", "p1", "p1000")
            )
            sweep[n].append({"sigma": np.array([sigma]), **values})
            report.row(
                method="paper", labels="pool500", figure=5, n=n, sigma=sigma, **means(values)
            )
    fig5(report.path("kuang_fig5.png"), sweep)
    surrogates = {
        "euclid": data.queries,
        "qi-rsvm": taught.query_independent(),
        "qd-rsvm": taught.surrogates(taught.weights(0.0)),
        "paper": taught.surrogates(taught.weights(SIGMA)),
        "clip": taught.surrogates(taught.weights(SIGMA), clip=True),
        "extension": taught.extension()[0],
    }
    curves = {method: measured(found, data, CURVE) for method, found in surrogates.items()}
    for method, values in curves.items():
        report.row(method=method, labels="pool500", figure=6, n=counts[-1], **means(values))
    fig6(report.path("kuang_fig6.png"), curves)


if __name__ == "__main__":
    run("kuang_mnist", main, __doc__)
