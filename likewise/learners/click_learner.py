"""Ranked CCA as a learner: clicks in, the similarity of :mod:`likewise.learners.clicks` out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator

from likewise.learners.clicks import NO_VOCABULARY, Clicks, Vocabulary
from likewise.learners.plain import Plain
from likewise.solvers.cca import CCA, cca
from likewise.solvers.rcca import ROUND, Model, Settings, Solution, State, rcca, scaled
from likewise.types import BadInput, FitReport, FloatArray, IdArray, Preferences, as_matrix

NOTHING = "There are no clicks with known words: plain similarity, and full text for words."


class ClickLearner(BaseEstimator):
    """Ranked CCA: a CCA of queries and clicked pictures, sharpened by triplets.

    See :class:`~likewise.learners.own_settings.RankedCCASettings` and, for the descent,
    :class:`likewise.solvers.rcca.Settings`.  No query is held out where there are fewer than 20.
    ``vocabulary`` is stored with the model.  ``similarity_`` is plain where there was nothing to
    learn from; ``state_`` is where the descent stands, to go on from, None without a descent.
    """

    def __init__(
        self, plain: Plain, *, dim: int = 80, word_ridge: float = 1.0, picture_ridge: float = 0.3,
        margin: float = 1.0, weighted: bool | None = None, held_out: float = 0.1,
        step: float = 0.003, mu: float = 1.0, gamma: float = 1.0, eta: float = 1.0,
        learn_w: bool = True, rounds: int = 10, round_size: int = ROUND, patience: int = 2,
        threads: int = 1, seed: int = 0, vocabulary: Vocabulary = NO_VOCABULARY,
    ) -> None:  # fmt: skip
        self.plain, self.dim, self.margin, self.weighted = plain, dim, margin, weighted
        self.word_ridge, self.picture_ridge = word_ridge, picture_ridge
        self.held_out, self.vocabulary = held_out, vocabulary
        self.step, self.mu, self.gamma, self.eta, self.learn_w = step, mu, gamma, eta, learn_w
        self.rounds, self.round_size, self.patience = rounds, round_size, patience
        self.threads, self.seed = threads, seed
        self.similarity_: Clicks | Plain
        self.report_: FitReport
        self.state_: State | None

    @property
    def _descent(self) -> Settings:
        return Settings(**{f.name: getattr(self, f.name) for f in fields(Settings)})

    def fit(
        self,
        X: Any,
        preferences: Preferences,
        queries: Any,
        *,
        clicks: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
        state: State | None = None,
        keep: Callable[[State], None] | None = None,
    ) -> ClickLearner:
        """Learn from triplets: ``query`` is a row of ``queries``, sparse rows of the vocabulary.

        CCA starts from ``clicks`` (query, item, count); without them from the distinct pairs of
        query and better picture.  ``state`` is that of an interrupted fit on the same data;
        ``keep`` is called with the state after every round, to write it down.
        """
        began, self.state_ = time.perf_counter(), None
        x, texts = as_matrix(X, dim=self.plain.space.dim, name="picture vectors"), _texts(queries)
        preferences.check(texts.shape[0], len(x))
        pairs = _pairs(preferences) if clicks is None else _clicks(clicks, texts.shape[0], len(x))
        notes: list[str] = []
        train, held = self._split(preferences)
        kept = ~np.isin(pairs[0], held.query)  # what says when to stop was not started from
        start = self._start(x, texts, (pairs[0][kept], pairs[1][kept], pairs[2][kept]))
        if start is None:
            self.similarity_ = self.plain
            self._report(preferences, texts, None, began, [NOTHING], 0)
            return self
        weighted = Model(start.wq, np.diag(start.rho), start.wv)
        model = weighted if self.weighted else weighted._replace(w=np.eye(len(start.rho)))
        solution = None
        if len(train):
            model = scaled(model, texts, x.astype(np.float64), _columns(train), self.margin)
            solution = self._descend(x, texts, train, held, model, state, keep)
            model = solution.model
            notes += [solution.state.note] if solution.state.note else []
            if solution.state.rounds and model is solution.state.anchor:
                notes.append("No round was better than CCA on held-out clicks: CCA is kept.")
            judge = _judge(x, texts, held, self.seed)
            if self.weighted is None and len(held) and judge(weighted) > solution.state.score:
                model = scaled(weighted, texts, x.astype(np.float64), _columns(train), self.margin)
                notes.append("CCA weighted by its correlations was better on held-out clicks.")
        else:
            notes.append("There are pairs of query and picture but no order among them: CCA only.")
        self.similarity_ = Clicks(self.plain.space, *model, vocabulary=self.vocabulary)
        self._report(preferences, texts, solution, began, notes, len(held))
        return self

    def partial_fit(self, X: Any, preferences: Preferences, queries: Any) -> ClickLearner:
        """Go on from the learned model with new triplets; time is linear in them.

        The weights are pulled towards the model so far, as they were towards CCA before.
        """
        began, old = time.perf_counter(), getattr(self, "similarity_", None)
        if not isinstance(old, Clicks):
            return self.fit(X, preferences, queries)
        x, texts = as_matrix(X, dim=self.plain.space.dim, name="picture vectors"), _texts(queries)
        preferences.check(texts.shape[0], len(x))
        if texts.shape[1] != old.words:
            raise BadInput("The new texts were read with another vocabulary; fit anew instead.")
        train, held = self._split(preferences)
        anchor = Model(*(np.asarray(m, np.float64) for m in (old.wq, old.w, old.wv)))
        solution = self._descend(x, texts, train, held, anchor, None)
        self.similarity_ = Clicks(self.plain.space, *solution.model, vocabulary=self.vocabulary)
        note = [solution.state.note] if solution.state.note else []
        self._report(preferences, texts, solution, began, note, len(held))
        return self

    def _start(
        self, x: FloatArray, texts: sparse.csr_array, pairs: tuple[Any, Any, Any]
    ) -> CCA | None:
        if not len(pairs[0]) or not np.asarray(pairs[2], float).sum() > 0:
            return None
        found = cca(
            texts,
            x,
            *pairs,
            dim=self.dim,
            ridge=(self.word_ridge, self.picture_ridge),
            seed=self.seed,
        )
        return found if len(found.rho) else None

    def _descend(
        self,
        x: FloatArray,
        texts: sparse.csr_array,
        train: Preferences,
        held: Preferences,
        start: Model,
        state: State | None,
        keep: Callable[[State], None] | None = None,
    ) -> Solution:
        judge = _judge(x, texts, held, self.seed) if len(held) else None
        columns = _columns(train)
        solution = rcca(
            texts, x, columns, start, self._descent, held_out=judge, state=state, keep=keep
        )
        self.state_ = solution.state
        return solution

    def _split(self, preferences: Preferences) -> tuple[Preferences, Preferences]:
        """By queries: the triplets of some of them are held out."""
        if not 0 <= self.held_out < 1:
            raise BadInput(f"held_out is a share from 0 to below 1, not {self.held_out}.")
        asked = np.unique(preferences.query)
        count = int(len(asked) * self.held_out)
        if len(asked) < 20 or not count:
            return preferences, preferences.where(np.zeros(len(preferences), bool))
        rng = np.random.default_rng([self.seed, 1])
        out = np.isin(preferences.query, rng.choice(asked, count, replace=False))
        return preferences.where(~out), preferences.where(out)

    def _report(
        self,
        preferences: Preferences,
        texts: sparse.csr_array,
        solution: Solution | None,
        began: float,
        notes: list[str],
        held: int,
    ) -> None:
        asked = len(np.unique(preferences.query))
        held_out: dict[str, float] = {}
        if solution is not None and held:
            history = solution.state.history
            held_out = {"start": history[0], "best": solution.state.score, "preferences": held}
        self.report_ = FitReport(
            "clicks",
            len(preferences),
            asked,
            asked / max(1, texts.shape[0]),
            objective=solution.objective if solution else float("nan"),
            gap=solution.residual if solution else float("nan"),
            gap_is="gradient norm a triplet",
            seconds=time.perf_counter() - began,
            settings={
                name: value
                for name, value in self.get_params(deep=False).items()
                if name not in ("plain", "vocabulary")
            },
            held_out=held_out,
            notes=tuple(notes),
        )


def _texts(queries: Any) -> sparse.csr_array:
    rows = sparse.csr_array(queries, dtype=np.float64)
    if rows.ndim != 2 or not np.isfinite(rows.data).all():
        raise BadInput("The texts must form a sparse matrix of finite numbers, one row each.")
    return rows


def _pairs(preferences: Preferences) -> tuple[IdArray, IdArray, FloatArray]:
    both = np.unique(np.stack([preferences.query, preferences.better], axis=1), axis=0)
    return both[:, 0], both[:, 1], np.ones(len(both))


def _clicks(clicks: tuple[Any, Any, Any], queries: int, items: int) -> tuple[Any, Any, Any]:
    """Pairs that were clicked at least once, each counting alike (section 3.2 of the paper)."""
    query, item, count = (np.asarray(column).ravel() for column in clicks)
    if not len(query) == len(item) == len(count):
        raise BadInput("query, item and count of clicks must be three lists of one length.")
    if len(count) and not np.isfinite(count.astype(float)).all():
        raise BadInput("Counts of clicks must be finite.")
    keep = count > 0
    query, item = query[keep].astype(np.int64), item[keep].astype(np.int64)
    if len(query) and (
        min(query.min(), item.min()) < 0 or query.max() >= queries or item.max() >= items
    ):
        raise BadInput("Clicks name queries or pictures that are not there; leave those out.")
    both = np.unique(np.stack([query, item], axis=1), axis=0)
    return both[:, 0], both[:, 1], np.ones(len(both))


def _judge(
    x: FloatArray, texts: sparse.csr_array, held: Preferences, seed: int
) -> Callable[[Model], float]:
    """Mean of 1 / log2(1 + rank) of held-out clicked pictures among a pool of pictures.

    Nearly all triplets with random pictures are in the right order at once; where the
    clicked picture stands among many tells models apart.
    """
    query, item, _ = _pairs(held)
    some = np.random.default_rng([seed, 2]).permutation(len(query))[:2_000]
    query, item = query[some], item[some]
    pool = np.random.default_rng([seed, 3]).permutation(len(x))[:1_000]

    def judge(model: Model) -> float:
        asked = (texts[query] @ model.wq) @ model.w
        own = np.einsum("td,td->t", asked, x[item] @ model.wv)
        others = asked @ (x[pool] @ model.wv).T
        # Rounding must not put a picture before itself.
        ranks = 1 + ((others >= own[:, None]) & (pool != item[:, None])).sum(axis=1)
        return float((1 / np.log2(1 + ranks)).mean())

    return judge


def _columns(preferences: Preferences) -> tuple[Any, ...]:
    return preferences.query, preferences.better, preferences.worse, preferences.weight
