"""Rocchio's feedback: the query moves towards what was marked relevant, away from the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from likewise.types import FloatArray, as_matrix, as_vector


def rocchio(
    query: ArrayLike,
    relevant: ArrayLike,
    irrelevant: ArrayLike,
    *,
    keep: float = 1.0,
    towards: float = 0.75,
    away: float = 0.15,
) -> FloatArray:
    """``keep q + towards mean(relevant) - away mean(irrelevant)``; the usual settings by default.

    Parameters
    ----------
    query
        The query's vector.
    relevant, irrelevant
        Vectors of the marked items, one row each; either may be empty.
    """
    moved = keep * as_vector(query)
    for marked, share in ((relevant, towards), (irrelevant, -away)):
        if np.size(marked):
            rows = as_matrix(marked, dim=len(moved), name="marked items")
            moved = moved + share * rows.mean(axis=0)
    return moved
