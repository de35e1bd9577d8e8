"""Marks at once: a query's own surrogate, refitted from its marks in milliseconds.

Surrogates of one space add up, so marks are arithmetic on surrogates, whatever the
similarity s is that turns a picture into one:

    v = 2 (s(q) + sum_p a_p s(p)) / (1 + sum_p a_p)  -  b sum_n c_n s(n) / (k + sum_n c_n)

with the relevant pictures p and the irrelevant ones n.  The denominators shrink: one mark
says little, twenty say much, and without a mark v points where s(q) does.  The mean of
pictures that agree in colour only is long in the colour block and short elsewhere, so the
blocks weigh themselves, and what a result owes to each block is the truth.

Two steps sharpen v.  It is *partly whitened* against the collection: directions in which
all pictures vary say little about these ones.  (This is what positives are held against
when there are no negatives.)  And it is *expanded*: the best results of v that nobody marked
are added, the less the more marks there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from likewise.types import (
    BadInput,
    FloatArray,
    IdArray,
    Index,
    Similarity,
    Surrogate,
    as_matrix,
    as_vector,
)

Lookup = Callable[[IdArray], FloatArray]
"""Ids of items to their picture vectors, one row each."""


@dataclass(frozen=True)
class MarkSettings:
    """How marks become a surrogate; the values were chosen on photographs.

    ``query`` is how many relevant marks the query itself counts for; ``negatives`` and ``patience``
    are b and k above.  ``whiten`` is the exponent of the whitening (0: none), ``ridge`` is added
    to the variances before, as a share of the largest.  ``expand`` unmarked results (0: none) are
    added: weight of their mean, exponent on their scores in it, and how fast relevant marks make it
    fade.
    """

    query: float = 1.0
    negatives: float = 1.7
    patience: float = 4.0
    whiten: float = 0.2
    ridge: float = 1e-3
    expand: int = 20
    expand_weight: float = 1.0
    expand_power: float = 3.0
    expand_damping: float = 0.1

    def __post_init__(self) -> None:
        numbers = [float(v) for v in vars(self).values()]
        if not np.isfinite(numbers).all() or min(numbers) < 0:
            raise BadInput("Settings of marks must be finite and not negative.")
        if self.query <= 0 or self.patience <= 0:
            raise BadInput("query and patience of marks must be above zero.")


SMOOTHED = MarkSettings(negatives=2.5)
"""Over codes smoothed by their neighbours irrelevant pictures must push harder."""


@dataclass(frozen=True, eq=False)
class Background:
    """How the collection's pictures vary: axes and variances of ``sqrt(w0) o x``.

    Computed once a generation, by :meth:`of`; its arrays are all there is to store.
    """

    values: FloatArray
    axes: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, codes: Any, w0: ArrayLike, *, sample: int = 20_000, seed: int = 0) -> Background:
        """From picture vectors (a sample of them, where there are many) and plain weights."""
        x = as_matrix(codes, name="picture vectors")
        if not len(x):
            raise BadInput("The background needs at least one picture; index some first.")
        if len(x) > sample:
            x = x[np.sort(np.random.default_rng(seed).choice(len(x), sample, replace=False))]
        root = np.sqrt(as_vector(w0, dim=x.shape[1], name="plain weights").astype(np.float64))
        scaled = x * root
        values, axes = linalg.eigh(scaled.T @ scaled / len(scaled))
        return cls(np.maximum(values, 0.0), axes, root)

    def whiten(self, vector: FloatArray, exponent: float, ridge: float) -> FloatArray:
        """The surrogate vector with much-used directions damped, its length kept.

        In the coordinates ``sqrt(w0) o x``, in which plain similarity is a dot product, the
        vector is multiplied by ``(Cov + ridge max)^-exponent``.
        """
        used = self.root > 0
        scaled = np.divide(vector, self.root, out=np.zeros(len(self.root)), where=used)
        length, top = np.linalg.norm(scaled), self.values[-1]
        if not exponent or not length or not top:
            return vector
        damped = (self.values / top + ridge + 1e-12) ** -exponent
        turned = self.axes @ (damped * (self.axes.T @ scaled))
        turned *= length / np.linalg.norm(turned)
        return np.where(used, self.root * turned, vector).astype(vector.dtype)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Numbers that :meth:`from_arrays` restores it from."""
        return {"values": self.values, "axes": self.axes, "root": self.root}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Background:
        """The background that :meth:`to_arrays` wrote down."""
        return cls(arrays["values"], arrays["axes"], arrays["root"])


class _Sum(NamedTuple):
    """Surrogates times their weights, added; all weight together, and the length of each."""

    total: Surrogate | None
    weight: float
    lengths: Sequence[float]


class MarkedQuery:
    """Turns a query and its marks into a surrogate, by plain similarity or the active model.

    Without a ``background`` nothing is whitened.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.learners import Plain
    >>> from likewise.spaces import Blocks
    >>> x = np.random.default_rng(0).normal(size=(50, 4))
    >>> space = Blocks.identity({"deep": 4})
    >>> x = space.transform({"deep": x})
    >>> marks = MarkedQuery(Plain(space), Background.of(x, np.ones(4)))
    >>> s = marks.surrogate(x[0], x[[3, 5]], x[[8]])
    >>> bool(x[3] @ s.vector > x[8] @ s.vector)
    True
    """

    def __init__(
        self,
        similarity: Similarity,
        background: Background | None = None,
        settings: MarkSettings | None = None,
    ) -> None:
        self.similarity, self.background = similarity, background
        self.settings = settings or MarkSettings()
        if background is not None and len(background.root) != similarity.space.dim:
            raise BadInput(
                f"The background has {len(background.root)} dimensions, but the similarity "
                f"{similarity.space.dim}; compute it from this space's pictures."
            )

    def surrogate(
        self,
        query: Any,
        positives: Any = (),
        negatives: Any = (),
        *,
        positive_weights: ArrayLike | None = None,
        negative_weights: ArrayLike | None = None,
        index: Index | None = None,
        codes: Lookup | None = None,
        marked_ids: ArrayLike = (),
    ) -> Surrogate:
        """The surrogate of a query (a picture vector or a surrogate) with marks, one row each.

        Without any mark it is that of the similarity, untouched.  Unmarked results are found in
        ``index`` and their vectors in ``codes``; without them nothing is expanded.  ``marked_ids``
        are the marked items and the query itself, which are no news.
        """
        good = self._all(positives, positive_weights, "positives", "positive_weights")
        bad = self._all(negatives, negative_weights, "negatives", "negative_weights")
        own = self._own(query, [*good.lengths, *bad.lengths])
        if not good.weight and not bad.weight:
            return own if isinstance(query, Surrogate) else self.similarity.surrogate(query)
        set_ = self.settings
        v = own * (2 * set_.query / (set_.query + good.weight))
        if good.total is not None:
            v = v + good.total * (2 / (set_.query + good.weight))
        if bad.total is not None:
            v = v - bad.total * (set_.negatives / (set_.patience + bad.weight))
        v = self._whitened(v)
        if index is not None and codes is not None and set_.expand:
            v = self._expanded(v, index, codes, marked_ids, good.weight)
        return v

    def graded(
        self,
        query: Any,
        items: Any,
        grades: ArrayLike,
        *,
        index: Index | None = None,
        codes: Lookup | None = None,
        marked_ids: ArrayLike = (),
    ) -> Surrogate:
        """The same from graded marks: above zero relevant, below irrelevant, by how much.

        Labels are 1 and -1; an ordering of n items is ``np.linspace(1, -1, n)``.
        """
        g = np.asarray(grades, dtype=np.float64).ravel()
        if not np.isfinite(g).all():
            raise BadInput("Grades of marks must be finite numbers.")
        x = as_matrix(items, name="marked items") if len(g) else np.zeros((0, 1))
        if len(x) != len(g):
            raise BadInput(f"There are {len(x)} marked items but {len(g)} grades; give one each.")
        return self.surrogate(
            query,
            x[g > 0],
            x[g < 0],
            positive_weights=g[g > 0],
            negative_weights=-g[g < 0],
            index=index,
            codes=codes,
            marked_ids=marked_ids,
        )

    def _all(self, pictures: Any, weights: ArrayLike | None, name: str, weights_name: str) -> _Sum:
        """Surrogates of pictures, times their weights, added."""
        if not len(pictures):
            _weights(weights, 0, weights_name)
            return _Sum(None, 0.0, ())
        x = as_matrix(pictures, name=name)
        w = _weights(weights, len(x), weights_name)
        if not hasattr(self.similarity, "surrogates"):
            each = [self.similarity.surrogate(row) for row in x]
            total = sum((s * float(b) for s, b in zip(each[1:], w[1:])), each[0] * float(w[0]))
            return _Sum(total, float(w.sum()), [_length(s) for s in each])
        rows = self.similarity.surrogates(x)
        together = (w @ rows).astype(x.dtype)
        total = Surrogate(together, space=self.similarity.space.fingerprint)
        return _Sum(total, float(w.sum()), np.linalg.norm(rows, axis=1).tolist())

    def _own(self, query: Any, lengths: Sequence[float]) -> Surrogate:
        """The query's surrogate; one that was handed in gets the length that pictures have."""
        if not isinstance(query, Surrogate):
            return self.similarity.surrogate(query)
        length = _length(query)
        return query * (float(np.mean(lengths)) / length) if len(lengths) and length else query

    def _whitened(self, v: Surrogate) -> Surrogate:
        if self.background is None or v.is_sparse:
            return v
        vector = self.background.whiten(
            np.asarray(v.vector), self.settings.whiten, self.settings.ridge
        )
        return Surrogate(vector, v.offset, v.side, v.space)

    def _expanded(
        self, v: Surrogate, index: Index, codes: Lookup, marked_ids: ArrayLike, marks: float
    ) -> Surrogate:
        """Add the mean of the best unmarked results, weighted by a power of their scores."""
        set_, known = self.settings, np.asarray(marked_ids, dtype=np.int64).ravel()
        hits = index.search(v, set_.expand + len(known))
        fresh = (hits.ids[:, None] != known).all(axis=1)  # they are few: isin would take longer
        ids, scores = hits.ids[fresh][: set_.expand], hits.scores[fresh][: set_.expand]
        scores = np.maximum(np.asarray(scores, dtype=np.float64), 0.0)
        if not len(ids) or not scores.any():
            return v
        share = (scores / scores.max()) ** set_.expand_power
        share *= set_.expand_weight / (1 + set_.expand_damping * marks) / share.sum()
        found = self._all(codes(ids), share, "results", "shares").total
        return v if found is None else v + found


def added(
    similarity: Similarity,
    surrogate: Surrogate,
    marked: Sequence[tuple[Any, float]],
    *,
    against: float = 0.5,
) -> Surrogate:
    """Marks as a plain sum: relevant pictures are added, ``against`` of the others taken away.

    For sparse spaces, where nothing can be whitened and few pictures share a word.
    """
    for row, sign in marked:
        surrogate = surrogate + similarity.surrogate(row) * (1.0 if sign > 0 else -against)
    return surrogate


def _length(s: Surrogate) -> float:
    vector: Any = s.vector
    return float(np.sqrt((vector * vector).sum()))


def _weights(weights: ArrayLike | None, count: int, name: str) -> FloatArray:
    if weights is None:
        return np.ones(count)
    w = np.asarray(weights, dtype=np.float64).ravel()
    if len(w) != count or not np.isfinite(w).all() or (w < 0).any():
        raise BadInput(f"{name} must be {count} finite numbers, none negative.")
    return w
