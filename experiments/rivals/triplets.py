"""Random triplets of a task with a relevance matrix, for rivals that learn from pairs."""

from __future__ import annotations

import numpy as np

from likewise.learners.relevance import Task
from likewise.types import IdArray


def triplets(task: Task, count: int, rng: np.random.Generator) -> tuple[IdArray, IdArray, IdArray]:
    """Random (query, relevant, irrelevant): a query, then one of each of its kinds."""
    start, item, out_start, out_item = task.pairs
    query = rng.integers(len(task), size=count)
    size = np.diff(start)
    better = item[start[query] + (rng.random(count) * size[query]).astype(np.int64)]
    worse = np.empty(count, np.int64)
    for i in np.unique(query).tolist():
        free = np.ones(len(task.items), bool)
        free[item[start[i] : start[i + 1]]] = False
        free[out_item[out_start[i] : out_start[i + 1]]] = False
        mine = np.flatnonzero(query == i)
        worse[mine] = rng.choice(np.flatnonzero(free), len(mine))
    return query, better, worse
