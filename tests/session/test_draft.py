"""Drafts: steps folded in order, undone one by one, and told of pictures that are gone."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.layout.board import side_for
from likewise.session.draft import KINDS, Draft, fold, standing
from likewise.types import BadInput
from tests.session.board_cases import CASES, folded, whole

PLACES = st.tuples(st.floats(0, 1), st.floats(0, 1))
ITEMS = st.integers(1, 6)


def step(kind, *items, **places):
    payload = {}
    if items:
        payload["items"] = list(items)
    if places:
        payload["places"] = {name[1:]: place for name, place in places.items()}
    return SimpleNamespace(kind=kind, payload=payload)


@st.composite
def steps(draw):
    kind = draw(st.sampled_from([*KINDS, "undo", "look", "next"]))
    if kind == "move":
        return SimpleNamespace(
            kind=kind, payload={"places": {str(draw(ITEMS)): list(draw(PLACES))}}
        )
    return step(kind, draw(ITEMS)) if kind in KINDS and kind != "give_up" else step(kind)


def test_a_later_word_replaces_an_earlier_one():
    done = [step("move", i7=(0.5, 0.4)), step("discard", 7)]
    assert fold(done) == Draft(discarded=(7,))
    done += [step("aside", 7)]
    assert fold(done) == Draft(aside=(7,))
    done += [step("pin", 7), step("move", i7=(0.1, 0.2))]
    assert fold(done) == Draft(moved={7: (0.1, 0.2)}, pinned=(7,))
    done += [step("restore", 7)]
    assert fold(done) == Draft(pinned=(7,))
    assert fold([*done, step("unpin", 7)]) == Draft()


def test_the_query_is_not_judged_and_the_end_is_asked_for():
    done = [step("move", i7=(0.5, 0.4), i8=(0.5, 0.3)), step("query", 7)]
    assert fold(done) == Draft(moved={8: (0.5, 0.3)}, query=7)
    found = fold([*done, step("found", 8)])
    assert (found.ending, found.target) == ("found", 8)
    assert found.moved == {8: (0.5, 0.3)}
    assert fold([*done, step("give_up")]).ending == "give up"
    assert fold([*done, step("give_up"), step("pin", 8)]).ending == ""


def test_pins_of_the_round_before_hold_until_they_are_taken_out():
    assert fold([], pinned=[4, 5]).pinned == (4, 5)
    assert fold([step("unpin", 4)], pinned=[4, 5]).pinned == (5,)
    assert fold([step("discard", 4)], pinned=[4, 5]) == Draft(discarded=(4,), pinned=(5,))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_every_step_of_a_board_gives_its_draft(case):  # and so does the page: test_board_fold.py
    for done, step in enumerate(case["steps"], 1):
        draft, order = folded(case["steps"][:done], case.get("pinned", []))
        assert draft == whole(step["draft"])
        assert order == step.get("order", order)


@given(st.lists(steps(), max_size=12), steps())
def test_an_undo_takes_back_exactly_the_last_step_that_stands(done, last):
    if last.kind in KINDS:
        assert fold([*done, last, step("undo")]) == fold(done)
    else:
        assert len(standing([*done, step("undo")])) == max(0, len(standing(done)) - 1)


@given(st.lists(steps(), max_size=12), st.sets(ITEMS))
def test_nothing_is_said_twice_of_a_picture_and_nothing_of_one_that_is_gone(done, here):
    draft = fold(done)
    judged = [*draft.moved, *draft.discarded, *draft.aside]
    assert len(judged) == len(set(judged))
    assert not set(draft.pinned) & {*draft.discarded, *draft.aside}
    left = draft.within(here)
    assert {*left.moved, *left.discarded, *left.aside, *left.pinned} <= here
    assert left.query is None or left.query in here
    assert left.target is None or left.target in here
    assert draft.within(set(range(1, 7))) == draft


def test_an_unknown_step_is_refused():
    with pytest.raises(BadInput, match="one of move"):
        Draft().after("dance", {})


def test_pictures_of_a_board_have_room():
    sides = [side_for(n) for n in (1, 10, 21, 51, 101)]
    assert sides == sorted(sides, reverse=True)
    for n, side in zip((1, 10, 21, 51, 101), sides):
        assert 0 < n * side**2 <= 0.5 + 1e-9
