"""A word table whose words depart from their bin's table one by one, pulled back towards it."""

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
        thin = _own_indicators(space, items, asked, pairs, n)
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
        own = np.asarray(thin.T @ each).reshape(space.words, n, n) / size**2
        whole = shared.table[shared.bins]
        whole[:, 1:, 1:] += own
        return WordTable(space, whole, np.arange(space.words))


def _own_indicators(
    space: Words, items: sparse.csr_array, asked: sparse.csr_array, pairs: _Pairs, n: int
) -> sparse.csr_array:
    """The same for words one by one, those in both only: long, thin rows."""
    weight = space.idf**2
    rows, columns, values = [], [], []
    tau_q, tau_d = space.tau(asked), space.tau(items)
    for p, (q, d) in enumerate(zip(pairs.query.tolist(), pairs.item.tolist())):
        left, right = (slice(x.indptr[r], x.indptr[r + 1]) for x, r in ((asked, q), (items, d)))
        both, i, j = np.intersect1d(
            asked.indices[left], items.indices[right], assume_unique=True, return_indices=True
        )
        a = np.minimum(space.level(asked.data[left][i]), n)
        b = np.minimum(space.level(items.data[right][j]), n)
        columns.append((both.astype(np.int64) * n + a - 1) * n + b - 1)
        values.append(tau_q[q] * tau_d[d] * weight[both])
        rows.append(np.full(len(both), p))
    return sparse.csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(len(pairs.query), space.words * n * n),
    )
