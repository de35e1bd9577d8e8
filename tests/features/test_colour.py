"""Colour blocks against what is known of plain, shuffled and chequered pictures."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.features.colour import (
    COLOURS,
    DISTANCES,
    Correlogram,
    HsvHistogram,
    SpatialColour,
    quantised,
)
from likewise.features.pictures import Batch
from tests.features.pictures import Picture, noise, plain, scene

HUES = (22, 45, 70, 155, 186, 278, 330)


def slow_bin(red: int, green: int, blue: int) -> int:
    """The division into 36 colours, straight from its description."""
    hue, saturation, value = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
    if value < 0.2:
        return 0
    if saturation < 0.2:
        return min(1 + int((value - 0.2) / 0.8 * 7 + 1e-9), 7)
    h = sum(hue * 360 >= limit for limit in HUES) % 7
    return 8 + 4 * h + 2 * (saturation >= 0.65 - 1e-12) + (value >= 0.7 - 1e-12)


@given(st.tuples(*[st.integers(0, 255)] * 3))
def test_bins_agree_with_colorsys(colour: tuple[int, int, int]) -> None:
    hue, saturation, _ = colorsys.rgb_to_hsv(*(c / 255 for c in colour))
    near = min(abs(hue * 360 - limit) for limit in HUES) < 1e-6
    if near or abs(saturation - 0.2) < 1e-9:
        return  # on the limit itself rounding decides
    assert quantised(Batch([plain(*colour, 1, 1)]))[0, 0, 0] == slow_bin(*colour)


def test_every_bin_can_be_met() -> None:
    values = np.arange(0, 256, 15)
    cube = np.stack(np.meshgrid(values, values, values), axis=-1).reshape(-1, 3)
    bins = {slow_bin(*map(int, colour)) for colour in cube}
    assert bins == set(range(COLOURS))


def test_a_red_picture_is_red() -> None:
    row = HsvHistogram()([plain(255, 0, 0)])[0]
    assert row[slow_bin(255, 0, 0)] == 1
    assert row.sum() == 1


def test_half_and_half() -> None:
    picture = plain(255, 0, 0)
    picture[:, 64:] = (0, 0, 255)
    row = HsvHistogram()([picture])[0]
    assert row[slow_bin(255, 0, 0)] == row[slow_bin(0, 0, 255)] == 0.5


def test_histogram_ignores_where_pixels_are() -> None:
    picture = scene(0, 128, 128)
    pixels = np.random.default_rng(0).permutation(picture.reshape(-1, 3))
    a, b = HsvHistogram()([picture, pixels.reshape(picture.shape)])
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("feature", [HsvHistogram(), SpatialColour()])
def test_shares_sum_to_one(feature: HsvHistogram | SpatialColour) -> None:
    out = feature([scene(1), noise(2, 30, 500), plain(1, 2, 3)])
    np.testing.assert_allclose(out.sum(axis=1), 1, rtol=1e-5)
    assert out.min() >= 0


def test_pyramid_knows_where() -> None:
    left, right = plain(255, 0, 0), plain(255, 0, 0)
    left[:, :64], right[:, 64:] = (0, 255, 0), (0, 255, 0)
    a, b = SpatialColour()([left, right])
    np.testing.assert_array_equal(a[:COLOURS], b[:COLOURS])
    assert np.abs(a - b).sum() > 1
    # the green half lies in the left cells of the second level: 2 x 2, row by row
    cells = a[COLOURS : 5 * COLOURS].reshape(2, 2, COLOURS)[..., slow_bin(0, 255, 0)]
    np.testing.assert_allclose(cells, [[0.0625, 0], [0.0625, 0]])


def slow_correlogram(colours: np.ndarray, distance: int) -> np.ndarray:
    """Every pixel, every neighbour."""
    met, seen = np.zeros(COLOURS), np.zeros(COLOURS)
    height, width = colours.shape
    for y in range(height):
        for x in range(width):
            for dy in range(-distance, distance + 1):
                for dx in range(-distance, distance + 1):
                    inside = 0 <= y + dy < height and 0 <= x + dx < width
                    if max(abs(dy), abs(dx)) == distance and inside:
                        seen[colours[y, x]] += 1
                        met[colours[y, x]] += colours[y, x] == colours[y + dy, x + dx]
    return np.divide(met, seen, out=np.zeros(COLOURS), where=seen > 0)


@pytest.mark.parametrize("distance", DISTANCES)
def test_correlogram_equals_its_definition(distance: int) -> None:
    from likewise.features.colour import _again

    colours = np.random.default_rng(0).integers(0, 5, (2, 13, 17)).astype(np.uint8)
    fast = _again(colours, distance)
    for row, picture in zip(fast, colours):
        np.testing.assert_allclose(row, slow_correlogram(picture, distance), rtol=1e-6)


def chequered(cell: int = 1) -> Picture:
    y, x = np.mgrid[:128, :128] // cell
    picture = plain(255, 0, 0)
    picture[(x + y) % 2 == 1] = (0, 0, 255)
    return picture


def test_chessboard_by_formula() -> None:
    """Of the 8d pixels at odd distance d, as many share the colour as have an even sum.

    On a ring of odd d the corners are even and the rest alternates, so exactly half are;
    at the border of the picture the shares differ a little.
    """
    rows = Correlogram()([chequered()])[0].reshape(len(DISTANCES), COLOURS)
    for colour in (slow_bin(255, 0, 0), slow_bin(0, 0, 255)):
        np.testing.assert_allclose(rows[:, colour], 0.5, atol=0.01)
    assert (np.delete(rows, [slow_bin(255, 0, 0), slow_bin(0, 0, 255)], axis=1) == 0).all()


def test_large_squares_keep_their_colour_nearby() -> None:
    rows = Correlogram()([chequered(32)])[0].reshape(len(DISTANCES), COLOURS)
    red = rows[:, slow_bin(255, 0, 0)]
    assert (np.diff(red) < 0).all()
    assert red[0] > 0.94


@pytest.mark.parametrize("feature", [HsvHistogram(), Correlogram()])
def test_turning_and_mirrors_change_nothing(feature: HsvHistogram | Correlogram) -> None:
    picture = scene(4, 128, 128)
    turned = [np.rot90(picture, k) for k in range(4)] + [picture[:, ::-1]]
    out = feature(turned)
    np.testing.assert_allclose(out, np.broadcast_to(out[0], out.shape), atol=1e-6)
