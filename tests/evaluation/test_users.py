"""Simulated users: sure ones do what the paper says, unsure ones as often as they should."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from likewise.evaluation.users import SimulatedUser, share_found
from likewise.types import BadInput

X = np.random.default_rng(0).normal(size=(60, 4))
ROWS = np.arange(5, 25)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def far(row: int, rows: np.ndarray) -> np.ndarray:
    return np.linalg.norm(X[rows] - X[row], axis=1)


def test_the_papers_user_chooses_the_closest_and_orders_by_distance():
    user = SimulatedUser(X)
    assert user.choose(40, ROWS, rng()) == ROWS[far(40, ROWS).argmin()]
    order = user.order(7, ROWS, rng())
    assert 7 not in order
    assert len(order) == len(ROWS) - 1
    assert (np.diff(far(7, order)) >= 0).all()


def test_mistakes_happen_as_often_as_told_and_are_never_the_best():
    user, draws = SimulatedUser(X, mistakes=0.3), 2000
    best, chance = ROWS[far(40, ROWS).argmin()], rng(1)
    right = sum(user.choose(40, ROWS, chance) == best for _ in range(draws))
    assert binomtest(right, draws, 0.7).pvalue > 1e-4
    always = SimulatedUser(X, mistakes=1.0)
    assert all(always.choose(40, ROWS, chance) != best for _ in range(20))
    assert always.choose(40, ROWS[:1], chance) == ROWS[0]  # nothing else to choose


def test_jitter_disturbs_an_order_more_the_larger_it_is():
    def wrong(jitter: float) -> float:
        order = SimulatedUser(X, jitter=jitter).order(7, ROWS, rng(2))
        return float((np.diff(far(7, order)) < 0).mean())

    assert wrong(0.0) == 0 < wrong(0.3) < 0.7


def test_a_partial_order_holds_the_nearest():
    whole = SimulatedUser(X).order(7, ROWS, rng())
    assert np.array_equal(SimulatedUser(X, moves=4).order(7, ROWS, rng()), whole[:4])
    assert len(SimulatedUser(X, moves=0).order(7, ROWS, rng())) == 0


def test_the_interval_agrees_with_scipy():
    rounds = np.r_[np.full(37, 3), np.full(63, 11)]
    share, low, high = share_found(rounds, 10)
    theirs = binomtest(37, 100).proportion_ci(method="wilson")
    assert share == 0.37
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=1e-4)
    assert share_found([11, 11], 10)[0] == 0


def test_bad_input_is_refused():
    for wrong in ({"mistakes": 1.2}, {"jitter": -1.0}, {"moves": -1}):
        with pytest.raises(BadInput, match=r"negative|between"):
            SimulatedUser(X, **wrong)
    with pytest.raises(BadInput, match="no searches"):
        share_found([], 10)
