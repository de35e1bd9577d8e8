"""Many ranking problems at once are the same as one at a time."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.solvers.rank_many import rank_many
from likewise.solvers.ranking import rank


def close(value, truth, tol=1e-5):
    return abs(value - truth) <= tol * max(1.0, abs(truth))


def many(seed, problems=9, items=40, dim=5, count=150):
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((items, dim)).astype(np.float32),
        rng.standard_normal((problems, dim)),
        rng.integers(0, problems - 1, count),  # the last problem has no preferences
        rng.integers(0, items, count),
        rng.integers(0, items, count),
    )


@pytest.mark.parametrize("options", [{}, {"sigma": 0.9}, {"nonnegative": True}])
@pytest.mark.parametrize("rows_of_priors", [False, True])
def test_many_problems_equal_one_at_a_time(options, rows_of_priors):
    X, factors, owner, better, worse = many(0)
    rng = np.random.default_rng(1)
    prior = rng.standard_normal(factors.shape if rows_of_priors else factors.shape[1])
    weights, margins = rng.uniform(0, 2, len(owner)), rng.uniform(0, 2, len(owner))
    shared = options | {"tol": 1e-10}
    together = rank_many(
        X, factors, owner, better, worse,
        prior=prior, weights=weights, margins=margins, **shared,
    )  # fmt: skip
    for r, factor in enumerate(factors):
        mine = owner == r
        alone = rank(
            factor * X, better[mine], worse[mine], weights=weights[mine], margins=margins[mine],
            prior=prior[r] if rows_of_priors else prior, **shared,
        )  # fmt: skip
        assert close(together.objective[r], alone.objective, 1e-8)
        np.testing.assert_allclose(together.w[r], alone.w, atol=1e-4)
        assert together.gap[r] <= 1e-10 * max(1, alone.objective) + 1e-12
    untaught = prior[-1] if rows_of_priors else prior
    untaught = np.maximum(untaught, 0) if options.get("nonnegative") else untaught
    np.testing.assert_array_equal(together.w[-1], untaught)


def test_many_problems_do_not_depend_on_threads_and_start_warm():
    call = many(2)
    one, three = rank_many(*call, workers=1), rank_many(*call, workers=3)
    for a, b in zip(one, three):
        np.testing.assert_array_equal(a, b)
    warm = rank_many(*call, alpha=one.alpha)
    assert (warm.sweeps <= 1).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"items": np.ones((4, 2))}, "columns"),
        ({"items": np.full((4, 3), np.nan)}, "finite"),
        ({"factors": np.full((2, 3), np.inf)}, "finite"),
        ({"problem": [0, 2]}, "0 to 1"),
        ({"problem": [0]}, "one length"),
        ({"prior": np.ones((3, 3))}, "prior"),
        ({"prior": np.full(3, np.nan)}, "prior"),
    ],
)
def test_bad_input_of_many_is_refused(change, words):
    good = {
        "items": np.ones((4, 3)), "factors": np.ones((2, 3)),
        "problem": [0, 1], "better": [0, 1], "worse": [2, 3],
    }  # fmt: skip
    with pytest.raises(ValueError, match=words):
        rank_many(**(good | change))
