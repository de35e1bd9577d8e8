"""Codes smoothed by neighbours: the formula row by row, its laws, and the edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.learners import Plain
from likewise.solvers import smoothing
from likewise.solvers.smoothing import nearest, nearest_in_cells, smooth, smoothed
from likewise.spaces import Blocks

SIZES = {"deep": 6, "colour": 4, "texture": 3}
W0 = np.repeat([1.0, 0.3, 0.1], list(SIZES.values()))


def pictures(seed: int, count: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    features = {name: rng.normal(size=(count, dim)) for name, dim in SIZES.items()}
    return Blocks.identity(SIZES).transform(features)


def reference(x, items, w0, k, power, own=None):
    """The definition, one row and one neighbour at a time."""
    z = np.sqrt(w0) * x
    cosines = []
    for j, item in enumerate(items):
        other = np.sqrt(w0) * item
        lengths = np.linalg.norm(z) * np.linalg.norm(other)
        if j != own and lengths > 0:
            cosines.append((-float(z @ other) / lengths, j))
    y = x / np.linalg.norm(z)
    for negative, j in sorted(cosines)[:k]:
        y = y + max(0.0, -negative) ** power * items[j] / np.linalg.norm(np.sqrt(w0) * items[j])
    return y * np.linalg.norm(z) / np.linalg.norm(np.sqrt(w0) * y)


@given(st.integers(0, 1000), st.sampled_from([1, 3, 5]), st.sampled_from([1.0, 3.0]))
def test_items_and_queries_follow_the_definition(seed, k, power):
    x, asked = pictures(seed, 40), pictures(seed + 1, 5)
    mine = [reference(row, x, W0, k, power, own=at) for at, row in enumerate(x)]
    np.testing.assert_allclose(smooth(x, W0, k=k, power=power), mine, atol=1e-12)
    theirs = [reference(row, x, W0, k, power) for row in asked]
    np.testing.assert_allclose(smooth(asked, W0, items=x, k=k, power=power), theirs, atol=1e-12)


def test_a_scan_in_blocks_finds_what_one_matrix_finds(monkeypatch):
    x = pictures(3, 200)
    whole = nearest(x, x, W0, 5, own=np.arange(200))
    monkeypatch.setattr(smoothing, "ASKED", 7)
    monkeypatch.setattr(smoothing, "ITEMS", 3)  # fewer than neighbours
    np.testing.assert_array_equal(nearest(x, x, W0, 5, own=np.arange(200)), whole)
    z = x * np.sqrt(W0)
    cosine = z @ z.T / np.linalg.norm(z, axis=1)
    np.fill_diagonal(cosine, -np.inf)
    np.testing.assert_array_equal(np.argsort(-cosine, axis=1)[:, :5], whole)


def test_length_stays_blocks_stay_and_a_score_is_a_sum_over_blocks():
    x = pictures(5)
    y = smooth(x, W0)
    root = np.sqrt(W0)
    np.testing.assert_allclose(
        np.linalg.norm(y * root, axis=1), np.linalg.norm(x * root, axis=1), rtol=1e-12
    )
    space = Blocks.identity(SIZES)
    for part in space.slices.values():  # a block of y is made of that block of pictures alone
        other = x.copy()
        rest = np.setdiff1d(np.arange(x.shape[1]), np.arange(part.start, part.stop))
        near = x[nearest(x, x, W0, own=np.arange(len(x)))]
        swapped = near.copy()
        other[:, rest], swapped[..., rest] = -other[:, rest], -swapped[..., rest]
        one, two = smoothed(x, near, W0)[:, part], smoothed(other, swapped, W0)[:, part]
        np.testing.assert_allclose(one, two, atol=1e-12)
    plain = Plain(space, {"deep": 1.0, "colour": 0.3, "texture": 0.1})
    surrogate = plain.surrogate(y[0])
    told = space.contributions(surrogate, y[7:8])
    assert sum(told.values()) == pytest.approx(float(y[7] @ surrogate.vector))
    assert float(y[7] @ surrogate.vector) == pytest.approx(float((W0 * y[0]) @ y[7]))


def test_twins_get_the_same_code_and_single_precision_stays():
    x = pictures(7, 30).astype(np.float32)
    x[20] = x[4]
    y = smooth(x, W0)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y[20], y[4])


def test_of_more_candidates_the_nearest_count():
    x = pictures(9, 50)
    own = np.arange(50)
    near = nearest(x, x, W0, 20, own=own)
    shuffled = np.random.default_rng(0).permuted(near, axis=1)
    np.testing.assert_allclose(smoothed(x, x[shuffled], W0, k=5), smooth(x, W0), atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_few_pictures_and_empty_ones(count):
    x = pictures(1, count)
    assert smooth(x, W0).shape == x.shape
    np.testing.assert_allclose(smooth(x[:1], W0), x[:1])  # alone: itself
    x[0] = 0.0
    y = smooth(x, W0)
    np.testing.assert_array_equal(y[0], 0.0)
    assert np.isfinite(y).all()
    assert smooth(x[:0], W0).shape == (0, x.shape[1])
    np.testing.assert_allclose(smooth(x[1:], W0, items=x[:0]), x[1:])


class Read:
    """Rows as a file has them, which remembers how many were asked for at once."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.most = rows, 0

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which):
        found = self.rows[which]
        self.most = max(self.most, len(found))
        return found


def test_near_cells_hold_nearly_all_neighbours_and_few_rows_are_read_at_once(monkeypatch):
    monkeypatch.setattr(smoothing, "ITEMS", 256)
    monkeypatch.setattr(smoothing, "PROBES", 12)
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(100, sum(SIZES.values())))
    x = (centres[rng.integers(0, 100, 5000)] + 0.3 * rng.normal(size=(5000, 13))).astype("f4")
    file = Read(x)
    found = nearest_in_cells(file, W0, 5, size=50)
    exact = nearest(x, x, W0, 5, own=np.arange(5000))
    assert np.mean([len(set(a) & set(b)) / 5 for a, b in zip(found, exact)]) > 0.95
    assert not (found == np.arange(5000)[:, None]).any()
    assert file.most <= 2500  # drawn for the centres, or in some cells: never all
    np.testing.assert_array_equal(found, nearest_in_cells(x, W0, 5, size=50))


@pytest.mark.parametrize("count", [2, 7, 40])
def test_few_rows_in_cells_are_compared_with_all_they_need(count, monkeypatch):
    monkeypatch.setattr(smoothing, "PROBES", 1)
    x = pictures(1, count)
    x[: count // 2] = x[0]  # equal pictures fill one cell
    found = nearest_in_cells(x, W0, 5, size=3)
    assert found.shape == (count, min(5, count - 1))
    assert all(len(set(row)) == len(row) for row in found.tolist())
    assert not (found == np.arange(count)[:, None]).any()
