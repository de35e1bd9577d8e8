"""Preferences for visual words from known answers: against random pictures and hard ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from likewise.learners.word_table import WordTable
from likewise.types import IdArray, Index, Preferences


def mine(
    similarity: WordTable,
    index: Index,
    counts: sparse.csr_array,
    relevant: Sequence[IdArray],
    queries: IdArray,
    *,
    per_query: int = 96,
    hard: float = 0.5,
    depth: int = 100,
    seed: int = 0,
) -> Preferences:
    """Preferences for queries that have relevant items: against random items and hard ones.

    Parameters
    ----------
    similarity, index
        What finds hard items: irrelevant ones among its first results.  The index's ids are
        rows of ``counts``.
    counts
        Histograms of all items.
    relevant
        Rows that are relevant to each of ``queries``.
    queries
        Rows of ``counts`` that are asked for.
    per_query
        Preferences a query.
    hard
        Share of hard ones; all hard ones hurt.
    depth
        How far down the results hard ones are looked for.
    """
    rng = np.random.default_rng(seed)
    asked, better, worse = [], [], []
    for row, good in zip(queries.tolist(), relevant):
        good = np.setdiff1d(good, [row])
        if not len(good):
            continue
        hits = index.search(similarity.surrogate(counts[[row]]), depth).ids
        near = np.setdiff1d(hits, np.r_[good, row])
        others = np.setdiff1d(rng.integers(0, counts.shape[0], 4 * per_query), np.r_[good, row])
        few = round(hard * per_query) if len(near) else 0
        drawn = [rng.choice(near, few)] if few else []
        if len(others):
            drawn.append(rng.choice(others, per_query - few))
        bad = np.concatenate(drawn) if drawn else np.zeros(0, np.int64)
        asked.append(np.full(len(bad), row))
        better.append(rng.choice(good, len(bad)))
        worse.append(bad)
    if not asked:
        return Preferences.of([], [], [])
    return Preferences.of(*(np.concatenate(part) for part in (asked, better, worse)))
