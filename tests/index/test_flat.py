"""The exact index: sparse codes, memory maps, bounded memory, ties to the last bit."""

from __future__ import annotations

import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from likewise.index import _checks, flat
from likewise.index.flat import FlatIndex
from likewise.types import BadInput, Surrogate


def sparse_codes(n: int = 300, dim: int = 50, seed: int = 0, **how: Any) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    return sparse.csr_array(sparse.random_array((n, dim), density=0.1, rng=rng, **how))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_codes_answer_like_dense_ones(dtype: Any, form: Any) -> None:
    x = sparse.csr_array((10 * sparse_codes()).astype(dtype))
    thin, thick = FlatIndex.build(form(x)), FlatIndex.build(x.toarray())
    rng = np.random.default_rng(1)
    for query in (rng.standard_normal(50), x[[4]].astype(float), rng.standard_normal(50)):
        for among in (None, rng.choice(400, 90)):
            one = thin.search(Surrogate(query), 20, among=among)
            other = thick.search(Surrogate(query), 20, among=among)
            np.testing.assert_array_equal(one.ids, other.ids)
            np.testing.assert_allclose(one.scores, other.scores, rtol=1e-12)


def test_sparse_round_trip_and_side(tmp_path: Any) -> None:
    x = sparse_codes()
    index = FlatIndex.build(x, side={"prior": np.arange(300.0)})
    index.save(tmp_path / "thin")
    again = FlatIndex.load(tmp_path / "thin")
    query = Surrogate(x[[2]], 1.5, {"prior": 0.01})
    np.testing.assert_array_equal(index.search(query, 9).ids, again.search(query, 9).ids)
    expected = (x @ x[[2]].toarray()[0]) + 0.01 * np.arange(300) + 1.5
    np.testing.assert_allclose(again.search(query, 1).scores, expected.max())


def test_bad_sparse_codes_are_refused() -> None:
    x = sparse_codes()
    x.data[3] = np.nan
    with pytest.raises(BadInput, match="NaN"):
        FlatIndex.build(x)
    with pytest.raises(BadInput, match="numbers"):
        FlatIndex.build(sparse_codes().astype(complex))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    copies=st.integers(1, 6),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
    queries=st.integers(1, 5),
)
def test_equal_codes_tie_exactly_wherever_they_lie(
    seed: int, copies: int, dtype: Any, queries: int
) -> None:
    """Real numbers of any size: copies of a row must not be told apart by rounding."""
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((40, 37)) * np.exp(rng.standard_normal((40, 1)))
    rows = rng.permutation(np.repeat(np.arange(40), copies))
    index = FlatIndex.build(base.astype(dtype)[rows])
    vectors = rng.standard_normal((queries, 37)).astype(rng.choice(["f4", "f8"]))
    exact = base.astype(dtype).astype(np.float64) @ vectors.astype(np.float64).T
    for q, hits in enumerate(index.search_many([Surrogate(v) for v in vectors], 11)):
        order = np.lexsort((np.arange(len(rows)), -exact[rows, q]))[:11]
        np.testing.assert_array_equal(hits.ids, order)
        alone = index.search(Surrogate(vectors[q]), 11)
        np.testing.assert_array_equal(alone.scores, hits.scores)


@pytest.mark.parametrize("block", [1, 3000, 1 << 20])
def test_blocks_do_not_change_the_answer(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 30)).astype(np.float32)
    side = {"age": rng.standard_normal(500)}
    queries = [Surrogate(v, 1.0, {"age": 2.0}) for v in rng.standard_normal((7, 30))]
    among = rng.choice(500, 300, replace=False)
    expected = FlatIndex.build(x, side=side).search_many(queries, 20, among=among)
    for module in (flat, _checks):
        monkeypatch.setattr(module, "BLOCK_BYTES", block)
    monkeypatch.setattr(flat, "_TOGETHER", 3)
    for dtype in (np.float32, np.float64):
        found = FlatIndex.build(x.astype(dtype), side=side).search_many(queries, 20, among=among)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one.ids, other.ids)
            np.testing.assert_array_equal(one.scores, other.scores)


def test_memory_stays_bounded() -> None:
    """40,000 x 1,000 scores would be 160 MB in float32; blocks keep the search below that."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40_000, 8)).astype(np.float32)
    index = FlatIndex.build(x)
    queries = [Surrogate(v) for v in x[:1000]]
    index.search_many(queries[:10], 10)
    tracemalloc.start()
    index.search_many(queries, 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * flat.BLOCK_BYTES


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_memory_map_is_used_where_it_lies(dtype: Any, tmp_path: Any) -> None:
    x = np.random.default_rng(0).standard_normal((3000, 20)).astype(dtype)
    np.save(tmp_path / "codes.npy", x)
    mapped = np.load(tmp_path / "codes.npy", mmap_mode="r")
    index = FlatIndex.build(mapped)
    assert np.shares_memory(index._codes, mapped)
    hits = index.search(Surrogate(x[5]), 10)
    order = np.argsort(-(x.astype(float) @ x[5].astype(float)))[:10]
    np.testing.assert_array_equal(hits.ids, order)


def test_huge_numbers_are_scored_in_double_precision() -> None:
    x = np.eye(3) * [1e20, 1e25, 1e30]
    for dtype in (np.float32, np.float64):
        hits = FlatIndex.build(x.astype(dtype)).search(Surrogate(np.ones(3) * 1e12), 3)
        np.testing.assert_array_equal(hits.ids, [2, 1, 0])
        np.testing.assert_allclose(hits.scores, [1e42, 1e37, 1e32], rtol=1e-6)


def test_a_large_scan_needs_no_compiler_and_answers_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    codes = rng.standard_normal((500, 24)).astype(np.float32)
    index = FlatIndex.build(codes)
    asked = [Surrogate(v) for v in rng.standard_normal((2, 24))]
    expected = index.search_many(asked, 9)
    monkeypatch.setattr(flat, "_SMALL", 1)
    monkeypatch.setitem(sys.modules, "likewise.index._kernels", None)  # importing it would fail
    for found, right in zip(index.search_many(asked, 9), expected):
        assert np.array_equal(found.ids, right.ids)
        assert np.array_equal(found.scores, right.scores)
    assert np.array_equal(index.search(asked[0], 9).ids, expected[0].ids)
