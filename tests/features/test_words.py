"""Local features, vocabularies, histograms and the geometric check."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from likewise.datasets import swatches
from likewise.features.geometry import inliers, matches
from likewise.features.local import (
    LIMIT,
    Local,
    LocalFeatures,
    local_features,
    pack,
    root_sift,
    unpack,
)
from likewise.features.words import Vocabulary, draw
from likewise.types import BadInput, DataProblem

FLAT = np.full((60, 80, 3), 77, np.uint8)


@pytest.fixture(scope="module")
def pictures() -> list[np.ndarray]:
    return list(swatches(10, size=160, seed=2).render_all(jobs=1))


@pytest.fixture(scope="module")
def found(pictures: list[np.ndarray]) -> list[LocalFeatures]:
    return [local_features(picture) for picture in pictures]


def clouds(rng: np.random.Generator, centres: int, each: int) -> np.ndarray:
    """Descriptors around a few well separated ones."""
    base = rng.integers(0, 2, (centres, 128)) * 120 + 10
    rows = np.repeat(base, each, axis=0) + rng.integers(-4, 5, (centres * each, 128))
    return np.clip(rows, 0, 255).astype(np.uint8)


# -- local features --------------------------------------------------------------


def test_strongest_places_come_first_and_a_smaller_limit_is_a_prefix(
    pictures: list[np.ndarray],
) -> None:
    many, few = local_features(pictures[0], 100), local_features(pictures[0], 30)
    assert len(few) == 30 <= len(many)
    np.testing.assert_array_equal(many.places[:30], few.places)
    np.testing.assert_array_equal(many.descriptors[:30], few.descriptors)
    assert ((many.places >= 0) & (many.places <= 1)).all()


def test_rootsift_has_unit_length_and_hellinger_distance(found: list[LocalFeatures]) -> None:
    rows = found[0].descriptors
    root = root_sift(rows)
    np.testing.assert_allclose(np.linalg.norm(root, axis=1), 1, rtol=1e-5)
    share = rows / rows.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        root[:5] @ root[5:10].T, np.sqrt(share[:5, None] * share[None, 5:10]).sum(-1), rtol=1e-5
    )
    assert not root_sift(np.zeros((1, 128))).any()
    with pytest.raises(BadInput, match="128"):
        root_sift(np.zeros((2, 64)))


@pytest.mark.parametrize("picture", [FLAT, np.zeros((3, 200, 3), np.uint8)], ids=["flat", "strip"])
def test_a_picture_without_local_features_has_none(picture: np.ndarray) -> None:
    found = local_features(picture)
    assert len(found) == 0
    assert len(unpack(pack(found))) == 0
    with pytest.raises(BadInput, match="place"):
        local_features(picture, 0)


def test_a_row_of_bytes_gives_the_places_back(pictures: list[np.ndarray]) -> None:
    rows = Local()([*pictures[:2], FLAT])
    assert rows.shape == (3, Local.dim)
    assert ((rows >= 0) & (rows <= 255) & (rows % 1 == 0)).all()
    for row, picture in zip(rows[:2], pictures):
        again, found = unpack(row), local_features(picture, LIMIT)
        np.testing.assert_array_equal(again.descriptors, found.descriptors)
        np.testing.assert_allclose(again.places, found.places, atol=1e-4)
    for bad in (np.zeros(7), np.full(Local.dim, 255.0)):
        with pytest.raises(BadInput, match="no local features"):
            unpack(bad)


# -- vocabularies ----------------------------------------------------------------


@pytest.mark.parametrize("words", [12, 600])
def test_planted_clouds_become_words(words: int) -> None:
    rng = np.random.default_rng(0)
    rows = clouds(rng, words, 12)
    vocabulary = Vocabulary.fit([rows[rng.permutation(len(rows))]], words, rounds=2)
    assert len(vocabulary) == words
    assigned = vocabulary.assign(rows).reshape(words, 12)
    whole = np.mean([len(set(row)) == 1 for row in assigned])
    assert whole > 0.8
    assert len(np.unique(assigned)) > 0.8 * words


def test_many_words_are_assigned_nearly_as_if_all_were_compared() -> None:
    rng = np.random.default_rng(1)
    rows = clouds(rng, 5000, 1)
    vocabulary = Vocabulary(root_sift(rows))
    noisy = np.clip(rows[:800].astype(int) + rng.integers(-9, 10, (800, 128)), 0, 255)
    found = vocabulary.assign(noisy.astype(np.uint8))
    exact = (root_sift(noisy) @ root_sift(rows).T).argmax(axis=1)
    assert (found == exact).mean() > 0.9


def test_fitting_streams_in_bounded_memory_and_depends_on_the_seed_alone() -> None:
    rng = np.random.default_rng(2)
    rows = clouds(rng, 40, 50)

    def batches(size: int) -> Iterator[np.ndarray]:
        return (rows[start : start + size] for start in range(0, len(rows), size))

    one, other = (Vocabulary.fit(batches(size), 8, sample=300, seed=3) for size in (100, 100))
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != Vocabulary.fit(batches(100), 8, sample=300, seed=4).fingerprint
    drawn = draw(batches(7), 200, np.random.default_rng(0))
    assert drawn.shape == (200, 128)
    cloud = np.array([np.abs(rows.astype(int) - d).sum(axis=1).argmin() // 50 for d in drawn[:80]])
    assert len(np.unique(cloud)) > 25  # from everywhere, not from the first batches


def test_too_few_descriptors_for_the_words_are_refused() -> None:
    rows = clouds(np.random.default_rng(0), 5, 4)
    with pytest.raises(BadInput, match="needs as many descriptors"):
        Vocabulary.fit([rows], 21)
    with pytest.raises(BadInput, match="differ"):
        Vocabulary.fit([np.repeat(rows[:3], 20, axis=0)], 10)
    with pytest.raises(BadInput, match="needs as many"):
        Vocabulary.fit([], 1)
    for words in (0, 2_000_000):
        with pytest.raises(BadInput, match="words, not"):
            Vocabulary.fit([rows], words)
    with pytest.raises(BadInput, match="128"):
        Vocabulary.fit([np.zeros((9, 64))], 2)
    with pytest.raises(BadInput, match="128"):
        Vocabulary(np.zeros((0, 128)))


def test_histograms_count_words(found: list[LocalFeatures]) -> None:
    vocabulary = Vocabulary.fit([f.descriptors for f in found], 50, rounds=1)
    nothing = LocalFeatures(np.zeros((0, 2), np.float32), np.zeros((0, 128), np.uint8))
    counts = vocabulary.histograms([found[0], nothing, found[1].descriptors])
    assert counts.shape == (3, 50)
    words = vocabulary.assign(found[0].descriptors)
    np.testing.assert_array_equal(counts[[0]].toarray()[0], np.bincount(words, minlength=50))
    assert counts[[1]].nnz == 0
    assert counts.sum() == len(found[0]) + len(found[1])
    assert vocabulary.histograms([]).shape == (0, 50)


def test_a_vocabulary_is_restored_or_refused_by_its_fingerprint(found: list[LocalFeatures]) -> None:
    vocabulary = Vocabulary.fit([found[0].descriptors], 10)
    arrays, settings = vocabulary.to_arrays()
    again = Vocabulary.from_arrays(arrays, settings)
    assert again.fingerprint == vocabulary.fingerprint
    with pytest.raises(DataProblem, match="damaged"):
        Vocabulary.from_arrays({"centres": arrays["centres"] + 1e-3}, settings)


# -- geometry --------------------------------------------------------------------


def test_two_views_agree_and_two_objects_do_not(pictures: list[np.ndarray]) -> None:
    other = [picture[12:150, 8:140] for picture in pictures]
    found = [[local_features(p) for p in some] for some in (pictures, other)]
    same = [inliers(a, b) for a, b in zip(*found)]
    different = [inliers(found[0][i], found[1][(i + 3) % 10]) for i in range(10)]
    assert np.median(same) > 20
    assert np.median(different) <= 6
    assert [inliers(a, b) for a, b in zip(*found)] == same


def test_pictures_without_places_never_agree(found: list[LocalFeatures]) -> None:
    nothing = local_features(FLAT)
    assert inliers(nothing, found[0]) == inliers(found[0], nothing) == 0
    assert matches(nothing, nothing).shape == (0, 2)
    one = LocalFeatures(found[0].places[:3], found[0].descriptors[:3])
    assert inliers(one, one) == 0  # too few to tell
