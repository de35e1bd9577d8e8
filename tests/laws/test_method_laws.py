"""Laws that the learner of every declared method keeps."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from likewise.collection.learn.methods import OWN, Method
from likewise.judgements import Judgements, preferences
from likewise.learners import Plain
from likewise.learners.settings import Setting, from_text, settings_of
from likewise.learners.word_table import WordTable
from likewise.spaces import Words
from likewise.types import BadInput, Judgement, Preferences, QueryRef
from tests.laws.examples import blocks

methods = pytest.mark.parametrize("method", OWN, ids=lambda m: m.name)


class Lesson(NamedTuple):
    """Plain similarity, items, and queries of one line and role."""

    plain: Any
    items: Any
    queries: Any


def lesson(method: Method) -> Lesson:
    rng = np.random.default_rng(0)
    if method.line == "objects":
        counts = sparse.csr_array(rng.integers(-6, 6, (30, 25)).clip(0).astype(float))
        return Lesson(WordTable.binary_idf(Words(rng.random(25) * 3)), counts, counts[:8])
    space, x = blocks(rng, np.float64)
    if method.role == "reads":
        return Lesson(Plain(space), x, sparse.csr_array(rng.integers(0, 2, (8, 12)).astype(float)))
    return Lesson(Plain(space, {"deep": 1.0, "colour": 0.5, "texture": 0.2}), x, x[:8])


def learner(method: Method, plain: Any, **settings: Any) -> Any:
    taken = method.part("evidence").takes
    given = {k: v for k, v in asdict(method.read(settings)).items() if k not in taken}
    return method.part("learner")(plain, seed=3, **given)


def orders() -> Preferences:
    rng = np.random.default_rng(1)
    query = np.repeat(np.arange(8), 6)
    return Preferences.of(query, rng.integers(0, 15, 48), rng.integers(15, 30, 48))


@methods
@pytest.mark.parametrize("said", ["nothing", "positives only"])
def test_thin_data_gives_plain_similarity_and_a_note(method, said):
    plain, items, queries = lesson(method)
    refs = {QueryRef("item", f"q{n}"): n for n in range(8)}
    log = [Judgement(ref, (f"p{n}", f"p{n + 9}"), "label") for ref, n in refs.items()]
    given = Judgements.of(log if said == "positives only" else [])
    chosen, _ = preferences(given, {f"p{n}": n for n in range(30)}, refs)
    assert not len(chosen)
    fitted = learner(method, plain).fit(items, chosen, queries)
    assert fitted.report_.notes
    for row in (0, 7):
        query = items[[row]] if sparse.issparse(items) else items[row]
        expected = plain.score(query, items)
        np.testing.assert_allclose(fitted.similarity_.score(query, items), expected, rtol=1e-9)


@methods
def test_the_same_seed_gives_the_same_model(method):
    plain, items, queries = lesson(method)
    first, second = (
        learner(method, plain).fit(items, orders(), queries).similarity_.to_arrays()
        for _ in range(2)
    )
    assert first[1] == second[1]
    assert first[0].keys() == second[0].keys()
    for name, array in first[0].items():
        np.testing.assert_array_equal(array, second[0][name])


@methods
def test_learners_can_be_cloned_and_set(method):
    plain, *_ = lesson(method)
    made = learner(method, plain)
    copy = clone(made)
    for name, value in made.get_params(deep=False).items():
        if name not in ("plain", "vocabulary"):
            assert getattr(copy, name) == value
    assert copy.set_params(seed=9).seed == 9
    assert made.seed == 3


@methods
def test_every_setting_of_the_learner_is_declared(method):
    taken = method.part("evidence").takes
    declared = {one.name for one in settings_of(method.settings)} - set(taken)
    kinds = inspect.signature(method.part("learner")).parameters
    assert next(iter(kinds)) == "plain"
    assert all(p.kind is p.KEYWORD_ONLY for name, p in kinds.items() if name != "plain")
    assert declared == set(kinds) - {"plain", "seed", "vocabulary"}
    assert all(one.help for one in settings_of(method.settings))


def other(one: Setting) -> Any:
    """A value that is not the default."""
    if one.choices:
        return one.choices[-1]
    if one.type == "boolean":
        return not one.default
    number = 1 if one.type == "integer" else 0.25
    number = number if number != one.default else number * 2
    return (number, number * 2) if one.several else number


@methods
def test_settings_survive_the_card_and_the_command_line(method):
    given = {one.name: other(one) for one in settings_of(method.settings)}
    given.pop("diagonal", None)  # goes with no rank
    settings = method.read(given)
    assert method.read(json.loads(json.dumps(asdict(settings)))) == settings
    written = {
        k: ",".join(map(str, v)) if isinstance(v, tuple) else str(v) for k, v in given.items()
    }
    assert method.read({k: from_text(v) for k, v in written.items()}) == settings


@methods
def test_wrong_settings_are_refused_with_what_there_is(method):
    names = [one.name for one in settings_of(method.settings)]
    with pytest.raises(BadInput, match=f"no setting 'colour'; its settings are {names[0]}, "):
        method.read({"colour": 1})
    for one in settings_of(method.settings):
        for wrong in (float("nan"), "no such choice", [], {}, b"", -1e9):
            if one.type == "number" and one.least is None and wrong == -1e9:
                continue
            with pytest.raises(BadInput, match=f"{one.name} is "):
                method.read({one.name: wrong})
