"""From the log of judgements to arrays that a method learns from, and that measure it.

One evidence type per source of knowledge: marks on picture queries here, clicks and captions
in :mod:`~likewise.collection.learn.texts`.  A type gathers, fits a learner on some of its
queries, and says how well a similarity does on others; the rest is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from likewise.collection.learn.changes import changes, curves
from likewise.collection.lines.line import View
from likewise.collection.lines.visual_words import weights_shown
from likewise.evaluation import Comparison, Run
from likewise.judgements import Judgements, PreferenceReport, Resolved, preferences
from likewise.later import sparse
from likewise.learners.bilinear import Bilinear
from likewise.learners.teachings import graded
from likewise.learners.word_table import WordTable
from likewise.solvers.threads import one_blas_thread
from likewise.store import Model, Store, as_file
from likewise.types import (
    BadInput,
    IdArray,
    Judgement,
    LikewiseError,
    Preferences,
    QueryRef,
    Similarity,
    Surrogate,
)

if TYPE_CHECKING:
    from likewise.collection.learn.guard import HeldOut

FOLDS = 5
Mask = NDArray[np.bool_]
Make = Callable[..., Any]
"""Makes a learner that has learned nothing yet."""
Rival = tuple[Similarity | None, Sequence[int]]
"""What a new model is compared with (None: nothing learned), and on which queries."""


@dataclass(frozen=True, eq=False)
class Sources:
    """Where evidence is gathered from."""

    store: Store
    view: View
    seed: int = 0
    active: tuple[Model, Similarity] | None = None
    """The model that a new one would replace, and what it restores to."""


def folds(count: int, seed: int, number: int = FOLDS) -> IdArray:
    """The fold of each query, evenly and at random under a seed."""
    order = np.random.default_rng(seed).permutation(count)
    out = np.empty(count, dtype=np.int64)
    out[order] = np.arange(count) % min(number, max(count, 1))
    return out


@dataclass(frozen=True, eq=False)
class Marks:
    """Judgements about picture queries: items and queries as rows of a line.

    Every evidence type has these methods; ``takes`` are settings of the method that are the
    evidence's own (all others are the learner's), ``baseline`` names what a model must beat.
    """

    takes: ClassVar[tuple[str, ...]] = ()
    baseline: ClassVar[str] = "plain"

    sources: Sources
    ids: IdArray
    items: Any
    """One row per item, dense or sparse."""
    rows: Mapping[str, int]
    """Row of an item by its path."""
    queries: Any
    refs: Mapping[QueryRef, int]
    """Row of ``queries`` by query."""
    log: Judgements
    lost_queries: int

    @classmethod
    def gather(cls, sources: Sources, judgements: Iterable[Judgement] | None = None) -> Self:
        """Picture queries of the log, or of some judgements, with all that they speak of."""
        ids, items = sources.view.all_rows()
        said = sources.store.judgements if judgements is None else judgements
        about = [j for j in said if j.query.kind != "text"]
        # Marks of other lines count only where this one has none: older logs know one line.
        own = [j for j in about if j.line == sources.view.line.name]
        log = Judgements.of(own or about)
        refs: dict[QueryRef, int] = {}
        read, lost = [], 0
        for ref in log.queries():
            try:
                read.append(sources.view.query(ref))
            except LikewiseError:  # gone or unreadable: its judgements wait
                lost += 1
                continue
            refs[ref] = len(refs)
        if judgements is None and not refs:
            raise BadInput(
                "There are no judgements about picture queries to learn from; mark some results "
                "first (likewise mark, or the relevant and not buttons)."
            )
        paths = sources.store.items.paths(ids.tolist())
        rows = {as_file(paths[item]): row for row, item in enumerate(ids.tolist())}
        return cls(sources, ids, items, rows, _stacked(read, items), refs, log, lost)

    @cached_property
    def labels(self) -> list[dict[int, float]]:
        """For each query the value of each labelled row, the latest word counting."""
        out: list[dict[int, float]] = [{} for _ in range(self.queries.shape[0])]
        said = self._said
        known = said.where((said.kind == "label") & (said.query >= 0) & (said.item >= 0))
        for query, row, value in zip(*(c.tolist() for c in (known.query, known.item, known.value))):
            out[query][row] = value
        return out

    @cached_property
    def _said(self) -> Resolved:
        """The log in rows: names are looked up once, however often it is learned from."""
        return self.log.resolve(self.rows, self.refs)

    def preferences(self, keep: Mask | None = None) -> tuple[Preferences, PreferenceReport]:
        """Preferences of the kept queries."""
        said = self._said
        if keep is not None:
            said = said.where((said.query >= 0) & keep[said.query])
        return preferences(said, seed=self.sources.seed)

    def folds(self) -> IdArray:
        """Every query is held out once."""
        return folds(self.queries.shape[0], self.sources.seed)

    def measured(self, fold: IdArray) -> Mask:
        """All of them."""
        return np.ones(len(fold), bool)

    def fit(self, make: Make, keep: Mask | None = None) -> Any:
        """A learner, fitted on the kept queries."""
        return make().fit(self.items, self.preferences(keep)[0], self.queries)

    @one_blas_thread()
    def run(self, similarity: Similarity | None, queries: Iterable[int]) -> Run:
        """Scores of the labelled items of some queries."""
        assert similarity is not None
        run: Run = {}
        asked = [query for query in queries if self.labels[query]]
        if isinstance(similarity, Bilinear):  # with many references all at once is far quicker
            vectors = similarity.surrogates(self.queries[asked])
            made = [Surrogate(v, space=similarity.space.fingerprint) for v in vectors]
        else:
            is_sparse = sparse.issparse(self.queries)
            rows = ([query] if is_sparse else query for query in asked)
            made = [similarity.surrogate(self.queries[row]) for row in rows]
        for query, surrogate in zip(asked, made):
            judged = np.array(sorted(self.labels[query]), dtype=np.int64)
            scores = served(similarity, surrogate, self.items[judged])
            run[str(query)] = {str(r): float(v) for r, v in zip(judged.tolist(), scores)}
        return run

    def truth(self, queries: Iterable[int]) -> dict[str, dict[str, float]]:
        """Relevance of the labelled items of some queries, as grades from zero on."""
        return {
            str(q): {str(r): max(v, 0.0) for r, v in self.labels[q].items()}
            for q in queries
            if self.labels[q]
        }

    def rivals(self, queries: Sequence[int]) -> Mapping[str, Rival]:
        """Plain similarity, and the active model."""
        active = self.sources.active
        found: dict[str, Rival] = {"plain": (self.sources.view.plain, queries)}
        return found if active is None else {**found, "active": (active[1], queries)}

    def told(self, learned: Any, held: HeldOut, compared: Comparison | None) -> dict[str, Any]:
        """Data used, and the queries that changed most; the table, where that was learned."""
        out: dict[str, Any] = {
            "judgements": len(self.log),
            "queries": self.queries.shape[0],
            "lost_queries": self.lost_queries,
            "preferences": asdict(self.preferences()[1]),
        }
        if compared is not None:
            out["curves"] = curves(compared)
            out["changes"] = changes(compared, "new", held.runs, held.truth, self)
        if isinstance(learned.similarity_, WordTable):
            out["table"] = weights_shown(learned.similarity_)
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        """None."""
        return {}


class Groups(Marks):
    """Marks, those of queries with relevant ones alone included: they say what belongs together."""

    def fit(self, make: Make, keep: Mask | None = None) -> Any:
        """A learner, fitted on the kept queries and all that was said of them."""
        found = self.preferences(keep)[0]
        shape = self.queries.shape[0], self.items.shape[0]
        grades = graded(found, *shape).tocoo()
        kept = [q for q in range(shape[0]) if keep is None or keep[q]]
        said = np.array([q * shape[1] + row for q in kept for row in self.labels[q]], np.int64)
        right = np.array([value > 0 for q in kept for value in self.labels[q].values()], bool)
        inferred = np.ravel_multi_index(grades.coords, shape)
        other = ~np.isin(inferred, said)  # what was said of a picture counts as it was said
        places = np.unravel_index(np.r_[inferred[other], said], shape)
        values = np.r_[grades.data[other], np.where(right, 1.0, -1.0)]
        marks = sparse.coo_array((values, places), shape=shape).tocsr()
        return make().fit(self.items, found, self.queries, marks=marks)


class MarksAndOthers(Marks):
    """Marks, and as many preferences against random pictures.

    What people mark is near the top, so those preferences are hard ones; hard ones alone
    mislead where every word counts for itself.
    """

    def preferences(self, keep: Mask | None = None) -> tuple[Preferences, PreferenceReport]:
        """Judged preferences, and as many against random pictures."""
        judged, report = super().preferences(keep)
        rng = np.random.default_rng(self.sources.seed)
        query, better, worse = [], [], []
        own = {q: self.rows.get(ref.value, -1) for ref, q in self.refs.items()}
        for q, marks in enumerate(self.labels):
            good = [row for row, value in marks.items() if value > 0]
            if not good or (keep is not None and not keep[q]):
                continue
            count = max(8, int((judged.query == q).sum()))
            drawn = rng.integers(0, len(self.ids), count)
            drawn = drawn[~np.isin(drawn, [*good, own[q]])]
            query += [q] * len(drawn)
            better += rng.choice(good, len(drawn)).tolist()
            worse += drawn.tolist()
        both = Preferences.of(
            np.r_[judged.query, np.array(query, np.int64)],
            np.r_[judged.better, np.array(better, np.int64)],
            np.r_[judged.worse, np.array(worse, np.int64)],
        )
        return both, report


def _stacked(rows: list[Any], items: Any) -> Any:
    """Query rows as one matrix, in the form that items have."""
    if not rows:
        return items[:0]
    return sparse.csr_array(sparse.vstack(rows)) if sparse.issparse(items) else np.stack(rows)


def served(similarity: Similarity, surrogate: Surrogate, items: Any) -> NDArray[np.float64]:
    """Scores of items as an engine computes them: codes, side columns and offset."""
    codes = similarity.space.encode(items)
    if surrogate.is_sparse:
        product = (codes @ surrogate.vector.T).toarray().ravel()
    else:
        product = codes @ surrogate.vector
    scores = np.asarray(product, dtype=np.float64) + surrogate.offset
    if hasattr(similarity, "lengths"):
        scores = scores / similarity.lengths(items)
    if surrogate.side:
        columns = similarity.side_columns(items)
        for name, coefficient in surrogate.side.items():
            scores = scores + coefficient * columns[name]
    return scores
