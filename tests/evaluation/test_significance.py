"""p-values are valid, symmetric and reproducible; intervals cover what they should."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from likewise import evaluation as ev
from likewise.evaluation import significance
from likewise.types import BadInput


def pair(seed, count, shift=0.0):
    rng = np.random.default_rng(seed)
    a = rng.random(count)
    return a + rng.normal(shift, 0.1, count), a


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 12])
def test_few_pairs_are_enumerated(count):
    a, b = pair(count, count, 0.05)
    got = ev.randomisation_test(a, b)
    difference = a - b
    sums = [abs(np.dot(signs, difference)) for signs in product([1, -1], repeat=count)]
    seen = abs(difference.sum())
    want = np.mean([s >= seen - 1e-12 for s in sums])
    assert got.exact
    assert got.p_value == want
    assert got.draws == 2**count
    assert got.difference == pytest.approx(difference.mean())


def test_random_draws_agree_with_scipy_and_with_enumeration(monkeypatch):
    a, b = pair(0, 14, 0.04)
    exact = ev.randomisation_test(a, b).p_value
    theirs = stats.permutation_test(
        (a - b,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert exact == pytest.approx(theirs.pvalue)
    monkeypatch.setattr(significance, "EXACT_PAIRS", 0)
    drawn = ev.randomisation_test(a, b, draws=20_000)
    assert not drawn.exact
    assert drawn.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))


def test_uniform_under_the_null():
    p = [ev.randomisation_test(*pair(seed, 40), draws=500).p_value for seed in range(400)]
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_symmetric_reproducible_and_never_zero():
    a, b = pair(1, 200, 0.01)
    one = ev.randomisation_test(a, b, draws=5000, seed=3)
    assert one == ev.randomisation_test(a, b, draws=5000, seed=3)
    assert one == ev.randomisation_test(a, b, draws=5000, seed=np.random.default_rng(3))
    assert one.p_value != ev.randomisation_test(a, b, draws=5000, seed=4).p_value
    other = ev.randomisation_test(b, a, draws=5000, seed=3)
    assert (other.p_value, other.difference) == (one.p_value, -one.difference)
    sure = ev.randomisation_test(a + 1, a, draws=999)
    assert sure.p_value == 1 / 1000


def test_equal_models_and_equal_queries_tell_nothing():
    a, b = pair(2, 50)
    assert ev.randomisation_test(a, a).p_value == 1
    # Queries on which the models agree add nothing to a swap.
    padded = ev.randomisation_test(np.append(a[:9], b[9:]), b)
    assert padded.p_value == ev.randomisation_test(a[:9], b[:9]).p_value


def test_sums_that_are_equal_but_for_rounding_count_as_equal():
    rng = np.random.default_rng(7)
    for _ in range(50):
        tenths = rng.integers(-3, 4, 10)
        sums = [abs(np.dot(signs, tenths)) for signs in product([1, -1], repeat=10)]
        want = np.mean([s >= abs(tenths.sum()) for s in sums])
        assert ev.randomisation_test(tenths * 0.1, np.zeros(10)).p_value == want


def test_blocks_keep_every_draw(monkeypatch):
    a, b = pair(3, 100, 1.0)
    monkeypatch.setattr(significance, "BLOCK_BYTES", 64)
    assert ev.randomisation_test(a, b, draws=333).p_value == 1 / 334
    small = ev.bootstrap_interval(a, b, draws=50)
    assert small.low < small.mean < small.high


def test_queries_without_a_value_are_passed_over():
    a, b = pair(4, 30, 0.05)
    hole = a.copy()
    hole[[3, 8]] = np.nan
    keep = ~np.isnan(hole)
    assert ev.randomisation_test(hole, b) == ev.randomisation_test(a[keep], b[keep])
    assert ev.bootstrap_interval(hole, b) == ev.bootstrap_interval(a[keep], b[keep])


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    inside = []
    for seed in range(300):
        interval = ev.bootstrap_interval(*pair(seed, 60, 0.02), draws=400, seed=seed)
        inside.append(interval.low <= 0.02 <= interval.high)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.05)


def test_intervals_are_reproducible_turn_with_the_sign_and_narrow_with_the_level():
    a, b = pair(5, 80, 0.05)
    wide = ev.bootstrap_interval(a, b, seed=1)
    assert wide == ev.bootstrap_interval(a, b, seed=1)
    turned = ev.bootstrap_interval(b, a, seed=1)
    assert (turned.low, turned.high) == pytest.approx((-wide.high, -wide.low))
    narrow = ev.bootstrap_interval(a, b, level=0.5, seed=1)
    assert wide.low < narrow.low < narrow.mean < narrow.high < wide.high
    assert ev.bootstrap_interval(a).mean == pytest.approx(a.mean())
    theirs = stats.bootstrap((a - b,), np.mean, method="percentile", rng=0).confidence_interval
    assert (wide.low, wide.high) == pytest.approx(tuple(theirs), abs=0.003)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ([1.0], [1.0, 2.0], "paired"),
        ([[1.0]], [[1.0]], "paired"),
        ([], [], "no query"),
        ([np.nan], [1.0], "no query"),
        ([np.inf], [1.0], "infinity"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(a, b, said):
    for test in (ev.randomisation_test, ev.bootstrap_interval):
        with pytest.raises(BadInput, match=said):
            test(a, b)


def test_bad_settings_are_refused():
    a, b = pair(6, 30)
    with pytest.raises(BadInput, match="at least 1"):
        ev.randomisation_test(a, b, draws=0)
    with pytest.raises(BadInput, match="at least 1"):
        ev.bootstrap_interval(a, b, draws=0)
    with pytest.raises(BadInput, match="between 0 and 1"):
        ev.bootstrap_interval(a, b, level=1.0)
