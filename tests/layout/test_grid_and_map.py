"""Sorted grid and collection map: every picture once, neighbours alike, the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

from likewise.layout.map import collection_map
from likewise.layout.sorted_grid import sorted_grid
from likewise.types import BadInput


def neighbour_distance(grid: np.ndarray, points: np.ndarray) -> float:
    """Mean distance between pictures side by side or one above the other: less is better sorted."""
    total, count = 0.0, 0
    for a, b in ((grid[:, :-1], grid[:, 1:]), (grid[:-1], grid[1:])):
        both = (a >= 0) & (b >= 0)
        total += float(np.linalg.norm(points[a[both]] - points[b[both]], axis=1).sum())
        count += int(both.sum())
    return total / max(1, count)


def clusters(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 10)) + 4 * rng.normal(size=(6, 10))[rng.integers(0, 6, n)]


@pytest.mark.parametrize("n", [1, 2, 7, 100, 230])
def test_every_picture_has_one_cell(n):
    grid = sorted_grid(clusters(n))
    assert np.array_equal(np.sort(grid[grid >= 0]), np.arange(n))
    assert grid.size - n < grid.shape[1]


def test_neighbours_are_alike():
    x = clusters(300)
    raster = np.r_[np.arange(300), np.full(24, -1)].reshape(18, 18)
    assert neighbour_distance(sorted_grid(x), x) < 0.7 * neighbour_distance(raster, x)


def test_a_plane_is_laid_out_as_a_plane():
    plane = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    shuffled = plane[np.random.default_rng(0).permutation(144)]
    assert neighbour_distance(sorted_grid(shuffled), shuffled) < 1.5  # 1 is perfect, random 6


def test_the_width_can_be_chosen():
    assert sorted_grid(clusters(50), columns=7).shape == (8, 7)


def test_runs_agree():
    x = clusters(150)
    assert np.array_equal(sorted_grid(x), sorted_grid(x))
    few = collection_map(x, landmarks=40)
    assert np.array_equal(few, collection_map(x, landmarks=40))


def test_a_map_keeps_neighbours_better_than_two_axes():
    x = clusters(400)
    centred = x - x.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    place = collection_map(x, landmarks=120)
    assert trustworthiness(x, place) > trustworthiness(x, u[:, :2] * s[:2])
    assert place.min() >= 0
    assert place.max() <= 1


@pytest.mark.parametrize("n", [1, 2, 5])
def test_small_collections_have_a_map(n):
    place = collection_map(clusters(n))
    assert place.shape == (n, 2)
    assert np.isfinite(place).all()


def test_duplicates_stand_together():
    place = collection_map(np.ones((4, 3)))
    assert place == pytest.approx(np.full((4, 2), 0.5))


def test_bad_input_is_refused():
    with pytest.raises(BadInput, match="at least one"):
        sorted_grid(np.zeros((0, 3)))
    with pytest.raises(BadInput, match="at least one"):
        collection_map(np.zeros((0, 3)))
    with pytest.raises(BadInput, match="landmarks"):
        collection_map(clusters(5), landmarks=2)
