"""The ranking solver: optimality, agreement with three outside solvers, degenerate problems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.solvers import ranking
from likewise.solvers.ranking import rank
from tests.solvers import reference_ranking

from .peers import by_clarabel, by_liblinear, by_osqp


class Problem:
    """A random problem with planted weights and noisy labels, and its explicit matrices."""

    def __init__(self, seed, items=12, dim=6, count=30, C=1.0, sigma=0.0, prior=False, **more):
        rng = np.random.default_rng(seed)
        query, x = rng.standard_normal(dim), rng.standard_normal((items, dim))
        self.Z = query / np.linalg.norm(query) * x
        scores = self.Z @ rng.uniform(0, 1, dim) + 0.1 * rng.standard_normal(items)
        pair = rng.integers(0, items, (count, 2))
        lower = scores[pair[:, 0]] < scores[pair[:, 1]]
        pair[lower] = pair[lower, ::-1]
        self.better, self.worse = pair.T.copy()
        self.options = {"C": C, "sigma": sigma, **more}
        if prior:
            self.options["prior"] = rng.standard_normal(dim)

    @property
    def call(self):
        return (self.Z, self.better, self.worse)

    @property
    def explicit(self):
        """(X, cap, margin, A, prior)."""
        o, count, dim = self.options, len(self.better), self.Z.shape[1]
        cap = o["C"] * np.asarray(o.get("weights", np.ones(count)), dtype=float)
        margin = np.asarray(o.get("margins", np.ones(count)), dtype=float)
        A = reference_ranking.metric(dim, o["sigma"], o.get("w0"))
        X = reference_ranking.differences(self.Z, self.better, self.worse)
        return X, cap, margin, A, np.asarray(o.get("prior", np.zeros(dim)))

    def objective(self, w):
        X, cap, margin, A, prior = self.explicit
        return reference_ranking.primal(X, w, cap, margin, A, prior)


def duplicates(seed, **options):
    """Every item twice, and preferences between copies: rows of zeros."""
    problem = Problem(seed, **options)
    items = len(problem.Z)
    problem.Z = np.r_[problem.Z, problem.Z]
    problem.better = np.r_[problem.better, np.arange(items), np.arange(3)]
    problem.worse = np.r_[problem.worse + items, np.arange(items) + items, np.arange(3)]
    return problem


def contradictory(seed, **options):
    problem = Problem(seed, **options)
    both = np.r_[problem.better, problem.worse], np.r_[problem.worse, problem.better]
    problem.better, problem.worse = both
    return problem


CASES = {
    "random": Problem(0),
    "metric": Problem(1, sigma=0.95),
    "strong metric": Problem(2, sigma=0.999),
    "other direction": Problem(3, sigma=0.8, w0=np.linspace(0.2, 2, 6)),
    "cheap": Problem(4, C=1e-3, sigma=0.5),
    "dear": Problem(5, C=1e3, sigma=0.5),
    "dear, strong metric": Problem(6, C=1e3, sigma=0.999),
    "prior": Problem(7, sigma=0.9, prior=True),
    "weights": Problem(8, weights=np.linspace(0, 3, 30)),
    "margins": Problem(9, margins=np.linspace(-1, 4, 30), sigma=0.3),
    "one preference": Problem(10, count=1),
    "two items": Problem(11, items=2, count=5),
    "one dimension": Problem(12, dim=1, sigma=0.5),
    "more dimensions than items": Problem(13, items=5, dim=40, count=20, sigma=0.95),
    "more items than fit a Gram matrix": Problem(14, items=150, dim=3, count=200, sigma=0.7),
    "duplicates": duplicates(15, sigma=0.6),
    "contradictory": contradictory(16, sigma=0.6),
    "zero query": Problem(17),
}
CASES["zero query"].Z = np.zeros_like(CASES["zero query"].Z)
SIGNED = {name: problem for name, problem in CASES.items() if problem.options["sigma"] == 0} | {
    "dear": Problem(20, C=1e3),
    "prior": Problem(21, prior=True),
    "duplicates": duplicates(22),
    "contradictory": contradictory(23),
    "one dimension": Problem(24, dim=1),
    "squared distances": Problem(25, items=20, dim=10, C=20.0),
}
SIGNED["squared distances"].Z = 30 * SIGNED["squared distances"].Z ** 2


def close(value, truth, tol=1e-5):
    return abs(value - truth) <= tol * max(1.0, abs(truth))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("peer", [by_osqp, by_clarabel])
def test_objective_agrees_with_quadratic_solvers(name, peer):
    problem = CASES[name]
    ours = rank(*problem.call, **problem.options, tol=1e-7)
    theirs = problem.objective(peer(*problem.explicit))
    assert close(ours.objective, theirs)
    assert close(problem.objective(ours.w), ours.objective, 1e-9)


@pytest.mark.parametrize(
    "name", [n for n, p in CASES.items() if not {"margins", "prior"} & set(p.options)]
)
def test_objective_agrees_with_liblinear(name):
    problem = CASES[name]
    X, cap, _, A, _ = problem.explicit
    ours = rank(*problem.call, **problem.options, tol=1e-7)
    assert close(ours.objective, problem.objective(by_liblinear(X, cap, A)))


@pytest.mark.parametrize("name", SIGNED)
@pytest.mark.parametrize("peer", [by_osqp, by_clarabel])
def test_nonnegative_agrees_with_quadratic_solvers(name, peer):
    problem = SIGNED[name]
    ours = rank(*problem.call, **problem.options, nonnegative=True, tol=1e-7)
    assert (ours.w >= 0).all()
    theirs = problem.objective(peer(*problem.explicit, nonnegative=True))
    assert close(ours.objective, theirs)


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_papers_algorithm(name):
    problem = CASES[name]
    X, cap, margin, A, prior = problem.explicit
    slow = reference_ranking.smo(X, cap, A=A, margin=margin, prior=prior, tol=1e-8, most=50_000)
    ours = rank(*problem.call, **problem.options, tol=1e-8)
    # Where the paper's rule has not closed the reference's own gap, that is what may differ.
    assert ours.objective <= slow.objective + 1e-7 * max(1, slow.objective)
    assert slow.objective - ours.objective <= slow.gap + 1e-7 * max(1, slow.objective)
    assert slow.gap <= 1e-5 * max(1, slow.objective)


@pytest.mark.parametrize("name", ["random", "weights", "prior", "contradictory", "one dimension"])
def test_nonnegative_agrees_with_its_reference(name):
    problem = SIGNED[name]
    X, cap, margin, _, prior = problem.explicit
    slow = reference_ranking.nonnegative_ascent(X, cap, margin=margin, prior=prior)
    ours = rank(*problem.call, **problem.options, nonnegative=True, tol=1e-9)
    assert close(ours.objective, slow.objective, 1e-7)
    np.testing.assert_allclose(ours.w, slow.w, atol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_optimality_conditions(name):
    """w = prior + A^-1 X alpha, alpha in its box, and rule (11) up to a small residual."""
    problem = CASES[name]
    X, cap, margin, A, prior = problem.explicit
    ours = rank(*problem.call, **problem.options, tol=1e-12)
    assert ((ours.alpha >= 0) & (ours.alpha <= cap)).all()
    np.testing.assert_allclose(
        A @ (ours.w - prior), X.T @ ours.alpha, atol=1e-8 * (1 + np.abs(ours.alpha).max())
    )
    short = margin - X @ ours.w
    # complementary slackness, each term at least zero
    terms = np.r_[(cap - ours.alpha) * np.maximum(short, 0), ours.alpha * np.maximum(-short, 0)]
    assert terms.max() <= 1e-8 * max(1, ours.objective)


problems = st.builds(
    Problem,
    seed=st.integers(0, 2**20),
    items=st.integers(2, 30),
    dim=st.integers(1, 20),
    count=st.integers(0, 60),
    C=st.sampled_from([1e-3, 0.1, 1.0, 30.0, 1e3]),
    sigma=st.sampled_from([0.0, 0.5, 0.95, 0.999]),
    prior=st.booleans(),
)


@given(problem=problems, nonnegative=st.booleans())
@settings(max_examples=60, deadline=None)
def test_gap_is_a_true_bound_at_any_time(problem, nonnegative):
    if nonnegative:
        problem.options["sigma"] = 0.0
    options = problem.options | {"nonnegative": nonnegative}
    best = rank(*problem.call, **options, tol=1e-9)
    noise = 1e-8 * max(1.0, best.objective)
    # the loop measures its gap from the Gram matrix, the answer from w: rounding apart
    assert best.gap <= 1.1e-9 * max(1.0, best.objective) + 1e-10
    for sweeps in (0, 1, 3):
        early = rank(*problem.call, **options, tol=1e-9, max_sweeps=sweeps)
        assert early.sweeps <= sweeps
        assert early.gap >= -noise
        assert early.objective - best.objective <= early.gap + noise
        assert early.objective >= best.objective - best.gap - noise


@pytest.mark.parametrize("name", SIGNED)
@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_dual_never_falls(name, nonnegative):
    problem = SIGNED[name]
    duals = []
    for sweeps in range(8):
        found = rank(
            *problem.call, **problem.options, nonnegative=nonnegative, max_sweeps=sweeps, tol=1e-12
        )
        duals.append(found.objective - found.gap)
    assert (np.diff(duals) >= -1e-9 * max(1.0, abs(duals[-1]))).all()


@given(problem=problems)
@settings(max_examples=30, deadline=None)
def test_gram_vector_and_interior_ways_agree(problem):
    with pytest.MonkeyPatch.context() as patch:
        gram = rank(*problem.call, **problem.options, tol=1e-8)
        patch.setattr(ranking, "PATIENCE", 0)
        interior = rank(*problem.call, **problem.options, tol=1e-8)
        patch.setattr(ranking, "GRAM_ITEMS", 0)
        patch.setattr(ranking, "PATIENCE", 10_000)
        vector = rank(*problem.call, **problem.options, tol=1e-8, max_sweeps=10_000)
    assert close(interior.objective, gram.objective, 1e-7)
    # without the interior point a hard problem may stop early, and must say so
    off = 1e-7 * max(1.0, gram.objective)
    assert vector.objective - gram.objective <= vector.gap + off


@given(problem=problems, nonnegative=st.booleans())
@settings(max_examples=30, deadline=None)
def test_warm_start_equals_cold_and_is_shorter(problem, nonnegative):
    if nonnegative:
        problem.options["sigma"] = 0.0
    options = problem.options | {"nonnegative": nonnegative, "tol": 1e-8}
    cold = rank(*problem.call, **options)
    warm = rank(*problem.call, **options, alpha=cold.alpha)
    assert warm.sweeps <= 1
    assert close(warm.objective, cold.objective, 1e-7)
    rng = np.random.default_rng(0)
    wild = rank(*problem.call, **options, alpha=rng.uniform(-1e4, 1e4, len(cold.alpha)))
    assert close(wild.objective, cold.objective, 1e-7)


@given(problem=problems)
@settings(max_examples=20, deadline=None)
def test_deterministic_and_leaves_its_input_alone(problem):
    before = [array.copy() for array in problem.call]
    start = np.full(len(problem.better), 0.5)
    first = rank(*problem.call, **problem.options, alpha=start, seed=3)
    again = rank(*problem.call, **problem.options, alpha=start, seed=3)
    for a, b in zip(first, again):
        np.testing.assert_array_equal(a, b)
    for array, old in zip(problem.call, before):
        np.testing.assert_array_equal(array, old)
    assert (start == 0.5).all()


def test_no_preferences_give_the_prior():
    prior = np.array([1.0, -2.0, 3.0])
    for sigma in (0.0, 0.9):
        none = rank(np.ones((4, 3)), [], [], prior=prior, sigma=sigma)
        np.testing.assert_array_equal(none.w, prior)
        assert none.objective == none.gap == 0
    assert (rank(np.ones((4, 3)), [], []).w == 0).all()
    np.testing.assert_array_equal(
        rank(np.ones((4, 3)), [], [], prior=prior, nonnegative=True).w, [1, 0, 3]
    )
    assert (rank(np.empty((0, 3)), [], []).w == 0).all()


def test_duplicates_cost_a_constant_and_teach_nothing():
    problem = Problem(30, sigma=0.5)
    alone = rank(*problem.call, **problem.options, tol=1e-10)
    same = np.zeros(7, dtype=int)
    more = rank(
        problem.Z, np.r_[problem.better, same], np.r_[problem.worse, same],
        **problem.options, tol=1e-10,
    )  # fmt: skip
    assert more.objective == pytest.approx(alone.objective + len(same) * problem.options["C"])
    np.testing.assert_allclose(more.w, alone.w, atol=1e-6)


def test_a_contradiction_teaches_nothing():
    found = rank(np.eye(3), [0, 1], [1, 0], C=5.0)
    np.testing.assert_allclose(found.w, 0, atol=1e-9)
    assert found.objective == pytest.approx(10.0)


def test_weight_counts_like_repetition():
    problem = Problem(31, sigma=0.5)
    times = np.arange(30) % 3
    weighted = rank(*problem.call, **problem.options, weights=times, tol=1e-10)
    repeated = rank(
        problem.Z, np.repeat(problem.better, times), np.repeat(problem.worse, times),
        **problem.options, tol=1e-10,
    )  # fmt: skip
    assert close(weighted.objective, repeated.objective, 1e-8)
    np.testing.assert_allclose(weighted.w, repeated.w, atol=1e-5)


def test_more_sigma_turns_w_towards_the_direction():
    problem = Problem(32, dim=10)
    w0 = np.linspace(1, 2, 10)
    cosines = []
    for sigma in (0.0, 0.5, 0.9, 0.99, 0.999):
        w = rank(*problem.call, C=1.0, sigma=sigma, w0=w0, tol=1e-8).w
        cosines.append(abs(w @ w0) / np.linalg.norm(w) / np.linalg.norm(w0))
    assert (np.diff(cosines) > -1e-6).all()
    assert cosines[-1] > cosines[0]


def test_planted_weights_are_found():
    rng = np.random.default_rng(0)
    Z, truth = rng.standard_normal((60, 8)), rng.uniform(0, 1, 8)
    order = np.argsort(-Z @ truth)
    found = rank(Z, order[:-1], order[1:], C=1e3).w
    assert found @ truth / np.linalg.norm(found) / np.linalg.norm(truth) > 0.99


GOOD = {"Z": np.eye(3), "better": [0, 1], "worse": [1, 2]}
BAD = {
    "not finite": ({"Z": np.array([[np.nan, 1], [0, 1], [1, 1]])}, "finite"),
    "infinite": ({"Z": np.array([[np.inf, 1], [0, 1], [1, 1]])}, "finite"),
    "flat Z": ({"Z": np.ones(3)}, "matrix"),
    "no columns": ({"Z": np.ones((3, 0))}, "matrix"),
    "lengths": ({"better": [0]}, "one length"),
    "out of range": ({"worse": [1, 3]}, "0 to 2"),
    "negative row": ({"worse": [1, -1]}, "0 to 2"),
    "not whole": ({"worse": [1.0, 2.0]}, "whole"),
    "two columns": ({"worse": [[1, 2]]}, "flat"),
    "sigma one": ({"sigma": 1.0}, "sigma"),
    "sigma below": ({"sigma": -0.1}, "sigma"),
    "sigma not a number": ({"sigma": np.nan}, "sigma"),
    "C zero": ({"C": 0.0}, "C must"),
    "C not a number": ({"C": np.nan}, "C must"),
    "C infinite": ({"C": np.inf}, "C must"),
    "weights shape": ({"weights": [1.0]}, "weights"),
    "weights below": ({"weights": [1.0, -1.0]}, "weights"),
    "margins": ({"margins": [1.0, np.nan]}, "margins"),
    "w0 shape": ({"w0": np.ones(2), "sigma": 0.5}, "w0"),
    "w0 zero": ({"w0": np.zeros(3), "sigma": 0.5}, "w0"),
    "prior": ({"prior": np.ones(4)}, "prior"),
    "alpha": ({"alpha": np.ones(3)}, "alpha"),
    "signed metric": ({"nonnegative": True, "sigma": 0.5}, "sigma = 0"),
    "tol": ({"tol": 0.0}, "tol"),
    "sweeps": ({"max_sweeps": -1}, "max_sweeps"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_a_sentence(name):
    change, words = BAD[name]
    with pytest.raises(ValueError, match=words) as caught:
        rank(**(GOOD | change))
    assert str(caught.value).endswith(".")


def test_integers_lists_and_strided_arrays_are_taken():
    wide = np.arange(24).reshape(4, 6)
    plain = rank(np.ascontiguousarray(wide[:, ::2], dtype=float), [0, 3], [1, 2])
    for Z in (wide[:, ::2], wide[:, ::2].tolist(), wide[:, ::2].astype(np.float32)):
        found = rank(Z, np.array([0, 3], dtype=np.uint8), [1, 2])
        np.testing.assert_array_equal(found.w, plain.w)
