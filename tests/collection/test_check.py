"""The short check: what is asked, what answers do, and what survives."""

from __future__ import annotations

import json
import shutil
import time

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import likewise
from likewise.cli import app
from likewise.collection.learn import check as checks
from likewise.datasets import swatches
from likewise.types import BadInput, NotFound

COUNT = 240


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """A folder whose plain similarity is about colour, taught about motifs, and the truth."""
    folder = tmp_path_factory.mktemp("check") / "pictures"
    drawn = swatches(COUNT, size=64, seed=3)
    drawn.write(folder, jobs=1)
    motif = dict(zip(drawn.names, drawn.truth["motif"].tolist()))
    with likewise.open(folder, create=True) as collection:
        collection.index(features=("colour", "texture", "shape"), processes=1)
        teach(collection, truth_of(collection, motif), range(1, 41))
    return folder, motif


@pytest.fixture
def taught(school, tmp_path):
    folder, motif = school
    shutil.copytree(folder, tmp_path / "pictures")
    with likewise.open(tmp_path / "pictures", write=True) as collection:
        yield collection, truth_of(collection, motif)


def truth_of(collection, motif):
    return {i: motif[collection.item(i).file] for i in range(1, COUNT + 1)}


def teach(collection, truth, items, *, wrong=0.0, seed=0):
    rng = np.random.default_rng(seed)
    for item in items:
        query = collection.query(item)
        near = [i for i in collection.ask(query, k=11, marks=False).ids.tolist() if i != item]
        for i in near[:10]:
            right = truth[i] == truth[item]
            collection.mark(query, [i], right != (rng.random() < wrong))


def answer(collection, truth, *, most=400, model=None):
    """Answer as a person would who looks at motifs; gives the last state and the answers."""
    state, given = collection.check(model), 0
    while state.item is not None and not state.active and given < most:
        assert state.item not in state.items
        right = [i for i in state.items if truth[i] == truth[state.item]]
        state = collection.check(state.model, item=state.item, right=right)
        given += 1
    return state


def test_a_model_that_helps_passes_its_check_serves_and_can_be_taken_back(taught):
    collection, truth = taught
    before = collection.search(200, k=20).ids.tolist()
    model = collection.learn(name="motifs")
    assert model.card["guard"] == {
        "by": "check",
        "passed": False,
        "sentence": "Not used yet: 12 searches are to be checked first.",
    }
    assert {"top_precision", "p1"} <= set(model.card["held_out"][0])
    asked = collection.check()
    assert (asked.model, asked.done, asked.size, asked.active) == (model.id, 0, 12, False)
    assert 1 <= len(asked.items) <= 12
    end = answer(collection, truth)
    assert end.active
    assert end.passed
    assert end.taught == 400
    assert 12 <= end.asked <= 12 * 50
    assert f"It took 400 marks and {end.asked} answers." in end.sentence
    marks = [j for j in collection.log if j.source == "check"]
    assert sum(len(j.items) for j in marks) == end.asked
    card = collection.models.get(model.id).card
    assert card["guard"]["passed"]
    assert card["guard"]["first_change"] >= -0.01
    assert json.loads(json.dumps(card)) == card
    assert collection.search(200, k=20).ids.tolist() != before
    collection.models.rollback()
    assert collection.search(200, k=20).ids.tolist() == before
    collection.models.activate(model.id)  # it passed: no force is needed
    assert collection.models.active().id == model.id


def test_a_person_who_answers_at_random_lets_nothing_pass(taught):
    collection, truth = taught
    collection.learn()
    rng = np.random.default_rng(0)
    luck = {i: rng.integers(2) for i in truth}
    end = answer(collection, luck)
    assert not end.active
    assert "learn again" in end.sentence
    assert [size for size, _ in collection.store.looks.taken("default")] == [12, 25, 50]


def test_a_check_goes_on_after_a_week_and_a_restart_and_a_forget(taught, monkeypatch):
    collection, truth = taught
    model = collection.learn()
    state = answer(collection, truth, most=5)
    assert state.done >= 5
    data, folder = collection.data, collection.folder
    collection.close()
    week = time.time() + 7 * 86_400
    monkeypatch.setattr(time, "time", lambda: week)
    with likewise.open(folder, data=data, write=True) as again:
        assert again.check(model.id) == state
        asked = {d.item: d for d in again.store.looks.drawn(model.id)}
        again.forget([state.item, state.items and state.items[0]])
        later = again.check(model.id)
        assert later.done == state.done
        assert later.item not in (None, state.item)
        assert state.items[0] not in later.items
        with pytest.raises(NotFound, match="does not ask"):
            again.check(model.id, item=state.item, right=[])
        assert set(asked) > {d.item for d in again.store.looks.drawn(model.id)}
        assert answer(again, truth, model=model.id).done != later.done


def test_a_new_candidate_keeps_answers_and_spends_what_was_spent(taught):
    collection, truth = taught
    first = collection.learn()
    rng = np.random.default_rng(1)
    luck = {i: rng.integers(2) for i in truth}
    answer(collection, luck, most=14)
    assert [size for size, _ in collection.store.looks.taken("default")] == [12]
    asked = {d.item for d in collection.store.looks.drawn(first.id)}
    second = collection.learn()
    assert second.id != first.id
    state = collection.check()
    assert (state.model, state.size) == (second.id, 25)
    new = [d.item for d in collection.store.looks.drawn(second.id)]
    assert new[:60] == [d.item for d in collection.store.looks.drawn(first.id)]
    assert len(new) > len(asked)
    said = collection.teaching.marks(collection.query(state.item))
    assert not set(state.items) & set(said)
    # The earlier one can still be looked at and answered: it is a matter of its own.
    assert collection.check(first.id).model == first.id


def test_what_is_checked_against_something_that_serves_no_more_is_learned_again(taught):
    collection, _ = taught
    first = collection.learn()
    second = collection.learn(name="other")
    collection.models.activate(second.id, force=True)
    state = collection.check(first.id)
    assert state.item is None
    assert "learn again" in state.sentence
    again = collection.check(first.id, item=collection.store.looks.drawn(first.id)[0].item)
    assert not again.active
    assert collection.models.active().id == second.id


def test_what_passed_over_other_codes_is_checked_anew(taught):
    """Smoothing changes what plain similarity is: the model is learned anew, and waits."""
    collection, truth = taught
    model = collection.learn()
    assert answer(collection, truth).active
    collection.index(smoothing="on", processes=1)
    renewed = collection.models.all()[-1]
    assert renewed.id > model.id
    assert not renewed.card["guard"]["passed"]
    assert collection.search(200).model == "plain"
    assert not collection.models.has_news()
    state = collection.check()
    assert (state.model, state.size) == (renewed.id, 12)
    assert state.item is not None
    assert collection.learn().id == renewed.id  # the same log gives the same model once
    collection.index(smoothing="off", processes=1)
    assert collection.search(200).model == f"{model.id} {model.name}"  # it came back


def test_an_activation_begins_a_new_count_and_a_rollback_does_not(taught):
    collection, truth = taught
    collection.learn()
    assert answer(collection, truth).active
    assert collection.store.looks.taken("default") == []
    collection.learn()
    answer(collection, {i: i % 2 for i in truth}, most=15)
    taken = collection.store.looks.taken("default")
    assert len(taken) == 1
    collection.models.rollback()
    assert collection.store.looks.taken("default") == taken


def test_skipped_searches_are_left_out_and_stay_so(taught):
    collection, _ = taught
    collection.learn()
    one = collection.check()
    state = collection.check(item=one.item, skip=True)
    assert state.done == one.done
    assert state.item != one.item
    assert not collection.teaching.marks(collection.query(one.item))
    again = collection.learn(seed=1)
    assert again.id in {collection.check().model}
    assert collection.check().item != one.item


def test_answers_must_be_about_what_is_asked(taught):
    collection, truth = taught
    collection.learn()
    asked = collection.check()
    other = next(i for i in truth if i not in (*asked.items, asked.item))
    with pytest.raises(BadInput, match="does not ask about picture"):
        collection.check(item=asked.item, right=[other])
    with pytest.raises(NotFound, match="no model"):
        collection.check(99)


def test_no_model_no_check(collection):
    with pytest.raises(NotFound, match="learn one first"):
        collection.check()


def test_small_collections_have_no_check(collection):
    """48 pictures: whatever was taught, nothing passes, and it says why."""
    for item in range(1, 21):
        collection.mark(collection.query(item), [item + 1, item + 2])
        collection.mark(collection.query(item), [item + 9], relevant=False)
    model = collection.learn()
    assert "fewer than 100 photos" in model.card["guard"]["sentence"]
    assert collection.check(model.id).item is None
    assert collection.models.active() is None


def test_thirty_pictures_are_searched_taught_offered_and_learned_from(tmp_path):
    drawn = swatches(30, size=64, seed=5)
    drawn.write(tmp_path, jobs=1)
    with likewise.open(tmp_path, create=True) as collection:
        collection.index(features=("colour",), processes=1)
        query = collection.query(1)
        near = [i for i in collection.ask(query, k=5).ids.tolist() if i != 1]
        collection.mark(query, near[:2])
        collection.mark(query, near[2:3], relevant=False)
        assert len(collection.ask(query, k=30).ids) >= 29
        (chip,) = collection.search(near[0]).offers
        assert chip.name == "item:1"
        assert collection.search(near[0], use=[chip.name]).ids[0] in (1, *near)
        model = collection.learn()
        assert "fewer than 100 photos" in model.card["guard"]["sentence"]
        assert collection.models.active() is None


@pytest.mark.parametrize("case", ["half wrong", "one query", "gone"])
def test_bad_marks_are_learned_from_and_checked_all_the_same(case, school, tmp_path):
    folder, motif = school
    shutil.copytree(folder, tmp_path / "pictures")
    with likewise.open(tmp_path / "pictures", write=True) as collection:
        truth = truth_of(collection, motif)
        for record in list(collection.log.records()):
            collection.undo(record.id)
        if case == "half wrong":
            teach(collection, truth, range(1, 31), wrong=0.5)
        elif case == "one query":
            query = collection.query(1)
            for i in range(2, 200):
                collection.mark(query, [i], truth[i] == truth[1], person="Ada")
        else:
            teach(collection, truth, range(1, 31))
            for i in range(20, 60):
                (collection.folder / collection.item(i).file).unlink()
            collection.index(accept_missing=True)
        model = collection.learn()
        state = collection.check(model.id)
        assert state.sentence
        end = answer(collection, truth)
        assert end.active == end.passed
        assert end.done >= 12 or end.active or end.item is None


@pytest.fixture(scope="module")
def in_folders(tmp_path_factory):
    """Drawn pictures, one folder per motif."""
    drawn = swatches(150, size=64, seed=4)
    place = tmp_path_factory.mktemp("folders") / "pictures"
    for at, (name, motif) in enumerate(zip(drawn.names, drawn.truth["motif"].tolist())):
        target = place / str(motif)
        target.mkdir(parents=True, exist_ok=True)
        Image.fromarray(drawn[at]).save(target / name)
    with likewise.open(place, create=True) as collection:
        collection.index(features=("colour", "texture"), processes=1)
    return place


def test_class_folders_are_judged_by_all_that_they_say(in_folders, tmp_path):
    """Folders know everything: no check is needed, and looks are counted all the same."""
    folder = str(shutil.copytree(in_folders, tmp_path / "pictures"))
    CliRunner().invoke(app, ["judgements", "folders", "--collection", folder, "--queries", "8"])
    with likewise.open(folder, write=True) as collection:
        model = collection.learn()
        guard = model.card["guard"]
        assert guard["by"] == "truth"
        assert guard["plain"]["size"] >= 25
        assert "average precision" in guard["sentence"]
        assert -1 <= guard["plain"]["top_change"] <= 1
        assert collection.store.looks.drawn(model.id) == []
        if not guard["passed"]:
            again = collection.learn(name="again")
            assert again.card["guard"]["plain"]["size"] == 0


def test_top_precision_learns_from_folders_without_a_mark(in_folders, tmp_path):
    """All pictures of a folder are right for each of them; nothing is written into the log."""
    folder = str(shutil.copytree(in_folders, tmp_path / "pictures"))
    learn = ["learn", "top-precision", "--collection", folder, "--set", "labels=folders"]
    told = CliRunner().invoke(app, [*learn, "--set", "lam=0.1,4", "--no-activate", "--json"])
    assert told.exit_code == 0, told.output
    with likewise.open(folder, write=True) as collection:
        assert len(collection.log) == 0
        (model,) = collection.models.all()
        card = model.card
        assert card["settings"]["labels"] == "folders"
        assert card["guard"]["by"] == "truth"
        held = card["report"]["held_out"]
        assert held["top_precision"] > held["plain_top_precision"]
        assert held["p1"] >= held["plain_p1"] - 0.01
        # The relevant items of a query are all others of its folder, and it is unknown to itself.
        size = {}
        for item in collection.items.many(collection.look.view().ids.tolist()):
            size[item.file.split("/")[0]] = size.get(item.file.split("/")[0], 0) + 1
        per_query = {(n - 1) * (150 - n) for n in size.values()}
        assert card["report"]["preferences"] >= min(per_query) * card["report"]["queries"]
        with pytest.raises(BadInput, match="one of marks, folders"):
            collection.learn("top-precision", settings={"labels": "names"})


def test_one_folder_is_no_class(collection):
    with pytest.raises(BadInput, match="at least two folders"):
        collection.learn("top-precision", settings={"labels": "folders"})


def test_queries_are_complete_where_every_picture_is_labelled(collection):
    from likewise.collection.learn.evidence import Marks, Sources
    from likewise.collection.learn.guard import _complete

    ids = collection.look.view().ids.tolist()
    collection.mark(collection.query(1), [2, 3])
    collection.mark(collection.query(1), ids[3:], relevant=False)
    collection.mark(collection.query(2), [3, 4])
    evidence = Marks.gather(Sources(collection.store, collection.look.view()))
    assert _complete(evidence) == {0: {1, 2}}


def test_the_command_line_asks_and_takes_answers(taught):
    collection, truth = taught
    where = ["--collection", str(collection.folder)]
    model = collection.learn()
    first = collection.check()
    names = {i: str(collection.file(i)) for i in truth}
    collection.close()
    run = CliRunner().invoke
    told = json.loads(run(app, ["models", "check", "--json", *where]).stdout)
    assert told["item"] == first.item
    assert told["items"] == list(first.items)
    asked = run(app, ["models", "check", *where], input="x\n1\ns\nq\n")
    assert asked.exit_code == 0, asked.output
    assert f"Search 1 of 12: like {names[first.item]}" in asked.stdout
    assert "searches are checked. Not used yet" in asked.stdout
    one = json.loads(run(app, ["models", "check", str(model.id), "--json", *where]).stdout)
    assert one["done"] == first.done + 1
    line = ["models", "check", "--item", str(one["item"]), "--right", str(one["items"][0])]
    assert run(app, [*line, *where]).exit_code == 0
    with likewise.open(collection.folder) as reading:
        marks = reading.teaching.marks(reading.query(one["item"]))
        assert marks[one["items"][0]] == 1
        assert sorted(set(marks.values())) in ([0, 1], [1])
        assert {j.source for j in reading.log} == {"api", checks.SOURCE}
