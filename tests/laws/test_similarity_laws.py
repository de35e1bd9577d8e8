"""Laws that every registered similarity keeps, dense or sparse, in float32 and float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from likewise.learners import SIMILARITIES
from likewise.types import Similarity, SpaceMismatch, Surrogate
from tests.laws.examples import EXAMPLES

kinds = pytest.mark.parametrize("kind", sorted(SIMILARITIES))
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
seeds = given(seed=st.integers(0, 2**32 - 1))
few = settings(max_examples=15, deadline=None)


def served(similarity: Similarity, query, items) -> np.ndarray:
    """Scores as an engine computes them: codes times surrogate, plus side and offset."""
    s = similarity.surrogate(query)
    codes = similarity.space.encode(items)
    vector = s.vector.toarray().ravel() if sparse.issparse(s.vector) else s.vector
    scores = np.asarray(codes @ vector, dtype=np.float64).ravel() + s.offset
    columns = similarity.side_columns(items)
    for name, coefficient in s.side.items():
        scores = scores + coefficient * columns[name]
    return scores


def test_every_similarity_has_an_example():
    assert set(EXAMPLES) == set(SIMILARITIES)


@kinds
@dtypes
@few
@seeds
def test_surrogate_serves_the_papers_formula(kind, dtype, seed):
    example = EXAMPLES[kind](np.random.default_rng(seed), dtype)
    assert isinstance(example.similarity, Similarity)
    tolerance = 2e-4 if dtype is np.float32 else 1e-9
    for query in example.queries:
        slow = np.asarray(example.similarity.score(query, example.items), dtype=np.float64)
        fast = served(example.similarity, query, example.items)
        scale = max(1e-12, np.abs(slow).max())
        assert fast.shape == slow.shape
        assert np.abs(fast - slow).max() <= tolerance * scale


@kinds
@few
@seeds
def test_surrogates_of_one_space_add_and_scale(kind, seed):
    rng = np.random.default_rng(seed)
    s, queries, items = EXAMPLES[kind](rng, np.float64)
    a, b = s.surrogate(queries[0]), s.surrogate(queries[1])
    factor = float(rng.normal())
    both = a + b * factor
    codes, columns = s.space.encode(items), s.side_columns(items)

    def total(u: Surrogate) -> np.ndarray:
        vector = u.vector.toarray().ravel() if u.is_sparse else u.vector
        out = np.asarray(codes @ vector).ravel() + u.offset
        return out + sum(c * columns[name] for name, c in u.side.items())

    expected = total(a) + factor * total(b)
    scale = np.abs(total(a)).max() + abs(factor) * np.abs(total(b)).max() + 1e-12
    assert np.abs(total(both) - expected).max() <= 1e-9 * scale


@kinds
@dtypes
def test_restored_from_its_arrays_it_scores_the_same(kind, dtype):
    similarity, queries, items = EXAMPLES[kind](np.random.default_rng(7), dtype)
    arrays, written = similarity.to_arrays()
    assert all(isinstance(a, np.ndarray) and a.dtype != object for a in arrays.values())
    again = SIMILARITIES[kind].from_arrays(similarity.space, arrays, written)
    for query in queries:
        assert np.allclose(again.score(query, items), similarity.score(query, items), rtol=1e-6)
        assert np.allclose(served(again, query, items), served(similarity, query, items))


@kinds
def test_the_surrogate_names_its_space_and_refuses_another(kind):
    similarity, queries, _ = EXAMPLES[kind](np.random.default_rng(0), np.float64)
    s = similarity.surrogate(queries[0])
    assert s.space == similarity.space.fingerprint
    assert s.dim == similarity.space.dim
    other = Surrogate(s.vector, s.offset, s.side, "another-space")
    with pytest.raises(SpaceMismatch, match="different spaces"):
        _ = s + other


@kinds
def test_a_callers_arrays_are_left_alone(kind):
    similarity, queries, items = EXAMPLES[kind](np.random.default_rng(3), np.float64)
    before = [q.copy() for q in queries], items.copy()
    for query in queries:
        similarity.surrogate(query)
        similarity.score(query, items)

    def same(a, b):
        return (a != b).nnz == 0 if sparse.issparse(a) else np.array_equal(a, b)

    assert all(same(a, b) for a, b in zip(before[0], queries))
    assert same(before[1], items)
