"""The target filter: the rule as written, the right view believed, the target found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.session.target_filter import (
    LEARNED,
    Choice,
    TargetFilter,
    reference_posterior,
)


def choices(rng, n, dim, weights, count=3):
    out = []
    for _ in range(count):
        rows = rng.choice(n, 6, replace=False)
        order = rng.random((4, dim))
        out.append(Choice(rows, int(rng.integers(6)), order, weights, weights))
    return out


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_the_fast_rule_is_the_rule(seed, power):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(50, 5)).astype(np.float32)
    w = rng.random(5) * (rng.random(5) < 0.8) + 0.01
    said = choices(rng, 50, 5, w)
    fast = TargetFilter(x, {}, power=power, mistake=0.1).posterior(said, w).log
    slow = reference_posterior(
        x, w, [(c.candidates, c.chosen) for c in said], power=power, mistake=0.1
    )
    assert fast - fast.max() == pytest.approx(slow - slow.max(), abs=2e-2)


def test_what_is_kept_from_round_to_round_is_what_would_be_computed_anew():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6)).astype(np.float32)
    views = {"a": np.r_[np.ones(3), np.zeros(3)], "b": np.r_[np.zeros(3), np.ones(3)]}
    for budget in (10**9, 2000, 0):
        kept = TargetFilter(x, views, budget=budget)
        said = choices(rng, 300, 6, rng.random(6), 5)
        for upto in (1, 2, 3, 5, 2, 4):  # on, back to a branch, and on again
            w = rng.random(6)
            fresh = TargetFilter(x, views, budget=budget).posterior(said[:upto], w)
            again = kept.posterior(said[:upto], w)
            assert again.log == pytest.approx(fresh.log, abs=1e-4)
            assert again.views == pytest.approx(fresh.views, abs=1e-4)


def test_a_small_budget_asks_the_newest_metric_about_the_latest_choice_only():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 3)).astype(np.float32)
    then, now = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    said = [c._replace(after=then) for c in choices(rng, 40, 3, then, 2)]
    one, two = ((c.candidates, c.chosen) for c in said)
    mixed = reference_posterior(x, then, [one]) + reference_posterior(x, now, [two])
    fast = TargetFilter(x, {}, budget=0).posterior(said, now).log
    assert fast - fast.max() == pytest.approx(mixed - mixed.max(), abs=2e-2)


def test_the_view_that_the_person_has_is_believed_and_the_target_found():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(500, 6)).astype(np.float32)
    views = {"a": np.r_[np.ones(3), np.zeros(3)], "b": np.r_[np.zeros(3), np.ones(3)]}
    target, said = 123, []
    for _ in range(8):
        rows = rng.choice(500, 12, replace=False)
        gap = ((x[rows] - x[target]) ** 2) @ views["b"]
        chosen = int(gap.argmin())
        d = (x[rows] - x[rows[chosen]]).astype(float) ** 2
        d = d[np.argsort(d @ views["b"])][1:]
        said.append(Choice(rows, chosen, d, views["a"], views["a"]))
    found = TargetFilter(x, views).posterior(said, views["a"])
    assert found.views["b"] > 0.99
    assert (found.log > found.log[target]).sum() < 25
    assert set(found.views) == {LEARNED, "a", "b"}


def test_nothing_said_says_nothing():
    x = np.random.default_rng(3).normal(size=(20, 3)).astype(np.float32)
    one = TargetFilter(x, {}).posterior([], np.ones(3))
    assert np.ptp(one.log) == 0
    alone = Choice(np.array([4]), 0, np.zeros((0, 3)), np.ones(3), np.ones(3))
    assert np.ptp(TargetFilter(x, {}).posterior([alone], np.ones(3)).log) == 0
