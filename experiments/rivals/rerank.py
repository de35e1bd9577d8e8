"""Re-ranking: only the first results of plain search are put in order by the learned score.

What a system does that cannot search its index with a learned similarity.  Items that plain
search did not bring among the first stay where they were.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from likewise.types import BadInput, FloatArray


def reranked(plain: ArrayLike, learned: ArrayLike, depth: int) -> FloatArray:
    """Scores that rank the first ``depth`` items of ``plain`` by ``learned``, then the others.

    Parameters
    ----------
    plain, learned
        Score matrices, one row a query, one column an item.
    depth
        How many items are put in order; all by ``learned`` if there are no more.
    """
    first, second = np.asarray(plain), np.asarray(learned)
    if first.ndim != 2 or first.shape != second.shape:
        raise BadInput("Plain and learned scores must be matrices of one shape.")
    if depth < 1:
        raise BadInput(f"At least one item is put in order, not {depth}.")
    if depth >= first.shape[1]:
        return second.copy()
    out = first.astype(np.float64)
    top = np.argpartition(-first, depth - 1, axis=1)[:, :depth]
    among = np.take_along_axis(second, top, axis=1).astype(np.float64)
    # Brought above every plain score.
    lift = out.max(axis=1, keepdims=True) + 1 - among.min(axis=1, keepdims=True)
    np.put_along_axis(out, top, lift + among, axis=1)
    return out
