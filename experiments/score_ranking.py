"""Large score matrices, ranked fast: radix sorts of blocks of queries in threads.

``likewise.evaluation.rank`` takes a run, names and all, one query after the other; experiments
rank thousands of queries over tens of thousands of items, and the two agree.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.relevance import Relevance, RelevanceLike, as_relevance
from experiments.row_order import count_relevant, rank_rows
from likewise.evaluation import Ranked
from likewise.evaluation.ranking import empty
from likewise.types import BadInput, FloatArray, IdArray, as_matrix

BLOCK_BYTES = 8 << 20
"""Scores that one thread ranks at a time."""


def rank(
    scores: Any,
    relevance: RelevanceLike,
    *,
    leave_out: ArrayLike | None = None,
    threads: int | None = None,
) -> Ranked:
    """Where the relevant items of every query stand; by default one thread per core.

    Parameters
    ----------
    scores
        One row a query, one column an item, higher is better; the ids are the column numbers.
    relevance
        What :func:`as_relevance` takes.
    leave_out
        For each query the id of an item to take out of the ranking, usually the query itself;
        -1 takes none out.
    """
    scores = np.asarray(scores)
    if scores.ndim != 2:
        raise BadInput(f"Scores must form a matrix of queries by items, not {scores.ndim} axes.")
    if scores.dtype.kind not in "biuf":
        raise BadInput("Scores must be numbers.")
    count, items = scores.shape
    truth = as_relevance(relevance, items=items)
    check_length(count, truth)
    check_items(truth, items)
    out = left_out(leave_out, count)
    if count == 0:
        return empty(truth.complete)
    truth = replace(truth, items=items)
    step = max(1, BLOCK_BYTES // max(1, items * scores.dtype.itemsize))
    blocks = [slice(at, min(at + step, count)) for at in range(0, count, step)]

    def ranked(block: slice) -> Ranked:
        return _rank_block(_floats(scores[block]), truth, out[block], block)

    workers = min(len(blocks), threads or len(os.sched_getaffinity(0)))
    if workers == 1:
        return Ranked.join([ranked(block) for block in blocks])
    with ThreadPoolExecutor(workers) as pool:
        return Ranked.join(list(pool.map(ranked, blocks)))


def _floats(scores: NDArray[Any]) -> FloatArray:
    """Scores in one of the two forms that are sorted; most need no copy."""
    if scores.dtype in (np.float32, np.float64):
        return np.ascontiguousarray(scores)
    return as_matrix(scores, name="scores").astype(np.float64)


def _rank_block(scores: FloatArray, truth: Relevance, out: IdArray, block: slice) -> Ranked:
    keys = scores.view(np.uint32 if scores.dtype == np.float32 else np.uint64)
    start, stop = truth.start[block], truth.stop[block]
    starts = np.zeros(len(keys) + 1, dtype=np.int64)
    starts[1:] = np.cumsum(count_relevant(start, stop, truth.ids, truth.grades, out))
    ranks = np.empty(starts[-1], dtype=np.int32)
    above = np.empty(starts[-1], dtype=np.int32)
    grades = np.empty(starts[-1], dtype=np.float32)
    irrelevant = np.zeros(len(keys), dtype=np.int64)
    top = np.zeros(len(keys), dtype=np.int64)
    judged = (start, stop, truth.ids, truth.grades, truth.complete)
    bad = rank_rows(keys, *judged, out, starts[:-1], ranks, above, grades, irrelevant, top)
    if bad >= 0:
        raise BadInput(
            f"The scores hold NaN or infinity (first in row {block.start + bad}); "
            "leave that query out, or give such items a very low score."
        )
    inside = (out >= 0) & (out < keys.shape[1])
    lengths = keys.shape[1] - inside.astype(np.int64)
    return Ranked(starts, ranks, above, grades, lengths, irrelevant, top, truth.complete)


def check_items(truth: Relevance, items: int) -> None:
    """Refuse relevance that speaks of other items than there are scores of."""
    inside = not len(truth.ids) or (truth.ids.min() >= 0 and truth.ids.max() < items)
    if truth.items not in (None, items) or not inside:
        raise BadInput(
            f"The scores are of {items} items, but the relevance speaks of others; "
            "make one column of scores for each item."
        )


def check_length(count: int, truth: Relevance) -> None:
    """Refuse relevance of another number of queries."""
    if len(truth) != count:
        raise BadInput(
            f"There are {count} rankings but relevance for {len(truth)} queries; give one each."
        )


def left_out(leave_out: ArrayLike | None, count: int) -> IdArray:
    """Per query the id to take out, or -1."""
    if leave_out is None:
        return np.full(count, -1, dtype=np.int64)
    out = np.asarray(leave_out)
    if out.shape != (count,) or (count and out.dtype.kind not in "iu"):
        raise BadInput(f"leave_out must hold one item id (or -1) for each of {count} queries.")
    return out.astype(np.int64)
