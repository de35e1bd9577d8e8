"""Words find pictures: learned from clicks, served as a vector, defined where nothing is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from likewise.features.text import TextVocabulary
from likewise.index import REGISTRY
from likewise.judgements import from_clicks
from likewise.learners import SIMILARITIES, Plain
from likewise.learners.click_learner import ClickLearner
from likewise.learners.clicks import Clicks
from likewise.solvers.cca import cca
from likewise.solvers.rcca import State
from likewise.spaces import Blocks
from likewise.types import BadInput, Preferences

HUES, SHAPES = ("red", "green", "blue", "pink"), ("dots", "stripes", "stars")
NOTHING = Preferences.of([], [], [])


class World:
    """Pictures with a hue and a shape, and clicks after the texts that name both."""

    def __init__(self, seed: int = 0, n: int = 240) -> None:
        rng = np.random.default_rng(seed)
        self.hue, self.shape = rng.integers(0, 4, n), rng.integers(0, 3, n)
        looks = rng.normal(size=(7, 16))
        raw = looks[self.hue] + looks[4 + self.shape] + 0.7 * rng.normal(size=(n, 16))
        self.space = Blocks.identity({"deep": 16})
        self.x = self.space.transform({"deep": raw})
        self.texts = [f"{h} {s}" for h in HUES for s in SHAPES] * 5
        self.vocabulary = TextVocabulary.fit(self.texts)
        self.rows = self.vocabulary.transform(self.texts)
        query = np.repeat(np.arange(len(self.texts)), 8)
        meant = [self.meant(text) for text in self.texts]
        item = np.array([rng.choice(np.flatnonzero(meant[q])) for q in query])
        item = np.where(rng.random(len(item)) < 0.1, rng.integers(0, n, len(item)), item)
        pairs, count = np.unique(np.stack([query, item], 1), axis=0, return_counts=True)
        self.clicks = pairs[:, 0], pairs[:, 1], count
        shown = np.repeat(np.arange(len(self.texts)), 20)
        self.preferences = from_clicks(
            *self.clicks, candidates=(shown, rng.integers(0, n, len(shown))), seed=seed
        )

    def meant(self, text: str) -> np.ndarray:
        words = text.split()
        out = np.ones(len(self.hue), bool)
        for word in words:
            if word in HUES:
                out &= self.hue == HUES.index(word)
            else:
                out &= self.shape == SHAPES.index(word)
        return out

    def learner(self, **how) -> ClickLearner:
        given = {"dim": 6, "step": 0.02, "rounds": 6, "round_size": 3_000, **how}
        return ClickLearner(Plain(self.space), **given)

    def precision(self, similarity, texts=None) -> float:
        found = []
        for text in texts or [f"{h} {s}" for h in HUES for s in SHAPES]:
            scores = similarity.score(self.vocabulary.transform([text]), self.x)
            found.append(self.meant(text)[np.argsort(-scores)[:10]].mean())
        return float(np.mean(found))


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def fitted(world: World) -> ClickLearner:
    learner = world.learner(vocabulary=world.vocabulary.to_arrays())
    return learner.fit(world.x, world.preferences, world.rows, clicks=world.clicks)


def test_words_find_what_was_clicked_and_parts_of_texts_work(world, fitted):
    assert world.precision(fitted.similarity_) > 0.9
    assert world.precision(fitted.similarity_, list(HUES) + list(SHAPES)) > 0.8


def test_the_report_tells_of_the_fit(world, fitted):
    report = fitted.report_
    assert report.method == "clicks"
    assert report.preferences == len(world.preferences)
    assert report.covered == 1.0
    assert report.held_out["best"] >= report.held_out["start"]
    assert np.isfinite([report.objective, report.gap]).all()
    assert report.settings["step"] == 0.02


def test_a_text_is_a_vector_in_the_static_index_and_adds_to_a_picture(world, fitted):
    model = fitted.similarity_
    index = REGISTRY["flat"].build(world.space.encode(world.x), space=world.space.fingerprint)
    text = model.surrogate(world.vocabulary.transform(["red dots"]))
    ids = index.search(text, 10).ids
    assert world.meant("red dots")[ids].mean() > 0.8
    star = int(np.flatnonzero(world.meant("blue stars"))[0])
    picture = Plain(world.space).surrogate(world.x[star])
    words = model.surrogate(world.vocabulary.transform(["red"]))
    words = words * (1 / float(np.linalg.norm(words.vector)))
    share = [
        world.meant("red stars")[index.search(s, 10).ids].mean()
        for s in (words + picture * 0.7, words, picture)
    ]
    assert share[0] > max(share[1:])


def test_the_cosine_between_pictures_finds_alike_ones(world, fitted):
    model = fitted.similarity_
    lengths = model.lengths(world.x)
    projected = world.x @ model.wv @ model.w.T
    np.testing.assert_allclose(lengths, np.linalg.norm(projected, axis=1), rtol=1e-5)
    right = []
    for q in range(40):
        cosine = world.x @ model.surrogate(world.x[q]).vector / lengths
        assert np.isclose(cosine[q], 1.0, atol=1e-5)
        ids = np.argsort(-cosine)[1:11]
        right.append(
            ((world.hue[ids] == world.hue[q]) & (world.shape[ids] == world.shape[q])).mean()
        )
    assert np.mean(right) > 0.8
    assert model.lengths(np.zeros((1, 16), np.float32)) == 1.0


def test_pictures_are_queries_too(world, fitted):
    model = fitted.similarity_
    scores = model.score(world.x[3], world.x)
    assert np.allclose(world.x @ model.surrogate(world.x[3]).vector, scores)


@pytest.mark.parametrize("text", ["", "the of and", "xylophone zebra"])
def test_texts_that_say_nothing_have_a_defined_answer(world, fitted, text):
    row = world.vocabulary.transform([text])
    model = fitted.similarity_
    assert not model.knows(row)
    assert not model.surrogate(row).vector.any()
    assert not model.score(row, world.x).any()
    ids, scores = model.suggest(row, world.rows)
    assert len(ids) == len(scores) == 0


def test_a_word_in_the_vocabulary_that_was_never_clicked_for_is_not_known(world):
    vocabulary = TextVocabulary.fit([*world.texts, "zebra"])
    rows = vocabulary.transform(world.texts)
    model = world.learner().fit(world.x, world.preferences, rows).similarity_
    assert not model.knows(vocabulary.transform(["zebra"]))
    assert model.knows(vocabulary.transform(["red zebra"]))


def test_suggestions_ask_for_alike_pictures(world, fitted):
    texts = ["red dots", "red", "green stars", "the", "dots"]
    others = world.vocabulary.transform(texts)
    ids, scores = fitted.similarity_.suggest(world.vocabulary.transform(["red dots"]), others)
    assert ids[0] == 0
    assert np.isclose(scores[0], 1.0)
    assert set(ids[1:3]) == {1, 4}
    assert 3 not in ids
    assert (np.diff(scores) <= 0).all()
    assert len(fitted.similarity_.suggest(others[[0]], others, 2)[0]) == 2


def test_the_vocabulary_travels_with_the_model(world, fitted):
    arrays, settings = fitted.similarity_.to_arrays()
    model = SIMILARITIES["clicks"].from_arrays(world.space, arrays, settings)
    read = TextVocabulary.from_arrays(*model.vocabulary)
    assert read.fingerprint == world.vocabulary.fingerprint
    row = read.transform(["green stars"])
    assert np.allclose(model.score(row, world.x), fitted.similarity_.score(row, world.x))


def test_clicks_that_say_when_to_stop_were_not_started_from(world, monkeypatch):
    """CCA is of the other queries, whether clicks or preferences tell the pairs."""
    learner = world.learner(rounds=1, held_out=0.3)
    held = learner._split(world.preferences)[1]
    started = []

    def watched(texts, x, query, *rest, **how):
        started.append(set(query.tolist()))
        return cca(texts, x, query, *rest, **how)

    monkeypatch.setattr("likewise.learners.click_learner.cca", watched)
    learner.fit(world.x, world.preferences, world.rows, clicks=world.clicks)
    learner.fit(world.x, world.preferences, world.rows)
    every = set(world.preferences.query.tolist())
    assert 0 < len(set(held.query.tolist())) < len(every)
    assert started == [every - set(held.query.tolist())] * 2


def test_held_out_clicks_choose_between_the_descent_and_weighted_cca(world):
    """Directions that mean nothing are weighted down where that finds held-out clicks better."""
    rng = np.random.default_rng(5)
    thin = world.preferences.where(rng.random(len(world.preferences)) < 0.1)
    for rounds in (0, 6):
        how = {"rounds": rounds, "dim": 16, "held_out": 0.3}
        fits = {
            form: world.learner(weighted=form, **how).fit(world.x, thin, world.rows)
            for form in (None, False, True)
        }
        started = fits[True].report_.held_out["start"]
        wins = started > fits[False].report_.held_out["best"]
        told = any("weighted by its correlations" in note for note in fits[None].report_.notes)
        assert told == wins
        if not wins:
            np.testing.assert_array_equal(fits[None].similarity_.w, fits[False].similarity_.w)
        elif not rounds:
            np.testing.assert_array_equal(fits[None].similarity_.w, fits[True].similarity_.w)
    assert not any("weighted" in note for note in fits[False].report_.notes)


def test_it_has_scikit_learns_manners(world):
    learner = world.learner(margin=2.0)
    fresh = clone(learner, safe=False)
    assert fresh is not learner
    assert fresh.get_params()["margin"] == 2.0
    assert fresh.set_params(dim=3).dim == 3


# -- thin data -------------------------------------------------------------------


def test_no_clicks_at_all_give_plain_similarity_and_say_so(world):
    learner = world.learner().fit(world.x, NOTHING, world.rows)
    assert isinstance(learner.similarity_, Plain)
    assert "no clicks" in learner.report_.notes[0]
    empty = sparse.csr_array(world.rows.shape)
    assert isinstance(world.learner().fit(world.x, world.preferences, empty).similarity_, Plain)


def test_one_click_and_pairs_without_an_order_are_enough_for_cca(world):
    one = world.learner().fit(world.x, NOTHING, world.rows, clicks=([0], [5], [1]))
    scores = one.similarity_.score(world.rows[[0]], world.x)
    assert scores.argmax() == 5
    assert "CCA only" in one.report_.notes[0]
    triplet = world.learner().fit(world.x, Preferences.of([0], [5], [6]), world.rows)
    scores = triplet.similarity_.score(world.rows[[0]], world.x)
    assert scores[5] > scores[6]


def test_counts_below_one_are_no_clicks(world):
    clicks = ([0, 1, 2], [5, 6, 7], [1, 0, -3])
    a = world.learner().fit(world.x, NOTHING, world.rows, clicks=clicks)
    b = world.learner().fit(world.x, NOTHING, world.rows, clicks=([0], [5], [1]))
    assert np.allclose(a.similarity_.wq, b.similarity_.wq)


def test_absurd_counts_and_one_sided_spam_count_once_in_cca(world):
    q, i, _ = world.clicks
    plain = world.learner().fit(world.x, NOTHING, world.rows, clicks=(q, i, np.ones(len(q))))
    spam = world.learner().fit(world.x, NOTHING, world.rows, clicks=(q, i, np.full(len(q), 1e15)))
    assert np.array_equal(plain.similarity_.wq, spam.similarity_.wq)


def test_an_interrupted_fit_goes_on(world):
    how = {"rounds": 4, "round_size": 1_000, "patience": 9}
    whole = world.learner(**how).fit(world.x, world.preferences, world.rows)
    first = world.learner(**{**how, "rounds": 2})
    first.fit(world.x, world.preferences, world.rows)
    state = State.from_arrays(*first.state_.to_arrays())
    again = world.learner(**how).fit(world.x, world.preferences, world.rows, state=state)
    assert np.array_equal(again.similarity_.wq, whole.similarity_.wq)


def test_new_clicks_are_learned_on_top(world):
    pink = np.array(["pink" in text for text in world.texts])[world.preferences.query]
    old, new = world.preferences.where(~pink), world.preferences.where(pink)
    learner = world.learner(held_out=0.0).fit(world.x, old, world.rows)
    before = learner.similarity_
    assert not before.knows(world.vocabulary.transform(["pink"]))
    learner.partial_fit(world.x, new, world.rows)
    after = learner.similarity_
    asked = ["pink dots", "pink stripes", "pink stars"]
    assert world.precision(after, asked) > world.precision(before, asked) + 0.2
    assert world.precision(after, ["red dots", "blue stars"]) > 0.6
    fresh = world.learner(held_out=0.0).partial_fit(world.x, old, world.rows)
    assert np.array_equal(fresh.similarity_.wq, before.wq)


# -- bad input -------------------------------------------------------------------


def test_bad_input_is_refused(world, fitted):
    model = fitted.similarity_
    with pytest.raises(BadInput, match="vocabulary that the model was learned with"):
        model.surrogate(sparse.csr_array((1, 3)))
    with pytest.raises(BadInput, match="one sparse row"):
        model.surrogate(world.rows[:2])
    bad = world.rows[[0]].copy()
    bad.data[0] = np.nan
    with pytest.raises(BadInput, match="NaN"):
        model.surrogate(bad)
    with pytest.raises(BadInput, match="another vocabulary"):
        model.suggest(world.rows[[0]], sparse.csr_array((2, 3)))
    with pytest.raises(BadInput, match="held_out"):
        world.learner(held_out=1.0).fit(world.x, world.preferences, world.rows)
    with pytest.raises(BadInput, match="W_v takes"):
        Clicks(Blocks.identity({"deep": 3}), model.wq, model.w, model.wv)
    with pytest.raises(BadInput, match="one number of columns"):
        Clicks(world.space, model.wq, np.eye(3), model.wv)
    learner = world.learner()
    for preferences, words in (
        (Preferences.of([999], [0], [1]), "name query rows"),
        (Preferences.of([0], [9999], [1]), "name better rows"),
        (Preferences.of([0], [0], [1], [-1.0]), "not negative"),
    ):
        with pytest.raises(BadInput, match=words):
            learner.fit(world.x, preferences, world.rows)
    for clicks, words in (
        (([0], [9999], [1]), "are not there"),
        (([0], [1, 2], [1]), "one length"),
        (([0], [1], [np.nan]), "finite"),
    ):
        with pytest.raises(BadInput, match=words):
            learner.fit(world.x, NOTHING, world.rows, clicks=clicks)
    with pytest.raises(BadInput, match="another vocabulary"):
        fitted.partial_fit(world.x, world.preferences, sparse.csr_array((60, 3)))
