"""A mosaic shows one item a cell on every level, keeps what it shows, and hides none in the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.layout.mosaic import mosaic
from likewise.types import BadInput


def places(n: int, seed: int, spots: int) -> np.ndarray:
    """Positions with many on the same spot."""
    rng = np.random.default_rng(seed)
    return rng.random((spots, 2))[rng.integers(0, spots, n)]


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 300), seed=st.integers(0, 99), spots=st.integers(1, 300))
def test_every_level_shows_one_item_of_every_cell_that_holds_any(n, seed, spots):
    made = mosaic(places(n, seed, spots))
    assert sorted(made.order.tolist()) == list(range(n))
    assert len(np.unique(made.cells, axis=0)) == n
    for level in range(made.bits + 1):
        own = made.cells.astype(int) >> (made.bits - level)
        shown = own[made.levels <= level]
        assert len(shown) == len(np.unique(shown, axis=0)) == len(np.unique(own, axis=0))


def test_items_that_have_room_stay_in_their_own_cell():
    side = 16
    spread = np.stack(np.meshgrid(np.arange(8), np.arange(8)), axis=-1).reshape(-1, 2) / 8 + 0.03
    made = mosaic(spread)
    assert 2**made.bits == side
    assert np.array_equal(made.cells, np.floor(spread[made.order] * side))


def test_an_item_without_room_takes_the_nearest_free_cell():
    many = np.full((64, 2), 0.5)
    made = mosaic(many)
    off = np.linalg.norm(made.cells.astype(float) - 2**made.bits / 2, axis=1)
    assert off.max() <= np.sqrt(64 / np.pi) + 1.5  # they fill a disc


def test_coarse_levels_come_first_and_neighbours_are_near_in_the_order():
    rng = np.random.default_rng(0)
    made = mosaic(rng.random((5000, 2)))
    assert (np.diff(made.levels.astype(int)) >= 0).all()
    fine = made.cells[made.levels == made.bits].astype(float)
    step = np.linalg.norm(np.diff(fine, axis=0), axis=1).mean()
    shuffled = np.linalg.norm(np.diff(rng.permutation(fine), axis=0), axis=1).mean()
    assert step < shuffled / 4


def test_positions_outside_the_box_are_brought_in():
    made = mosaic([[-1.0, 2.0], [0.5, 0.5]])
    assert made.cells.max() < 2**made.bits


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (np.zeros((0, 2)), "at least one"),
        (np.zeros((3, 3)), "2 are needed"),
        ([[np.nan, 0.0]], "NaN"),
    ],
)
def test_bad_positions_are_refused(bad, says):
    with pytest.raises(BadInput, match=says):
        mosaic(bad)
