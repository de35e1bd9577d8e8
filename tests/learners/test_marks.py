"""Marks at once: laws of the refitted surrogate, planted truth, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from likewise.index.flat import FlatIndex
from likewise.learners import Plain
from likewise.learners.marks import Background, MarkedQuery, MarkSettings
from likewise.spaces import Blocks, Words
from likewise.types import BadInput, Surrogate

WEIGHTS = {"deep": 1.0, "colour": 0.6, "shape": 0.0}
seeds = given(seed=st.integers(0, 2**32 - 1))
few = settings(max_examples=20, deadline=None)
BARE = MarkSettings(whiten=0.0, expand=0)


def world(seed: int, n: int = 120):
    """Picture vectors in three blocks; axes of very different variance."""
    rng = np.random.default_rng(seed)
    dims = {"deep": 8, "colour": 5, "shape": 3}
    space = Blocks.identity(dims)
    raw = {b: rng.normal(size=(n, d)) * np.geomspace(4, 0.3, d) for b, d in dims.items()}
    x = space.transform(raw)
    return rng, Plain(space, WEIGHTS), x


@few
@seeds
def test_without_marks_nothing_is_touched(seed):
    _, plain, x = world(seed)
    marked = MarkedQuery(plain, Background.of(x, plain.w0))
    assert np.array_equal(marked.surrogate(x[0]).vector, plain.surrogate(x[0]).vector)
    own = plain.surrogate(x[1])
    assert marked.surrogate(own) is own
    assert np.array_equal(marked.graded(x[0], [], []).vector, plain.surrogate(x[0]).vector)


@few
@seeds
def test_the_formula_of_shrunken_means(seed):
    rng, plain, x = world(seed)
    good, bad = x[rng.choice(120, 4)], x[rng.choice(120, 3)]
    a, c = rng.random(4), rng.random(3)
    s = MarkedQuery(plain, None, BARE).surrogate(
        x[0], good, bad, positive_weights=a, negative_weights=c
    )
    mean = (x[0] + a @ good) / (1 + a.sum())
    away = BARE.negatives * (c @ bad) / (BARE.patience + c.sum())
    assert np.allclose(s.vector, plain.w0 * (2 * mean - away))
    assert s.space == plain.space.fingerprint


@few
@seeds
def test_the_order_of_marks_does_not_matter_and_a_weight_of_two_is_two_marks(seed):
    rng, plain, x = world(seed)
    marked = MarkedQuery(plain, Background.of(x, plain.w0))
    rows = rng.choice(120, 6, replace=False)
    one = marked.surrogate(x[0], x[rows[:3]], x[rows[3:]]).vector
    other = marked.surrogate(x[0], x[rows[:3][::-1]], x[rows[3:][::-1]]).vector
    assert np.allclose(one, other)
    twice = marked.surrogate(x[0], x[[5, 5]]).vector
    heavy = marked.surrogate(x[0], x[[5]], positive_weights=[2.0]).vector
    assert np.allclose(twice, heavy)


@few
@seeds
def test_a_relevant_mark_lifts_what_is_like_it_and_an_irrelevant_one_sinks_it(seed):
    _, plain, x = world(seed)
    marked = MarkedQuery(plain, None, BARE)

    def place(s, item):
        scores = x @ s.vector
        return (scores > scores[item]).sum()  # not x[item] @ s.vector, which is rounded otherwise

    before = place(plain.surrogate(x[0]), 7)
    assert place(marked.surrogate(x[0], x[[7]]), 7) <= before
    assert place(marked.surrogate(x[0], (), x[[7]]), 7) >= before


@few
@seeds
def test_whitening_keeps_the_length_and_blocks_without_weight(seed):
    rng, plain, x = world(seed)
    background = Background.of(x, plain.w0)
    v = rng.normal(size=plain.space.dim)
    turned = background.whiten(v, 0.3, 1e-3)
    used = plain.w0 > 0
    root = np.sqrt(plain.w0[used])
    assert np.allclose(np.linalg.norm(turned[used] / root), np.linalg.norm(v[used] / root))
    assert np.array_equal(turned[~used], v[~used])
    assert np.array_equal(background.whiten(v, 0.0, 1e-3), v)


def test_full_whitening_of_many_positives_is_the_discriminant_direction():
    """Exponent 1 without ridge: inverse covariance times the mean, as Fisher has it."""
    rng, plain, x = world(3, 400)
    background = Background.of(x, plain.w0)
    root = np.sqrt(plain.w0)
    used = root > 0
    scaled = (x * root)[:, used]
    m = rng.normal(size=plain.space.dim) * (plain.w0 > 0)
    turned = background.whiten(plain.w0 * m, 1.0, 0.0)[used] / root[used]
    fisher = np.linalg.solve(scaled.T @ scaled / len(x), (root * m)[used])
    cosine = turned @ fisher / np.linalg.norm(turned) / np.linalg.norm(fisher)
    assert cosine > 1 - 1e-6


def test_positives_alone_find_the_block_they_agree_in():
    """Pictures of one colour and many kinds: the colour block comes to weigh more."""
    _, plain, x = world(5, 300)
    part = plain.space.slices["colour"]
    x[:40, part] = x[0, part]
    s = MarkedQuery(plain, Background.of(x, plain.w0)).surrogate(x[0], x[1:11])
    shares = plain.space.contributions(s, x[20])
    base = plain.space.contributions(plain.surrogate(x[0]), x[20])
    assert shares["colour"] / sum(map(abs, shares.values())) > base["colour"] / sum(
        map(abs, base.values())
    )
    rest = np.arange(11, 300)
    found = rest[np.argsort(-(x[rest] @ s.vector))[:29]]
    before = rest[np.argsort(-(x[rest] @ plain.surrogate(x[0]).vector))[:29]]
    assert (found < 40).sum() > (before < 40).sum()


def test_expansion_adds_unmarked_results_and_fades_with_marks():
    _, plain, x = world(8)
    index = FlatIndex.build(x, space=plain.space.fingerprint)
    seen: list[np.ndarray] = []

    def codes(ids):
        seen.append(np.asarray(ids))
        return x[ids]

    settings_ = MarkSettings(whiten=0.0)
    plainly = MarkedQuery(plain, None, BARE)
    wide = MarkedQuery(plain, None, settings_)
    steps = []
    for marks in ([1], [1, 2, 3, 4, 5, 6]):
        options = {"index": index, "codes": codes, "marked_ids": [0, *marks]}
        a = wide.surrogate(x[0], x[marks], **options).vector
        b = plainly.surrogate(x[0], x[marks]).vector
        assert not np.isin(seen[-1], [0, *marks]).any()
        assert len(seen[-1]) == settings_.expand
        steps.append(np.linalg.norm(a - b))
    assert steps[1] < steps[0]


def test_expansion_of_a_collection_that_is_all_marked_adds_nothing():
    _, plain, x = world(9)
    index = FlatIndex.build(x[:3], space=plain.space.fingerprint)
    options = {"index": index, "codes": lambda ids: x[ids], "marked_ids": [0, 1, 2]}
    with_index = MarkedQuery(plain).surrogate(x[0], x[[1]], x[[2]], **options)
    without = MarkedQuery(plain).surrogate(x[0], x[[1]], x[[2]])
    assert np.array_equal(with_index.vector, without.vector)


def test_an_ordering_counts_like_labels():
    _, plain, x = world(10)
    marked = MarkedQuery(plain, None, BARE)
    pair = marked.graded(x[0], x[[4, 9]], np.linspace(1, -1, 2)).vector
    labels = marked.surrogate(x[0], x[[4]], x[[9]]).vector
    assert np.allclose(pair, labels)


def test_a_text_query_gets_the_length_of_pictures():
    _, plain, x = world(11)
    text = Surrogate(plain.w0 * x[3] * 50.0, space=plain.space.fingerprint)
    marked = MarkedQuery(plain, None, BARE)
    a = marked.surrogate(text, x[[5]]).vector
    b = marked.surrogate(x[3], x[[5]]).vector
    assert np.allclose(a / np.linalg.norm(a), b / np.linalg.norm(b), atol=0.05)


def test_sparse_surrogates_are_means_too():
    class Histogram:
        kind = "histogram"
        space = Words(np.ones(6), levels=1)

        def surrogate(self, query):
            row = sparse.csr_array(np.atleast_2d(np.asarray(query, float)))
            return Surrogate(row, space=self.space.fingerprint)

    s = MarkedQuery(Histogram(), None).surrogate(np.eye(6)[0], np.eye(6)[[1]], np.eye(6)[[2]])
    v = s.vector.toarray().ravel()
    assert v[0] == v[1] > 0 > v[2]


def test_the_background_is_restored_from_its_arrays():
    rng, plain, x = world(12)
    one = Background.of(x, plain.w0)
    arrays = one.to_arrays()
    assert all(isinstance(a, np.ndarray) for a in arrays.values())
    v = rng.normal(size=plain.space.dim)
    again = Background.from_arrays(arrays)
    assert np.array_equal(one.whiten(v, 0.2, 1e-3), again.whiten(v, 0.2, 1e-3))
    assert Background.of(x, plain.w0, sample=50, seed=1).values.shape == one.values.shape


def test_pictures_all_alike_whiten_nothing():
    _, plain, x = world(13)
    flat = Background.of(np.zeros_like(x), plain.w0)
    s = MarkedQuery(plain, flat).surrogate(x[0], x[[1]])
    assert np.isfinite(s.vector).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.surrogate(x[0], x[[1]], positive_weights=[-1.0]),
        lambda m, x: m.surrogate(x[0], x[[1]], positive_weights=[1.0, 2.0]),
        lambda m, x: m.surrogate(x[0], x[[1]][:, :4]),
        lambda m, x: m.surrogate(x[0], x[[1]] * np.nan),
        lambda m, x: m.graded(x[0], x[[1, 2]], [1.0]),
        lambda m, x: m.graded(x[0], x[[1]], [np.inf]),
        lambda m, x: MarkSettings(whiten=-1),
        lambda m, x: MarkSettings(query=0),
        lambda m, x: Background.of(x[:0], np.ones(x.shape[1])),
        lambda m, x: MarkedQuery(m.similarity, Background.of(x[:, :3], np.ones(3))),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call):
    _, plain, x = world(14)
    with pytest.raises(BadInput, match=r"[.?]$"):
        call(MarkedQuery(plain), x)
