"""The geometric check: how many places of two pictures agree on one view change.

Descriptors that choose each other (and clearly so) are matched; RANSAC then looks for the
affine map that most matches obey.  Pictures of one object agree in many places, chance
agreement stays below ten.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from likewise.features.local import LocalFeatures, root_sift
from likewise.solvers.threads import one_blas_thread

RATIO = 0.85
"""The nearest descriptor must be this much nearer than the second."""
TOLERANCE = 0.015
"""How far, as a share of the picture, a place may be from where the map puts it."""
_FEWEST = 4


def matches(a: LocalFeatures, b: LocalFeatures, ratio: float = RATIO) -> NDArray[np.int64]:
    """Pairs of places (row of ``a``, row of ``b``) whose descriptors choose each other."""
    if len(a) < 2 or len(b) < 2:
        return np.zeros((0, 2), np.int64)
    with one_blas_thread():  # a small product
        alike = root_sift(a.descriptors) @ root_sift(b.descriptors).T
    best, back = alike.argmax(axis=1), alike.argmax(axis=0)
    two = np.partition(alike, -2, axis=1)[:, -2:]
    second, first = np.sqrt(np.maximum(2 - 2 * two, 0)).T  # distances: descriptors have length one
    good = (back[best] == np.arange(len(a))) & (first < ratio * np.maximum(second, 1e-9))
    return np.stack([np.flatnonzero(good), best[good]], axis=1).astype(np.int64)


def inliers(a: LocalFeatures, b: LocalFeatures) -> int:
    """How many matched places agree on one affine map; 0 where too few are matched."""
    pairs = matches(a, b)
    if len(pairs) < _FEWEST:
        return 0
    _, kept = cv2.estimateAffine2D(
        a.places[pairs[:, 0]],
        b.places[pairs[:, 1]],
        method=cv2.RANSAC,
        ransacReprojThreshold=TOLERANCE,
        maxIters=1000,
    )
    count = 0 if kept is None else int(np.asarray(kept).sum())
    return count if count >= _FEWEST else 0
