"""The board: near means similar, few pictures cover each other, nothing moves by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad

from experiments.layout_measures import distances, overlap, stress
from likewise.layout.board import CENTRE, SIDE, _board_objective, arrange, classical
from likewise.types import BadInput


def pictures(seed: int = 0, n: int = 30, dim: int = 8) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, dim)) + 2 * rng.normal(size=(4, dim))[rng.integers(0, 4, n)]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_gradient_is_the_objectives(seed):
    rng = np.random.default_rng(seed)
    wanted = distances(rng.normal(size=(7, 4)))

    def f(flat):
        return _board_objective(wanted, flat.reshape(-1, 2), 0.1, 0.03, 0.3, 0.5)[0]

    def g(flat):
        return _board_objective(wanted, flat.reshape(-1, 2), 0.1, 0.03, 0.3, 0.5)[1].ravel()

    assert check_grad(f, g, rng.random(14)) < 1e-4


def test_it_beats_classical_scaling_on_overlap_at_hardly_more_stress():
    x = pictures(n=50)
    wanted = distances(x)
    y = classical(wanted)
    y = (y - y.min(0)) / np.ptp(y, axis=0).max() * (1 - SIDE) + SIDE / 2
    board = arrange(x)
    assert overlap(board, SIDE) < 0.02 < overlap(y, SIDE)
    assert stress(wanted, board) <= 1.08 * stress(wanted, y)


def test_no_entropy_is_plain_stress_and_more_entropy_costs_stress():
    x = pictures(1)
    values = [stress(distances(x), arrange(x, entropy=value)) for value in (0.0, 0.1, 0.4)]
    assert values == sorted(values)


def test_everything_stays_in_the_box_and_runs_agree():
    x = pictures(2)
    a, b = arrange(x, query=x[0]), arrange(x, query=x[0])
    assert np.array_equal(a, b)
    assert a.min() >= SIDE / 2 - 1e-9
    assert a.max() <= 1 - SIDE / 2 + 1e-9


def test_the_query_stands_at_the_centre_and_nearness_to_it_shows():
    x = pictures(3)
    query = x.mean(axis=0)
    place = arrange(x, query=query)
    truth = np.linalg.norm(x - query, axis=1)
    shown = np.linalg.norm(place - CENTRE, axis=1)
    assert np.corrcoef(np.argsort(np.argsort(truth)), np.argsort(np.argsort(shown)))[0, 1] > 0.5


def test_a_warm_start_keeps_the_picture_of_the_board():
    x = pictures(5)
    before = arrange(x)
    turned = 1 - before  # the same board upside down is as good, but not what the person knows
    start = np.where(np.arange(len(x))[:, None] < 20, turned, np.nan)
    after = arrange(x, start=start)
    assert np.abs(after - turned).mean() < np.abs(after - before).mean()


def test_on_a_grid_nothing_covers_anything():
    x = pictures(6, n=50)
    for query in (None, x[0]):
        board = arrange(x, query=query, grid=True)
        assert overlap(board, SIDE) == pytest.approx(0, abs=1e-9)
        assert len(np.unique(board.round(6), axis=0)) == 50


def test_duplicates_and_tiny_boards_have_an_answer():
    same = arrange(np.ones((6, 3)))
    assert np.isfinite(same).all()
    assert overlap(same, SIDE) < 0.05
    assert arrange(np.ones((1, 3))).shape == (1, 2)
    assert arrange(np.ones((1, 3)), query=np.zeros(3)).shape == (1, 2)


def test_overlap_counts_area_once():
    assert overlap([[0.2, 0.2], [0.8, 0.8]], 0.1) == pytest.approx(0, abs=1e-12)
    assert overlap([[0.5, 0.5], [0.5, 0.5]], 0.1) == pytest.approx(0.5)
    assert overlap([[0.5, 0.5]] * 4, 0.1) == pytest.approx(0.75)
    assert overlap([[0.5, 0.5], [0.55, 0.5]], 0.1) == pytest.approx(0.25)


def test_stress_knows_no_scale_and_no_rotation():
    y = np.random.default_rng(0).random((9, 2))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert stress(distances(y), 3 * y @ turn + 1) == pytest.approx(0, abs=1e-6)
    assert stress(distances(pictures()), np.random.default_rng(1).random((30, 2))) > 0.2


def test_bad_input_is_refused():
    with pytest.raises(BadInput, match="entropy"):
        arrange(pictures(), entropy=1.0)
    with pytest.raises(BadInput, match="start"):
        arrange(pictures(), start=[[0.1, 0.1]])
    with pytest.raises(BadInput, match="one position"):
        stress(distances(pictures()), [[0.0, 0.0]])
    with pytest.raises(BadInput, match="side"):
        overlap([[0.0, 0.0]], 0)
