"""Kuang, Sun and Wong's own way: every taught query is a reference with weights of its own.

A reference learns one weight per dimension under the angular regulariser; a new query takes the
mean of the unit weights of its M nearest references, and the index stays as it is.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from likewise.learners.bilinear import Bilinear
from likewise.learners.own_settings import ReferenceSettings
from likewise.learners.plain import Plain
from likewise.learners.references import learn_references
from likewise.learners.settings import check_learner
from likewise.spaces import Blocks
from likewise.types import FitReport, Preferences, as_matrix


class ReferenceLearner(BaseEstimator):
    """Learns a :class:`~likewise.learners.bilinear.Bilinear` similarity of the diagonal form.

    See :class:`~likewise.learners.own_settings.ReferenceSettings`; nothing is drawn by ``seed``.
    """

    def __init__(
        self,
        plain: Plain | None = None,
        *,
        sigma: float | None = 0.95,
        C: float = 1.0,
        M: int = 10,
        clip: bool = True,
        tol: float = 1e-3,
        seed: int = 0,
    ) -> None:
        self.plain, self.seed = plain, seed
        self.sigma, self.C, self.M, self.clip, self.tol = sigma, C, M, clip, tol

    def fit(self, X: Any, preferences: Preferences, queries: Any = None) -> ReferenceLearner:
        """Learn from preferences: rows of ``queries`` (the items where not given) and ``X``."""
        started = time.perf_counter()
        check_learner(self, ReferenceSettings)
        x = as_matrix(X, name="items")
        plain = self.plain or Plain(Blocks.identity({"x": x.shape[1]}))
        x = as_matrix(x, dim=plain.space.dim, name="items")
        q = x if queries is None else as_matrix(queries, dim=plain.space.dim, name="queries")
        preferences.check(len(q), len(x))
        taught = np.unique(preferences.query)
        notes = []
        self.similarity_: Bilinear | Plain = plain
        objective = gap = 0.0
        if not len(taught):
            notes.append("No query has a right and a wrong picture: this is plain similarity.")
        else:
            # Blocks without plain weight stay out; B unit blocks have length sqrt(B).
            w0, used = plain.w0, plain.w0 > 0
            paper = self.sigma is not None
            found = learn_references(
                x * used,
                q[taught] * used,
                replace(preferences, query=np.searchsorted(taught, preferences.query)),
                sigma=self.sigma or 0.0,
                C=self.C / len(plain.space.names) ** 2 if paper else self.C,
                clip=self.clip,
                w0=w0,
                prior=None if paper else w0,
                tol=self.tol,
            )
            objective, gap = float(found.objective.sum()), float(found.gap.sum())
            self.similarity_ = Bilinear(
                plain, q[taught], diagonals=found.weights, M=self.M, warmth=None
            )
        self.report_ = FitReport(
            method="reference queries",
            preferences=len(preferences),
            queries=len(q) if queries is not None else len(taught),
            covered=len(taught) / max(1, len(q) if queries is not None else len(taught)),
            objective=objective,
            gap=gap,
            gap_is="duality gap",
            seconds=time.perf_counter() - started,
            settings={"sigma": self.sigma, "C": self.C, "M": self.M, "clip": self.clip},
            notes=tuple(notes),
        )
        return self
