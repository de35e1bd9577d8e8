"""Learning the word table of same-object search from the log: gather, hold out, guard."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise.collection import learning
from likewise.collection.learning import Evidence
from likewise.collection.words import WordsView, weights_shown
from likewise.judgements import PreferenceReport
from likewise.learners.word_table_learner import WordTableLearner
from likewise.store import Store
from likewise.types import BadInput, Judgement, Preferences, Similarity

if TYPE_CHECKING:
    from likewise.collection.same_object import SameObject


class Rows:
    """Sparse rows that behave like a matrix where one row is asked for."""

    def __init__(self, rows: sparse.csr_array) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def __getitem__(self, key: Any) -> sparse.csr_array:
        return self.rows[[key] if isinstance(key, (int, np.integer)) else key]


class WordEvidence(Evidence):
    """Judgements as arrays, with histograms of words in the place of picture vectors.

    What people mark is near the top, so those preferences are hard ones; as many against
    random pictures are added, because hard ones alone mislead.
    """

    def preferences(
        self, keep: NDArray[np.bool_] | None = None, seed: int = 0
    ) -> tuple[Preferences, PreferenceReport]:
        """Judged preferences, and as many against random pictures."""
        judged, report = super().preferences(keep, seed)
        labels = self.labels()
        rng = np.random.default_rng(seed)
        query, better, worse = [], [], []
        for q, marks in enumerate(labels):
            good = [row for row, value in marks.items() if value > 0]
            if not good or (keep is not None and not keep[q]):
                continue
            count = max(8, int((judged.query == q).sum()))
            drawn = rng.integers(0, len(self.codes), count)
            drawn = drawn[~np.isin(drawn, good)]
            query += [q] * len(drawn)
            better += rng.choice(good, len(drawn)).tolist()
            worse += drawn.tolist()
        both = Preferences.of(
            np.r_[judged.query, np.array(query, np.int64)],
            np.r_[judged.better, np.array(better, np.int64)],
            np.r_[judged.worse, np.array(worse, np.int64)],
        )
        return both, report


def gather(
    judgements: Sequence[Judgement], store: Store, words: SameObject, view: WordsView
) -> WordEvidence:
    """Picture queries of a log with the words of everything they speak of."""
    asked = learning.read_queries(judgements, lambda ref: words.histogram(ref, view))
    assert view.space is not None
    none = np.zeros((0, view.space.words))
    stack = sparse.vstack(asked.read, format="csr") if asked.read else none
    queries: Any = Rows(sparse.csr_array(stack))
    codes: Any = Rows(view.levels)
    rows = learning.rows_by_path(store, view.ids)
    return WordEvidence(view.ids, codes, rows, queries, asked.refs, asked.log, asked.lost)


def learn(
    store: Store,
    words: SameObject,
    view: WordsView,
    rivals: Mapping[str, Similarity],
    *,
    seed: int,
    settings: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A word table's arrays and its card."""
    started = time.perf_counter()
    evidence = gather(list(store.judgements), store, words, view)
    if not len(evidence.queries):
        raise BadInput(
            "There are no judgements about picture queries to learn from; mark some results of a "
            "same-object search first."
        )
    assert view.space is not None
    learner = WordTableLearner(view.space, **{"n": 3, "C": 1.0, **settings})
    held = learning.hold_out(learner, "word-table", evidence, rivals, seed)
    learned = learning.fit(learner, "word-table", evidence, None, seed)
    arrays, written = learned.similarity_.to_arrays()
    card = learning.card(learned, "word-table", evidence, held, time.perf_counter() - started)
    card |= {
        "kind": learned.similarity_.kind,
        "similarity": written,
        "table": weights_shown(learned.similarity_),
    }
    return arrays, card
