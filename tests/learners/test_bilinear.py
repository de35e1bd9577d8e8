"""The bilinear similarity and its learner: formulas, planted truth, thin data, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from likewise.learners import Plain
from likewise.learners.bilinear import Bilinear
from likewise.learners.bilinear_learner import BilinearLearner
from likewise.learners.marks import MarkedQuery, MarkSettings
from likewise.learners.references import combine, label_pairs
from likewise.learners.teachings import directions, judge, taught, within_half
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


# --------------------------------------------------------------------------
# The closed forms


@few
@seeds
def test_a_direction_is_the_marked_surrogate_less_the_query(seed):
    rng, plain, x, _, same, _ = world(seed, 80)
    marks = taught(x, x, mark(rng, same, np.array([4, 9])), np.array([4, 9, 11]))
    led = directions(marks, MarkSettings())
    bare = MarkedQuery(plain, None, MarkSettings(whiten=0.0, expand=0))
    for row, query in enumerate((4, 9)):
        items, grades = marks.judged(row)
        s = bare.graded(x[query], x[items], grades)
        assert np.allclose(plain.w0 * (led[row] + x[query]), s.vector)
    assert not led[2].any()  # it was taught nothing


def test_grades_of_an_ordering_fall_evenly():
    x = np.eye(4)
    chain = Preferences.of([0, 0, 0], [1, 1, 2], [2, 3, 3])  # 1 before 2 before 3
    items, grades = taught(x, x, chain, np.array([0])).judged(0)
    assert items.tolist() == [1, 3]  # the middle one is neither
    assert grades.tolist() == [1.0, -1.0]


def test_the_matrix_is_the_inverse_scatter_of_what_was_called_alike():
    rng, plain, x, _, same, _ = world(5)
    rows = np.arange(60)
    marks = taught(x, x, mark(rng, same, rows), rows)
    half = within_half(marks, np.sqrt(plain.w0), exponent=1.0, ridge=0.0, caution=0.0)
    matrix = half @ half.T
    gaps = np.array([x[q] - x[i] for q in range(60) for i, g in zip(*marks.judged(q)) if g > 0])
    direct = np.linalg.inv(gaps.T @ gaps / len(gaps))
    assert np.allclose(matrix / np.trace(matrix), direct / np.trace(direct), atol=1e-8)
    assert np.isclose(np.trace(matrix), plain.w0.sum())


def test_the_matrix_tends_to_plain_with_caution_and_keeps_out_blocks_without_weight():
    rng, plain, x, _, same, _ = world(6)
    rows = np.arange(30)
    marks = taught(x, x, mark(rng, same, rows), rows)
    root = np.sqrt(plain.w0)
    careful = within_half(marks, root, exponent=0.5, ridge=0.1, caution=1e9)
    assert np.allclose(careful @ careful.T, np.diag(plain.w0), atol=1e-5)
    root[:2] = 0
    half = within_half(marks, root, exponent=0.5, ridge=0.1, caution=10.0)
    assert not half[:2].any()
    none = taught(x, x, NOTHING, np.array([1]))
    assert np.array_equal(within_half(none, root, exponent=1, ridge=0, caution=0), np.diag(root))


# --------------------------------------------------------------------------
# The learner


@pytest.fixture(scope="module")
def lesson():
    rng, plain, x, region, same, _ = world(7)
    return plain, x, region, same, mark(rng, same, np.arange(120))


@pytest.mark.parametrize("extension", ["auto", "diagonal", "diagonal+local"])
def test_planted_taste_is_learned_where_it_was_taught(lesson, extension):
    plain, x, region, same, preferences = lesson
    learner = BilinearLearner(plain, extension=extension).fit(x, preferences)
    held = np.arange(120, 240)

    def ap(vectors):
        values = []
        for row, v in zip(held, vectors):
            order = np.argsort(-(x @ v))
            good = same[row][order[order != row]]
            ranks = np.flatnonzero(good) + 1
            values.append((np.arange(1, len(ranks) + 1) / ranks).mean())
        return np.array(values)

    gain = ap(learner.similarity_.surrogates(x[held])) - ap(plain.w0 * x[held])
    for side in (0, 1):
        assert gain[region[held] == side].mean() > 0.05
    report = learner.report_
    assert report.queries == 120
    assert report.preferences == len(preferences)
    assert 0 < report.covered <= 1
    if extension != "auto":
        favoured = [learner.similarity_.emphasis(x[row]) for row in held]
        right = [f["a"] > f["b"] for f in favoured] == (region[held] == 0)
        assert right.mean() > 0.8
    else:
        assert report.held_out["map"] > report.held_out["plain_map"]
        assert report.held_out["p1"] >= report.held_out["plain_p1"] - learner.fall


def test_a_fit_is_repeatable_and_learners_have_sklearns_manners(lesson):
    plain, x, _, _, preferences = lesson
    learner = BilinearLearner(plain, extension="directions", pull=0.5)
    again = clone(learner)
    assert again.get_params()["pull"] == 0.5
    a = learner.fit(x, preferences).similarity_.surrogates(x[130:])
    assert learner.fit(x, preferences) is learner
    assert np.array_equal(a, again.fit(x, preferences).similarity_.surrogates(x[130:]))


def test_shuffled_judgements_teach_nothing(lesson):
    plain, x, _, same, _ = lesson
    rng = np.random.default_rng(3)
    wrong = mark(rng, rng.permuted(same, axis=1), np.arange(100))
    held = BilinearLearner(plain).fit(x, wrong)
    gains = [h.ap.mean() - held.held_out_["plain"].ap.mean() for h in held.held_out_.values()]
    assert max(gains) < 0.03


@pytest.mark.parametrize("extension", ["auto", "diagonal", "directions", "global", "global+local"])
def test_no_preferences_give_plain_and_a_note(lesson, extension):
    plain, x, *_ = lesson
    learner = BilinearLearner(plain, extension=extension).fit(x, NOTHING)
    assert np.array_equal(learner.similarity_.surrogate(x[0]).vector, plain.surrogate(x[0]).vector)
    assert "plain similarity stays" in learner.report_.notes[0]
    assert learner.report_.covered == 0


@pytest.mark.parametrize("extension", ["auto", "diagonal", "directions", "global+local"])
def test_one_reference_query_and_fewer_references_than_M_are_enough(lesson, extension):
    plain, x, _, same, _ = lesson
    one = mark(np.random.default_rng(0), same, np.array([5]))
    learner = BilinearLearner(plain, extension=extension, M=50).fit(x, one)
    assert np.isfinite(learner.similarity_.surrogates(x)).all()


def test_contradictory_preferences_cancel_out(lesson):
    plain, x, *_ = lesson
    both = Preferences.of([0, 0], [1, 2], [2, 1])
    model = BilinearLearner(plain, extension="directions", pull=1.0).fit(x, both).similarity_
    assert np.allclose(model.surrogates(x), plain.w0 * x)


def test_references_without_preferences_take_part_with_plain(lesson):
    plain, x, _, _, preferences = lesson
    kept = preferences.where(preferences.query < 3)
    learner = BilinearLearner(plain, extension="diagonal", C=1.0)
    model = learner.fit(x, kept, references=np.arange(10)).similarity_
    assert len(model.references) == 10
    assert np.allclose(model.diagonals[3:], plain.w0)
    assert np.isclose(learner.report_.covered, 0.3)


def test_zero_vectors_do_no_harm(lesson):
    plain, x, _, _, preferences = lesson
    x = x.copy()
    x[:10] = 0
    model = BilinearLearner(plain).fit(x, preferences).similarity_
    assert np.isfinite(model.surrogates(x)).all()


def test_separate_queries_and_float32(lesson):
    plain, x, _, _, preferences = lesson
    learner = BilinearLearner(plain, extension="global+local", pull=0.5)
    a = learner.fit(x, preferences).similarity_.surrogates(x[:5])
    b = learner.fit(x, preferences, queries=x.astype(np.float32)).similarity_.surrogates(x[:5])
    assert np.allclose(a, b, atol=1e-4)


@pytest.mark.parametrize("extension", ["diagonal", "directions", "global+local"])
def test_one_query_is_refitted_alone(lesson, extension):
    plain, x, _, same, preferences = lesson
    early = preferences.where(preferences.query < 60)
    options = {"extension": extension, "pull": 0.5, "C": 1.0}
    learner = BilinearLearner(plain, **options).fit(x, early)
    before = learner.similarity_
    fresh = mark(np.random.default_rng(9), same, np.array([7, 200]))
    after = learner.partial_fit(x, fresh).similarity_
    assert len(after.references) == 61  # 7 is replaced, 200 is new
    table = "diagonals" if extension == "diagonal" else "directions"
    others = [r for r in range(60) if r != 7]
    assert np.array_equal(getattr(after, table)[:59], getattr(before, table)[others])
    alone = BilinearLearner(plain, **options).fit(x, fresh).similarity_
    assert np.allclose(getattr(after, table)[59:], getattr(alone, table))
    assert learner.report_.queries == 2


def test_the_first_lesson_may_be_partial(lesson):
    plain, x, _, _, preferences = lesson
    learner = BilinearLearner(plain, extension="directions", pull=1.0)
    assert len(learner.partial_fit(x, preferences).similarity_.references) == 120
    empty = BilinearLearner(plain, extension="directions").fit(x, NOTHING)
    assert isinstance(empty.partial_fit(x, preferences).similarity_, Bilinear)


def test_judging_is_average_precision_over_judged_items():
    x = np.eye(4)
    marks = taught(x, x, Preferences.of([0, 0, 0, 0], [1, 1, 2, 2], [3, 0, 3, 0]), np.array([0]))
    held = judge(marks, np.array([0]), np.array([[0.5, 1.0, 0.2, 0.0]]))  # order 1, 0, 2, 3
    assert np.isclose(held.ap[0], (1 + 2 / 3) / 2)
    assert held.p1[0] == 1


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"sigma": 1.0}, "sigma"),
        ({"sigma": -0.1}, "sigma"),
        ({"C": 0.0}, "C is a number"),
        ({"M": 0}, "M is a whole"),
        ({"extension": "cubic"}, "extension"),
        ({"exponent": -1.0}, "exponent"),
        ({"fall": np.nan}, "fall"),
    ],
)
def test_settings_without_sense_are_refused(lesson, options, match):
    plain, x, _, _, preferences = lesson
    with pytest.raises(BadInput, match=match):
        BilinearLearner(plain, **options).fit(x, preferences)


def test_rows_that_are_not_there_are_refused(lesson):
    plain, x, *_ = lesson
    learner = BilinearLearner(plain)
    with pytest.raises(BadInput, match="better rows"):
        learner.fit(x, Preferences.of([0], [999], [1]))
    with pytest.raises(BadInput, match="query rows"):
        learner.fit(x, Preferences.of([-1], [0], [1]))
    with pytest.raises(BadInput, match="Reference queries"):
        learner.fit(x, Preferences.of([0], [2], [1]), references=[999])
    with pytest.raises(BadInput, match="Weights"):
        learner.fit(x, Preferences.of([0], [2], [1], [np.nan]))


@pytest.mark.parametrize(
    "options",
    [
        {"diagonals": np.ones((2, 3))},
        {"diagonals": np.ones((3, 12)), "half": np.eye(12)},
        {"half": np.eye(5)},
        {"warmth": 0.0},
        {"M": 0},
        {"pull": -1.0},
    ],
)
def test_a_similarity_of_parts_that_do_not_fit_is_refused(options):
    _, plain, x, *_ = world(8, 20)
    with pytest.raises(BadInput, match=r"\.$"):
        Bilinear(plain, x[:3], **options)
