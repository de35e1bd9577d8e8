"""QI-RSVM: one ranking SVM for all queries (Joachims), the paper's query-independent baseline.

The preferences of all reference queries are put together, an item under reference q being
``x_q o x_i``, and one weight vector ranks for every query.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from likewise.solvers.ranking import Ranking, rank
from likewise.types import Preferences, as_matrix


def qi_rsvm(
    X: ArrayLike,
    references: ArrayLike,
    preferences: Preferences,
    *,
    C: float = 1.0,
    tol: float = 1e-2,
    max_sweeps: int = 30,
) -> Ranking:
    """One weight vector from the preferences of all references; its surrogate is ``w o q``.

    Parameters
    ----------
    X, references, preferences
        As :func:`~likewise.learners.references.learn_references` takes them.
    C
        Price of a broken preference.
    tol, max_sweeps
        When the solver stops; the gap that it reached is returned with the answer.
    """
    items = as_matrix(X, name="items")
    queries = as_matrix(references, dim=items.shape[1], name="reference queries")
    # One row for each pair of reference and item that a preference names.
    wide = np.int64(len(items))
    pairs = np.r_[
        preferences.query * wide + preferences.better, preferences.query * wide + preferences.worse
    ]
    keys, place = np.unique(pairs, return_inverse=True)
    rows = queries[keys // wide].astype(np.float64) * items[keys % wide]
    count = len(preferences)
    return rank(
        rows,
        place[:count],
        place[count:],
        C=C,
        weights=preferences.weight,
        tol=tol,
        max_sweeps=max_sweeps,
    )
