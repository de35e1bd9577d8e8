"""Simulated users: people with a metric of their own, sure or unsure, who look for one picture.

The paper's user chooses the shown picture closest to the target and puts all shown pictures in
order of distance to it, both under a metric that the system does not know.  Real people choose
wrongly, order roughly, and do not judge pictures that mean nothing to them: each of that is a
number here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.types import BadInput, FloatArray, IdArray, as_matrix


@dataclass(frozen=True, eq=False)
class SimulatedUser:
    """Somebody who looks for a picture.

    Parameters
    ----------
    vectors
        The user's own view: one row an item, compared by Euclidean distance.
    mistakes
        Chance of choosing any other picture than the closest to the target.
    jitter
        Noise on the distances that the order goes by, as a share of their mean; 0 is a perfect
        order.
    moves
        How many pictures are put in order, the nearest to the query; all of them unless given.
    """

    vectors: FloatArray
    mistakes: float = 0.0
    jitter: float = 0.0
    moves: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", as_matrix(self.vectors, name="the user's vectors"))
        if not 0 <= self.mistakes <= 1 or self.jitter < 0:
            raise BadInput("mistakes must lie between 0 and 1, and jitter must not be negative.")
        if self.moves is not None and self.moves < 0:
            raise BadInput(f"moves must not be negative, not {self.moves}.")

    def choose(self, target: int, candidates: IdArray, rng: np.random.Generator) -> int:
        """The row among ``candidates`` that the user thinks closest to the target."""
        best = int(candidates[int(np.argmin(self._distance(target, candidates)))])
        if self.mistakes and len(candidates) > 1 and rng.random() < self.mistakes:
            return int(rng.choice(candidates[candidates != best]))
        return best

    def order(self, query: int, shown: IdArray, rng: np.random.Generator) -> IdArray:
        """Rows from nearest to farthest from the query, without the query itself."""
        rows = shown[shown != query]
        distance = np.sqrt(self._distance(query, rows))
        if self.jitter:
            mean = float(distance.mean()) if len(rows) else 0.0
            distance = distance + rng.normal(scale=self.jitter * mean, size=len(rows))
        ordered: IdArray = rows[np.argsort(distance, kind="stable")]
        return ordered if self.moves is None else ordered[: self.moves]

    def _distance(self, row: int, others: IdArray) -> FloatArray:
        gap = self.vectors[others].astype(np.float64) - self.vectors[row]
        out: FloatArray = np.einsum("ij,ij->i", gap, gap)
        return out


def share_found(rounds: Any, by: int) -> tuple[float, float, float]:
    """Share of searches that ended by a round, with Wilson's 95 % interval.

    ``rounds`` has the round in which each search found its target; a larger one means not found.
    """
    found = np.asarray(rounds) <= by
    n = len(found)
    if n == 0:
        raise BadInput("There are no searches to count.")
    p, z = float(found.mean()), 1.96
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)))
    return p, max(0.0, middle - half), min(1.0, middle + half)
