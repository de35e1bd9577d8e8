"""The inverted file against the dense formula of the word table, tau and side columns included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from likewise.index import _postings as postings
from likewise.index import load
from likewise.index.flat import FlatIndex
from likewise.index.inverted import InvertedIndex
from likewise.learners.word_table import WordTable
from likewise.spaces import Words
from likewise.types import BadInput, SpaceMismatch, Surrogate

few = settings(max_examples=60, deadline=None)


def zipf(rng: np.random.Generator, n: int, words: int, length: int) -> sparse.csr_array:
    """Counts with a few common words and many rare ones; some rows are empty."""
    share = 1 / np.arange(1, words + 1)
    rows = np.repeat(np.arange(n), rng.integers(0, length + 1, n))
    drawn = rng.choice(words, len(rows), p=share / share.sum())
    return sparse.csr_array(sparse.coo_array((np.ones(len(rows)), (rows, drawn)), shape=(n, words)))


def table_of(rng: np.random.Generator, space: Words) -> WordTable:
    n, bins = int(rng.integers(1, space.levels + 1)), int(rng.integers(1, 4))
    table = rng.normal(size=(bins, n + 1, n + 1)) * rng.choice([0.0, 1.0], size=(bins, 1, 1))
    return WordTable(space, table, rng.integers(0, bins, space.words), rng.random(space.words))


def built(similarity: WordTable, counts: sparse.csr_array, ids: Any = None) -> InvertedIndex:
    space = similarity.space
    return InvertedIndex.build(
        space.encode(counts), ids, space=space.fingerprint,
        side=similarity.side_columns(counts), levels=space.levels,
    )  # fmt: skip


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, words = draw(st.integers(1, 120)), draw(st.sampled_from([1, 5, 40, 2000]))
    counts = zipf(rng, n, words, draw(st.sampled_from([0, 3, 60])))
    space = Words(
        rng.random(words) * 3,
        levels=draw(st.sampled_from([1, 2, 3, 5])),
        tau=draw(st.sampled_from(["one", "binary-idf", "root-idf"])),
    )
    query = zipf(rng, 1, words, draw(st.sampled_from([0, 2, 60])))
    return {
        "similarity": table_of(rng, space), "counts": counts, "query": query,
        "ids": rng.permutation(3 * n)[:n], "k": draw(st.integers(1, n + 3)), "rng": rng,
    }  # fmt: skip


def check_exact(hits: Any, ids: np.ndarray, true: np.ndarray, k: int) -> None:
    """The hits are the best by the true scores, each with its own, to 1e-5."""
    size = 1e-5 * max(1e-9, float(np.abs(true).max(initial=0)))
    assert len(hits.ids) == min(k, len(ids))
    score = dict(zip(ids.tolist(), true.tolist()))
    np.testing.assert_allclose([score[i] for i in hits.ids.tolist()], hits.scores, atol=size)
    np.testing.assert_allclose(hits.scores, np.sort(true)[::-1][: len(hits.ids)], atol=size)
    assert (np.diff(hits.scores) <= 0).all()
    assert (np.diff(hits.ids)[np.diff(hits.scores) == 0] > 0).all()


@few
@given(p=problems())
def test_scores_equal_the_dense_formula_and_the_best_are_the_best(p: dict[str, Any]) -> None:
    index = built(p["similarity"], p["counts"], p["ids"])
    true = p["similarity"].score(p["query"], p["counts"])
    asked = p["similarity"].surrogate(p["query"])
    check_exact(index.search(asked, p["k"]), p["ids"], true, p["k"])
    some = p["ids"][p["rng"].random(len(true)) < 0.4]
    held = np.isin(p["ids"], some)
    check_exact(index.search(asked, p["k"], among=some), p["ids"][held], true[held], p["k"])
    one = index.search(asked, p["k"])
    for other in index.search_many([asked, asked * 1.0], p["k"]):
        np.testing.assert_array_equal(one.ids, other.ids)
        np.testing.assert_array_equal(one.scores, other.scores)


@few
@given(p=problems())
def test_items_come_and_go_as_if_built_at_once(p: dict[str, Any]) -> None:
    similarity, counts, ids, rng = p["similarity"], p["counts"], p["ids"], p["rng"]
    cut = np.sort(rng.integers(0, len(ids) + 1, 3))
    index = built(similarity, counts[: cut[0]], ids[: cut[0]])
    for start, stop in zip(cut, [*cut[1:], len(ids)]):
        part = counts[start:stop]
        side = similarity.side_columns(part)
        index = index.added(similarity.space.encode(part), ids[start:stop], side=side)
    gone = ids[rng.random(len(ids)) < 0.3]
    fewer = index.without(gone)
    kept = ~np.isin(ids, gone)
    assert sorted(fewer.ids) == sorted(ids[kept])
    assert len(index) == len(ids)
    asked = similarity.surrogate(p["query"])
    true = similarity.score(p["query"], counts)
    check_exact(index.search(asked, p["k"]), ids, true, p["k"])
    check_exact(fewer.search(asked, p["k"]), ids[kept], true[kept], p["k"])
    check_exact(fewer.merged().search(asked, p["k"]), ids[kept], true[kept], p["k"])
    back = fewer.added(
        similarity.space.encode(counts[~kept]), ids[~kept],
        side=similarity.side_columns(counts[~kept]),
    )  # fmt: skip
    check_exact(back.search(asked, p["k"]), ids, true, p["k"])


@few
@given(p=problems())
def test_the_same_surrogate_runs_on_the_flat_index(p: dict[str, Any]) -> None:
    similarity, counts = p["similarity"], p["counts"]
    asked = similarity.surrogate(p["query"])
    side, codes = similarity.side_columns(counts), similarity.space.encode(counts)
    flat = FlatIndex.build(codes, p["ids"], side=side).search(asked, p["k"])
    ours = built(similarity, counts, p["ids"]).search(asked, p["k"])
    size = max(1e-9, float(np.abs(flat.scores).max()))
    np.testing.assert_allclose(ours.scores, flat.scores, atol=1e-9 * size)


def test_small_parts_are_merged_and_large_ones_left_alone() -> None:
    rng = np.random.default_rng(7)
    space = Words(rng.random(200) + 0.1, levels=3)
    counts = zipf(rng, 400, 200, 20)
    similarity = table_of(rng, space)
    index = built(similarity, counts[:300])
    for row in range(300, 400):
        side = similarity.side_columns(counts[[row]])
        index = index.added(space.encode(counts[[row]]), [row], side=side)
        assert len(index._parts) <= 9
    assert len(index._parts) > 1
    asked = similarity.surrogate(counts[[5]])
    whole = built(similarity, counts)
    for found in (index, index.merged()):
        np.testing.assert_allclose(
            found.search(asked, 50).scores, whole.search(asked, 50).scores, rtol=1e-12
        )
    assert len(index.merged()._parts) == 1


def test_codes_come_back_as_they_went_in() -> None:
    rng = np.random.default_rng(1)
    space = Words(rng.random(300), levels=3)
    counts = zipf(rng, 90, 300, 30)
    codes = space.encode(counts)
    index = InvertedIndex.build(codes, levels=3)
    assert index.codes().nnz == codes.nnz
    assert abs(index.codes() - codes).max() == 0
    thin = InvertedIndex.build(codes * 2.0 - codes.multiply(codes > 0.3), levels=3)
    assert thin.codes().nnz == codes.nnz


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_query_that_touches_little_finds_rows_that_share_no_word(
    sign: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large enough that lists are walked instead of scanned; ties included."""
    scanned = []
    scan = postings.scan
    monkeypatch.setattr(postings, "scan", lambda *args: scanned.append(1) or scan(*args))
    rng = np.random.default_rng(0)
    space = Words(rng.random(5000) + 0.1, levels=3)
    counts = zipf(rng, 3000, 5000, 40)
    query = sparse.csr_array(([1.0, 2.0], ([0, 0], [4000, 4500])), shape=(1, 5000))
    table = np.zeros((2, 2))
    for table[1, 1], table[1, 0], table[0, 1] in ((1.0, 0.5, sign * 0.2), (1, 0, 0), (0, 0, -1)):
        similarity = WordTable(space, table)
        true = similarity.score(query, counts)
        hits = built(similarity, counts).search(similarity.surrogate(query) * 1.0, 25)
        check_exact(hits, np.arange(3000), true, 25)
    assert len(scanned) < 3  # the bound settled at least one of them


def test_words_never_seen_and_empty_lists_have_an_answer() -> None:
    space = Words(np.ones(10))
    counts = sparse.csr_array(np.eye(4, 10))
    similarity = WordTable.binary_idf(space)
    index = built(similarity, counts, [7, 5, 3, 1])
    unseen = sparse.csr_array(([1.0], ([0], [9])), shape=(1, 10))
    ids, scores = index.search(similarity.surrogate(unseen), 3)
    assert ids.tolist() == [1, 3, 5]
    assert not scores.any()
    nothing = index.search(similarity.surrogate(sparse.csr_array((1, 10))), 3)
    assert nothing.ids.tolist() == [1, 3, 5]
    empty = built(similarity, counts[:0])
    assert len(empty.search(similarity.surrogate(unseen), 3).ids) == 0


def test_a_table_of_another_vocabulary_is_refused() -> None:
    ours, theirs = (Words(np.ones(10), vocabulary=v) for v in ("ours", "theirs"))
    counts = sparse.csr_array(np.eye(4, 10))
    index = built(WordTable.binary_idf(ours), counts)
    with pytest.raises(SpaceMismatch, match="words-"):
        index.search(WordTable.binary_idf(theirs).surrogate(counts[[0]]), 2)


def test_bad_changes_are_refused() -> None:
    space = Words(np.ones(10))
    counts = sparse.csr_array(np.eye(4, 10))
    similarity = WordTable.binary_idf(space)
    index = built(similarity, counts)
    codes, side = space.encode(counts), similarity.side_columns(counts)
    with pytest.raises(BadInput, match="id 0 is held"):
        index.added(codes, [9, 8, 7, 0], side=side)
    with pytest.raises(BadInput, match="side columns"):
        index.added(codes, [9, 8, 7, 6])
    with pytest.raises(BadInput, match="columns"):
        index.added(sparse.csr_array(np.eye(4)), [9, 8, 7, 6], side=side)
    with pytest.raises(BadInput, match="levels"):
        InvertedIndex.build(codes, levels=0)
    with pytest.raises(BadInput, match="one vector"):
        index.search(Surrogate(sparse.csr_array((2, space.dim))), 1)


def test_saved_and_mapped_it_answers_the_same(tmp_path: Any) -> None:
    rng = np.random.default_rng(3)
    space = Words(rng.random(2000), levels=3)
    counts = zipf(rng, 4000, 2000, 40)
    similarity = table_of(rng, space)
    index = built(similarity, counts).without([3, 4, 5])
    index.save(tmp_path / "words")
    again = load(tmp_path / "words")
    assert len(again) == 3997
    other = again.with_side(similarity.side_columns(counts[np.r_[0:3, 6:4000]]))  # type: ignore[attr-defined]
    for row in range(5):
        asked = similarity.surrogate(counts[[row]])
        one = index.search(asked, 20)
        for found in (again.search(asked, 20), other.search(asked, 20)):
            np.testing.assert_array_equal(one.ids, found.ids)
            np.testing.assert_array_equal(one.scores, found.scores)
