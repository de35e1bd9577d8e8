"""Clicks after words as a table: how often each picture was chosen for each query, fairly counted.

A log of clicks is easily bent: somebody presses a button a thousand times, a script opens
everything, and whatever stands first is opened most.  So one source counts for a few clicks
on a picture and for some pictures of a query only, a sum is capped, and, where asked for, a
click far down counts more than one at the top.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.judgements.preferences import MAX_CLICKS
from likewise.judgements.records import Judgements
from likewise.types import BadInput, FloatArray, IdArray, QueryRef

PER_SOURCE = 5.0
"""Clicks of one source on one picture for one query that count."""
PICTURES = 100
"""Pictures of one query for which one source counts, the most clicked first."""
FARTHEST = 10.0
"""A click counts at most this many times more for the place where it was made."""
STEEPEST = 5.0
"""Largest exponent with which places can be looked at less and less."""


@dataclass(frozen=True)
class ClickReport:
    """Clicks that counted (before any weight), that were beyond a cap, and that have no row.

    ``propensity`` is the exponent that they were weighted by.
    """

    clicks: float = 0.0
    capped: float = 0.0
    unknown_items: int = 0
    unknown_queries: int = 0
    propensity: float = 0.0


@dataclass(frozen=True, eq=False)
class ClickTable:
    """For query row ``query[i]``, item row ``item[i]`` was chosen ``count[i]`` times; 0: shown."""

    query: IdArray
    item: IdArray
    count: FloatArray
    report: ClickReport


def click_table(
    log: Judgements,
    rows: Mapping[str, int],
    queries: Mapping[QueryRef, int],
    *,
    propensity: float | None = 0.0,
) -> ClickTable:
    """Count the clicks of a log; ``rows`` and ``queries`` say the row of an item and of a query.

    A label is a click too: relevant is one, and irrelevant takes back what was clicked.
    A source is a person, or, where no person is named, the source of the record; clicks
    of nobody in particular (a table of counts) are capped by their sum only.

    A result at place r is taken to be looked at with probability ``r ** -propensity``, and a click
    there counts ``r ** propensity`` times (at most ``FARTHEST``).  0 counts all alike; None takes
    what :func:`propensity_of` the log tells.
    """
    if propensity is not None and not 0 <= propensity <= STEEPEST:
        raise BadInput(f"The propensity is a number from 0 (off) to 5, not {propensity!r}.")
    said = log.where(log.kind != "ordering")
    propensity = propensity_of(said) if propensity is None else propensity
    found = said.resolve(rows, queries)
    nobody, nowhere = found.query < 0, found.item < 0
    keep = ~nobody & ~nowhere
    record, query, item = found.record[keep], found.query[keep], found.item[keep]
    value = np.minimum(np.where(said.kind[record] == "label", 1.0, said.value[record]), MAX_CLICKS)
    value = np.where(said.value[record] > 0, value, 0.0)
    refused = (said.kind[record] == "label") & (said.value[record] <= 0)
    source = _sources(said)[record]
    place = np.maximum(said.position[record], 1).astype(np.float64)
    weight = np.minimum(place**propensity, FARTHEST)

    pair, (pair_query, pair_item) = _groups(query, item)
    by, (by_source, by_pair) = _groups(source, pair)
    count = _sums(by, value, len(by_source))
    weighted = _sums(by, value * weight, len(by_source))
    named = by_source > 0
    fair = np.where(named, np.minimum(count, PER_SOURCE), count)
    fair[_beyond(by_source, pair_query[by_pair], count, PICTURES) & named] = 0.0
    scale = np.divide(fair, count, out=np.zeros_like(fair), where=count > 0)
    total = _sums(by_pair, weighted * scale, len(pair_query))
    total = _overruled(total, pair, refused, found.time[keep])
    report = ClickReport(
        clicks=float(fair.sum()),
        capped=float(np.where(said.value[record] > 0, said.value[record], 0.0).sum() - fair.sum()),
        unknown_items=int((nowhere & ~nobody).sum()),
        unknown_queries=int(nobody.sum()),
        propensity=propensity,
    )
    return ClickTable(pair_query, pair_item, np.minimum(total, MAX_CLICKS), report)


def propensity_of(log: Judgements) -> float:
    """The exponent that clicks on pictures which stood at different places speak for.

    A picture is as right for its query at one place as at another, so the share of its clicks
    that each place has tells how much that place is looked at: after so many displays n_r, it is
    n_r r^-N over the sum of these.  N has the largest likelihood, with a prior of deviation 1
    about 0: a log that tells little moves it little.  A click of value 0 is a display; what has
    several items was a list, shown whole, and its items stand in order.
    """
    sizes = np.diff(log.offsets)
    record = np.repeat(np.arange(len(log)), sizes)
    listed = (sizes[record] > 1) & (log.value[record] == 0) & (log.position[record] == 0)
    within = np.arange(len(record)) - log.offsets[record] + 1
    place = np.where(listed, within, log.position[record])
    some = (place > 0) & (log.kind[record] == "click")
    names: dict[Any, int] = {}
    asked = zip(log.query_kind[record], log.query[record], log.items)
    pair = np.array([names.setdefault(one, len(names)) for one in asked], np.int64)
    value = log.value[record][some]
    cell, (of_pair, at) = _groups(pair[some], place[some])
    clicks = _sums(cell, value, len(at))
    lists = _sums(cell, listed[some].astype(float), len(at))
    shown = _sums(cell, ((value == 0) & ~listed[some]).astype(float), len(at))
    shown += np.maximum(lists, clicks)
    far, found = np.log(at), 0.0

    def each(values: FloatArray) -> FloatArray:
        return _sums(of_pair, values, len(names))

    every = each(clicks)
    for _ in range(100 if every.any() else 0):
        looked = shown * at.astype(np.float64) ** -found
        all_looked = np.maximum(each(looked), 1e-300)
        mean, square = each(looked * far) / all_looked, each(looked * far**2) / all_looked
        slope = every @ mean - clicks @ far - found
        found += slope / (every @ (square - mean**2) + 1)
        found = float(np.clip(found, 0.0, STEEPEST))
    return found


def _sources(log: Judgements) -> IdArray:
    """A number for each judgement's source; 0 where nobody is named."""
    names = {"": 0}
    who = [person or source for person, source in zip(log.person, log.source)]
    return np.array([names.setdefault(name, len(names)) for name in who], dtype=np.int64)


def _groups(*columns: IdArray) -> tuple[IdArray, NDArray[np.int64]]:
    """The group of each row, and the distinct rows as columns."""
    both = np.stack(columns, axis=1) if len(columns[0]) else np.zeros((0, len(columns)), np.int64)
    distinct, group = np.unique(both, axis=0, return_inverse=True)
    return group.ravel().astype(np.int64), distinct.T.astype(np.int64)


def _sums(group: IdArray, value: FloatArray, count: int) -> FloatArray:
    out = np.zeros(count)
    np.add.at(out, group, value)
    return out


def _beyond(source: IdArray, query: IdArray, count: FloatArray, most: int) -> NDArray[np.bool_]:
    """Which entries come after the ``most`` largest of their source and query."""
    group, _ = _groups(source, query)
    order = np.lexsort((np.arange(len(count)), -count, group))
    first = (
        np.concatenate([[True], np.diff(group[order]) != 0]) if len(order) else np.zeros(0, bool)
    )
    start = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    out = np.zeros(len(count), bool)
    out[order] = np.arange(len(order)) - start >= most
    return out


def _overruled(
    total: FloatArray, pair: IdArray, refused: NDArray[Any], time: FloatArray
) -> FloatArray:
    """No clicks are left where the last that was said of a pair is: not relevant."""
    if not refused.any():
        return total
    order = np.lexsort((np.arange(len(pair)), time, pair))
    last = np.append(np.diff(pair[order]) != 0, True)
    out = total.copy()
    ends = order[last]
    out[pair[ends[refused[ends]]]] = 0.0
    return out
