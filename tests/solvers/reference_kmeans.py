"""Lloyd's algorithm and greedy medoids as one would write them on paper: slow, for tests."""

from __future__ import annotations

import numpy as np

from likewise.solvers.checks import Floats, Ints


def lloyd(X: Floats, start: Floats, iterations: int) -> tuple[Floats, Ints, float]:
    """``(centres, assignment, objective)`` after some rounds; an empty cluster keeps its centre."""
    centres = np.array(start, dtype=np.float64)
    for _ in range(iterations):
        nearest = _squares(X, centres).argmin(axis=1)
        for j in range(len(centres)):
            if (nearest == j).any():
                centres[j] = X[nearest == j].mean(axis=0)
    squares = _squares(X, centres)
    return centres, squares.argmin(axis=1), float(squares.min(axis=1).sum())


def greedy_medoids(X: Floats, centres: Floats) -> Ints:
    """Over and over the closest pair of a free centre and a free item."""
    squares = _squares(centres, X)
    chosen = np.full(len(centres), -1, dtype=np.int64)
    for _ in range(len(centres)):
        centre, item = np.unravel_index(int(squares.argmin()), squares.shape)
        chosen[centre] = item
        squares[centre, :] = np.inf
        squares[:, item] = np.inf
    return chosen


def _squares(a: Floats, b: Floats) -> Floats:
    squares: Floats = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)
    return squares
