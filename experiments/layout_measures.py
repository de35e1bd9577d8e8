"""How good a layout is: stress, and overlap of the pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from likewise.types import BadInput, FloatArray, as_matrix


def distances(x: Any) -> FloatArray:
    """Euclidean distance between any two rows."""
    points = as_matrix(x, name="points").astype(np.float64)
    out: FloatArray = cdist(points, points)
    return out


def stress(wanted: FloatArray, positions: Any) -> float:
    """Kruskal's stress-1 at the best scale: 0 when all distances are in proportion.

    sqrt(sum (s d_ij - D_ij)^2 / sum D_ij^2) for the s that makes it smallest, so that a layout
    is not punished for the size of its box.
    """
    d = distances(positions)
    if d.shape != wanted.shape:
        raise BadInput("There must be one position for each row of the distances.")
    both, seen, asked = float((d * wanted).sum()), float((d * d).sum()), float((wanted**2).sum())
    if asked == 0 or seen == 0:
        return 0.0 if asked == 0 else 1.0
    return float(np.sqrt(max(0.0, 1.0 - both * both / (seen * asked))))


def overlap(positions: Any, side: float) -> float:
    """Share of the pictures' area that is covered by other pictures: 1 - union / sum.

    Pictures are squares of this side around their positions.  Exact: the plane is cut at every
    edge, and a cell counts once however many pictures lie on it.
    """
    p = as_matrix(positions, name="positions").astype(np.float64)
    if not side > 0:
        raise BadInput(f"The side of a picture must be above 0, not {side}.")
    low, high = p - side / 2, p + side / 2
    xs, ys = (np.unique(np.concatenate([low[:, k], high[:, k]])) for k in (0, 1))
    across = (low[:, [0]] <= xs[:-1]) & (xs[1:] <= high[:, [0]])
    up = (low[:, [1]] <= ys[:-1]) & (ys[1:] <= high[:, [1]])
    covered = across.T.astype(np.float32) @ up.astype(np.float32) > 0
    union = float(np.diff(xs) @ covered @ np.diff(ys))
    return max(0.0, 1.0 - union / (len(p) * side * side))
