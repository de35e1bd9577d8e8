"""The guard: unbiased, at its level however often it looks, and plain in what it says."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.evaluation.guard import (
    DRAWN,
    Draw,
    depth,
    draw,
    judge,
    look_at,
    next_look,
)
from likewise.types import BadInput

MANY = {"pictures": 5000, "k": 50}


def test_the_estimate_is_unbiased_for_the_change_of_precision_at_k():
    rng = np.random.default_rng(0)
    a, b = list(range(50)), [0, *range(30, 79)]
    relevant = {i: bool(rng.random() < (0.7 if i < 30 else 0.4)) for i in range(80)}
    truth = np.mean([relevant[i] for i in a]) - np.mean([relevant[i] for i in b])
    drawn = [draw(a, b, rng) for _ in range(4000)]
    assert all(len(d.new) == len(d.old) == DRAWN for d in drawn)
    found = np.array([d.change(relevant)[0] for d in drawn])
    assert abs(found.mean() - truth) < 4 * found.std() / len(found) ** 0.5
    assert found.std() > 0


def test_what_agrees_needs_no_answer_and_first_results_count_by_themselves():
    rng = np.random.default_rng(0)
    same = draw([1, 2, 3], [1, 3, 2], rng)
    assert same.items == ()
    assert same.change({}) == (0.0, 0.0)
    swapped = draw([2, 1, 3], [1, 2, 3], rng)
    assert swapped.items == (1, 2)
    assert swapped.change({1: False, 2: True}) == (0.0, 1.0)
    assert draw([], [], rng).change({}) == (0.0, 0.0)
    with pytest.raises(BadInput):
        draw([1], [1, 2], rng)


def test_pictures_that_are_gone_leave_the_draw_and_an_empty_side_the_query():
    asked = Draw((1, 2), (3, 4), (1, 3), 0.5)
    left = asked.without([2])
    assert left == Draw((1,), (3, 4), (1, 3), 0.5)
    assert left.change({1: True, 3: True, 4: False}) == (0.25, 0.0)
    assert asked.without([1]).first == ()
    assert asked.without([1, 2]) is None
    assert Draw((), (), (5, 6), 0.0).without([5]).items == ()


def test_looks_are_at_fixed_sizes():
    assert [look_at(n) for n in (11, 12, 24, 49, 50, 399, 400, 799, 800, 1700)] == [
        0, 12, 12, 25, 50, 200, 400, 400, 800, 1600,
    ]  # fmt: skip
    assert [next_look(n) for n in (0, 12, 49, 400, 800)] == [12, 25, 50, 800, 1600]
    assert [depth(n) for n in (30, 120, 5000)] == [3, 12, 50]


def test_nothing_passes_between_looks_or_at_a_size_that_is_spent():
    rng = np.random.default_rng(0)
    d, f = 0.2 + 0.1 * rng.normal(size=49), np.zeros(49)
    assert judge(d, f, **MANY).passed
    again = judge(d, f, spent=25, **MANY)
    assert (again.passed, again.size, again.forecast) == (False, 0, (1, 1))
    assert judge(d[:11], f[:11], **MANY).sentence == (
        "Not used yet: 1 more search is to be checked first."
    )
    assert judge([], [], **MANY).sentence == "Not used yet: 12 searches are to be checked first."
    assert judge([*d, 0.2], [*f, 0], spent=25, **MANY).size == 50


def test_small_collections_and_no_spread_do_not_pass():
    rng = np.random.default_rng(0)
    d = 0.2 + 0.1 * rng.normal(size=50)
    assert not judge(d, np.zeros(50), pictures=99, k=9).passed
    assert judge(d, np.zeros(50), pictures=100, k=10).passed
    assert not judge(np.full(50, 0.2), np.zeros(50), **MANY).passed
    assert "not better" in judge(-d, np.zeros(50), **MANY).sentence


def test_what_comes_first_may_not_get_worse():
    rng = np.random.default_rng(0)
    d = 0.2 + 0.1 * rng.normal(size=100)
    f = np.zeros(100)
    f[:2] = -1  # a fall of .02: below .01 and within half a standard error, which is .007
    assert judge(d, f, **MANY).passed is False
    f[0] = 0
    assert judge(d, f, **MANY).passed
    f[:] = rng.permutation([-1.0] * 14 + [1.0] * 12 + [0.0] * 74)  # -.02 of a spread of .5
    assert judge(d, f, **MANY).passed
    short = np.array([-1.0] * 8 + [1.0] * 7 + [0.0] * 10)  # below 50 queries without that slack
    refused = judge(d[:25], short, **MANY)
    assert not refused.passed
    assert "what comes first" in refused.sentence


def test_right_ones_before_any_wrong_one_are_told_and_decide_nothing():
    rng = np.random.default_rng(0)
    d, t = 0.2 + 0.1 * rng.normal(size=30), np.full(30, -0.25)
    d[3] = np.nan
    without, told = (judge(d, np.zeros(30), *top, pictures=5000) for top in ((), (t,)))
    assert told.passed
    assert without.passed
    assert told.top_change == -0.25
    assert np.isnan(without.top_change)
    assert "-0.25 of the right ones before any wrong one" in told.sentence
    assert "wrong one" not in without.sentence


def test_a_forecast_is_a_range_and_at_most_doubles():
    rng = np.random.default_rng(3)
    noise = rng.normal(size=25)
    noise = (noise - noise.mean()) / noise.std(ddof=1)

    def said(mean, **how):
        return judge(0.1 * noise + mean, np.zeros(25), **MANY, **how)

    assert said(0.05).passed  # t = 2.5, wanted 2.28
    luck = said(0.04)
    low, high = luck.forecast
    assert 25 <= low <= high
    assert f"{low} to {high} more" in luck.sentence
    assert said(0.04, before=(high + 1) // 2).forecast == luck.forecast
    assert said(0.04, before=high // 2).forecast is None
    unclear = said(0.01)
    assert unclear.forecast is None
    assert "cannot be told yet" in unclear.sentence


def test_the_level_holds_over_all_looks_together():
    """Null models with all looks from 12 to 400 pass in about 3 %, worse ones never."""
    rng = np.random.default_rng(1)
    passed = worse = 0
    for _ in range(600):
        share = rng.integers(0, 30, size=400) / 50
        answers = rng.binomial(DRAWN, 0.5, size=(2, 400)) / DRAWN
        d = share * (answers[0] - answers[1])
        f = rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.8, 0.1], size=400)
        for number, shift in enumerate((0.0, -0.03)):
            spent, good = 0, False
            for size in (12, 25, 50, 100, 200, 400):
                verdict = judge(d[:size] + shift, f[:size], spent=spent, **MANY)
                good, spent = good or verdict.passed, verdict.size
            passed += good and number == 0
            worse += good and number == 1
    assert passed / 600 < 0.06
    assert passed > 2
    assert worse / 600 < 0.01
