"""The bilinear similarity and its learner: formulas, planted truth, thin data, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from experiments.references import combine, label_pairs
from likewise.learners import Plain, bilinear_learner, teachings
from likewise.learners.bilinear import Bilinear, _largest
from likewise.learners.bilinear_learner import FORMS, BilinearLearner
from likewise.learners.own_settings import BilinearSettings
from likewise.learners.settings import still_known
from likewise.learners.teachings import (
    alike_unmarked,
    directions,
    taught,
    triples,
    wrongly_ordered,
)
from likewise.spaces import Blocks
from likewise.types import BadInput, Preferences

seeds = given(seed=st.integers(0, 2**32 - 1))
few = settings(max_examples=15, deadline=None)
NOTHING = Preferences.of([], [], [])


def world(seed: int = 0, n: int = 240):
    """Two regions (block place): relevance is by block a in one and by block b in the other."""
    rng = np.random.default_rng(seed)
    region, kind_a, kind_b = (
        rng.integers(2, size=n),
        rng.integers(5, size=n),
        rng.integers(5, size=n),
    )
    axes = np.eye(5)
    raw = {
        "place": np.eye(2)[region] + 0.2 * rng.normal(size=(n, 2)),
        "a": axes[kind_a] + 0.35 * rng.normal(size=(n, 5)),
        "b": axes[kind_b] + 0.35 * rng.normal(size=(n, 5)),
    }
    space = Blocks.identity({"place": 2, "a": 5, "b": 5})
    kind = np.where(region == 0, kind_a, kind_b)
    same = np.where(
        (region == 0)[:, None], kind_a[:, None] == kind_a[None], kind_b[:, None] == kind_b[None]
    )
    return rng, Plain(space), space.transform(raw), region, same, kind


def mark(rng, same, rows, count=24):
    shown = np.array([rng.choice(len(same), count, replace=False) for _ in rows])
    good = np.take_along_axis(same[rows], shown, axis=1)
    return label_pairs(np.repeat(rows, count), shown.ravel(), good.ravel())


# --------------------------------------------------------------------------
# The similarity


@few
@seeds
def test_with_equal_say_the_diagonal_form_is_the_papers(seed):
    rng, plain, x, *_ = world(seed, 60)
    w = rng.random((20, x.shape[1]))
    ours = Bilinear(plain, x[:20], diagonals=w, M=5, warmth=None).surrogates(x[20:])
    paper = combine(w, x[:20], x[20:], 5)
    cosine = (ours * paper).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(paper, axis=1)
    assert np.allclose(cosine, 1.0)


@few
@seeds
def test_a_query_far_from_all_references_is_plain(seed):
    rng, plain, x, *_ = world(seed, 60)
    d = x.shape[1]
    far = -x[0]
    model = Bilinear(plain, x[:1], directions=rng.normal(size=(1, d)), warmth=0.02, reach=0.5)
    assert np.allclose(model.surrogates(far)[0], plain.w0 * far)
    near = model.surrogates(x[0])[0] - plain.w0 * x[0]
    assert np.linalg.norm(near) > 0.1
    weighed = Bilinear(plain, x[:1], diagonals=rng.random((1, d)), warmth=0.02, reach=0.5)
    assert np.allclose(weighed.surrogates(far)[0], plain.w0 * far)


def test_weights_that_turned_against_plain_fall_back_to_it():
    _, plain, x, *_ = world(1, 30)
    model = Bilinear(plain, x[:4], diagonals=-np.ones((4, x.shape[1])), warmth=None)
    assert np.allclose(model.surrogates(x[5:])[:], plain.w0 * x[5:])


def test_no_references_are_plain_similarity():
    _, plain, x, *_ = world(1, 30)
    d = x.shape[1]
    for part in ("diagonals", "directions"):
        model = Bilinear(plain, np.zeros((0, d)), **{part: np.zeros((0, d))})
        assert np.allclose(model.surrogate(x[3]).vector, plain.surrogate(x[3]).vector)
        assert len(model.taught_by(x[3])[0]) == 0


def test_one_surrogate_is_a_row_of_many_and_says_who_taught_it():
    rng, plain, x, *_ = world(2, 60)
    d = x.shape[1]
    model = Bilinear(plain, x[:9], directions=rng.normal(size=(9, d)), half=rng.normal(size=(d, d)))
    assert np.allclose(model.surrogate(x[30]).vector, model.surrogates(x[20:])[10])
    rows, say = model.taught_by(x[3])
    assert rows[0] == 3
    assert np.all(np.diff(say) <= 0)
    assert 0 < say.sum() < 1


def test_emphasis_of_weights_on_one_block():
    _, plain, x, *_ = world(3, 40)
    w = np.broadcast_to(plain.space.spread({"place": 1, "a": 3, "b": 0.5}), (10, x.shape[1]))
    shares = Bilinear(plain, x[:10], diagonals=w, warmth=None).emphasis(x[20])
    assert shares["a"] > 1 > shares["place"] > shares["b"]
    alone = Bilinear(plain, x[:10], diagonals=w * 0 + plain.w0).emphasis(x[20])
    assert all(np.isclose(v, 1.0) for v in alone.values())


def test_the_nearest_member_says_how_near_a_reference_is():
    rng, plain, x, *_ = world(4, 60)
    d = x.shape[1]
    options = {"directions": rng.normal(size=(2, d)), "warmth": 0.02, "reach": 0.9}
    alone = Bilinear(plain, x[[3, 4]], **options)
    groups = Bilinear(plain, x[[3, 4]], members=x[[3, 9, 4]], sizes=[2, 1], **options)
    assert np.allclose(alone.taught_by(x[3])[1], groups.taught_by(x[3])[1])
    rows, say = groups.taught_by(x[9])
    assert rows[0] == 0
    assert say[0] > 0.5 > alone.taught_by(x[9])[1].max()
    again = Bilinear.from_arrays(plain.space, *groups.to_arrays())
    assert np.array_equal(again.surrogates(x), groups.surrogates(x))


# --------------------------------------------------------------------------
# What taught queries said


@few
@seeds
def test_a_direction_leads_to_members_and_away_from_what_is_not(seed):
    rng, _, x, _, same, _ = world(seed, 80)
    marks = taught(x, x, mark(rng, same, np.array([4, 9])))
    for row, led in enumerate(directions(marks, negatives=1.7, patience=4.0)):
        items, grades = marks.judged(row)
        members = np.vstack([marks.queries[row], x[items[grades > 0]]])
        bad = x[items[grades < 0]]
        assert np.allclose(led, members.mean(axis=0) - 1.7 * bad.sum(axis=0) / (4 + len(bad)))


def test_grades_of_an_ordering_fall_evenly():
    x = np.eye(4)
    chain = Preferences.of([0, 0, 0], [1, 1, 2], [2, 3, 3])  # 1 before 2 before 3
    items, grades = taught(x, x, chain).judged(0)
    assert items.tolist() == [1, 3]  # the middle one is neither
    assert grades.tolist() == [1.0, -1.0]


def test_members_are_the_query_and_what_is_relevant_group_by_group():
    x = np.arange(12.0).reshape(6, 2)
    marks = sparse.csr_array(([1.0, -1.0, 1.0], ([1, 1, 4], [2, 3, 5])), shape=(6, 6))
    said = taught(x, x, NOTHING, marks)
    rows, sizes = said.members()
    assert rows.tolist() == x[[1, 2, 4, 5]].tolist()
    assert sizes.tolist() == [2, 2]
    bad, weight = said.strangers(0, 200, 0.3, np.random.default_rng(0))
    assert bad.tolist() == [3, 0, 4, 5]  # neither the query nor what is relevant
    assert weight.tolist() == [1.0, 0.3, 0.3, 0.3]


@pytest.mark.parametrize("most", [1_000, 3])
def test_triples_are_those_of_the_definition(monkeypatch, most):
    """Group, member, fellow, stranger: the loss of a slow loop over all of them."""
    monkeypatch.setattr(teachings, "GROUPS", most)
    rng, plain, x, _, same, _ = world(5, 60)
    said = taught(x, x, mark(rng, same, np.arange(6), 8))
    root, blocks = np.sqrt(plain.w0), list(plain.space.slices.values())
    halves = rng.normal(size=(2, 12, 12))
    both = [half @ half.T for half in halves]
    found = triples(said, root, both, blocks, others=0, weight=0.3, seed=0)
    theta = np.array([0.5, 1.0, 2.0])
    fast = found.share @ np.log1p(np.exp(-8 * found.ahead @ theta))
    losses = []
    assert len(np.unique(found.group)) == min(most, len(said.groups))
    for number, row in enumerate(said.groups):
        if row not in found.group:
            continue
        items, grades = said.judged(row)
        own = np.vstack([said.queries[row], x[items[grades > 0]]]) * root
        far = x[items[grades < 0]] * root
        pairs = []
        for a, p in [(a, p) for a in range(len(own)) for p in range(len(own)) if a != p]:
            turned = own[a] @ both[number % 2]  # groups take matrices in turn
            for n in far:
                gap = sum(t * turned[b] @ (own[p] - n)[b] for t, b in zip(theta, blocks))
                pairs.append(np.log1p(np.exp(-8 * gap)))
        losses.append(np.mean(pairs))
    assert np.isclose(fast, np.mean(losses))


def test_neighbours_say_which_directions_matter_before_any_mark():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(60, 6)), 8, axis=0)
    x += rng.normal(size=x.shape) * [0.5, 0.05, 0.05, 0.05, 0.05, 0.05]
    scatter = alike_unmarked(x, np.ones(6))
    assert scatter[0, 0] > 4 * np.diag(scatter)[1:].max()
    assert alike_unmarked(x[:1], np.ones(6)) is None
    assert alike_unmarked(np.ones((9, 6)), np.ones(6)) is None


def test_what_is_in_the_wrong_order():
    x = np.eye(4)
    marks = taught(x, x, Preferences.of([0, 0, 0, 0], [1, 1, 2, 2], [3, 0, 3, 0]))
    surrogate = np.array([[0.5, 1.0, 0.2, 0.0]])  # order 1, 0, 2, 3: one pair of four is wrong
    wrong = wrongly_ordered(marks, np.array([0]), surrogate, others=0, weight=0.3, seed=0)
    assert wrong.tolist() == [0.25]


# --------------------------------------------------------------------------
# The learner


@pytest.fixture(scope="module")
def lesson():
    rng, plain, x, region, same, _ = world(7)
    return plain, x, region, same, mark(rng, same, np.arange(120))


def gains(lesson, model, rows):
    """By how much average precision of these queries rises over plain."""
    plain, x, _, same, _ = lesson

    def ap(vectors):
        values = []
        for row, v in zip(rows, vectors):
            order = np.argsort(-(x @ v))
            good = same[row][order[order != row]]
            ranks = np.flatnonzero(good) + 1
            values.append((np.arange(1, len(ranks) + 1) / ranks).mean())
        return np.array(values)

    return ap(model.surrogates(x[rows])) - ap(plain.w0 * x[rows])


@pytest.mark.parametrize("extension", ["auto", "groups+tastes"])
def test_planted_taste_is_learned_where_it_was_taught(lesson, extension):
    plain, x, region, _, preferences = lesson
    learner = BilinearLearner(plain, extension=extension).fit(x, preferences)
    held = np.arange(120, 240)
    gain = gains(lesson, learner.similarity_, held)
    for side in (0, 1):
        assert gain[region[held] == side].mean() > 0.2
    report = learner.report_
    assert report.queries == 120
    assert report.preferences == len(preferences)
    assert 0 < report.covered <= 1
    if extension == "auto":
        assert "tastes" in report.method  # what is meant depends on the query here
        assert set(report.held_out) == {f"wrong {form}" for form in FORMS}
        return
    favoured = [learner.similarity_.emphasis(x[row]) for row in held]
    right = [f["a"] > f["b"] for f in favoured] == (region[held] == 0)
    assert right.mean() > 0.8


def test_a_taste_that_is_the_same_everywhere_is_learned_from_few_marks(lesson):
    plain, x, region, _, _ = lesson
    rng, rows = np.random.default_rng(0), np.flatnonzero(region == 0)
    few_marks = mark(rng, lesson[3], rows[:10], 10)
    learner = BilinearLearner(plain).fit(x, few_marks)
    assert learner.report_.method == "bilinear groups"
    assert learner.report_.gap < 1e-5
    assert gains(lesson, learner.similarity_, rows[40:]).mean() > 0.05
    emphasis = learner.similarity_.emphasis(x[rows[50]])
    assert emphasis["a"] > 1 > emphasis["b"]


def test_a_block_that_the_matrix_can_fit_gains_nothing_by_that(monkeypatch):
    """Two numbers tell groups apart, and sixty are noise, in which W can fit what it saw."""
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(60), 5)
    parts = {"real": rng.normal(size=(60, 2))[kind], "noise": rng.normal(size=(300, 60))}
    space = Blocks.identity({name: rows.shape[1] for name, rows in parts.items()})
    x = space.transform({n: rows + 0.1 * rng.normal(size=rows.shape) for n, rows in parts.items()})
    marks = sparse.lil_array((300, 300))
    for query in range(0, 200, 5):
        marks[query, np.arange(query + 1, query + 5)] = 1.0
    weight = {}
    for crossed in (10, 1000):
        monkeypatch.setattr(bilinear_learner, "CROSSED", crossed)
        learner = BilinearLearner(Plain(space), extension="groups")
        learner.fit(x, NOTHING, marks=sparse.csr_array(marks))
        weight[crossed] = learner.similarity_.emphasis(x[0])["noise"]
    assert weight[10] < weight[1000]


def test_a_hundred_marks_that_are_all_relevant_teach(lesson):
    plain, x, region, same, _ = lesson
    rows = np.flatnonzero(region == 0)
    marks = sparse.lil_array((len(x), len(x)))
    for row in rows[:20]:
        near = np.flatnonzero(same[row] & (np.arange(len(x)) != row))[:5]
        marks[row, near] = 1.0
    learner = BilinearLearner(plain).fit(x, NOTHING, marks=sparse.csr_array(marks))
    assert learner.report_.covered == 1
    assert gains(lesson, learner.similarity_, rows[40:]).mean() > 0.05


def test_the_form_does_not_hang_on_the_seed(lesson):
    plain, x, _, _, preferences = lesson
    chosen = {
        BilinearLearner(plain, seed=seed).fit(x, preferences).report_.method for seed in range(4)
    }
    assert len(chosen) == 1


def test_a_fit_is_repeatable_and_learners_have_sklearns_manners(lesson):
    plain, x, _, _, preferences = lesson
    learner = BilinearLearner(plain, extension="groups+local", pull=0.5)
    again = clone(learner)
    assert again.get_params()["pull"] == 0.5
    a = learner.fit(x, preferences).similarity_.surrogates(x[130:])
    assert learner.fit(x, preferences) is learner
    assert np.array_equal(a, again.fit(x, preferences).similarity_.surrogates(x[130:]))


@pytest.mark.parametrize("extension", ["auto", "groups+tastes", "groups", "groups+local"])
def test_no_preferences_give_plain_and_a_note(lesson, extension):
    plain, x, *_ = lesson
    learner = BilinearLearner(plain, extension=extension).fit(x, NOTHING)
    assert np.array_equal(learner.similarity_.surrogate(x[0]).vector, plain.surrogate(x[0]).vector)
    assert "plain similarity stays" in learner.report_.notes[0]
    assert learner.report_.covered == 0


@pytest.mark.parametrize("extension", ["auto", "groups+tastes", "groups", "groups+local"])
def test_one_reference_query_and_fewer_references_than_M_are_enough(lesson, extension):
    plain, x, _, same, _ = lesson
    one = mark(np.random.default_rng(0), same, np.array([5]))
    learner = BilinearLearner(plain, extension=extension, M=50).fit(x, one)
    assert np.isfinite(learner.similarity_.surrogates(x)).all()


def test_contradictory_preferences_cancel_out(lesson):
    plain, x, *_ = lesson
    both = Preferences.of([0, 0], [1, 2], [2, 1])
    model = BilinearLearner(plain).fit(x, both).similarity_
    assert model is plain


def test_blocks_without_plain_weight_stay_out(lesson):
    plain, x, _, _, preferences = lesson
    bare = Plain(plain.space, {"place": 1.0, "a": 0.0, "b": 0.5})
    model = BilinearLearner(bare, extension="groups+local").fit(x, preferences).similarity_
    assert not model.surrogates(x)[:, plain.space.slices["a"]].any()


def test_zero_vectors_do_no_harm(lesson):
    plain, x, _, _, preferences = lesson
    x = x.copy()
    x[:10] = 0
    model = BilinearLearner(plain).fit(x, preferences).similarity_
    assert np.isfinite(model.surrogates(x)).all()


def test_separate_queries_and_float32(lesson):
    plain, x, _, _, preferences = lesson
    learner = BilinearLearner(plain, extension="groups+local")
    a = learner.fit(x, preferences).similarity_.surrogates(x[:5])
    b = learner.fit(x, preferences, queries=x.astype(np.float32)).similarity_.surrogates(x[:5])
    assert np.allclose(a, b, rtol=0.02, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"ridge": 0.0}, "ridge"),
        ({"M": 0}, "M is a whole"),
        ({"extension": "cubic"}, "extension"),
        ({"exponent": -1.0}, "exponent"),
        ({"evidence": np.nan}, "evidence"),
    ],
)
def test_settings_without_sense_are_refused(lesson, options, match):
    plain, x, _, _, preferences = lesson
    with pytest.raises(BadInput, match=match):
        BilinearLearner(plain, **options).fit(x, preferences)


def test_of_settings_of_earlier_versions_those_that_are_left_count():
    stored = {"extension": "diagonal", "sigma": 0.95, "pull": 0.5, "M": 7}
    assert still_known(BilinearSettings, stored) == {"pull": 0.5, "M": 7}
    assert still_known(BilinearSettings, {"extension": "groups"}) == {"extension": "groups"}


def test_rows_that_are_not_there_are_refused(lesson):
    plain, x, *_ = lesson
    learner = BilinearLearner(plain)
    with pytest.raises(BadInput, match="better rows"):
        learner.fit(x, Preferences.of([0], [999], [1]))
    with pytest.raises(BadInput, match="query rows"):
        learner.fit(x, Preferences.of([-1], [0], [1]))
    with pytest.raises(BadInput, match="Weights"):
        learner.fit(x, Preferences.of([0], [2], [1], [np.nan]))


@pytest.mark.parametrize(
    "options",
    [
        {"diagonals": np.ones((2, 3))},
        {"diagonals": np.ones((3, 12)), "half": np.eye(12)},
        {"half": np.eye(5)},
        {"tastes": np.zeros((3, 3))},
        {"tastes": np.zeros((3, 2)), "half": np.eye(12)},
        {"members": np.ones((4, 12)), "sizes": [1, 1, 1]},
        {"members": np.ones((3, 12)), "sizes": [3, 0, 0]},
        {"warmth": 0.0},
        {"M": 0},
        {"pull": -1.0},
    ],
)
def test_a_similarity_of_parts_that_do_not_fit_is_refused(options):
    _, plain, x, *_ = world(8, 20)
    with pytest.raises(BadInput, match=r"\.$"):
        Bilinear(plain, x[:3], **options)


def test_the_largest_of_each_row_are_those_of_a_whole_sort() -> None:
    rng = np.random.default_rng(0)
    for of in (
        rng.normal(size=(50, 300)),
        rng.integers(0, 9, (50, 300)) * 1.0,
        rng.normal(size=(3, 9)),
    ):
        for count in (1, 20):
            whole = np.argsort(-of, axis=1, kind="stable")[:, :count]
            np.testing.assert_array_equal(_largest(of, count), whole)
