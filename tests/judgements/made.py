"""Preferences of arrays, kind by kind: what a log of one kind means."""

from __future__ import annotations

import numpy as np

from likewise.judgements.preferences import label_blocks, ordering_blocks
from likewise.judgements.sampling import draw, graded_blocks, graded_columns


def sample_triplets(query, item, grade, **limits):
    return draw(graded_blocks(*graded_columns(query, item, grade)), **limits)


def from_labels(query, item, value, *, time=None):
    columns = graded_columns(query, item, value)
    return draw(label_blocks(*columns, np.zeros(len(query)) if time is None else time).blocks)


def from_orderings(query, orderings, *, head=None, time=None):
    rows = np.asarray(query, np.int64)
    chains = [np.asarray(chain, np.int64) for chain in orderings]
    heads = np.full(len(rows), -1) if head is None else np.asarray(head)
    times = np.zeros(len(rows)) if time is None else np.asarray(time, float)
    return draw(ordering_blocks(rows, chains, heads, times).blocks)
