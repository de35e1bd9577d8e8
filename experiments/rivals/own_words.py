"""A word table whose words depart from their bin's table one by one, pulled back towards it.

Where a word occurs on one side only it may have a say of its own too (:class:`AbsencesToo`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from likewise.learners.word_table import WordTable
from likewise.learners.word_table_learner import WordTableLearner, _Pairs
from likewise.solvers.ranking import rank
from likewise.spaces import Words
from likewise.types import Preferences

OWN_PAIRS = 1500
"""Most pairs of query and picture whose words are learned one by one: their Gram matrix is kept."""


class OwnWordsLearner(WordTableLearner):
    """As :class:`WordTableLearner`, and then each word for itself."""

    absences = False

    def _solve(
        self,
        items: sparse.csr_array,
        asked: sparse.csr_array,
        preferences: Preferences,
        *,
        n: int,
        C: float,
    ) -> tuple[WordTable, float, float]:
        shared, objective, gap = super()._solve(items, asked, preferences, n=n, C=C)
        return self._own(shared, items, asked, preferences, n, C), objective, gap

    def _own(
        self, shared: WordTable, items: Any, asked: Any, preferences: Preferences, n: int, C: float
    ) -> WordTable:
        """Each word's departure from its bin's table, for words in both, pulled towards none.

        The vectors are long and thin, so the solver gets rows with the same inner products.
        """
        space, pairs = shared.space, _Pairs.of(preferences, items.shape[0])
        if len(pairs.query) > OWN_PAIRS:
            keep = np.sort(
                np.random.default_rng(self.seed).permutation(len(preferences))[: OWN_PAIRS // 2]
            )
            preferences = preferences.where(keep)
            pairs = _Pairs.of(preferences, items.shape[0])
        thin = _own_indicators(space, items, asked, pairs, n, self.absences)
        ahead = pairs.scores(shared, items, asked)
        size = float(np.sqrt(thin.multiply(thin).sum(axis=1).mean())) or 1.0
        gram = (thin @ thin.T).toarray() / size**2
        values, axes = np.linalg.eigh(gram)
        rows = axes * np.sqrt(np.maximum(values, 0))
        target = 1.0 - ahead[pairs.better] + ahead[pairs.worse]
        found = rank(
            rows, pairs.better, pairs.worse, C=C / len(preferences), weights=preferences.weight,
            margins=target, tol=self.tol, max_sweeps=400, seed=self.seed,
        )  # fmt: skip
        each = np.bincount(pairs.better, found.alpha, len(rows))
        each -= np.bincount(pairs.worse, found.alpha, len(rows))
        own = np.asarray(thin.T @ each).reshape(space.words, n + 1, n + 1) / size**2
        whole = shared.table[shared.bins] + own
        return WordTable(space, whole, np.arange(space.words))


class AbsencesToo(OwnWordsLearner):
    """And each word learns its own t(0, l) and t(j, 0)."""

    absences = True


def _own_indicators(
    space: Words,
    items: sparse.csr_array,
    asked: sparse.csr_array,
    pairs: _Pairs,
    n: int,
    absences: bool,
) -> sparse.csr_array:
    """The same for words one by one, those in both (or in either): long, thin rows."""
    weight = space.idf**2
    rows, columns, values = [], [], []
    tau_q, tau_d = space.tau(asked), space.tau(items)
    for p, (q, d) in enumerate(zip(pairs.query.tolist(), pairs.item.tolist())):
        left, right = (slice(x.indptr[r], x.indptr[r + 1]) for x, r in ((asked, q), (items, d)))
        either = np.union1d if absences else np.intersect1d
        words = either(asked.indices[left], items.indices[right]).astype(np.int64)
        a, b = (
            _levels(space, x.indices[part], x.data[part], words, n)
            for x, part in ((asked, left), (items, right))
        )
        columns.append((words * (n + 1) + a) * (n + 1) + b)
        values.append(tau_q[q] * tau_d[d] * weight[words])
        rows.append(np.full(len(words), p))
    return sparse.csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(len(pairs.query), space.words * (n + 1) ** 2),
    )


def _levels(space: Words, own: Any, counts: Any, words: Any, n: int) -> Any:
    """Truncated counts of some words in one histogram; 0 where it has none."""
    out = np.zeros(len(words), np.int64)
    _, place, there = np.intersect1d(words, own, assume_unique=True, return_indices=True)
    out[place] = np.minimum(space.level(counts[there]), n)
    return out
