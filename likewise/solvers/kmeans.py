"""K-means and medoids: a collection summed up by a few of its points (faiss does the work).

Every centre that is returned has at least one item, so there are at most as many centres
as different rows: a cluster that ran empty is moved to the item that is worst served.
"""

from __future__ import annotations

from typing import NamedTuple

import faiss
import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.solvers import checks
from likewise.solvers.checks import Ints

Singles = NDArray[np.float32]

SAME = 1e-10
"""A squared distance below this share of the mean squared length counts as zero."""


class KMeans(NamedTuple):
    """Clusters of rows: centres, the cluster of every item, sum of squared distances to centres."""

    centres: Singles
    assignment: Ints
    objective: float


def kmeans(
    X: ArrayLike,
    k: int,
    *,
    spherical: bool = False,
    iterations: int = 25,
    restarts: int = 1,
    max_points_per_centre: int = 256,
    start: ArrayLike | None = None,
    seed: int = 0,
) -> KMeans:
    """Cluster the rows of ``X`` around ``k`` centres.

    Parameters
    ----------
    X
        One row an item.
    k
        Number of centres; fewer are returned where ``X`` has fewer different rows.
    spherical
        Bring items and centres to unit length first (zero rows stay zero).
    iterations
        Rounds of Lloyd's algorithm.
    restarts
        Runs from other starts, of which the best is kept.
    max_points_per_centre
        Centres are learned on a sample of at most this many items a centre; every item is
        assigned in the end.
    start
        First centres, ``k`` rows; drawn from the items unless given.
    """
    points = _points("X", X)
    if len(points) == 0:
        raise ValueError("X has no rows; k-means needs at least one item.")
    if k < 1 or iterations < 1 or restarts < 1 or max_points_per_centre < 1:
        raise ValueError(
            "k, iterations, restarts and max_points_per_centre must each be at least 1."
        )
    if spherical:
        points = _unit(points)
    if len(points) <= k:
        centres = _different(points)
    else:
        first = None if start is None else _points("start", start)
        if first is not None and first.shape != (k, points.shape[1]):
            raise ValueError(f"start must have shape ({k}, {points.shape[1]}), not {first.shape}.")
        trainer = faiss.Kmeans(
            points.shape[1],
            k,
            niter=iterations,
            nredo=restarts,
            spherical=spherical,
            seed=int(seed),
            min_points_per_centroid=1,
            max_points_per_centroid=max_points_per_centre,
        )
        trainer.train(points, init_centroids=first)
        centres = np.array(trainer.centroids, dtype=np.float32)
        if spherical:
            # Opposite items cancel out: such a centre has no direction and takes an item's.
            lost = np.flatnonzero(np.linalg.norm(centres, axis=1) < 0.5)
            centres[lost] = points[lost]
    return _settle(points, centres)


def medoids(X: ArrayLike, centres: ArrayLike) -> Ints:
    """The nearest item to each centre, no item twice.

    Where two centres want the same item, the closer one has it and the other takes its
    next; ties go to the lower centre and the lower item.
    """
    points, targets = _points("X", X), _points("centres", centres)
    if points.shape[1] != targets.shape[1]:
        raise ValueError(
            f"X has {points.shape[1]} columns and centres has {targets.shape[1]}; they must agree."
        )
    if len(points) < len(targets):
        raise ValueError(
            f"{len(targets)} centres cannot have different items of {len(points)}; give fewer."
        )
    wide = 8
    while True:
        wide = min(wide, len(points))
        near = faiss.knn(targets, points, wide)[1]
        # faiss expands the square; the order must not depend on the rounding of that
        gaps = points[near] - targets[:, None, :]
        distance = np.einsum("ijk,ijk->ij", gaps, gaps, dtype=np.float64)
        chosen = _greedy(distance, near, len(points))
        if (chosen >= 0).all():
            return chosen
        wide *= 4


def _greedy(distance: NDArray[np.float64], near: Ints, items: int) -> Ints:
    """Pairs from the closest on, each centre and each item once; -1 where none was left."""
    centre = np.repeat(np.arange(len(near)), near.shape[1])
    chosen = np.full(len(near), -1, dtype=np.int64)
    free = np.ones(items, dtype=bool)
    item = near.ravel()
    for pair in np.lexsort((item, centre, distance.ravel())):
        if chosen[centre[pair]] < 0 and free[item[pair]]:
            chosen[centre[pair]] = item[pair]
            free[item[pair]] = False
    return chosen


def _settle(points: Singles, centres: Singles) -> KMeans:
    """Assign every item, and move empty centres to the worst served items until none is left."""
    scale = float(np.mean(np.einsum("ij,ij->i", points, points, dtype=np.float64)))
    while True:
        assignment = faiss.knn(points, centres, 1)[1][:, 0]
        gaps = points - centres[assignment]
        distance = np.einsum("ij,ij->i", gaps, gaps, dtype=np.float64)
        empty = np.flatnonzero(np.bincount(assignment, minlength=len(centres)) == 0)
        worst = np.argsort(-distance, kind="stable")[: len(empty)]
        worst = worst[distance[worst] > SAME * scale]
        if len(empty) == 0:
            return KMeans(centres, assignment, float(distance.sum()))
        if len(worst) == 0:  # fewer different rows than centres
            centres = np.delete(centres, empty, axis=0)
        else:
            centres[empty[: len(worst)]] = points[worst]


def _points(name: str, values: ArrayLike) -> Singles:
    points = np.ascontiguousarray(values, dtype=np.float32)
    checks.shaped(name, points)
    return points


def _unit(points: Singles) -> Singles:
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return (points / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _different(points: Singles) -> Singles:
    """The different rows, in the order of their first appearance."""
    _, first = np.unique(points, axis=0, return_index=True)
    return points[np.sort(first)]
