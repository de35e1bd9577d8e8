"""The metric of one session: optimality, agreement, and every degenerate round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.solvers.metric import learn_metric
from tests.solvers.reference_ranking import nonnegative_ascent

few = settings(max_examples=20, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def chain_pairs(lengths: list[int], pairs: str = "neighbours"):
    """Row numbers (near, far) of orders whose rows stand below each other, nearest first.

    Of each order, ``lengths`` rows with its head (the query), each is before the next
    (``neighbours``) or before all that follow (``all``).
    """
    near, far = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    start = 0
    for length in lengths:
        if pairs == "neighbours":
            i, j = np.arange(max(0, length - 1)), np.arange(1, length)
        else:
            i, j = np.triu_indices(length, 1)
        near.append(start + i)
        far.append(start + j)
        start += length
    return np.concatenate(near).astype(np.int64), np.concatenate(far).astype(np.int64)


def a_round(seed: int, pictures: int = 8, dim: int = 6, scale: float = 1.0):
    """Squared differences of an order with the query (a zero row) at its head, and its pairs."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(pictures, dim)) ** 2 * scale
    rows = rows[np.argsort(rows @ rng.random(dim))]
    rows = np.vstack([np.zeros(dim), rows])
    return rows, *chain_pairs([len(rows)])


def exact(rows, near, far, C, prior=None):
    """The quadratic programme by an outside package."""
    import clarabel
    from scipy import sparse

    a = rows[far] - rows[near]
    pairs, dim = a.shape
    centre = np.zeros(dim) if prior is None else prior
    P = sparse.csc_matrix(sparse.block_diag([sparse.eye(dim), sparse.csc_matrix((pairs, pairs))]))
    q = np.r_[-centre, np.full(pairs, C)]
    # -a.w - xi <= -1, -w <= 0, -xi <= 0
    G = sparse.csc_matrix(np.block([[-a, -np.eye(pairs)], [-np.eye(dim + pairs)]]))
    h = np.r_[-np.ones(pairs), np.zeros(dim + pairs)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_rel = options.tol_gap_abs = options.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        sparse.triu(P, format="csc"), q, G, h, [clarabel.NonnegativeConeT(len(h))], options
    )
    w = np.asarray(solver.solve().x)[:dim]
    return w, objective(rows, near, far, C, np.maximum(w, 0), centre)


def objective(rows, near, far, C, w, prior=0.0):
    slack = np.maximum(0, 1 - (rows[far] - rows[near]) @ w)
    return 0.5 * float(np.sum((w - prior) ** 2)) + C * float(slack.sum())


@few
@given(seeds, st.sampled_from([0.02, 1.0, 10.0]), st.booleans())
def test_it_agrees_with_an_exact_programme(seed, scale, with_prior):
    rows, near, far = a_round(seed, scale=scale)
    prior = np.random.default_rng(seed).random(rows.shape[1]) if with_prior else None
    found = learn_metric(rows, near, far, C=20.0, prior=prior, tol=1e-8)
    _, best = exact(rows, near, far, 20.0, prior)
    assert (found.w >= 0).all()
    assert found.objective == pytest.approx(best, rel=1e-5, abs=1e-6)
    assert objective(rows, near, far, 20.0, found.w, 0.0 if prior is None else prior) == (
        pytest.approx(found.objective)
    )


@few
@given(seeds, st.booleans())
def test_every_way_to_the_answer_ends_at_the_same_one(seed, weighted):
    rows, near, far = a_round(seed, pictures=12)
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, len(near)) if weighted else np.ones(len(near))
    told = {"C": 20.0, "weights": weights, "tol": 1e-6}
    quick = learn_metric(rows, near, far, **told)  # the compiled interior point
    sweeps = learn_metric(rows, near, far, alpha=np.zeros(len(near)), **told)
    assert quick.objective == pytest.approx(sweeps.objective, rel=1e-5)
    assert quick.gap <= 1e-6 * max(1.0, quick.objective)
    assert (quick.alpha[weights == 0] == 0).all()


@few
@given(seeds)
def test_the_papers_updates_one_at_a_time_reach_the_same_weights(seed):
    rows, near, far = a_round(seed)
    slow = nonnegative_ascent(rows[far] - rows[near], np.full(len(near), 20.0), tol=1e-10)
    fast = learn_metric(rows, near, far, C=20.0, tol=1e-9)
    assert fast.w == pytest.approx(slow.w, abs=1e-3)


@few
@given(seeds, st.sampled_from([1.0, 1e2, 1e4]))
def test_the_gap_is_closed_however_bad_the_scale(seed, spread):
    rng = np.random.default_rng(seed)
    rows, near, far = a_round(seed, pictures=20, dim=30)
    rows = rows * spread ** rng.uniform(-1, 1, rows.shape[1])
    found = learn_metric(rows, near, far, C=20.0, tol=1e-5)
    assert found.gap <= 1e-5 * max(1.0, abs(found.objective)) * 1.01
    assert found.gap >= -1e-9 * max(1.0, abs(found.objective))


def test_a_warm_start_saves_the_work():
    rows, near, far = a_round(3, pictures=30, dim=40, scale=5.0)
    cold = learn_metric(rows, near, far, tol=1e-7)
    warm = learn_metric(rows, near, far, alpha=cold.alpha, tol=1e-7)
    assert cold.sweeps > 0
    assert warm.sweeps == 0
    assert warm.w == pytest.approx(cold.w)


@few
@given(seeds, st.floats(0.1, 10))
def test_scaling_features_is_scaling_the_price(seed, s):
    # Features times s are squared differences times s^2, and that equals C -> s^4 C.
    rows, near, far = a_round(seed)
    scaled = learn_metric(rows * s**2, near, far, C=2.0, tol=1e-9)
    priced = learn_metric(rows, near, far, C=2.0 * s**4, tol=1e-9)
    assert scaled.w * s**2 == pytest.approx(priced.w, rel=2e-2, abs=2e-2 * priced.w.max())


def test_confidence_weighs_contradicting_pairs():
    rows = np.array([[1.0, 2.0], [2.0, 1.0]])
    sure = learn_metric(rows, [0, 1], [1, 0], weights=[5.0, 1.0])
    assert rows[0] @ sure.w < rows[1] @ sure.w
    unsure = learn_metric(rows, [0, 1], [1, 0], weights=[1.0, 5.0])
    assert rows[0] @ unsure.w > rows[1] @ unsure.w


def test_negative_weights_only_where_they_are_allowed():
    rows = np.array([[0.0, 4.0], [4.0, 0.0]])
    assert learn_metric(rows, [0], [1]).w.min() == 0
    assert learn_metric(rows, [0], [1], signed=True).w.min() < 0


def test_planted_weights_are_found_from_many_orders():
    rng = np.random.default_rng(1)
    truth = np.array([3.0, 0.0, 1.0, 0.0, 0.5])
    rows, lengths = [], []
    for _ in range(30):
        d = rng.normal(size=(12, 5)) ** 2
        rows.append(np.vstack([np.zeros(5), d[np.argsort(d @ truth)]]))
        lengths.append(13)
    near, far = chain_pairs(lengths, "all")
    w = learn_metric(np.vstack(rows), near, far, C=100.0).w
    assert np.corrcoef(w, truth)[0, 1] > 0.99


# Degenerate rounds, each with a defined answer


def test_duplicates_and_ties_are_dropped_and_counted():
    rows = np.array([[0.0, 0.0], [1.0, 2.0], [1.0, 2.0], [3.0, 2.0]])
    found = learn_metric(rows, *chain_pairs([4]))
    alone = learn_metric(rows[[0, 1, 3]], *chain_pairs([3]))
    assert found.dropped == 1
    assert found.w == pytest.approx(alone.w, abs=1e-4)


def test_all_rows_zero_gives_the_prior():
    found = learn_metric(np.zeros((4, 3)), *chain_pairs([4]), prior=[1.0, 0.0, 2.0])
    assert found.dropped == 3
    assert found.w.tolist() == [1.0, 0.0, 2.0]
    assert not learn_metric(np.zeros((4, 3)), *chain_pairs([4])).w.any()


def test_no_pairs_at_all_gives_zero():
    assert not learn_metric(np.ones((1, 3)), [], []).w.any()


def test_an_order_that_contradicts_itself_gives_zero_weights():
    rows = np.array([[1.0, 1.0], [2.0, 2.0]])  # the farther one is nearer in every dimension
    found = learn_metric(rows, [1], [0])
    assert not found.w.any()
    assert found.gap <= 1e-4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[-1.0]], [0], [0]), "below zero"),
        (([[1.0], [2.0]], [0], [0, 1]), "one length"),
        (([[1.0], [2.0]], [0], [2]), "row numbers"),
        (([[np.nan], [2.0]], [0], [1]), "finite"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        learn_metric(*arguments)
