"""The word table: the paper's formula, and what it learns from planted truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from experiments.mining import mine
from experiments.rivals.own_words import OwnWordsLearner
from likewise.index.inverted import InvertedIndex
from likewise.learners.word_table import WordTable
from likewise.learners.word_table_learner import WordTableLearner, frequency_bins
from likewise.spaces import Words
from likewise.types import BadInput, Preferences


def histograms(rng: np.random.Generator, n: int = 60, words: int = 80) -> sparse.csr_array:
    return sparse.csr_array(rng.poisson(0.3, (n, words)).astype(float))


def planted(
    seed: int, hidden: np.ndarray, *, words: int = 80, queries: int = 40
) -> tuple[Words, sparse.csr_array, Preferences, WordTable]:
    """Preferences that a hidden table gives, and the table."""
    rng = np.random.default_rng(seed)
    counts = histograms(rng, 150, words)
    space = Words(rng.random(words) + 0.5, levels=3)
    truth = WordTable(space, hidden)
    asked, better, worse = [], [], []
    for q in range(queries):
        score = truth.score(counts[[q]], counts)
        for a, b in rng.integers(0, 150, (60, 2)):
            if abs(score[a] - score[b]) > 0.05 * score.std():
                asked.append(q)
                better.append(a if score[a] > score[b] else b)
                worse.append(b if score[a] > score[b] else a)
    return space, counts, Preferences.of(asked, better, worse), truth


def agreement(a: WordTable, b: WordTable, counts: sparse.csr_array, queries: range) -> float:
    found = [np.corrcoef(a.score(counts[[q]], counts), b.score(counts[[q]], counts))[0, 1]
             for q in queries]  # fmt: skip
    return float(np.mean(found))


HIDDEN = np.array([[0.1, -0.2, -0.2, -0.2], [0, 1, 1.2, 1.2], [0, 1.5, 2, 2], [0, 1.5, 2, 2.5]])


def test_a_hidden_table_is_found_again() -> None:
    space, counts, preferences, truth = planted(0, HIDDEN)
    learner = WordTableLearner(WordTable.binary_idf(space), n=3, bins=1, C=100.0, lam=1.0).fit(
        counts, preferences
    )
    fresh = range(100, 130)  # queries that taught nothing
    plain = agreement(WordTable.binary_idf(space), truth, counts, fresh)
    learned = agreement(learner.similarity_, truth, counts, fresh)
    assert learned > 0.97 > plain
    report = learner.report_
    assert report.preferences == len(preferences)
    assert report.gap <= 1e-2 * max(1.0, abs(report.objective))


def test_settings_are_chosen_on_queries_that_are_held_out() -> None:
    space, counts, preferences, truth = planted(1, HIDDEN)
    learner = WordTableLearner(WordTable.binary_idf(space), bins=1, lam=1.0).fit(
        counts, preferences
    )
    assert learner.report_.settings["n"] in (1, 2, 3)
    assert learner.report_.settings["C"] > 0
    assert agreement(learner.similarity_, truth, counts, range(100, 120)) > 0.9


def test_words_may_depart_from_their_bin() -> None:
    """One word means the reverse of all others: only a table a word can say so."""
    rng = np.random.default_rng(2)
    counts = histograms(rng, 150, 20)
    space = Words(np.ones(20), levels=1, tau="one")
    table = np.tile(np.array([[0.0, 0.0], [0.0, 1.0]]), (20, 1, 1))
    table[3, 1, 1] = -3.0
    truth = WordTable(space, table, np.arange(20))
    asked = rng.integers(0, 60, 2500)
    better, worse = rng.integers(0, 150, (2, 2500))
    score = {q: truth.score(counts[[q]], counts) for q in range(60)}
    swap = np.array([score[q][a] < score[q][b] for q, a, b in zip(asked, better, worse)])
    apart = np.array([score[q][a] != score[q][b] for q, a, b in zip(asked, better, worse)])
    better, worse = np.where(swap, worse, better), np.where(swap, better, worse)
    preferences = Preferences.of(asked[apart], better[apart], worse[apart])
    shared, own = (
        kind(WordTable.binary_idf(space), n=1, bins=1, C=100.0, lam=1.0)
        .fit(counts, preferences)
        .similarity_
        for kind in (WordTableLearner, OwnWordsLearner)
    )
    fresh = range(60, 100)
    assert agreement(own, truth, counts, fresh) > agreement(shared, truth, counts, fresh) + 0.02
    assert own.table[3, 1, 1] < own.table[4, 1, 1]


def test_nothing_to_learn_from_gives_binary_idf_and_says_so() -> None:
    space = Words(np.ones(80))
    learner = WordTableLearner(WordTable.binary_idf(space)).fit(
        histograms(np.random.default_rng(0)), Preferences.of([], [], [])
    )
    assert "nothing to learn" in learner.report_.notes[0]
    np.testing.assert_array_equal(learner.similarity_.table, WordTable.binary_idf(space).table)


def test_it_has_the_manners_of_scikit_learn() -> None:
    learner = clone(
        WordTableLearner(WordTable.binary_idf(Words(np.ones(5))), n=2, C=3.0), safe=False
    )
    assert learner.get_params()["C"] == 3.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 4}, "levels|1 to"),
        ({"C": 0.0}, "C is a number above 0"),
    ],
)
def test_bad_settings_are_refused(change: dict[str, Any], words: str) -> None:
    space = Words(np.ones(80))
    with pytest.raises(BadInput, match=words):
        WordTableLearner(WordTable.binary_idf(space), **change).fit(
            histograms(np.random.default_rng(0)), Preferences.of([0], [1], [2])
        )


def test_bad_tables_and_histograms_are_refused() -> None:
    space = Words(np.ones(6), levels=2)
    for table in (np.zeros((4, 4)), np.zeros((2, 3)), np.zeros(4), np.full((2, 2), np.nan)):
        with pytest.raises(BadInput):
            WordTable(space, table)
    with pytest.raises(BadInput, match="bins"):
        WordTable(space, np.zeros((2, 2)), np.ones(6))
    with pytest.raises(BadInput, match="words"):
        WordTable.binary_idf(space).surrogate(np.ones((1, 5)))
    with pytest.raises(BadInput, match="one histogram"):
        WordTable.binary_idf(space).surrogate(np.ones((2, 6)))
    with pytest.raises(BadInput, match="row"):
        WordTableLearner(WordTable.binary_idf(space), n=1, C=1.0).fit(
            np.ones((2, 6)), Preferences.of([0], [1], [7])
        )


def test_bins_go_by_how_common_words_are() -> None:
    idf = np.log([1.0, 2, 4, 8, 1000])
    bins = frequency_bins(idf, 3)
    assert (np.diff(bins) >= 0).all()
    assert set(bins) <= {0, 1, 2}
    assert bins[0] == 0
    assert bins[-1] == 2
    assert len(np.unique(frequency_bins(np.ones(4), 3))) == 1


def test_mined_preferences_are_half_hard_and_never_wrong() -> None:
    rng = np.random.default_rng(5)
    counts = histograms(rng, 100)
    space = Words(np.ones(80), levels=1)
    similarity = WordTable.binary_idf(space)
    index = InvertedIndex.build(
        space.encode(counts), levels=1, side=similarity.side_columns(counts)
    )
    relevant = [np.arange(5)] * 5
    found = mine(similarity, index, counts, relevant, np.arange(5), per_query=20, depth=15)
    assert len(found) == 100
    assert (found.better < 5).all()
    assert (found.worse >= 5).all()
    assert (found.query != found.better).all()
    hits = {q: set(index.search(similarity.surrogate(counts[[q]]), 15).ids) for q in range(5)}
    hard = np.mean([w in hits[q] for q, w in zip(found.query, found.worse)])
    assert 0.45 < hard < 0.75
    assert len(mine(similarity, index, counts, [np.array([3])], np.array([3]))) == 0


# -- comparators against the obvious, dense formulas ------------------------------
