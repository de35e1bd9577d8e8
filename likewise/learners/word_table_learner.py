"""Learning a word table from preferences: a ranking SVM over indicators of (bin, count, count).

The score is linear in the table, so a pair of query and picture is a vector

    psi(q, d)[b, j, l] = tau(q) tau(d) sum of idf_i^2 over words i of bin b
                         that occur j times in q and l times in d,

and the shared ranking solver learns the table from differences of such vectors.  A free table
overfits, so words share theirs by how common they are (bins of document frequency), and the
solution is pulled towards idf^2 for words in both, times the root of their counts (for n = 1
that is binary idf).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from likewise.learners.own_settings import WordTableSettings
from likewise.learners.settings import check_learner
from likewise.learners.word_table import WordTable
from likewise.solvers.ranking import rank
from likewise.spaces import Words
from likewise.types import BadInput, FitReport, FloatArray, IdArray, Preferences

PRICES = (0.3, 1.0, 3.0)
"""C that are tried where none is given."""

USUAL = 1.0
"""C where too little is known to try any."""


class WordTableLearner(BaseEstimator):
    """Learns a :class:`WordTable` from preferences; ``plain`` is of a space with levels of words.

    See :class:`~likewise.learners.own_settings.WordTableSettings`; n at most the levels.
    """

    def __init__(
        self,
        plain: WordTable,
        *,
        n: int | None = None,
        bins: int = 6,
        C: float | None = None,
        lam: float = 4.0,
        power: float = 0.5,
        share: float = 0.3,
        tol: float = 1e-3,
        seed: int = 0,
    ) -> None:
        self.plain, self.n, self.bins, self.C = plain, n, bins, C
        self.lam, self.power, self.share, self.tol, self.seed = lam, power, share, tol, seed

    def fit(self, X: Any, preferences: Preferences, queries: Any = None) -> WordTableLearner:
        """Learn from preferences between rows of ``queries`` (or ``X``) and ``X``, word counts."""
        began = time.perf_counter()
        self._check()
        items = self.plain.space.counts(X)
        asked = items if queries is None else self.plain.space.counts(queries)
        preferences.check(asked.shape[0], items.shape[0])
        notes: list[str] = []
        settings: dict[str, Any] = {"n": self.n or 1, "C": self.C or USUAL}
        if not len(preferences):
            notes.append("There is nothing to learn from; plain similarity stays as it is.")
            self.similarity_ = self.plain
            objective = gap = float("nan")
        else:
            if self.n is None or self.C is None:
                settings = self._choose(items, asked, preferences)
            found = self._solve(items, asked, preferences, **settings)
            self.similarity_, objective, gap = found
        count = asked.shape[0]
        self.report_ = FitReport(
            method="word table",
            preferences=len(preferences),
            queries=count,
            covered=len(np.unique(preferences.query)) / max(1, count),
            objective=objective,
            gap=gap,
            seconds=time.perf_counter() - began,
            settings={**settings, "bins": self.bins, "lam": self.lam},
            notes=tuple(notes),
        )
        return self

    def _check(self) -> None:
        check_learner(self, WordTableSettings)
        if self.n is not None and not 1 <= self.n <= self.plain.space.levels:
            raise BadInput(f"n goes from 1 to the space's {self.plain.space.levels}, not {self.n}.")

    def _choose(
        self, items: sparse.csr_array, asked: sparse.csr_array, preferences: Preferences
    ) -> dict[str, Any]:
        """N and C that honour most preferences of queries that were held out."""
        ns = range(1, self.plain.space.levels + 1) if self.n is None else [self.n]
        prices = PRICES if self.C is None else [self.C]
        rng = np.random.default_rng(self.seed)
        known = np.unique(preferences.query)
        out = rng.permutation(known)[: round(self.share * len(known))]
        held = np.isin(preferences.query, out)
        best: dict[str, Any] = {"n": min(ns, default=1), "C": self.C or USUAL}
        if held.all() or not held.any():
            return best
        most = -1.0
        for n in ns:
            for C in prices:
                made, _, _ = self._solve(items, asked, preferences.where(~held), n=n, C=C)
                right = _honoured(made, items, asked, preferences.where(held))
                if right > most:
                    best, most = {"n": n, "C": C}, right
        return best

    def _solve(
        self,
        items: sparse.csr_array,
        asked: sparse.csr_array,
        preferences: Preferences,
        *,
        n: int,
        C: float,
    ) -> tuple[WordTable, float, float]:
        bins = frequency_bins(self.plain.space.idf, self.bins)
        pairs = _Pairs.of(preferences, items.shape[0])
        Z = indicators(self.plain.space, items, asked, pairs, bins, self.bins, n)
        spread = Z.std(axis=0)
        spread = np.where(spread > 1e-9 * max(spread.max(), 1e-300), spread, np.inf)
        start = WordTable.by_counts(self.plain.space, n, self.power).table
        prior = np.repeat(start, self.bins, axis=0)
        ahead = Z @ prior.ravel()
        length = self.lam / max(float(ahead.std()), 1e-12)
        prior, ahead = prior * length, ahead * length
        # In the scaled coordinates only differences from the prior are learned.
        scaled = Z / spread
        target = 1.0 - ahead[pairs.better] + ahead[pairs.worse]
        price = C / len(preferences)
        found = rank(
            scaled, pairs.better, pairs.worse, C=price, weights=preferences.weight,
            margins=target, tol=self.tol, max_sweeps=400, seed=self.seed,
        )  # fmt: skip
        table = prior + (found.w / spread).reshape(prior.shape)
        return WordTable(self.plain.space, table, bins), found.objective, found.gap


def frequency_bins(idf: FloatArray, count: int) -> IdArray:
    """Bin of each word by how common it is, common words first, about as many postings in each.

    Words of one idf share a bin; the document frequency is exp(-idf) up to a factor.
    """
    _, at = np.unique(idf, return_inverse=True)
    mass = np.bincount(at, np.exp(-idf))
    share = (np.cumsum(mass) - mass / 2) / mass.sum()
    bins: IdArray = np.minimum((share * count).astype(np.int64), count - 1)[at]
    return bins


class _Pairs:
    """The different pairs of query and picture of preferences, and each preference's two."""

    def __init__(self, query: IdArray, item: IdArray, better: IdArray, worse: IdArray) -> None:
        self.query, self.item, self.better, self.worse = query, item, better, worse

    @classmethod
    def of(cls, preferences: Preferences, items: int) -> _Pairs:
        t = len(preferences)
        both = np.concatenate([preferences.better, preferences.worse])
        codes = np.tile(preferences.query, 2) * items + both
        unique, place = np.unique(codes, return_inverse=True)
        return cls(unique // items, unique % items, place[:t], place[t:])

    def scores(
        self, table: WordTable, items: sparse.csr_array, asked: sparse.csr_array
    ) -> NDArray[np.float64]:
        """tau(q) times the table's score of each pair."""
        codes, side = table.space.encode(items), table.side_columns(items)
        tau = table.space.tau(asked)
        out = np.empty(len(self.query))
        for q in np.unique(self.query):
            mine = np.flatnonzero(self.query == q)
            s = table.surrogate(asked[[q]])
            thin: Any = s.vector
            rows = self.item[mine]
            found = (codes[rows] @ thin.T).toarray().ravel() + s.offset
            out[mine] = tau[q] * (found + sum(c * side[name][rows] for name, c in s.side.items()))
        return out


def indicators(
    space: Words,
    items: sparse.csr_array,
    asked: sparse.csr_array,
    pairs: _Pairs,
    bins: IdArray,
    count: int,
    n: int,
) -> NDArray[np.float64]:
    """Psi of each pair, one row of count x (n + 1) x (n + 1)."""
    weight = space.idf**2
    total = np.bincount(bins, weight, count)
    out = np.zeros((len(pairs.query), count, n + 1, n + 1))
    out[:, :, 0, 0] = total
    of_query, of_item = (
        np.minimum(space.level(x.data), n) if x.nnz else np.zeros(0, np.int64)
        for x in (asked, items)
    )
    _indicate(
        asked.indptr, asked.indices, of_query, items.indptr, items.indices, of_item,
        pairs.query, pairs.item, bins, weight, out,
    )  # fmt: skip
    scale = space.tau(asked)[pairs.query] * space.tau(items)[pairs.item]
    return np.asarray(out.reshape(len(out), -1) * scale[:, None])


@njit(cache=True, nogil=True)
def _indicate(
    q_starts: Any, q_words: Any, q_levels: Any, d_starts: Any, d_words: Any, d_levels: Any,
    query: Any, item: Any, bins: Any, weight: Any, out: Any,
) -> None:  # fmt: skip
    for p in range(query.shape[0]):
        i, i_end = q_starts[query[p]], q_starts[query[p] + 1]
        j, j_end = d_starts[item[p]], d_starts[item[p] + 1]
        while i < i_end or j < j_end:
            if j == j_end or (i < i_end and q_words[i] < d_words[j]):
                word, left, right = q_words[i], q_levels[i], 0
                i += 1
            elif i == i_end or d_words[j] < q_words[i]:
                word, left, right = d_words[j], 0, d_levels[j]
                j += 1
            else:
                word, left, right = q_words[i], q_levels[i], d_levels[j]
                i += 1
                j += 1
            b = bins[word]
            out[p, b, left, right] += weight[word]
            out[p, b, 0, 0] -= weight[word]


def _honoured(
    made: WordTable, items: sparse.csr_array, asked: sparse.csr_array, preferences: Preferences
) -> float:
    """Share of preferences that a table honours."""
    pairs = _Pairs.of(preferences, items.shape[0])
    score = pairs.scores(made, items, asked)
    return float((score[pairs.better] > score[pairs.worse]).mean())
