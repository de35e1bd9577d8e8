"""The metric of target search as a learner of its own, from preferences instead of a board."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from likewise.learners.metric import PRICE, Metric, balanced_scale, solve_scaled
from likewise.learners.plain import Plain
from likewise.spaces import Squared
from likewise.types import FitReport, FloatArray, Preferences, as_matrix, as_vector


class MetricLearner(BaseEstimator):
    """Learns the weights of a :class:`Metric` from preferences, usually those of orderings.

    Parameters
    ----------
    plain
        The plain similarity, whose space has the pictures' blocks.
    C
        Price of a broken preference, for blocks of the balanced scale.
    start
        Weights to use where nothing can be learned, and the prior where ``pull`` is true;
        equal say of every block unless given.
    pull
        Regularise towards ``start`` instead of towards zero.
    tol
        Duality gap to stop at, relative to the objective.

    Attributes
    ----------
    similarity_
        The learned :class:`Metric`.
    report_
        A :class:`~likewise.types.FitReport`.
    """

    def __init__(
        self,
        plain: Plain,
        *,
        C: float = PRICE,
        start: Any = None,
        pull: bool = False,
        tol: float = 1e-5,
    ) -> None:
        self.plain, self.C, self.start, self.pull, self.tol = plain, C, start, pull, tol

    def fit(self, X: Any, preferences: Preferences, queries: Any = None) -> MetricLearner:
        """Learn from preferences between rows of ``X``; queries are rows of ``X`` unless given.

        ``weight`` of a preference is how sure it is.  Preferences that say nothing (the two
        pictures are as far from the query in every dimension) are left out and counted.
        """
        began = time.perf_counter()
        base = self.plain.space
        x = as_matrix(X, dim=base.dim, name="picture vectors")
        q = x if queries is None else as_matrix(queries, dim=base.dim, name="queries")
        scale = balanced_scale(x, base.slices)
        start = scale if self.start is None else as_vector(self.start, dim=base.dim, name="start")
        rows, near, far = _differences(x, q, preferences)
        fit, weights, notes = solve_scaled(
            rows,
            near,
            far,
            scale,
            start,
            C=self.C,
            pull=self.pull,
            confidence=preferences.weight,
            signed=self._signed,
            tol=self.tol,
        )
        self.similarity_ = Metric(Squared(base), weights, signed=self._signed)
        self.report_ = FitReport(
            method=self._method,
            preferences=len(preferences) - fit.dropped,
            queries=len(q) if queries is not None else len(np.unique(preferences.query)),
            covered=len(np.unique(preferences.query)) / max(1, len(q)),
            objective=fit.objective,
            gap=fit.gap,
            seconds=time.perf_counter() - began,
            settings={"C": self.C, "pull": self.pull, "tol": self.tol},
            notes=notes,
        )
        return self

    _signed: ClassVar[bool] = False
    _method: ClassVar[str] = "metric"


def _differences(
    x: FloatArray, q: FloatArray, preferences: Preferences
) -> tuple[FloatArray, NDArray[np.int64], NDArray[np.int64]]:
    """Squared differences, one row for each (query, item) that occurs, and the pairs of rows."""
    t, items = len(preferences), len(x)
    preferences.check(len(q), items)
    both = np.concatenate([preferences.better, preferences.worse])
    codes = np.concatenate([preferences.query, preferences.query]) * items + both
    unique, place = np.unique(codes, return_inverse=True)
    rows = np.square(x[unique % items].astype(np.float64) - q[unique // items]) if t else x[:1] * 0
    return rows, place[:t], place[t:]
