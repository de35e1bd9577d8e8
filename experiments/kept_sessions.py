"""Do kept sessions help later ones?  Searches on swatches, with and without 50 kept sessions.

People judge swatches by colour, but a session begins with equal say for every block of features.
Fifty searches are run, found and kept; then fresh searches, for other targets from other queries,
begin from the metrics of the nearest kept ones.  Both ways search for the same targets, so the
rounds are compared pair by pair (randomisation test, 100,000 draws).  Target search is shown with
its defaults and as in the paper (orders of the latest round, no filter); ``rounds`` is the mean,
a target not found counting as one round more than allowed.
"""

from __future__ import annotations

import numpy as np

from experiments.report import Report, run
from likewise.datasets import swatches
from likewise.evaluation import randomisation_test
from likewise.evaluation.users import SimulatedUser, share_found
from likewise.features import feature_set
from likewise.session import ArrayHoldings, MemoryRounds, Settings, kept_metrics, simulate
from likewise.types import FloatArray

BLOCKS = ("hsv_histogram", "texture", "shape")
KEPT, FRESH, MOST, SHOWN = 50, 300, 30, 10
METHODS = {
    "default (target filter)": Settings(shown=SHOWN),
    "as in the paper": Settings(shown=SHOWN, accumulate=False, use_filter=False),
}


def main(report: Report) -> None:
    items, fresh, kept = (200, 12, 6) if report.quick else (2000, FRESH, KEPT)
    holdings = held(items, report.seed)
    user = SimulatedUser(holdings.vectors[:, holdings.blocks["hsv_histogram"]])
    for method, settings in METHODS.items():
        shelf = MemoryRounds()
        simulate(
            holdings,
            user,
            settings=settings,
            sessions=kept,
            most=MOST,
            keep=shelf,
            seed=report.seed + 1,
        )
        metrics = kept_metrics(shelf, holdings)
        rounds = {}
        for name, known in (("without", []), ("with", metrics)):
            rounds[name] = simulate(
                holdings,
                user,
                settings=settings,
                sessions=fresh,
                most=MOST,
                kept=known,
                seed=report.seed + 2,
            ).rounds
        test = randomisation_test(rounds["with"], rounds["without"], seed=report.seed)
        for name, found in rounds.items():
            report.row(
                method=f"{method}, {name} kept sessions",
                kept=len(metrics) if name == "with" else 0,
                sessions=fresh,
                n=SHOWN,
                rounds=float(np.mean(found)),
                found10=share_found(found, 10)[0],
                p_value=test.p_value if name == "with" else None,
            )


def held(items: int, seed: int) -> ArrayHoldings:
    drawn = swatches(items, size=96, seed=seed)
    blocks = feature_set(BLOCKS)
    pictures = drawn.render_all()
    parts = [blocks(pictures[at : at + 100]) for at in range(0, items, 100)]
    columns, slices, start = [], {}, 0
    for name in BLOCKS:
        matrix: FloatArray = np.vstack([part[name] for part in parts]).astype(np.float64)
        if name == "shape":  # 680 numbers: its leading axes
            centred = matrix - matrix.mean(axis=0)
            _, _, axes = np.linalg.svd(centred, full_matrices=False)
            matrix = centred @ axes[:32].T
        columns.append(matrix)
        slices[name] = slice(start, start + matrix.shape[1])
        start += matrix.shape[1]
    return ArrayHoldings(np.hstack(columns), slices)


if __name__ == "__main__":
    run("kept_sessions", main, __doc__)
