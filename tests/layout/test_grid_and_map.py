"""Sorted grid and collection map: every picture once, neighbours alike, the same every time."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

from likewise.layout import map as layout_map
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


def test_a_map_of_many_reads_a_file_in_pieces_and_finds_landmarks_in_a_sample(
    tmp_path, monkeypatch
):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 6, 20_000)
    centres = 4 * rng.normal(size=(6, 256))
    x = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (20_000, 256))
    x[:] = centres[kind] + rng.normal(size=x.shape)
    monkeypatch.setattr(layout_map, "CHUNK", 512)
    monkeypatch.setattr(layout_map, "SAMPLE", 1_000)
    asked = []
    kmeans = layout_map.kmeans

    def counted(points, *args, **settings):
        asked.append(len(points))
        return kmeans(points, *args, **settings)

    monkeypatch.setattr(layout_map, "kmeans", counted)
    collection_map(x[:2_000], landmarks=60)  # so that what is imported then does not count
    tracemalloc.start()
    place = collection_map(x, weights=np.ones(256, np.float32), landmarks=60)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert asked == [1_000, 1_000]
    assert peak < x.nbytes  # 20 MB; a copy of all of it would be more
    middle = np.array([place[kind == k].mean(axis=0) for k in range(6)])
    nearest = ((place[:, None] - middle) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == kind).mean() > 0.99
    double = collection_map(x[:500], weights=np.full(256, 2.0), landmarks=60)
    assert np.allclose(double, collection_map(2 * x[:500], landmarks=60), atol=1e-4)


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
