"""OASIS: an online algorithm for a bilinear similarity, one random triplet at a time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from experiments.rivals.passive_aggressive import oasis
from experiments.rivals.triplets import triplets
from likewise.learners.plain import Plain
from likewise.learners.relevance import prepare
from likewise.learners.top_precision import TopPrecision
from likewise.types import BadInput, FitReport


class Oasis(BaseEstimator):
    """Passive-aggressive steps on W from diag(w0), over random triplets.

    Parameters
    ----------
    plain
        The plain similarity that it starts from; plain cosine where not given.
    C
        The longest step (aggressiveness).
    steps
        Triplets drawn.
    """

    def __init__(
        self,
        plain: Plain | None = None,
        *,
        C: float = 0.1,
        steps: int = 100_000,
        max_queries: int = 400,
        seed: int = 0,
    ) -> None:
        self.plain, self.C, self.steps = plain, C, steps
        self.max_queries, self.seed = max_queries, seed

    def fit(self, X: Any, y: Any, queries: Any = None, *, query_labels: Any = None) -> Oasis:
        """Learn from items and what is relevant to what; forms as in ``TopPrecisionLearner``."""
        started = time.perf_counter()
        if self.C <= 0 or self.steps < 0:
            raise BadInput("C must be above 0 and steps at least 0.")
        rng = np.random.default_rng(self.seed)
        space, w0, task = prepare(X, y, queries, query_labels, self.plain, self.max_queries, rng)
        drawn = triplets(task, self.steps if len(task) else 0, rng)
        fit = oasis(task.queries, task.items, drawn, cost=self.C, prior=np.diag(w0))
        self.similarity_ = TopPrecision(space, fit.weights, "oasis")
        self.report_ = FitReport(
            method="OASIS",
            preferences=len(drawn[0]),
            queries=task.asked,
            covered=len(task) / max(task.asked, 1),
            objective=fit.objective,
            gap_is="none: an online pass",
            seconds=time.perf_counter() - started,
            settings={"C": self.C, "steps": self.steps},
            notes=task.notes,
        )
        return self
