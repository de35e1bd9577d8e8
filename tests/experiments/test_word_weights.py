"""Hand-made weights of visual words: what the word table is compared with."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from experiments.rivals.word_weights import (
    NegativeEvidence,
    Whitened,
    asymmetric,
    cosine,
    intra_burst,
)
from likewise.learners.word_table import WordTable
from likewise.spaces import Words
from likewise.types import BadInput
from tests.learners.test_words import histograms


def test_binary_idf_is_the_cosine_up_to_the_querys_length() -> None:
    rng = np.random.default_rng(4)
    counts = histograms(rng)
    space = Words(rng.random(80) + 0.1)
    for q in (0, 7):
        ours = WordTable.binary_idf(space).score(counts[[q]], counts)
        theirs = cosine(counts[[q]], counts, space.idf, power=0.0)[0]
        np.testing.assert_allclose(ours * space.tau(counts[[q]]), theirs, atol=1e-12)


def test_comparators_are_their_formulas() -> None:
    rng = np.random.default_rng(6)
    counts, idf = histograms(rng), rng.random(80) + 0.1
    q, d, sample = counts[:5], counts[5:40], counts[40:]
    dense = {name: x.toarray() for name, x in (("q", q), ("d", d), ("s", sample))}

    def unit(x: np.ndarray) -> np.ndarray:
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    np.testing.assert_allclose(
        cosine(q, d, idf), unit(dense["q"] * idf) @ unit(dense["d"] * idf).T, atol=1e-12
    )
    np.testing.assert_allclose(
        intra_burst(q, d, idf), (dense["q"] * idf) @ unit(np.sqrt(dense["d"]) * idf).T, atol=1e-12
    )
    mean = unit(dense["s"] * idf).mean(axis=0)
    np.testing.assert_allclose(
        NegativeEvidence(sample, idf)(q, d),
        unit(unit(dense["q"] * idf) - mean) @ unit(unit(dense["d"] * idf) - mean).T,
        atol=1e-10,
    )
    least = np.minimum(dense["q"][:, None], dense["d"][None]) @ idf
    length = dense["d"] @ idf
    rho = length.sum() / least.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        asymmetric(q, d, idf, alpha=0.3), 0.3 * rho * least - length, atol=1e-9
    )


def test_whitening_makes_every_direction_equal() -> None:
    rng = np.random.default_rng(7)
    counts, idf = histograms(rng, 200, 12), rng.random(12) + 0.1
    whitened = Whitened(counts, idf, dim=5)
    rows = cosine_rows(counts, idf)
    code = (rows - rows.mean(axis=0)) @ whitened.axes
    np.testing.assert_allclose(code.T @ code, np.eye(5), atol=1e-6)
    scores = whitened(counts, counts)
    np.testing.assert_allclose(np.diag(scores), 1, atol=1e-9)
    for make in (NegativeEvidence, Whitened):
        with pytest.raises(BadInput, match="sample"):
            make(counts[:0], idf)


def cosine_rows(counts: sparse.csr_array, idf: np.ndarray) -> np.ndarray:
    x = counts.toarray() * idf
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(length > 0, length, 1)
