"""Words find pictures: ranked CCA from clicks (Yao et al.), text to picture and back.

``s(t, x) = (t W_q) W (x W_v)'`` for a text's sparse row t and a picture vector x.  Seen from the
pictures, the text is the vector ``W_v W' W_q' t``: it goes to the same static index as any
picture's surrogate, and the two add.  Between pictures the same model gives a similarity,
``(q W_v W') (x W_v W')'``, and between texts one for suggestions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from likewise.learners.plain import Plain
from likewise.solvers.cca import CCA, cca
from likewise.solvers.rcca import Model, Settings, Solution, State, rcca, scaled
from likewise.spaces import Blocks, Projected, unit_rows
from likewise.types import (
    BadInput,
    FitReport,
    FloatArray,
    IdArray,
    Preferences,
    Similarity,
    Surrogate,
    as_matrix,
    as_vector,
    check_k,
)

Vocabulary = tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]
"""What a text vocabulary's ``to_arrays`` gave: kept with the model, and handed back as it is."""

NO_VOCABULARY: Vocabulary = ({}, {})


class _ClickModel:
    """What both forms share: the three matrices, texts, suggestions, and how they are stored."""

    def __init__(
        self, space: Any, wq: Any, w: Any, wv: Any, *, vocabulary: Vocabulary = NO_VOCABULARY
    ) -> None:
        self._space = space
        self.wq = as_matrix(wq, name="W_q")
        self.w = as_matrix(w, name="W")
        self.wv = as_matrix(wv, name="W_v")
        d = len(self.w)
        if self.w.shape != (d, d) or self.wq.shape[1] != d or self.wv.shape[1] != d:
            raise BadInput("W_q, W and W_v must have one number of columns, and W as many rows.")
        self.vocabulary: Vocabulary = (dict(vocabulary[0]), dict(vocabulary[1]))

    @property
    def words(self) -> int:
        """Length of a text's row."""
        return int(self.wq.shape[0])

    def text(self, query: Any) -> sparse.csr_array:
        """One text's row, checked; unknown words have no entry, so it may be empty."""
        row = sparse.csr_array(query, dtype=np.float64)
        if row.ndim != 2 or row.shape[0] != 1:
            raise BadInput("A text query must be one sparse row.")
        if row.shape[1] != self.words:
            raise BadInput(
                f"The text has {row.shape[1]} words' columns, but this model knows {self.words}: "
                "read it with the vocabulary that the model was learned with."
            )
        if not np.isfinite(row.data).all():
            raise BadInput("A text's row holds NaN or infinity.")
        return row

    def knows(self, query: Any) -> bool:
        """Whether the model has learned anything about a word of the text.

        Where it has not (an empty text, stop words only, words never clicked for), the text's
        surrogate is zero and every picture scores 0: search the full text instead.
        """
        row = self.text(query)
        return bool(np.abs(self.wq[row.indices[row.data != 0]]).sum() > 0)

    def suggest(self, query: Any, others: Any, k: int = 10) -> tuple[IdArray, FloatArray]:
        """Which of other texts ask for alike pictures: row numbers and cosines, best first.

        The cosine is taken of ``t W_q W``.  A text of which nothing is known gets none.
        """
        check_k(k)
        side = self.wq @ self.w
        own = unit_rows(np.asarray(self.text(query) @ side))
        rows = sparse.csr_array(others, dtype=np.float64)
        if rows.shape[1] != self.words:
            raise BadInput("The other texts were read with another vocabulary than the model's.")
        theirs = unit_rows(np.asarray(rows @ side))
        scores = theirs @ own[0]
        known = np.flatnonzero(theirs.any(axis=1)) if own.any() else np.zeros(0, np.int64)
        order = known[np.lexsort((known, -scores[known]))][:k]
        return order.astype(np.int64), scores[order]

    def side_columns(self, items: Any) -> dict[str, FloatArray]:
        """None."""
        return {}

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The three matrices, and the vocabulary beside them."""
        arrays, settings = self.vocabulary
        out: dict[str, NDArray[Any]] = {"wq": self.wq, "w": self.w, "wv": self.wv}
        out |= {f"vocabulary.{name}": array for name, array in arrays.items()}
        return out, {"vocabulary": dict(settings)}

    @classmethod
    def from_arrays(
        cls, space: Any, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]
    ) -> Any:
        """The similarity that :meth:`to_arrays` described."""
        start = "vocabulary."
        kept = {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}
        three = (arrays["wq"], arrays["w"], arrays["wv"])
        return cls(space, *three, vocabulary=(kept, settings["vocabulary"]))


class Clicks(_ClickModel):
    """Text or picture to picture in the blocks space; a new model needs no new index.

    Parameters
    ----------
    space
        The blocks that pictures are made of.
    wq, w, wv
        W_q (words by d), W (d by d) and W_v (picture dimensions by d).
    vocabulary
        ``to_arrays()`` of the vocabulary that reads the texts; stored with the model.
    """

    kind: ClassVar[str] = "clicks"

    def __init__(
        self,
        space: Blocks,
        wq: Any,
        w: Any,
        wv: Any,
        *,
        vocabulary: Vocabulary = NO_VOCABULARY,
    ) -> None:
        super().__init__(space, wq, w, wv, vocabulary=vocabulary)
        if len(self.wv) != space.dim:
            raise BadInput(
                f"W_v takes {len(self.wv)} numbers, but a picture of this space has {space.dim}."
            )

    @property
    def space(self) -> Blocks:
        """The blocks space."""
        space: Blocks = self._space
        return space

    def surrogate(self, query: Any) -> Surrogate:
        """Of a text (a sparse row): W_v W' W_q' t; of a picture: W_v W' W W_v' q."""
        if sparse.issparse(query):
            inner = np.asarray(self.text(query) @ self.wq)[0] @ self.w
        else:
            q = as_vector(query, dim=self.space.dim)
            inner = ((q @ self.wv) @ self.w.T) @ self.w
        return Surrogate(self.wv @ inner, space=self.space.fingerprint)

    def score(self, query: Any, items: Any) -> FloatArray:
        """Equation 5 for a text; for a picture the dot product of both projections."""
        projected = (self.space.encode(items).astype(float) @ self.wv) @ self.w.T
        if sparse.issparse(query):
            own = (self.text(query) @ self.wq)[0]
        else:
            q = as_vector(query, dim=self.space.dim).astype(float)
            own = self.w @ (self.wv.T @ q)
        return np.array([float(own @ row) for row in projected])

    def compact(self, *, unit: bool = True) -> ClicksCompact:
        """The same model over a small index of ``x W_v W'``; its cosine where ``unit``."""
        space = Projected(self.space, self.wv @ self.w.T, unit=unit)
        return ClicksCompact(space, self.wq, self.w, self.wv, vocabulary=self.vocabulary)


class ClicksCompact(_ClickModel):
    """The same in d dimensions: the code of a picture is ``x W_v W'``, made anew for each model.

    Where the space brings codes to unit length, the score is the cosine of both projections (the
    better similarity between pictures); else it is that of :class:`Clicks`.
    """

    kind: ClassVar[str] = "clicks-compact"

    @property
    def space(self) -> Projected:
        """The projected space."""
        space: Projected = self._space
        return space

    def surrogate(self, query: Any) -> Surrogate:
        """The query's own projection: t W_q of a text, q W_v W' of a picture."""
        if sparse.issparse(query):
            own = np.asarray(self.text(query) @ self.wq)
            own = unit_rows(own) if self.space.unit else own
        else:
            own = self.space.encode(as_vector(query, dim=self.space.base.dim))
        return Surrogate(own[0], space=self.space.fingerprint)

    def score(self, query: Any, items: Any) -> FloatArray:
        """Dot product or cosine of the projections, one picture after the other."""
        if sparse.issparse(query):
            own = np.asarray((self.text(query) @ self.wq)[0])
        else:
            q = as_vector(query, dim=self.space.base.dim).astype(float)
            own = self.w @ (self.wv.T @ q)
        out = []
        for x in self.space.base.encode(items).astype(float):
            code = self.w @ (self.wv.T @ x)
            size = np.linalg.norm(own) * np.linalg.norm(code) if self.space.unit else 1.0
            out.append(float(own @ code) / size if size > 0 else 0.0)
        return np.array(out)


class ClickLearner(BaseEstimator):
    """Ranked CCA: a CCA of queries and clicked pictures, sharpened by triplets.

    Parameters
    ----------
    space
        The blocks space of the pictures.
    dim
        Dimensions of the shared space.
    ridge
        Of CCA, for words and for pictures; see :func:`likewise.solvers.cca.cca`.
    margin
        Mean score difference over the triplets that the start is scaled to.
    weighted
        Start W as the diagonal of correlations (else the identity).
    settings
        Step, regularisers, rounds, threads, seed: :class:`likewise.solvers.rcca.Settings`.
    held_out
        Share of the queries whose clicks decide when to stop (by where the clicked pictures
        stand among others); none where there are fewer than 20 queries.
    vocabulary
        Stored with the model; see :class:`Clicks`.

    Attributes
    ----------
    similarity_
        :class:`Clicks`, or plain similarity where there was nothing to learn from.
    report_
        What the fit tells of itself.
    state_
        Where the descent stands, to write down or to go on from; None without a descent.
    """

    def __init__(
        self,
        space: Blocks,
        *,
        dim: int = 80,
        ridge: tuple[float, float] = (1.0, 0.3),
        margin: float = 1.0,
        weighted: bool = False,
        settings: Settings | None = None,
        held_out: float = 0.1,
        vocabulary: Vocabulary = NO_VOCABULARY,
    ) -> None:
        self.space, self.dim, self.ridge, self.margin = space, dim, ridge, margin
        self.weighted, self.held_out, self.vocabulary = weighted, held_out, vocabulary
        self.settings = settings
        self.similarity_: Similarity
        self.report_: FitReport
        self.state_: State | None

    @property
    def _how(self) -> Settings:
        return self.settings or Settings()

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
        """Learn from triplets.

        Parameters
        ----------
        X
            Picture vectors, one row each.
        preferences
            Triplets: ``query`` is a row of ``queries``, ``better`` and ``worse`` of ``X``.
        queries
            The texts as sparse rows of the vocabulary.
        clicks
            (query, item, count) that CCA starts from; without it, the distinct pairs of query
            and better picture.
        state
            ``state_`` of an interrupted fit on the same data, to go on from.
        keep
            Called with the state after every round, to write it down.
        """
        began, self.state_ = time.perf_counter(), None
        x, texts = as_matrix(X, dim=self.space.dim, name="picture vectors"), _texts(queries)
        _check(preferences, texts.shape[0], len(x))
        pairs = _pairs(preferences) if clicks is None else _clicks(clicks, texts.shape[0], len(x))
        notes: list[str] = []
        start = self._start(x, texts, pairs)
        if start is None:
            return self._nothing(preferences, texts, began)
        train, held = self._split(preferences)
        model, solution = Model(start.wq, self._first(start), start.wv), None
        if len(train):
            model = scaled(model, texts, x.astype(np.float64), _columns(train), self.margin)
            solution = self._descend(x, texts, train, held, model, state, keep)
            model = solution.model
            notes += [solution.state.note] if solution.state.note else []
            if solution.state.rounds and model is solution.state.anchor:
                notes.append("No round was better than CCA on held-out clicks: CCA is kept.")
        else:
            notes.append("There are pairs of query and picture but no order among them: CCA only.")
        self.similarity_ = Clicks(self.space, *model, vocabulary=self.vocabulary)
        self._report(preferences, texts, solution, began, notes, len(held))
        return self

    def refit(self, X: Any, preferences: Preferences, queries: Any) -> ClickLearner:
        """Go on from the learned model with new triplets; time is linear in them.

        The weights are pulled towards the model so far, as they were towards CCA before.
        """
        if not isinstance(getattr(self, "similarity_", None), Clicks):
            return self.fit(X, preferences, queries)
        began, old = time.perf_counter(), self.similarity_
        assert isinstance(old, Clicks)
        x, texts = as_matrix(X, dim=self.space.dim, name="picture vectors"), _texts(queries)
        _check(preferences, texts.shape[0], len(x))
        if texts.shape[1] != old.words:
            raise BadInput("The new texts were read with another vocabulary; fit anew instead.")
        train, held = self._split(preferences)
        anchor = Model(*(np.asarray(m, np.float64) for m in (old.wq, old.w, old.wv)))
        solution = self._descend(x, texts, train, held, anchor, None)
        self.similarity_ = Clicks(self.space, *solution.model, vocabulary=self.vocabulary)
        note = [solution.state.note] if solution.state.note else []
        self._report(preferences, texts, solution, began, note, len(held))
        return self

    def _start(
        self, x: FloatArray, texts: sparse.csr_array, pairs: tuple[Any, Any, Any]
    ) -> CCA | None:
        if not len(pairs[0]) or not np.asarray(pairs[2], float).sum() > 0:
            return None
        found = cca(texts, x, *pairs, dim=self.dim, ridge=self.ridge, seed=self._how.seed)
        return found if len(found.rho) else None

    def _first(self, start: CCA) -> NDArray[np.float64]:
        return np.diag(start.rho) if self.weighted else np.eye(len(start.rho))

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
        judge = _judge(x, texts, held, self._how.seed) if len(held) else None
        columns = _columns(train)
        solution = rcca(texts, x, columns, start, self._how, held_out=judge, state=state, keep=keep)
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
        rng = np.random.default_rng([self._how.seed, 1])
        out = np.isin(preferences.query, rng.choice(asked, count, replace=False))
        return preferences.where(~out), preferences.where(out)

    def _nothing(
        self, preferences: Preferences, texts: sparse.csr_array, began: float
    ) -> ClickLearner:
        self.similarity_ = Plain(self.space)
        note = "There are no clicks with known words: plain similarity, and full text for words."
        self._report(preferences, texts, None, began, [note], 0)
        return self

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
                "dim": self.dim,
                "ridge": list(self.ridge),
                "margin": self.margin,
                "weighted": self.weighted,
                **vars(self._how),
            },
            held_out=held_out,
            notes=tuple(notes),
        )


def _texts(queries: Any) -> sparse.csr_array:
    rows = sparse.csr_array(queries, dtype=np.float64)
    if rows.ndim != 2 or not np.isfinite(rows.data).all():
        raise BadInput("The texts must form a sparse matrix of finite numbers, one row each.")
    return rows


def _check(preferences: Preferences, queries: int, items: int) -> None:
    for name, column, below in (
        ("query", preferences.query, queries),
        ("better", preferences.better, items),
        ("worse", preferences.worse, items),
    ):
        if len(column) and not (column.min() >= 0 and column.max() < below):
            raise BadInput(f"{name} of the preferences must name rows from 0 to {below - 1}.")
    if len(preferences) and not (
        np.isfinite(preferences.weight).all() and preferences.weight.min() >= 0
    ):
        raise BadInput("Weights of preferences must be finite and not negative.")


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
        ranks = 1 + (others > own[:, None]).sum(axis=1)
        ranks += ((others == own[:, None]) & (pool != item[:, None])).sum(axis=1)
        return float((1 / np.log2(1 + ranks)).mean())

    return judge


def _columns(preferences: Preferences) -> tuple[Any, ...]:
    return preferences.query, preferences.better, preferences.worse, preferences.weight
