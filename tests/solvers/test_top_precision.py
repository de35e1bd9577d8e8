"""The exact solver agrees with the equations and with a general QP solver, and grows gently."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from benchmarks.clarabel_peer import solve_full_dual, state
from likewise.solvers.top_precision import Pairs, mean_top_precision, objective, solve
from likewise.solvers.top_precision_fast import descend
from tests.solvers import reference_top_precision as reference

few = settings(max_examples=15, deadline=None)
seeds = given(seed=st.integers(0, 2**32 - 1))
shapes = pytest.mark.parametrize("diagonal", [False, True])


def problem(seed, n=5, m=18, d=4, unknown=0.0):
    """A random problem in which every query has a relevant and an irrelevant item."""
    rng = np.random.default_rng(seed)
    z, x = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    relevance = (rng.random((n, m)) < 0.3).astype(float)
    relevance[rng.random((n, m)) < unknown] = -1.0
    relevance[:, 0], relevance[:, 1] = 1.0, 0.0
    return z, x, relevance


def a_prior(d, diagonal, lam=1.0):
    return lam * (np.ones(d) if diagonal else np.eye(d))


@shapes
@few
@seeds
def test_objective_and_measure_are_the_equations(diagonal, seed):
    z, x, relevance = problem(seed, unknown=0.2)
    prior = a_prior(4, diagonal)
    w = prior + np.random.default_rng(seed).normal(size=prior.shape)
    fast = objective(z, x, Pairs.of(relevance), w, prior, 0.3)
    assert fast == pytest.approx(reference.objective(z, x, relevance, w, prior, 0.3))
    assert mean_top_precision(z, x, relevance, w) == pytest.approx(
        reference.top_precision(z, x, relevance, w)
    )


@shapes
@pytest.mark.parametrize("lam", [0.0, 1.0])
@pytest.mark.parametrize("cost", [1e-3, 1e-2, 1e-1, 1.0])
def test_agrees_with_a_qp_solver_on_the_full_dual(diagonal, lam, cost):
    z, x, relevance = problem(int(1e4 * cost), unknown=0.1)
    prior = a_prior(4, diagonal, lam)
    w, value = solve_full_dual(state(z, x, relevance, prior, cost))
    fit = solve(
        z, x, relevance, cost=cost, prior=prior, diagonal=diagonal, tolerance=1e-9, rounds=5000
    )
    assert fit.objective == pytest.approx(value, rel=1e-6, abs=1e-6)
    assert np.abs(fit.weights - w).max() <= 1e-4


@shapes
@few
@seeds
def test_the_gap_is_certified_and_met(diagonal, seed):
    z, x, relevance = problem(seed, n=8, m=40)
    prior = a_prior(4, diagonal)
    fit = solve(z, x, relevance, cost=0.05, prior=prior, diagonal=diagonal, tolerance=1e-3)
    assert fit.relative_gap <= 1e-3 or fit.residual <= 1e-12
    assert fit.objective == pytest.approx(
        reference.objective(z, x, relevance, fit.weights, prior, 0.05)
    )
    better = solve(z, x, relevance, cost=0.05, prior=prior, diagonal=diagonal, tolerance=1e-7)
    assert fit.objective - fit.residual <= better.objective + 1e-9
    assert better.objective <= fit.start + 1e-9


@few
@seeds
def test_the_dual_point_is_feasible_and_makes_the_weights(seed):
    z, x, relevance = problem(seed)
    cost = 0.02
    fit = solve(z, x, relevance, cost=cost, prior=np.eye(4), tolerance=1e-8)
    a, b, _ = fit.dual
    pairs = Pairs.of(relevance)
    assert a.min() >= 0
    assert a.max() <= cost
    assert (b.data > 0).all()
    assert (relevance[b.nonzero()] == 0).all()
    rows = np.repeat(np.arange(len(z)), np.diff(pairs.start))
    mass = np.bincount(rows, a, minlength=len(z))
    assert np.allclose(mass, b.sum(axis=1))
    u = np.zeros((len(z), len(x)))
    u[rows, pairs.item] = a
    assert np.allclose(np.eye(4) + z.T @ ((u - b.toarray()) @ x), fit.weights, atol=1e-6)


def test_stopped_and_resumed_it_reaches_the_same_place():
    z, x, relevance = problem(3, n=20, m=120, d=6)
    options = {"cost": 0.05, "prior": np.eye(6), "tolerance": 1e-6}
    whole = solve(z, x, relevance, **options)
    part = solve(z, x, relevance, **options, rounds=2)
    assert part.dual.rounds == 2 < whole.dual.rounds
    rest = solve(z, x, relevance, **options, dual=part.dual)
    assert rest.dual.rounds == whole.dual.rounds
    assert np.allclose(rest.weights, whole.weights, atol=1e-8)
    with pytest.raises(ValueError, match="another relevance matrix"):
        solve(z, x, 1.0 - relevance, **options, dual=part.dual)


def test_the_same_seed_gives_the_same_bits():
    z, x, relevance = problem(4, n=20, m=120, d=6)
    first, second = (solve(z, x, relevance, prior=np.eye(6), seed=5) for _ in range(2))
    assert np.array_equal(first.weights, second.weights)
    fast = [descend(z, x, relevance, prior=np.eye(6), epochs=3, seed=5) for _ in range(2)]
    assert np.array_equal(fast[0].weights, fast[1].weights)


def test_dense_and_sparse_relevance_are_one():
    z, x, relevance = problem(6, unknown=0.2)
    dense = solve(z, x, relevance, prior=np.eye(4))
    thin = solve(z, x, sparse.csr_array(relevance), prior=np.eye(4))
    assert np.array_equal(dense.weights, thin.weights)


def test_an_index_that_misses_items_costs_time_not_truth():
    z, x, relevance = problem(7, n=12, m=80, d=5)
    rng = np.random.default_rng(0)

    def find(vectors, k):
        top = np.full((len(vectors), k), -1)
        for i, v in enumerate(vectors):
            seen = np.flatnonzero((relevance[i] == 0) & (rng.random(len(x)) < 0.7))
            best = seen[np.argsort(-(x[seen] @ v))[:k]]
            top[i, : len(best)] = best
        return top

    blind = solve(z, x, relevance, prior=np.eye(5), find=lambda v, k: np.full((12, k), -1))
    assert blind.relative_gap <= 1e-2
    exact = solve(z, x, relevance, prior=np.eye(5), tolerance=1e-4)
    found = solve(z, x, relevance, prior=np.eye(5), tolerance=1e-4, find=find)
    assert found.relative_gap <= 1e-4
    assert found.objective == pytest.approx(
        exact.objective, abs=2e-4 * (exact.start - exact.objective)
    )


def test_duplicates_on_both_sides_zero_queries_and_more_dimensions_than_queries():
    z, x, relevance = problem(8, n=3, m=12, d=20)
    x[1] = x[0]
    z[2] = 0.0
    options = {"cost": 0.1, "prior": np.eye(20), "tolerance": 1e-7}
    fit = solve(z, x, relevance, **options)
    assert np.isfinite(fit.weights).all()
    assert fit.relative_gap <= 1e-7
    alone = solve(z[:2], x, relevance[:2], **options)
    assert np.allclose(fit.weights, alone.weights, atol=1e-5)


def test_nothing_to_learn_leaves_the_prior():
    z, x = np.eye(2), np.vstack([np.eye(2)] * 2)
    relevance = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1]])
    fit = solve(z, x, relevance, prior=5 * np.eye(2))
    assert np.array_equal(fit.weights, 5 * np.eye(2))
    assert fit.residual == 0.0


def test_callers_arrays_are_left_alone():
    z, x, relevance = problem(9)
    before = z.copy(), x.copy(), relevance.copy(), np.eye(4)
    prior = np.eye(4)
    solve(z, x, relevance, prior=prior)
    descend(z, x, relevance, prior=prior, epochs=2)
    for now, then in zip((z, x, relevance, prior), before):
        assert np.array_equal(now, then)


def planted(seed, n=60, m=400, d=12, classes=4):
    """Classes that only the first dimensions know, under noise in all others."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n + m)
    points = rng.normal(size=(n + m, d))
    points[:, :classes] = 2.0 * np.eye(classes)[labels] + 0.4 * points[:, :classes]
    relevant = (labels[:n, None] == labels[None, n:]).astype(float)
    return points[:n], points[n:], relevant


@shapes
def test_both_solvers_find_what_was_planted(diagonal):
    z, x, relevance = planted(0)
    prior = a_prior(12, diagonal, 0.1)
    train, held = slice(0, 40), slice(40, 60)
    before = mean_top_precision(z[held], x, relevance[held], prior)
    options = {"cost": 1e-2, "prior": prior, "diagonal": diagonal}
    exact = solve(z[train], x, relevance[train], **options)
    fast = descend(z[train], x, relevance[train], **options, held_out=(z[held], x, relevance[held]))
    for fit in (exact, fast):
        after = mean_top_precision(z[held], x, relevance[held], fit.weights)
        assert after > 2 * before
    assert max(fast.held_out) == fast.held_out[fast.epochs - 1]


def test_fast_descends_towards_the_optimum():
    z, x, relevance = planted(1)
    options = {"cost": 1e-2, "prior": 0.1 * np.eye(12)}
    best = solve(z, x, relevance, **options, tolerance=1e-4)
    fast = descend(z, x, relevance, **options, epochs=60, share=1)
    assert best.objective <= fast.objective
    assert fast.objective - best.objective <= 0.2 * (best.start - best.objective)


@pytest.mark.slow
def test_time_grows_gently_with_the_number_of_items():
    rng = np.random.default_rng(2)
    labels = rng.integers(5, size=8_050)
    points = rng.normal(size=(5, 12))[labels] + 1.5 * rng.normal(size=(8_050, 12))
    z, x = points[:50], points[50:]
    seconds = []
    for m in (1_000, 8_000):
        relevance = labels[:50, None] == labels[None, 50 : 50 + m]
        solve(z, x[:m], relevance, prior=np.eye(12), rounds=1)
        start = process_time()
        solve(z, x[:m], relevance, prior=np.eye(12))
        seconds.append(process_time() - start)
    assert seconds[1] <= seconds[0] * 8**1.3
