"""Query-dependent similarity from reference queries (Kuang, Sun and Wong), over plain arrays.

Each reference query learns a weight a dimension, ``s_w(q, x) = sum_m w_m q_m x_m``; a new query
takes the sum of the normalised weights of its nearest references and becomes the surrogate
``w o q``.  Larger ``sigma`` pulls the weights more towards plain similarity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.solvers.rank_many import rank_many
from likewise.types import BadInput, FloatArray, Preferences, as_matrix, as_vector


class Learned(NamedTuple):
    """What the references learned: a row of weights (or, in `directions`, a direction) each.

    ``taught`` ones had a preference and their answer was kept; the others hold what plain
    similarity has.  ``gap`` of a reference's problem is certified.
    """

    weights: FloatArray
    taught: NDArray[np.bool_]
    objective: FloatArray
    gap: FloatArray

    @property
    def coverage(self) -> float:
        """Share of the references that learned something."""
        return float(self.taught.mean()) if len(self.taught) else 0.0


def learn_references(
    X: ArrayLike,
    references: ArrayLike,
    preferences: Preferences,
    *,
    sigma: float = 0.95,
    C: float = 1.0,
    clip: bool = True,
    w0: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    tol: float = 1e-3,
    workers: int | None = None,
) -> Learned:
    """Weights of every reference query: equation (8) of the paper, one problem each.

    ``query`` of the preferences numbers a reference.  ``sigma`` in [0, 1) pulls towards ``w0``; 0
    is a ranking SVM a reference.  C is the price of a broken preference, ``tol`` the relative
    duality gap to reach.  ``clip`` sets negative weights to zero: the angular term is blind to the
    sign, and a negative weight calls items similar that are opposite to the query.  ``prior`` are
    weights to stay close to in place of zero (the paper's reference [11] takes ``w0``).  A
    reference without preferences, or whose answer has ``w0 . w <= 0``, takes part with ``w0``.
    """
    items = as_matrix(X, name="items")
    queries = as_matrix(references, dim=items.shape[1], name="reference queries").astype(float)
    plain = plain_weights(w0, items.shape[1])
    check_settings(sigma, C)
    found = rank_many(
        items,
        queries,
        preferences.query,
        preferences.better,
        preferences.worse,
        weights=preferences.weight,
        C=C,
        sigma=sigma,
        w0=plain,
        prior=prior,
        tol=tol,
        workers=workers,
    )
    weights = np.maximum(found.w, 0.0) if clip else found.w
    taught = had_preferences(preferences, len(queries)) & (weights @ plain > 0)
    weights = np.where(taught[:, None], weights, plain)
    return Learned(weights, taught, found.objective, found.gap)


def had_preferences(preferences: Preferences, references: int) -> NDArray[np.bool_]:
    """Which references anything was said about."""
    return np.bincount(preferences.query, minlength=references) > 0


def plain_weights(w0: ArrayLike | None, dim: int) -> FloatArray:
    """Weights of plain similarity, checked; ones where none are given."""
    if w0 is None:
        return np.ones(dim)
    plain = as_vector(w0, dim=dim, name="plain weights").astype(np.float64)
    if not (plain >= 0).all() or not plain.any():
        raise BadInput("Plain weights must not be negative, and not all zero.")
    return plain


def check_settings(sigma: float, C: float) -> None:
    """Refuse what the problem has no answer for."""
    if not 0 <= sigma < 1:
        raise BadInput(f"sigma must be at least 0 and below 1, not {sigma}.")
    if not (np.isfinite(C) and C > 0):
        raise BadInput(f"C must be a positive number, not {C}.")
