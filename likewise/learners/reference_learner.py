"""Kuang, Sun and Wong's own way: every taught query is a reference with weights of its own.

A reference learns one weight per dimension under the angular regulariser; a new query takes the
mean of the unit weights of its M nearest references, and the index stays as it is.  Where several
regularisers or strengths are given, each reference is asked as if it had never been taught, and
what puts least in the wrong order is taken.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from likewise.learners import teachings
from likewise.learners.bilinear import Bilinear
from likewise.learners.own_settings import ReferenceSettings
from likewise.learners.plain import Plain
from likewise.learners.references import Learned, learn_references
from likewise.learners.settings import check_learner, several
from likewise.spaces import Blocks, unit_rows
from likewise.types import FitReport, FloatArray, Preferences, as_matrix

OTHERS, WEIGHT = 30, 0.3
"""Random pictures that a left-out reference is asked about too, and what each counts."""


class ReferenceLearner(BaseEstimator):
    """Learns a :class:`~likewise.learners.bilinear.Bilinear` similarity of the diagonal form.

    See :class:`~likewise.learners.own_settings.ReferenceSettings`; nothing is drawn by ``seed``.
    """

    def __init__(
        self,
        plain: Plain | None = None,
        *,
        sigma: float | tuple[float | None, ...] | None = 0.95,
        strength: float | tuple[float, ...] = 1.0,
        C: float = 1.0,
        M: int = 10,
        clip: bool = True,
        tol: float = 1e-3,
        seed: int = 0,
    ) -> None:
        self.plain, self.seed, self.strength = plain, seed, strength
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
        sigmas = several(self.sigma)
        sigma, strength, held_out = sigmas[0], several(self.strength)[0], dict[str, float]()
        if not len(taught):
            notes.append("No query has a right and a wrong picture: this is plain similarity.")
        else:
            asked = replace(preferences, query=np.searchsorted(taught, preferences.query))
            tried = {sigma: self._learned(x, q[taught], asked, sigma, plain) for sigma in sigmas}
            forms = list(product(sigmas, several(self.strength)))
            if len(forms) > 1 and len(taught) > 1:
                sigma, strength = self._chosen(x, q[taught], asked, tried, forms, plain)
                held_out = {"wrong": self.held_out_[sigma, strength]}
            else:
                sigma, strength = forms[0]
            found = tried[sigma]
            objective, gap = float(found.objective.sum()), float(found.gap.sum())
            rows = self._departed(found.weights, plain, strength)
            self.similarity_ = Bilinear(plain, q[taught], diagonals=rows, M=self.M, warmth=None)
        self.report_ = FitReport(
            method="reference queries",
            preferences=len(preferences),
            queries=len(q) if queries is not None else len(taught),
            covered=len(taught) / max(1, len(q) if queries is not None else len(taught)),
            objective=objective,
            gap=gap,
            gap_is="duality gap",
            seconds=time.perf_counter() - started,
            settings={
                "sigma": sigma, "strength": strength, "C": self.C, "M": self.M, "clip": self.clip,
            },
            held_out=held_out,
            notes=tuple(notes),
        )  # fmt: skip
        return self

    def _learned(
        self, x: FloatArray, q: FloatArray, said: Preferences, sigma: float | None, plain: Plain
    ) -> Learned:
        # Blocks without plain weight stay out; B unit blocks have length sqrt(B).
        w0, used = plain.w0, plain.w0 > 0
        paper = sigma is not None
        return learn_references(
            x * used,
            q * used,
            said,
            sigma=sigma or 0.0,
            C=self.C / len(plain.space.names) ** 2 if paper else self.C,
            clip=self.clip,
            w0=w0,
            prior=None if paper else w0,
            tol=self.tol,
        )

    def _departed(self, weights: FloatArray, plain: Plain, strength: float) -> FloatArray:
        """Unit weights, so many times as far from the plain ones as they were learned."""
        if strength == 1:
            return weights
        base = unit_rows(plain.w0[None])
        rows = base + strength * (unit_rows(weights) - base)
        return np.maximum(rows, 0.0) if self.clip else rows

    def _chosen(
        self, x: FloatArray, q: FloatArray, said: Preferences,
        tried: dict[Any, Learned], forms: list[tuple[Any, float]], plain: Plain,
    ) -> tuple[float | None, float]:  # fmt: skip
        """What puts least in the wrong order for references that take no part in their answer."""
        marks = teachings.Taught(q, x, teachings.graded(said, len(q), len(x)))
        rows = marks.groups
        place = unit_rows(q * np.sqrt(plain.w0))
        alike = place @ place.T
        np.fill_diagonal(alike, -np.inf)
        near = np.argsort(-alike, axis=1, kind="stable")[:, : min(self.M, len(q) - 1)]
        self.held_out_: dict[tuple[Any, float], float] = {}
        for sigma, strength in forms:
            unit = unit_rows(self._departed(tried[sigma].weights, plain, strength))
            total = sum((unit[column] for column in near.T), np.zeros(q.shape))
            wrong = teachings.wrongly_ordered(
                marks, rows, (total * q)[rows], others=OTHERS, weight=WEIGHT, seed=self.seed
            )
            self.held_out_[sigma, strength] = float(wrong.mean())
        return min(self.held_out_, key=lambda form: self.held_out_[form])
