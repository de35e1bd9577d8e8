"""The target filter: the rule as written, the right view believed, the target found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from likewise.session.target_filter import (
    FLOOR,
    LEARNED,
    MISTAKES,
    POWERS,
    Choice,
    TargetFilter,
)


def reference_posterior(vectors, weights, choices, *, powers=POWERS, mistakes=MISTAKES):
    """The rules written out for one view: slow and obvious, to test the fast ones against."""
    x = np.asarray(vectors, np.float64)
    likely = np.zeros(len(x))
    for power in powers:
        for mistake in mistakes:
            product = np.ones(len(x))
            for candidates, chosen in choices:
                shown = x[candidates]
                floor = FLOOR * float((((shown - shown.mean(axis=0)) ** 2) @ weights).mean())
                d = np.maximum(((x[:, None, :] - shown[None, :, :]) ** 2) @ weights, floor)
                p = 1 / ((d[:, [chosen]] / d) ** power).sum(axis=1)
                product *= (1 - mistake) * p + mistake / len(candidates)
            likely += product / (len(powers) * len(mistakes))
    return np.log(likely)


def choices(rng, n, dim, weights, count=3):
    out = []
    for _ in range(count):
        rows = rng.choice(n, 6, replace=False)
        order = rng.random((4, dim))
        out.append(Choice(rows, int(rng.integers(6)), order, weights, weights))
    return out


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True),
    st.lists(st.floats(0.01, 0.9), min_size=1, max_size=2),
)
@example(0, [4, 32], [0.05, 0.35])  # the default, which is written out
def test_the_fast_rules_are_the_rules(seed, powers, mistakes):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(50, 5)).astype(np.float32)
    w = rng.random(5) * (rng.random(5) < 0.8) + 0.01
    said = choices(rng, 50, 5, w)
    fast = TargetFilter(x, {}, powers=powers, mistakes=mistakes).posterior(said, w).log
    slow = reference_posterior(
        x, w, [(c.candidates, c.chosen) for c in said], powers=powers, mistakes=mistakes
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
    rule = {"powers": (4,), "mistakes": (0.1,)}
    mixed = reference_posterior(x, then, [one], **rule) + reference_posterior(x, now, [two], **rule)
    fast = TargetFilter(x, {}, budget=0, **rule).posterior(said, now).log
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


def test_what_was_shown_is_not_the_target_and_praises_no_view():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 4)).astype(np.float32)
    views = {"a": np.r_[1.0, 1.0, 0.0, 0.0]}
    said = choices(rng, 60, 4, np.ones(4), 4)
    seen = np.unique(np.concatenate([c.candidates for c in said]))
    found = TargetFilter(x, views).posterior(said, np.ones(4), seen)
    assert np.isneginf(found.log[seen]).all()
    assert np.isfinite(np.delete(found.log, seen)).all()
    assert sum(found.views.values()) == pytest.approx(1)
    no_order = [c._replace(order=np.zeros((0, 4))) for c in said]
    found = TargetFilter(x, views).posterior(no_order, np.ones(4), seen)
    mass = {}
    for name, w in {LEARNED: np.ones(4), **views}.items():
        told = reference_posterior(x, w, [(c.candidates, c.chosen) for c in said])
        mass[name] = np.exp(np.delete(told, seen)).sum()
    assert found.views["a"] == pytest.approx(mass["a"] / sum(mass.values()), rel=1e-2)
    everything = TargetFilter(x, views).posterior(said, np.ones(4), np.arange(60))
    assert np.isneginf(everything.log).all()


def test_somebody_often_mistaken_is_followed_all_the_same():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(800, 3)).astype(np.float32)
    target, said = 77, []
    for number in range(12):
        rows = rng.choice(800, 10, replace=False)
        gap = ((x[rows] - x[target]) ** 2).sum(axis=1)
        chosen = int(gap.argmax() if number % 4 == 1 else gap.argmin())  # wrong every fourth time
        said.append(Choice(rows, chosen, np.zeros((0, 3)), np.ones(3), np.ones(3)))

    log = TargetFilter(x, {}).posterior(said, np.ones(3)).log
    assert (log > log[target]).sum() < 10


def test_orders_far_beyond_the_digits_still_rank():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(50, 2)).astype(np.float32)
    said = choices(rng, 50, 2, np.ones(2), 1) * 120
    log = TargetFilter(x, {}).posterior(said, np.ones(2)).log
    one = reference_posterior(x, np.ones(2), [(said[0].candidates, said[0].chosen)])
    assert np.isfinite(log).all()
    assert log.argmax() == one.argmax() or np.ptp(log[[log.argmax(), one.argmax()]]) < 1
