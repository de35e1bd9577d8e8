"""The guard: when a model may serve, and what it says when not."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.rivals.judged_only import FEWEST, guard
from likewise.types import BadInput


def measures(n: int, gain: float, seed: int = 0, spread: float = 0.1):
    rng = np.random.default_rng(seed)
    base = rng.random(n) * 0.5
    return base + gain + spread * rng.normal(size=n), base


def test_a_clear_gain_may_serve():
    mine, base = measures(200, 0.1)
    first = np.ones(200)
    verdict = guard(mine, base, first, first, draws=2000)
    assert verdict.activate
    assert verdict.needed == 0
    assert verdict.p_value < 0.05
    assert np.isclose(verdict.difference, (mine - base).mean())


def test_a_fall_of_precision_at_1_keeps_it_out():
    mine, base = measures(200, 0.1)
    first = np.ones(200)
    worse = first.copy()
    worse[:3] = 0  # 1.5 %
    verdict = guard(mine, base, worse, first, draws=2000)
    assert not verdict.activate
    assert "precision@1" in verdict.sentence
    worse[1:3] = 1  # half a per cent is allowed
    assert guard(mine, base, worse, first, draws=2000).activate


def test_luck_is_not_enough_and_the_wanted_number_grows_as_the_gain_shrinks():
    first = np.zeros(60)
    wanted = []
    for gain in (0.02, 0.01):
        rng = np.random.default_rng(1)
        noise = 0.2 * rng.normal(size=60)
        base = rng.random(60)
        verdict = guard(base + gain + noise - noise.mean(), base, first, first, draws=2000)
        assert not verdict.activate
        assert f"{verdict.needed} more" in verdict.sentence
        wanted.append(verdict.needed)
    assert 0 < wanted[0] < wanted[1]


def test_no_gain_needs_no_more_judgements():
    mine, base = measures(100, -0.05)
    verdict = guard(mine, base, np.ones(100), np.ones(100), draws=2000)
    assert not verdict.activate
    assert verdict.needed == 0
    assert "gains nothing" in verdict.sentence


@pytest.mark.parametrize("n", [0, 1, FEWEST - 1])
def test_too_few_held_out_queries_say_how_many_more(n):
    mine, base = measures(n, 0.5)
    verdict = guard(mine, base, np.ones(n), np.zeros(n))
    assert not verdict.activate
    assert verdict.needed == FEWEST - n
    assert str(FEWEST - n) in verdict.sentence
    assert np.isnan(verdict.p_value)


def test_queries_that_tell_nothing_do_not_count():
    mine, base = measures(40, 0.1)
    mine[:20] = np.nan
    assert guard(mine, base, np.ones(40), np.ones(40)).queries == 20


def test_measures_of_other_queries_are_refused():
    with pytest.raises(BadInput, match="same queries"):
        guard([1.0], [1.0, 2.0], [1.0], [1.0])
