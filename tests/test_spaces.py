from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.decomposition import PCA

from likewise.solvers.smoothing import Smoothing
from likewise.spaces import SPACES, Blocks, BlockSpec, Squared, Words
from likewise.types import BadInput, Surrogate
from tests.laws.examples import blocks

finite = st.floats(-3, 3, width=32)


def raw(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return {"deep": rng.normal(size=(n, 10)), "colour": rng.random(size=(n, 7))}


def test_each_block_has_unit_length_and_is_never_mixed():
    f = raw()
    space = Blocks.fit(f, {"deep": 4, "colour": 3})
    x = space.transform(f)
    for part in space.slices.values():
        assert np.allclose(np.linalg.norm(x[:, part], axis=1), 1)
    changed = {**f, "colour": np.random.default_rng(1).random(size=f["colour"].shape)}
    y = space.transform(changed)
    assert np.array_equal(x[:, space.slices["deep"]], y[:, space.slices["deep"]])
    assert not np.allclose(x[:, space.slices["colour"]], y[:, space.slices["colour"]])


def test_axes_agree_with_scikit_learn_up_to_sign():
    f = raw()
    space = Blocks.fit(f, {"deep": 4})
    theirs = PCA(4).fit(f["deep"]).components_.T
    ours = space.to_arrays()[0]["deep.basis"]
    assert np.allclose(np.abs((ours * theirs).sum(axis=0)), 1, atol=1e-5)


def test_fitting_is_deterministic_and_sampled():
    f = raw(500)
    one = Blocks.fit(f, {"deep": 3}, sample=100, seed=4)
    assert one.fingerprint == Blocks.fit(f, {"deep": 3}, sample=100, seed=4).fingerprint
    assert one.fingerprint != Blocks.fit(f, {"deep": 3}, sample=100, seed=5).fingerprint
    assert one.fingerprint != Blocks.fit(f, {"deep": 4}, sample=100, seed=4).fingerprint


def test_more_dimensions_than_there_are_is_all_of_them():
    f = raw()
    assert Blocks.fit(f, {"deep": 99}).dim == 10


def test_whitening_evens_out_the_axes():
    rng = np.random.default_rng(2)
    f = {"deep": rng.normal(size=(4000, 3)) * [9, 3, 1]}
    space = Blocks.fit(f, {"deep": BlockSpec(3, whiten=1.0)})
    arrays, _ = space.to_arrays()
    spread = ((f["deep"] - arrays["deep.mean"]) @ arrays["deep.basis"]).std(axis=0)
    assert np.allclose(spread, spread[0], rtol=0.02)


def test_the_power_is_signed():
    space = Blocks(
        {"a": BlockSpec(2, power=0.5, centre=False)},
        {"a.mean": np.zeros(2, np.float32), "a.basis": np.eye(2, dtype=np.float32)},
    )
    x = space.transform({"a": np.array([[-4.0, 9.0]])})
    assert np.allclose(x, np.array([[-2, 3]]) / np.sqrt(13))


def test_a_zero_block_stays_zero_and_scores_nothing():
    space = Blocks.identity({"a": 2, "b": 2})
    x = space.transform({"a": np.zeros((1, 2)), "b": np.ones((1, 2))})
    assert np.array_equal(x[0, :2], [0, 0])
    assert np.isclose(np.linalg.norm(x[0, 2:]), 1)


def test_contributions_add_up_to_the_score():
    space, x = blocks(np.random.default_rng(0), np.float64)
    s = Surrogate(np.random.default_rng(1).normal(size=space.dim), space=space.fingerprint)
    parts = space.contributions(s, x[5])
    assert set(parts) == set(space.names)
    assert np.isclose(sum(parts.values()), x[5] @ s.vector)


@pytest.mark.parametrize(
    ("features", "specs"),
    [
        ({}, {"deep": 2}),
        ({"deep": np.zeros((0, 3))}, {"deep": 2}),
        ({"deep": np.ones((2, 3))}, {"deep": 0}),
        ({"deep": np.ones((2, 3))}, {}),
        ({"deep": np.ones((2, 3)), "colour": np.ones((3, 3))}, {"deep": 1, "colour": 1}),
        ({"deep": np.full((2, 3), np.nan)}, {"deep": 1}),
    ],
)
def test_what_cannot_be_fitted_is_refused(features, specs):
    with pytest.raises(BadInput):
        Blocks.fit(features, specs)


def test_vectors_of_other_features_are_refused():
    space = Blocks.fit(raw(), {"deep": 3, "colour": 2})
    with pytest.raises(BadInput, match="10 are needed"):
        space.transform({"deep": np.ones((1, 4)), "colour": np.ones((1, 7))})
    with pytest.raises(BadInput):
        space.encode(np.ones((1, 3)))
    with pytest.raises(BadInput, match="no block 'shape'"):
        space.spread({"shape": 1})


@given(hnp.arrays(np.float64, (4, 13), elements=finite), st.integers(0, 10**6))
def test_squared_serves_weighted_distances(x, seed):
    rng = np.random.default_rng(seed)
    base, _ = blocks(rng, np.float64)
    space = Squared(base)
    w, q = rng.random(base.dim), rng.normal(size=base.dim)
    fast = space.encode(x) @ np.concatenate([2 * w * q, -w]) - (w * q * q).sum()
    slow = -((x - q) ** 2 * w).sum(axis=1)
    assert np.allclose(fast, slow, atol=1e-9)


def words(tau="binary-idf"):
    return Words([1.0, 2.0, 0.5, 0.0], levels=2, tau=tau, vocabulary="v")


def test_words_are_indicators_by_level_times_tau():
    space = words()
    counts = np.array([[1, 0, 3, 0], [0, 0, 0, 0], [0, 2, 0, 1]])
    codes = space.encode(counts)
    tau = space.tau(counts)
    dense = codes.toarray().reshape(3, 4, 2)
    for d in range(3):
        for word in range(4):
            for level in (1, 2):
                expected = tau[d] if min(counts[d, word], 2) == level else 0
                assert dense[d, word, level - 1] == expected
    assert np.isclose(tau[0], 1 / np.hypot(1, 0.5))
    assert tau[1] == 1
    assert np.array_equal(words("one").tau(counts), np.ones(3))


def test_words_take_sparse_counts_with_duplicates_and_zeros():
    c = sparse.csr_array((np.array([1, 2, 0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 4))
    dense = words().encode(np.array([[3, 0, 0, 0]])).toarray()
    assert np.array_equal(words().encode(c).toarray(), dense)


@pytest.mark.parametrize("bad", [np.ones((1, 3)), -np.ones((1, 4)), np.full((1, 4), np.nan)])
def test_histograms_that_are_none_are_refused(bad):
    with pytest.raises(BadInput):
        words().encode(bad)


@pytest.mark.parametrize("settings", [{"levels": 0}, {"tau": "l2"}])
def test_word_settings_are_checked(settings):
    with pytest.raises(BadInput):
        Words([1.0], **settings)
    with pytest.raises(BadInput):
        Words([])


def every_space():
    base, x = blocks(np.random.default_rng(0), np.float32)
    return [
        (base, x),
        (Squared(base), x),
        (words(), np.array([[1, 0, 3, 0]])),
    ]


@pytest.mark.parametrize("position", range(len(SPACES)))
def test_every_space_is_restored_with_its_fingerprint(position):
    space, x = every_space()[position]
    arrays, settings = space.to_arrays()
    again = SPACES[space.kind].from_arrays(arrays, settings)
    assert again.fingerprint == space.fingerprint
    assert again.dim == space.dim == space.encode(x).shape[1]
    one, two = again.encode(x), space.encode(x)
    assert (one != two).nnz == 0 if sparse.issparse(one) else np.array_equal(one, two)


def test_smoothing_is_another_space_that_comes_back_from_its_arrays():
    base = Blocks.identity({"deep": 4, "colour": 2})
    on = base.smoothed(Smoothing(5, 3.0))
    assert len({base.fingerprint, on.fingerprint, base.smoothed(Smoothing(3)).fingerprint}) == 3
    again = Blocks.from_arrays(*on.to_arrays())
    assert again.fingerprint == on.fingerprint
    assert again.smoothing == (5, 3.0)
    assert on.smoothed(None).fingerprint == base.fingerprint
    assert "smoothing" not in base.to_arrays()[1]  # spaces of earlier commits keep their name
