"""Do kept sessions help later ones?  Searches on swatches, with and without 50 kept sessions.

The people of this house share a rule that nobody has told the machine: they look at the hues and,
half as much, at the shape of the motif; black, greys and white count for nothing, nor does texture.
No block of features alone is that rule, so every search has to learn it from its orders.  Fifty
searches are run, found and kept; then fresh searches, for other targets from other queries, begin
with what the nearest kept ones teach.  Both ways search for the same targets, so the rounds are
compared pair by pair (randomisation test, 100,000 draws).

``rounds`` is the mean, a target not found counting as one round more than allowed.  Target search
is shown with its defaults and as in the paper (orders of the latest round, no filter).  Two
controls ask what kept sessions can spoil: those of people whose orders say nothing, which must not
be believed, and those of people who agree with each other but judge by texture only.
"""

from __future__ import annotations

import numpy as np

from experiments.report import Report, run
from experiments.session_controls import Shuffled
from likewise.datasets import swatches
from likewise.evaluation import randomisation_test
from likewise.evaluation.users import SimulatedUser, share_found
from likewise.features import feature_set
from likewise.learners.metric import balanced_scale
from likewise.session import ArrayHoldings, MemoryRounds, Settings, kept_metrics, simulate
from likewise.session.kept import Kept, inherited
from likewise.session.simulate import User
from likewise.types import FloatArray, IdArray

BLOCKS = ("hsv_histogram", "texture", "shape")
GREYS = slice(0, 8)
"""Black, greys and white among the colours of the histogram."""

KEPT, FRESH, MOST, SHOWN = 50, 300, 30, 10
DEFAULT = Settings(shown=SHOWN)
PAPER = Settings(shown=SHOWN, accumulate=False, use_filter=False)


def main(report: Report) -> None:
    items, fresh, kept = (200, 12, 6) if report.quick else (2000, FRESH, KEPT)
    holdings = held(items, report.seed)
    own = seen_by(holdings, rule(holdings))
    texture = holdings.vectors[:, holdings.blocks["texture"]]
    person = SimulatedUser(own)
    house: dict[str, User] = {"kept sessions": person}
    spoilt: dict[str, User] = {
        "kept sessions without sense": Shuffled(person),
        "others' kept sessions": SimulatedUser(texture),
    }
    for method, settings, keepers in (
        ("default (target filter)", DEFAULT, house),
        ("as in the paper", PAPER, house),
        ("default (target filter)", DEFAULT, spoilt),
    ):
        plain = searches(holdings, person, settings, fresh, [], report.seed)
        if keepers is house:
            row(report, f"{method}, without kept sessions", 0, plain)
        for name, keeper in keepers.items():
            shelf = MemoryRounds()
            simulate(
                holdings,
                keeper,
                settings=settings,
                sessions=kept,
                most=MOST,
                keep=shelf,
                seed=report.seed + 1,
            )
            known = kept_metrics(shelf, holdings)
            found = searches(holdings, person, settings, fresh, known, report.seed)
            test = randomisation_test(found, plain, seed=report.seed)
            scale = balanced_scale(holdings.vectors, holdings.blocks)
            believed = inherited(known, None, scale) is not None
            row(
                report,
                f"{method}, with {name}",
                len(known),
                found,
                believed=believed,
                saved=float(np.mean(plain - found)),
                p_value=test.p_value,
            )


def searches(
    holdings: ArrayHoldings,
    person: SimulatedUser,
    settings: Settings,
    count: int,
    kept: list[Kept],
    seed: int,
) -> IdArray:
    return simulate(
        holdings, person, settings=settings, sessions=count, most=MOST, kept=kept, seed=seed + 2
    ).rounds


def row(report: Report, method: str, kept: int, found: IdArray, **more: float | bool) -> None:
    report.row(
        method=method,
        kept=kept,
        sessions=len(found),
        n=SHOWN,
        rounds=float(np.mean(found)),
        found5=share_found(found, 5)[0],
        found10=share_found(found, 10)[0],
        **more,
    )


def rule(holdings: ArrayHoldings) -> FloatArray:
    """Weights by which the people of the house judge."""
    weights = balanced_scale(holdings.vectors, holdings.blocks)
    weights[holdings.blocks["hsv_histogram"]][GREYS] = 0
    weights[holdings.blocks["texture"]] = 0
    weights[holdings.blocks["shape"]] *= 0.5
    return weights


def seen_by(holdings: ArrayHoldings, weights: FloatArray) -> FloatArray:
    """Vectors whose Euclidean distance is the weighted one."""
    return holdings.vectors * np.sqrt(weights).astype(np.float32)


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
