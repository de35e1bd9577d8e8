"""What can be set of each learner: its default, its bounds, and what it means, said once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from likewise.learners.settings import setting

SMALL = 1e-9
"""Least value of what must be above zero."""


@dataclass(frozen=True)
class BilinearSettings:
    """Of :class:`~likewise.learners.bilinear_learner.BilinearLearner`."""

    extension: Literal["auto", "groups", "groups+local", "groups+tastes"] = setting(
        "auto",
        "groups: one matrix for all and a weight per block; local: taught queries lead their "
        "neighbours; tastes: and weigh the blocks for them; auto: chosen.",
    )
    evidence: float = setting(0.1, "Groups: over their number, what keeps a block's weight.", 0)
    others: int = setting(30, "Random pictures that each taught query is held against.", 0)
    weight: float = setting(0.3, "Of a random picture, where one marked irrelevant has 1.", 0)
    ridge: float = setting(0.1, "Groups: what keeps the matrix from fitting noise.", SMALL)
    exponent: float = setting(0.65, "Groups: how strongly the matrix departs from plain.", 0)
    prior: float = setting(
        0.5, "Groups: what neighbours say before any mark; fades as groups come.", 0, 1
    )
    pull: float = setting(0.75, "Local: how far a query is led.", 0)
    warmth: float | None = setting(0.05, "Less similar by this: 1/e of the say; none: all.", SMALL)
    reach: float = setting(0.5, "Cosine at which a taught query counts as much as none at all.")
    M: int = setting(20, "How many of the nearest taught queries a query learns from.", 1)


@dataclass(frozen=True)
class ReferenceSettings:
    """Of :class:`~likewise.learners.reference_learner.ReferenceLearner`.

    Of several values of sigma and strength the best is chosen on left-out queries.
    """

    sigma: float | tuple[float | None, ...] | None = setting(
        (0.95, None), "Pull to plain by the angle; none: by distance.", 0, 0.999
    )
    strength: float | tuple[float, ...] = setting(
        (0.5, 1.0, 2.0, 4.0), "How far weights depart from plain; 1 is the paper's.", 0
    )
    C: float = setting(1.0, "Price of a broken preference.", SMALL)
    M: int = setting(10, "How many of the nearest taught queries a query learns from.", 1)
    clip: bool = setting(True, "Negative weights become zero.")
    tol: float = setting(1e-3, "Relative duality gap to stop at.", SMALL)


@dataclass(frozen=True)
class TopPrecisionSettings:
    """Of :class:`~likewise.learners.top_precision.TopPrecisionLearner`.

    Of several values of C and lam the best is chosen on held-out queries.
    """

    labels: Literal["marks", "folders"] = setting(
        "marks", "What is right: what people marked, or the pictures of one's own folder."
    )
    solver: Literal["auto", "fast", "exact"] = setting(
        "auto", "fast: stopped early; exact: certified; auto: exact where that is small."
    )
    C: float | tuple[float, ...] = setting((1e-3, 1e-2), "Weight of a relevant item's loss.", SMALL)
    lam: float | tuple[float, ...] = setting(
        (1.0, 4.0, 16.0), "Weight lambda of the prior, plain.", 0
    )
    loss: float | None = setting(
        0.01, "Most of precision@1 that may be lost on held-out queries; none: any.", 0
    )
    diagonal: bool = setting(False, "One weight per dimension instead of a matrix.")
    tol: float = setting(1e-2, "Exact: gap to stop at, as a share of P(W0) - P*.", SMALL)
    step: float = setting(5.0, "Fast: first step length.", SMALL)
    epochs: int = setting(40, "Fast: most passes over the queries.", 1)
    max_queries: int = setting(400, "Queries that are drawn from labelled items.", 1)
    held_out: float = setting(0.2, "Share of the queries that chooses settings.", 0, 0.99)


@dataclass(frozen=True)
class WordTableSettings:
    """Of :class:`~likewise.learners.word_table_learner.WordTableLearner`."""

    n: int | None = setting(3, "Counts are truncated here; none tries all.", 1)
    bins: int = setting(6, "Bins of document frequency that share a table.", 1)
    C: float | None = setting(1.0, "Price of all broken preferences; none tries a few.", SMALL)
    lam: float = setting(4.0, "Length of the prior: how far it spreads scores, in margins.", 0)
    power: float = setting(0.5, "Of the counts in the prior: .5 is the root, 0 is binary idf.", 0)
    share: float = setting(0.3, "Of queries held out while n and C are chosen.", 0, 0.99)
    tol: float = setting(1e-3, "Relative duality gap to stop at.", SMALL)


@dataclass(frozen=True)
class RankedCCASettings:
    """Of :class:`~likewise.learners.click_learner.ClickLearner`, and of counting clicks."""

    propensity: float | None = setting(
        0.0, "Places r are looked at with chance r^-N; 0: alike; none: as the log tells.", 0, 5
    )
    captions: bool = setting(True, "A caption counts as one click on its picture.")
    more: bool = setting(False, "Go on from the active model with what came since.")
    dim: int = setting(80, "Dimensions that words and pictures share.", 1)
    word_ridge: float = setting(1.0, "Ridge of CCA for words.", SMALL)
    picture_ridge: float = setting(0.3, "Ridge of CCA for pictures.", SMALL)
    margin: float = setting(1.0, "Mean score difference that the start is scaled to.", SMALL)
    weighted: bool | None = setting(
        None, "Start W at the correlations; none: at the identity, and they may win on held-out."
    )
    held_out: float = setting(0.1, "Share of queries whose clicks say when to stop.", 0, 0.99)
    step: float = setting(0.003, "Learning rate.", SMALL)
    mu: float = setting(1.0, "Pull of W to zero.", 0)
    gamma: float = setting(1.0, "Pull of the words' part to where it started.", 0)
    eta: float = setting(1.0, "Pull of the pictures' part to where it started.", 0)
    learn_w: bool = setting(True, "Whether W moves.")
    rounds: int = setting(10, "Most rounds.", 0)
    round_size: int = setting(100_000, "Preferences in each round.", 1)
    patience: int = setting(2, "Rounds without a better score before it stops.", 1)
    threads: int = setting(1, "Of the descent; the answer depends on their number.", 1, 3)
