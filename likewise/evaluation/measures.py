"""The measures: short formulas of the ranks of the relevant items.

Each function takes a :class:`~likewise.evaluation.ranking.Ranked` and gives one number a
query, NaN for a query that has no relevant item.  :func:`mean` leaves those out and says
how many they were.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.evaluation.ranking import NOT_FOUND, Ranked
from likewise.later import njit
from likewise.types import BadInput, check_k

Values = NDArray[np.float64]


class Mean(NamedTuple):
    """Mean over the queries that have a relevant item."""

    value: float
    queries: int
    left_out: int


def mean(values: ArrayLike) -> Mean:
    """Mean of a measure over queries; those without a relevant item (NaN) are only counted."""
    a = np.asarray(values, dtype=np.float64)
    kept = a[~np.isnan(a)]
    return Mean(float(kept.mean()) if len(kept) else float("nan"), len(kept), len(a) - len(kept))


# --------------------------------------------------------------------------
# Over the whole ranking


def average_precision(ranked: Ranked) -> Values:
    """Mean over the relevant items of the precision at each one's rank (0 if not found)."""
    return _share(_sum_of_precisions(ranked.starts, ranked.ranks), ranked.relevant)


def judged_average_precision(ranked: Ranked) -> Values:
    """Average precision of the ranking that is left when unjudged items are taken out."""
    precision = ranked.place / (ranked.place + ranked.above.astype(np.int64))
    return _per_relevant(ranked, _where_found(ranked, precision))


def bpref(ranked: Ranked) -> Values:
    """Mean over relevant items of one minus the share of irrelevant items judged above it.

    The share is ``min(above, R) / min(N, R)`` for R relevant and N irrelevant judged items.
    """
    most = np.minimum(ranked.relevant, ranked.irrelevant)
    above = np.minimum(ranked.above, ranked.relevant[ranked.query])
    share = above / np.maximum(most, 1)[ranked.query]
    return _per_relevant(ranked, _where_found(ranked, 1.0 - share))


def top_precision(ranked: Ranked) -> Values:
    """Share of the relevant items that score strictly above the top irrelevant item."""
    return _share(ranked.top, ranked.relevant)


def r_precision(ranked: Ranked) -> Values:
    """Precision among as many items as are relevant."""
    return _share(_hits_within(ranked, ranked.relevant[ranked.query]), ranked.relevant)


# --------------------------------------------------------------------------
# Down to a cut


def precision_at(ranked: Ranked, cut: int) -> Values:
    """Share of relevant items among the first ``cut`` (fewer items ranked do not help)."""
    found = _hits_within(ranked, check_k(cut))
    return _known(ranked, found / cut)


def recall_at(ranked: Ranked, cut: int) -> Values:
    """Share of the relevant items that are among the first ``cut``."""
    return _share(_hits_within(ranked, check_k(cut)), ranked.relevant)


def top4(ranked: Ranked) -> Values:
    """Number of relevant items among the first four: 0 to 4, for groups of four pictures."""
    return _known(ranked, _hits_within(ranked, 4).astype(np.float64))


def ndcg(ranked: Ranked, cut: int | None = None, *, gains: str = "exponential") -> Values:
    """NDCG normalised by the best order of the query's own judged items.

    Parameters
    ----------
    cut
        How many items count; all of them by default.
    gains
        ``exponential`` for ``2^grade - 1``, ``linear`` for the grade itself.
    """
    if gains not in ("exponential", "linear"):
        raise BadInput(f"gains are exponential or linear, not {gains!r}.")
    cut = NOT_FOUND - 1 if cut is None else check_k(cut)
    linear = ranked.grades.astype(np.float64)
    value = _exponential(linear) if gains == "exponential" else linear
    # The ideal ranking has the same gains, the greatest first, at ranks 1, 2, 3, ...
    ordered = value
    if len(value) and value.min() < value.max():  # class labels have one grade: no sort
        ordered = value[np.lexsort((-value, ranked.query))]
    ideal = ordered / np.log1p(ranked.place)
    ideal[ranked.place > cut] = 0.0
    best = _sum(ranked, ideal)
    return _known(ranked, _dcg(ranked, cut, value) / np.where(best > 0, best, 1.0))


# --------------------------------------------------------------------------
# Curves


def recall_precision(ranked: Ranked, query: int) -> tuple[Values, Values]:
    """Recall and precision of one query at each relevant item that was found."""
    ranks = ranked.of_query(query)
    found = ranks[ranks < NOT_FOUND]
    place = np.arange(1, len(found) + 1)
    return place / max(1, len(ranks)), place / found


def interpolated_precision(ranked: Ranked, levels: int = 11) -> Values:
    """Precision at recall 0, 0.1, ... 1, a row a query: the best at that recall or beyond.

    ``levels`` evenly spaced recalls are used; their mean over queries is the curve of
    :func:`recall_precision_curve`.
    """
    if levels < 2:
        raise BadInput(f"A curve needs at least 2 levels of recall, not {levels}.")
    precision = _where_found(ranked, ranked.place / ranked.ranks)
    rows = np.full((len(ranked), levels), np.nan)
    for q in np.flatnonzero(ranked.relevant):
        own = precision[ranked.starts[q] : ranked.starts[q + 1]]
        best = np.maximum.accumulate(own[::-1])[::-1]
        # The first item with recall >= l / (levels - 1), in whole numbers so that it is exact.
        first = -(-np.arange(levels) * len(own) // (levels - 1))
        rows[q] = best[np.maximum(first, 1) - 1]
    return rows


def recall_precision_curve(ranked: Ranked, levels: int = 11) -> tuple[Values, Values]:
    """Levels of recall and the mean interpolated precision at each."""
    rows = interpolated_precision(ranked, levels)[ranked.relevant > 0]
    curve = rows.mean(axis=0) if len(rows) else np.full(levels, np.nan)
    return np.linspace(0.0, 1.0, levels), curve


# --------------------------------------------------------------------------
# By name


_NAMED: dict[str, Callable[[Ranked], Values]] = {
    "map": average_precision,
    "judged_map": judged_average_precision,
    "bpref": bpref,
    "top_precision": top_precision,
    "r_precision": r_precision,
    "top4": top4,
    "ndcg": ndcg,
}
_CUT: dict[str, Callable[[Ranked, int], Values]] = {
    r"p(\d+)": precision_at,
    r"recall(\d+)": recall_at,
    r"ndcg(\d+)": ndcg,
}


def measure(ranked: Ranked, name: str) -> Values:
    """A measure by its name, one number a query.

    Names are ``map``, ``judged_map``, ``bpref``, ``top_precision``, ``r_precision``,
    ``top4``, ``ndcg``, and with any cut ``p10``, ``recall10``, ``ndcg10``.
    """
    if name in _NAMED:
        return _NAMED[name](ranked)
    for pattern, function in _CUT.items():
        if match := re.fullmatch(pattern, name):
            return function(ranked, int(match[1]))
    raise BadInput(
        f"There is no measure {name!r}; take one of {', '.join(_NAMED)}, p10, recall10 or ndcg10 "
        "(with any number)."
    )


def evaluate(ranked: Ranked, names: Iterable[str] = ("map", "p1")) -> dict[str, float]:
    """Means of several measures by name, over the queries that have a relevant item."""
    return {name: mean(measure(ranked, name)).value for name in names}


# --------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _sum_of_precisions(starts, ranks):  # type: ignore[no-untyped-def]
    # The one measure that is asked for on millions of relevant items: no temporary arrays.
    sums = np.zeros(len(starts) - 1)
    for q in range(len(sums)):
        for at in range(starts[q], starts[q + 1]):
            if ranks[at] < NOT_FOUND:
                sums[q] += (at - starts[q] + 1) / ranks[at]
    return sums


def _sum(ranked: Ranked, values: Values) -> Values:
    total: NDArray[Any] = np.bincount(ranked.query, weights=values, minlength=len(ranked))
    return total


def _per_relevant(ranked: Ranked, values: Values) -> Values:
    return _share(_sum(ranked, values), ranked.relevant)


def _share(part: NDArray[Any], whole: NDArray[Any]) -> Values:
    known = whole > 0
    return np.where(known, part / np.where(known, whole, 1), np.nan)


def _known(ranked: Ranked, values: Values) -> Values:
    return np.where(ranked.relevant > 0, values, np.nan)


def _where_found(ranked: Ranked, values: Values) -> Values:
    return np.where(ranked.ranks < NOT_FOUND, values, 0.0)


def _hits_within(ranked: Ranked, cut: int | NDArray[Any]) -> NDArray[np.int64]:
    within = (ranked.ranks <= cut) & (ranked.ranks < NOT_FOUND)
    return np.bincount(ranked.query[within], minlength=len(ranked))


def _exponential(grades: NDArray[Any]) -> Values:
    gain: Values = np.exp2(grades.astype(np.float64)) - 1.0
    return gain


def _dcg(ranked: Ranked, cut: int, gain: Values) -> Values:
    seen = ranked.ranks <= min(cut, NOT_FOUND - 1)
    discounted = gain[seen] / np.log1p(ranked.ranks[seen])
    spread = np.zeros(len(ranked.ranks))
    spread[seen] = discounted
    return _sum(ranked, spread)
