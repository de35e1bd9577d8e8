"""A table of what it means that a word occurs j times in the query and l times in a picture.

    s(q, d) = tau(d) sum over all words i of t_i(q_i, d_i),    counts truncated at n

(Qin et al., BMVC 2014).  Absent words count too, and yet only the words of the query need be
looked up: with

    prior(d)    = sum_i [t_i(0, d_i) - t_i(0, 0)]
    c(q)        = sum_i t_i(q_i, 0)
    delta_i(j, l) = t_i(j, l) - t_i(j, 0) - t_i(0, l) + t_i(0, 0)

    s(q, d) = tau(d) (c(q) + prior(d) + sum over words in both of delta_i(q_i, d_i)),

so the surrogate has the delta rows of the query's words, and the model owns two side columns:
tau(d), whose coefficient is c(q), and tau(d) prior(d).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.later import sparse
from likewise.spaces import Words
from likewise.types import BadInput, FloatArray, Surrogate


class WordTable:
    """s(q, d) = tau(d) sum_i weight_i table[bin_i, q_i, d_i].

    ``table`` is (n + 1) x (n + 1) a bin: rows are counts in the query, columns counts in the
    picture, n at most the space's levels.  Without ``bins`` there is one; a word's ``weight`` is
    idf^2.
    """

    kind: ClassVar[str] = "word-table"

    def __init__(self, space: Words, table: Any, bins: Any = None, weight: Any = None) -> None:
        self.space = space
        self.table = np.asarray(table, dtype=np.float64)
        if self.table.ndim == 2:
            self.table = self.table[None]
        _, rows, columns = self.table.shape if self.table.ndim == 3 else (0, 0, 0)
        if rows != columns or not 2 <= rows <= space.levels + 1:
            raise BadInput(
                f"A table has n + 1 rows and columns for n from 1 to {space.levels}, not shape "
                f"{self.table.shape}."
            )
        k = space.words
        self.bins = np.zeros(k, np.int64) if bins is None else np.asarray(bins, dtype=np.int64)
        self.weight = space.idf**2 if weight is None else np.asarray(weight, dtype=np.float64)
        if self.bins.shape != (k,) or self.weight.shape != (k,):
            raise BadInput(f"Bins and weights need one number for each of the {k} words.")
        if not 0 <= self.bins.min() <= self.bins.max() < len(self.table):
            raise BadInput(f"The bins of words go from 0 to {len(self.table) - 1}.")
        if not (np.isfinite(self.table).all() and np.isfinite(self.weight).all()):
            raise BadInput("The table and the words' weights must be finite; learn it again.")
        self._absent = float(self.table[self.bins, 0, 0] @ self.weight)
        self._has_prior = bool((self.table[:, 0, 1:] != self.table[:, 0, :1]).any())

    @classmethod
    def by_counts(cls, space: Words, n: int | None = None, power: float = 0.5) -> WordTable:
        """Nothing learned: idf^2 for every word in both, times the root of both counts."""
        gain = np.r_[0.0, np.arange(1, (n or space.levels) + 1) ** power]
        return cls(space, np.outer(gain, gain))

    @classmethod
    def binary_idf(cls, space: Words) -> WordTable:
        """The same whatever the counts."""
        return cls.by_counts(space, 1)

    @property
    def n(self) -> int:
        """Counts are truncated here."""
        return int(self.table.shape[1]) - 1

    def surrogate(self, query: Any) -> Surrogate:
        """Delta rows of the query's words, and c(q) as the coefficient of tau."""
        words, level = self._levels(query)
        rows = self.table[self.bins[words]] * self.weight[words, None, None]
        at = np.arange(len(words))
        given, absent = rows[at, level], rows[at, 0]
        delta = given - given[:, :1] - absent + absent[:, :1]
        column = np.minimum(np.arange(1, self.space.levels + 1), self.n)
        values = delta[:, column].ravel()
        columns = (words[:, None] * self.space.levels + np.arange(self.space.levels)).ravel()
        vector = sparse.csr_array(
            (values, (np.zeros(len(values), np.int64), columns)), shape=(1, self.space.dim)
        )
        constant = self._absent + float((given[:, 0] - absent[:, 0]).sum())
        side = {"tau": constant, "tau_prior": 1.0 if self._has_prior else 0.0}
        side = {name: coefficient for name, coefficient in side.items() if coefficient}
        return Surrogate(vector, 0.0, side, self.space.fingerprint)

    def score(self, query: Any, items: Any) -> FloatArray:
        """The paper's sum over all words, absent ones included."""
        q = self._dense(query)[0]
        d = self._dense(items)
        total = np.array(
            [(self.weight * self.table[self.bins, q, row]).sum() for row in d], dtype=np.float64
        )
        return self.space.tau(items) * total

    def side_columns(self, items: Any) -> dict[str, FloatArray]:
        """tau(d), and tau(d) times the sum of t(0, d_i) - t(0, 0)."""
        counts = self.space.counts(items)
        level = np.minimum(self.space.level(counts.data), self.n)
        bins = self.bins[counts.indices]
        gain = self.table[bins, 0, level] - self.table[bins, 0, 0]
        thin = sparse.csr_array(
            (gain * self.weight[counts.indices], counts.indices, counts.indptr), shape=counts.shape
        )
        tau = self.space.tau(counts)
        return {"tau": tau, "tau_prior": tau * np.asarray(thin.sum(axis=1)).ravel()}

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The table, the bins and the weights."""
        arrays: dict[str, NDArray[Any]] = {
            "table": self.table,
            "bins": self.bins.astype(np.int32),
            "weight": self.weight,
        }
        return arrays, {"n": self.n}

    @classmethod
    def from_arrays(
        cls, space: Words, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]
    ) -> WordTable:
        """The similarity that :meth:`to_arrays` described."""
        return cls(space, arrays["table"], arrays["bins"], arrays["weight"])

    def _levels(self, query: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Words of a query and their truncated counts."""
        counts = self.space.counts(query)
        if counts.shape[0] != 1:
            raise BadInput("A query is one histogram of words.")
        return counts.indices.astype(np.int64), np.minimum(self.space.level(counts.data), self.n)

    def _dense(self, items: Any) -> NDArray[np.int64]:
        counts = self.space.counts(items)
        level = np.minimum(self.space.level(counts.data), self.n)
        out = np.zeros(counts.shape, np.int64)
        out[np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr)), counts.indices] = level
        return out
