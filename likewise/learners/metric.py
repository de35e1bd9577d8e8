"""Weighted Euclidean distance: score = -sum_m w_m (q_m - x_m)^2, learned from orders (Han et al.).

The static index holds ``[x, x o x]``; every metric, whatever its weights, is one surrogate:

    -sum_m w_m (q_m - x_m)^2  =  [x, x o x] . [2 w o q, -w]  -  sum_m w_m q_m^2

Scale is part of the model: multiplying features by s is the same as multiplying C by s^4.  So
every block is brought to a mean squared distance of 100 while learning (with C = 20), and that
scale goes into the weights, never into the codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.learners.plain import CodesAlone
from likewise.solvers.metric import MetricFit, learn_metric
from likewise.spaces import Squared
from likewise.types import BadInput, FloatArray, Surrogate, as_matrix, as_vector

SPREAD = 100.0
"""Mean squared distance between two pictures that every block is scaled to."""

PRICE = 20.0
"""C of the paper, for blocks of that spread."""


class Metric(CodesAlone):
    """score(q, x) = -sum_m w_m (q_m - x_m)^2, over codes ``[x, x o x]``.

    No weight is negative unless ``signed`` (ranking-SVM has such): a score then is no distance, and
    another picture may be nearer to the query than the query itself.
    """

    kind: ClassVar[str] = "metric"

    def __init__(self, space: Squared, weights: Any, *, signed: bool = False) -> None:
        self.space, self.signed = space, signed
        self.weights = as_vector(weights, dim=space.base.dim, name="weights").astype(np.float64)
        if not self.weights.any() or (not signed and (self.weights < 0).any()):
            raise BadInput("The weights of a metric must not be negative and not all zero.")

    def surrogate(self, query: Any) -> Surrogate:
        """[2 w o q, -w], with the constant -sum w q^2."""
        q = as_vector(query, dim=self.space.base.dim)
        w = self.weights.astype(q.dtype)
        offset = -float(self.weights @ np.square(q, dtype=np.float64))
        return Surrogate(np.concatenate([2 * w * q, -w]), offset, space=self.space.fingerprint)

    def score(self, query: Any, items: Any) -> FloatArray:
        """Minus the weighted squared distance, straight from the differences."""
        q = as_vector(query, dim=self.space.base.dim)
        x = self.space.base.encode(items)
        out: FloatArray = -(np.square(x.astype(np.float64) - q) @ self.weights)
        return out

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The weights."""
        return {"weights": self.weights}, {"signed": self.signed}

    @classmethod
    def from_arrays(
        cls, space: Squared, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]
    ) -> Metric:
        """The similarity that :meth:`to_arrays` described."""
        return cls(space, arrays["weights"], signed=bool(settings["signed"]))


def solve_scaled(
    D: FloatArray,
    near: Any,
    far: Any,
    scale: FloatArray,
    start: FloatArray,
    *,
    C: float = PRICE,
    pull: bool = False,
    prior: Any = None,
    confidence: Any = None,
    signed: bool = False,
    alpha: Any = None,
    tol: float = 1e-5,
) -> tuple[MetricFit, FloatArray, tuple[str, ...]]:
    """Learn on the balanced scale, and give weights for vectors as they are, with notes.

    Squared differences are multiplied by ``scale`` while learning; all else is of vectors as they
    are.  ``start`` is what to fall back on, and the prior where ``pull`` and no other is given.
    """
    near_to = start if pull and prior is None else prior
    base = None
    if near_to is not None:
        base = np.divide(near_to, scale, out=np.zeros_like(scale), where=scale > 0)
    fit = learn_metric(
        np.asarray(D, dtype=np.float64) * scale,
        near,
        far,
        C=C,
        weights=confidence,
        prior=base,
        signed=signed,
        alpha=alpha,
        tol=tol,
    )
    notes = []
    if fit.dropped:
        notes.append(
            f"{fit.dropped} of {len(fit.alpha)} preferences say nothing: the two pictures are "
            "duplicates or as far from the query in every dimension."
        )
    weights: FloatArray = fit.w * scale
    if len(fit.alpha) == fit.dropped:
        notes.append("There is nothing to learn from; the metric stays as it was.")
        weights = start
    elif not weights.any():  # w = 0 is the legal optimum of a round that contradicts itself
        notes.append("The order contradicts itself under every metric; it stays as it was.")
        weights = start
    return fit, np.asarray(weights, dtype=np.float64), tuple(notes)


def balanced_scale(
    X: Any, blocks: Mapping[str, slice], *, spread: float = SPREAD, sample: int = 20_000
) -> FloatArray:
    """Factor on squared differences that brings every block to one mean squared distance.

    The mean squared distance between two of the vectors is twice the sum of the variances.
    A block in which all vectors agree gets 0: it can tell nothing apart.
    """
    x = as_matrix(X, name="picture vectors")
    if len(x) > sample:  # evenly spaced rows: no chance involved
        x = x[np.linspace(0, len(x) - 1, sample).astype(np.int64)]
    variance = x.var(axis=0, dtype=np.float64)
    mean = float(np.square(x, dtype=np.float64).mean()) if x.size else 0.0
    out = np.zeros(x.shape[1])
    for part in blocks.values():
        distance = 2.0 * float(variance[part].sum())
        if distance > 1e-12 * max(mean, 1e-300):
            out[part] = spread / distance
    return out
