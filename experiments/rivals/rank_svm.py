"""The ranking SVM of a bilinear similarity: every sampled triplet counts alike.

What top precision is compared with: the same W, the same prior, but the loss looks at a
random irrelevant item instead of the top one.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from experiments.rivals.passive_aggressive import rank_svm
from experiments.rivals.triplets import triplets
from likewise.learners.plain import Plain
from likewise.learners.relevance import prepare
from likewise.learners.top_precision import TopPrecision
from likewise.types import BadInput, FitReport


class BilinearRankSvm(BaseEstimator):
    """min 1/2 |W - lambda diag(w0)|^2 + C sum of hinge losses over sampled triplets.

    Parameters
    ----------
    plain
        The plain similarity that it starts from; plain cosine where not given.
    C, lam
        Weight of a triplet's loss, and lambda of the prior.
    diagonal
        Learn one weight a dimension instead of a matrix.
    triplets
        How many are drawn.
    tolerance, passes
        Stop at this duality gap, as a share of the start's objective, or after so many
        passes.
    """

    def __init__(
        self,
        plain: Plain | None = None,
        *,
        C: float = 1e-2,
        lam: float = 1.0,
        diagonal: bool = False,
        triplets: int = 50_000,
        tolerance: float = 1e-2,
        passes: int = 20,
        max_queries: int = 400,
        seed: int = 0,
    ) -> None:
        self.plain, self.C, self.lam, self.diagonal = plain, C, lam, diagonal
        self.triplets, self.tolerance, self.passes = triplets, tolerance, passes
        self.max_queries, self.seed = max_queries, seed

    def fit(
        self, X: Any, y: Any, queries: Any = None, *, query_labels: Any = None
    ) -> BilinearRankSvm:
        """Learn from items and what is relevant to what; forms as in ``TopPrecisionLearner``."""
        started = time.perf_counter()
        if self.C <= 0 or self.lam < 0:
            raise BadInput("C must be above 0 and lam at least 0.")
        rng = np.random.default_rng(self.seed)
        space, w0, task = prepare(X, y, queries, query_labels, self.plain, self.max_queries, rng)
        drawn = triplets(task, self.triplets if len(task) else 0, rng)
        prior = self.lam * w0
        fit = rank_svm(
            task.queries, task.items, drawn, cost=self.C, diagonal=self.diagonal,
            prior=prior if self.diagonal else np.diag(prior),
            tolerance=self.tolerance, passes=self.passes, seed=self.seed,
        )  # fmt: skip
        weights = fit.weights if len(task) else w0
        self.similarity_ = TopPrecision(space, weights, "rank-svm")
        self.report_ = FitReport(
            method="ranking SVM (diagonal)" if self.diagonal else "ranking SVM",
            preferences=len(drawn[0]),
            queries=task.asked,
            covered=len(task) / max(task.asked, 1),
            objective=fit.objective,
            gap=fit.residual,
            seconds=time.perf_counter() - started,
            settings={"C": self.C, "lam": self.lam, "diagonal": self.diagonal},
            notes=task.notes,
        )
        return self
