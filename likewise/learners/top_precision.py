"""Top-precision similarity: one matrix W that lifts relevant items above the top irrelevant one.

``TopPrecision`` is the similarity z'Wx; its surrogate W'z is served by the index of plain
similarity as it stands.  ``TopPrecisionLearner`` finds W from class labels, from a relevance
matrix or from preferences, exactly or fast, and chooses C and lambda on held-out queries where
it is given several.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import product
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from likewise.learners.own_settings import TopPrecisionSettings
from likewise.learners.plain import CodesAlone, Plain
from likewise.learners.relevance import Task, is_labels, make_task, prepare
from likewise.learners.settings import check_learner, several
from likewise.solvers.top_precision import mean_top_precision, score_blocks, solve
from likewise.solvers.top_precision_fast import descend
from likewise.spaces import Blocks
from likewise.types import BadInput, FitReport, FloatArray, Surrogate, as_matrix, as_vector

SMALL_ENOUGH = 100_000
"""Queries times items up to which ``solver="auto"`` solves exactly: about a second."""
NOTHING = "No query has both a relevant and an irrelevant item: this is plain similarity."
TOO_DEAR = (
    "Every setting that was tried loses more of precision@1 than may be lost: this is plain "
    "similarity."
)


class TopPrecision(CodesAlone):
    """score(z, x) = z'Wx; W is a d x d matrix, or d numbers for a diagonal one."""

    kind: ClassVar[str] = "top-precision"

    def __init__(self, space: Blocks, weights: Any, made_by: str = "exact") -> None:
        self.space, self.made_by = space, made_by
        w = np.array(weights, dtype=np.float64)
        d = space.dim
        if w.shape not in ((d,), (d, d)) or not np.isfinite(w).all():
            raise BadInput(f"W must be {d} or {d} x {d} finite numbers, not of shape {w.shape}.")
        self.weights: FloatArray = w

    @property
    def matrix(self) -> FloatArray:
        """W, written out."""
        return np.diag(self.weights) if self.weights.ndim == 1 else self.weights.copy()

    def surrogate(self, query: Any) -> Surrogate:
        """W'z."""
        z = as_vector(query, dim=self.space.dim)
        v = self.weights * z if self.weights.ndim == 1 else z @ self.weights
        return Surrogate(v.astype(z.dtype), space=self.space.fingerprint)

    def score(self, query: Any, items: Any) -> FloatArray:
        """z'Wx, item by item (equation 1)."""
        z = as_vector(query, dim=self.space.dim).astype(np.float64)
        w = self.matrix
        return np.array([z @ w @ x for x in self.space.encode(items).astype(np.float64)])

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """W."""
        return {"weights": self.weights}, {"made_by": self.made_by}

    @classmethod
    def from_arrays(
        cls, space: Blocks, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]
    ) -> TopPrecision:
        """The similarity that :meth:`to_arrays` described, also of an earlier version."""
        weights = arrays["weights"]
        if "left" in arrays:  # once there were models whose change was of low rank
            full = np.diag(weights) if weights.ndim == 1 else weights
            weights = full + arrays["left"] @ arrays["right"].T
        return cls(space, weights, settings["made_by"])


class _Model(NamedTuple):
    """W as learned, the settings that made it, and what the solver said."""

    weights: FloatArray
    settings: dict[str, Any]
    objective: float
    gap: float
    epochs: int | None


class TopPrecisionLearner(BaseEstimator):
    """Learns a :class:`TopPrecision` similarity, with the prior W0 = lambda diag(w0) of ``plain``.

    See :class:`~likewise.learners.own_settings.TopPrecisionSettings`; ``seed`` is of every draw.
    """

    def __init__(
        self,
        plain: Plain | None = None,
        *,
        solver: Literal["auto", "fast", "exact"] = "fast",
        C: float | tuple[float, ...] = 1e-2,
        lam: float | tuple[float, ...] = 1.0,
        loss: float | None = None,
        diagonal: bool = False,
        tol: float = 1e-2,
        step: float = 5.0,
        epochs: int = 40,
        max_queries: int = 400,
        held_out: float = 0.2,
        seed: int = 0,
    ) -> None:
        self.plain = plain
        self.solver, self.C, self.lam, self.loss = solver, C, lam, loss
        self.diagonal, self.tol, self.step, self.epochs = diagonal, tol, step, epochs
        self.max_queries, self.held_out, self.seed = max_queries, held_out, seed

    def fit(
        self,
        X: Any,
        preferences: Any,
        queries: Any = None,
        *,
        query_labels: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> TopPrecisionLearner:
        """Learn from items and what is relevant to what.

        ``preferences`` may also be class labels of the items, or a relevance matrix queries x
        items, dense or sparse (above 0 relevant, 0 irrelevant, below 0 unknown).  Without
        ``queries`` the items are, and none is relevant or irrelevant to itself.  ``query_labels``
        are classes of ``queries``; ``validation`` (queries, relevance or labels) chooses the
        settings instead of a held-out share.
        """
        started = time.perf_counter()
        check_learner(self, TopPrecisionSettings)
        rng = np.random.default_rng(self.seed)
        space, w0, task = prepare(
            X, preferences, queries, query_labels, self.plain, self.max_queries, rng
        )
        if not len(task):
            self._fall_back(space, w0, task, started, NOTHING)
            return self
        small = task.relevance.shape[0] * task.relevance.shape[1] <= SMALL_ENOUGH
        self.solver_ = ("exact" if small else "fast") if self.solver == "auto" else self.solver
        if validation is None:
            train, held = task.split(self.held_out, rng)
        else:
            train, held = task, _validation_task(X, preferences, *validation)
        chosen = self._choose(train, held, w0)
        if chosen is None:
            self._fall_back(space, w0, task, started, TOO_DEAR)
            return self
        model, measures = chosen
        if validation is None and len(held):
            model = self._fit_one(task, None, w0, model.settings, model.epochs)
        self._finish(space, model, task, measures, started)
        return self

    def score(self, X: Any, y: Any, queries: Any = None, query_labels: Any = None) -> float:
        """Mean top precision of the learned similarity; what a grid search maximises."""
        x = as_matrix(X, dim=self.similarity_.space.dim, name="items")
        task = make_task(x, y, queries, query_labels, len(x), self.seed)
        return mean_top_precision(task.queries, task.items, task.pairs, self.similarity_.matrix)

    def _choose(
        self, train: Task, held: Task, w0: FloatArray
    ) -> tuple[_Model, dict[str, float]] | None:
        """The settings that do best on held-out queries; the first where there are none.

        None where all of them lose more precision@1 there than may be lost.
        """
        best: _Model | None = None
        plain = first_right(held, w0) if len(held) else 0.0
        value, first = -1.0, plain
        for lam, cost in product(several(self.lam), several(self.C)):
            settings = {"C": float(cost), "lam": float(lam)}
            model = self._fit_one(train, held, w0, settings, None)
            now, right = 0.0, 0.0
            if len(held):
                now, right = _measure(held, model.weights), first_right(held, model.weights)
            dear = self.loss is not None and right < plain - self.loss
            if not dear and (best is None or now > value):
                best, value, first = model, now, right
        if best is None or not len(held):
            return None if best is None else (best, {})
        measures = {"top_precision": value, "plain_top_precision": _measure(held, w0)}
        return best, {**measures, "p1": first, "plain_p1": plain}

    def _fit_one(
        self,
        task: Task,
        held: Task | None,
        w0: FloatArray,
        settings: dict[str, Any],
        epochs: int | None,
    ) -> _Model:
        prior = settings["lam"] * w0
        matrix = prior if self.diagonal else np.diag(prior)
        data = (task.queries, task.items, task.relevance)
        if self.solver_ == "exact":
            fit = solve(
                *data, cost=settings["C"], prior=matrix, diagonal=self.diagonal,
                tolerance=self.tol, seed=self.seed,
            )  # fmt: skip
            return _Model(fit.weights, settings, fit.objective, fit.relative_gap, None)
        judged = (held.queries, held.items, held.pairs) if held is not None and len(held) else None
        fast = descend(
            *data, cost=settings["C"], prior=matrix, diagonal=self.diagonal, step=self.step,
            epochs=epochs or self.epochs, held_out=judged, seed=self.seed,
        )  # fmt: skip
        return _Model(fast.weights, settings, fast.objective, fast.residual, fast.epochs or None)

    def _finish(
        self,
        space: Blocks,
        model: _Model,
        task: Task,
        measures: dict[str, float],
        started: float,
    ) -> None:
        self.similarity_ = TopPrecision(space, model.weights, self.solver_)
        settings = {**model.settings, "solver": self.solver_}
        if model.epochs is not None:
            settings["epochs"] = model.epochs
        exact = self.solver_ == "exact"
        self.report_ = FitReport(
            method=f"top precision ({self.solver_})",
            preferences=task.preferences,
            queries=task.asked,
            covered=len(task) / task.asked,
            objective=model.objective,
            gap=model.gap,
            gap_is="duality gap / (P(W0) - P*)" if exact else "last step / |W|",
            seconds=time.perf_counter() - started,
            settings=settings,
            held_out=measures,
            notes=task.notes,
        )

    def _fall_back(
        self, space: Blocks, w0: FloatArray, task: Task, started: float, note: str
    ) -> None:
        self.similarity_ = TopPrecision(space, w0, "plain")
        self.report_ = FitReport(
            method=f"top precision ({self.solver})",
            preferences=task.preferences if len(task) else 0,
            queries=task.asked,
            covered=0.0,
            seconds=time.perf_counter() - started,
            notes=(note, *task.notes),
        )


def _measure(held: Task, weights: FloatArray) -> float:
    return mean_top_precision(held.queries, held.items, held.pairs, weights)


def first_right(held: Task, weights: FloatArray) -> float:
    """Share of queries whose first item is relevant, items of unknown relevance left out."""
    start, item, out_start, out_item = held.pairs
    right = 0
    for part, scores in score_blocks(held.queries, held.items, weights):
        for row, i in enumerate(range(part.start, part.stop)):
            scores[row, out_item[out_start[i] : out_start[i + 1]]] = -np.inf
            right += int(scores[row].argmax() in item[start[i] : start[i + 1]])
    return right / len(held)


def _validation_task(items: Any, y: Any, queries: Any, truth: Any) -> Task:
    """Held-out queries with their labels, or with their relevance over the items."""
    if is_labels(truth):
        return make_task(items, y, queries, truth)
    return make_task(items, truth, queries)
