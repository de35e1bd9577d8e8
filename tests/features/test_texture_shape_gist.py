"""Texture, shape and Gist against waves and edges of known direction."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.features.gist import GRID, ORIENTATIONS, Gist
from likewise.features.pictures import Batch
from likewise.features.shape import BINS, Shape
from likewise.features.texture import Texture, transformed
from tests.features.pictures import Picture, noise, plain, scene, waves

# --------------------------------------------------------------------------
# Texture


def bands(picture: Picture) -> np.ndarray:
    """level x (horizontal, vertical, diagonal) x (mean, deviation)"""
    return Texture()([picture])[0].reshape(3, 3, 2)


def test_transform_keeps_energy() -> None:
    grey = Batch([noise(0), scene(1)]).grey()
    total = sum((part.astype(float) ** 2).sum() for part in transformed(grey))
    np.testing.assert_allclose(total, (grey.astype(float) ** 2).sum(), rtol=1e-5)


def test_stripes_have_a_direction() -> None:
    horizontal, vertical = bands(waves(0, 48)), bands(waves(48, 0))
    assert horizontal[0, 0].min() > 20 * horizontal[0, 1:].max()
    assert vertical[0, 1].min() > 20 * max(vertical[0, 0].max(), vertical[0, 2].max())
    np.testing.assert_allclose(horizontal[:, 0], vertical[:, 1], rtol=1e-3, atol=1e-4)


def test_stripes_have_a_scale() -> None:
    for level, cycles in enumerate((48, 24, 12)):
        assert bands(waves(cycles, 0))[:, 1, 0].argmax() == level


def test_flat_pictures_have_no_texture() -> None:
    assert np.abs(Texture()([plain(90, 20, 200)])).max() < 1e-6


def test_brightness_does_not_matter_but_contrast_does() -> None:
    base = waves(10, 3)
    grey = base // 2
    a, b, c = Texture()([grey, grey + 60, base])
    np.testing.assert_allclose(a, b, atol=1e-5)
    np.testing.assert_allclose(c, 2 * a, rtol=0.05, atol=2e-3)


# --------------------------------------------------------------------------
# Shape


def directions(picture: Picture) -> np.ndarray:
    row = Shape()([picture])[0]
    return row[:BINS] / row[:BINS].sum()


@pytest.mark.parametrize(
    ("cycles", "bin_number"), [((6, 0), 0), ((6, 6), 2), ((0, 6), 4), ((-6, 6), 6)]
)
def test_edges_fall_into_their_bin(cycles: tuple[int, int], bin_number: int) -> None:
    shares = directions(waves(*cycles))
    assert shares.argmax() == bin_number
    assert shares[bin_number] > 0.8


def test_edges_fall_into_their_cell() -> None:
    picture = plain(0, 0, 0)
    picture[80:112, 16:48] = 255  # inside the lower left quarter
    row = Shape()([picture])[0]
    quarters = row[BINS : 5 * BINS].reshape(2, 2, BINS).sum(axis=2)
    np.testing.assert_allclose(quarters, [[0, 0], [0.25, 0]], atol=1e-6)


def test_levels_share_alike_and_sum_to_one() -> None:
    out = Shape()([scene(0), noise(1, 20, 400)])
    np.testing.assert_allclose(out.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(out[:, :BINS].sum(axis=1), 0.25, rtol=1e-5)


def test_shape_of_nothing_is_zero() -> None:
    assert (Shape()([plain(7, 7, 7), plain(255, 255, 255, 3, 9)]) == 0).all()


def test_shape_ignores_contrast_and_brightness() -> None:
    base = scene(2, 128, 128)
    dim = (base // 2) + 50
    a, b, other = Shape()([base, dim, scene(3)])
    assert np.linalg.norm(a - b) < 0.15 * np.linalg.norm(a - other)


# --------------------------------------------------------------------------
# Gist


def energies(picture: Picture, scale: int) -> np.ndarray:
    """Energy of each orientation of a scale, over the whole picture."""
    rows = Gist()([picture])[0].reshape(sum(ORIENTATIONS), GRID * GRID)
    start = sum(ORIENTATIONS[:scale])
    return rows[start : start + ORIENTATIONS[scale]].mean(axis=1)


@pytest.mark.parametrize(
    ("scale", "k"), [(s, k) for s, count in enumerate(ORIENTATIONS) for k in range(count)]
)
def test_a_turned_wave_moves_the_energy(scale: int, k: int) -> None:
    count = ORIENTATIONS[scale]
    cycles = 0.3 / 2**scale * 128
    angle = np.pi * k / count
    picture = waves(cycles * np.cos(angle), cycles * np.sin(angle))
    found = energies(picture, scale)
    assert found.argmax() == k
    assert found[k] > 3 * found[(k + count // 2) % count]


def test_energy_sits_at_its_scale() -> None:
    for scale in range(3):
        picture = waves(0.3 / 2**scale * 128, 0)
        assert np.argmax([energies(picture, s)[0] for s in range(3)]) == scale


def test_energy_sits_in_its_cell() -> None:
    picture = plain(127, 127, 127)
    picture[:32, 96:] = waves(38, 0)[:32, 96:]
    rows = Gist()([picture])[0].reshape(sum(ORIENTATIONS), GRID, GRID)
    assert np.unravel_index(rows[0].argmax(), (GRID, GRID)) == (0, 3)


def test_gist_of_nothing_is_zero_and_brightness_does_not_matter() -> None:
    assert np.abs(Gist()([plain(0, 0, 0), plain(200, 100, 50)])).max() < 1e-4
    base = scene(5, 128, 128) // 2 + 30
    a, b, other = Gist()([base, (base * 1.5).astype(np.uint8), scene(6)])
    assert np.linalg.norm(a - b) < 0.15 * np.linalg.norm(a - other)
