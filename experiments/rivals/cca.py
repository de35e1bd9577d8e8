"""Canonical correlation analysis alone, plain or with each dimension times its correlation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise.learners.clicks import Clicks
from likewise.solvers.cca import CCA, cca
from likewise.spaces import Blocks


def cca_similarity(space: Blocks, found: CCA, *, weighted: bool = False) -> Clicks:
    """The similarity of a CCA: W is the identity, or the diagonal of correlations."""
    w = np.diag(found.rho) if weighted else np.eye(len(found.rho))
    return Clicks(space, found.wq, w, found.wv)


def fit_cca(
    space: Blocks,
    X: ArrayLike,
    queries: Any,
    clicks: tuple[ArrayLike, ArrayLike],
    *,
    dim: int = 80,
    ridge: tuple[float, float] = (1.0, 0.3),
    weighted: bool = False,
) -> Clicks:
    """CCA of sparse texts and the pictures clicked for them.

    Parameters
    ----------
    clicks
        Rows of ``queries`` and rows of ``X``: the pairs.
    """
    return cca_similarity(space, cca(queries, X, *clicks, dim=dim, ridge=ridge), weighted=weighted)
