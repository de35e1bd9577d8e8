"""The loop: teach some queries, learn, pass the guard, serve later queries, roll back."""

from __future__ import annotations

import numpy as np
import pytest

import likewise
from likewise.datasets import swatches
from likewise.types import BadInput, SpaceMismatch


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A collection whose plain similarity is about colour, taught about motifs."""
    folder = tmp_path_factory.mktemp("taught") / "pictures"
    drawn = swatches(200, size=64, seed=3)
    drawn.write(folder, jobs=1)
    with likewise.open(folder, create=True) as collection:
        collection.index(features=("colour", "texture", "shape"), processes=1)
        place = {name: at for at, name in enumerate(drawn.names)}
        ids = sorted(collection.store.items.contents())
        motif = {i: drawn.truth["motif"][place[collection.item(i).file]] for i in ids}
        rng = np.random.default_rng(0)
        for item in ids[:60]:
            query = collection.query(item)
            near = collection.ask(query, k=8).ids.tolist()
            far = [i for i in rng.choice(ids, 20, replace=False).tolist() if i != item]
            shown = list(dict.fromkeys([*near, *far]))
            for relevant in (True, False):
                marked = [i for i in shown if (motif[i] == motif[item]) == relevant]
                if marked:
                    collection.teaching.mark(query, marked, relevant)
        yield collection


def test_there_is_no_method_of_that_name(taught):
    with pytest.raises(BadInput, match="there are bilinear, reference-queries"):
        taught.learn("magic")


def test_models_are_compared_and_travel(taught, tmp_path):
    model = taught.learn(name="again", activate=False)
    compared = taught.models.evaluate([model.id])
    assert [r["method"] for r in compared.rows] == ["plain", f"{model.id} again"]
    file = taught.models.write(model.id, tmp_path / "model.safetensors")
    copy = taught.models.read(file)
    assert (
        taught.search(3, model=copy.id).ids.tolist()
        == taught.search(3, model=model.id).ids.tolist()
    )


def test_a_model_of_another_space_is_refused(taught, collection, tmp_path):
    model = taught.learn(name="foreign", activate=False)
    file = taught.models.write(model.id, tmp_path / "model.safetensors")
    with pytest.raises(SpaceMismatch):
        collection.models.read(file)


def test_thin_data_stays_inactive_and_says_how_much_more(collection):
    query = collection.query(1)
    collection.teaching.mark(query, [2, 3])
    collection.teaching.mark(query, [4, 5], relevant=False)
    model = collection.learn()
    assert collection.models.active() is None
    assert "fewer than 100" in model.card["guard"]["sentence"]
    with pytest.raises(BadInput, match="not activated"):
        collection.models.activate(model.id)
    collection.models.activate(model.id, force=True)
    assert collection.models.active().id == model.id
    assert collection.search(1, k=3, marks=False).model.startswith(str(model.id))


def test_negatives_alone_give_plain_and_say_so(collection):
    collection.teaching.mark(collection.query(1), [2, 3], relevant=False)
    model = collection.learn()
    assert not model.card["guard"]["passed"]
    assert "Nothing was called relevant" in model.card["report"]["notes"][0]
    plain = collection.search(9, k=10, model="plain").ids.tolist()
    assert collection.search(9, k=10, model=model.id).ids.tolist() == plain


def test_relevant_marks_alone_teach(collection):
    for item in range(1, 9):
        collection.teaching.mark(collection.query(item), [item + 1, item + 2, item + 3])
    card = collection.learn(activate=False, settings={"evidence": 0.02}).card
    assert card["preferences"]["used"] == 0  # nothing is before anything else
    assert card["report"]["method"] == "bilinear groups"
    assert card["report"]["covered"] == 1.0
    assert card["report"]["gap"] < 1e-5
    assert card["settings"]["evidence"] == 0.02


def test_judgements_of_deleted_items_wait(collection, folder):
    collection.teaching.mark(collection.query(1), [2])
    collection.teaching.mark(collection.query(3), [4], relevant=False)
    (folder / collection.item(3).file).unlink()
    collection.index()
    model = collection.learn()
    assert model.card["lost_queries"] == 1


def test_candidates_are_near_or_disputed_and_not_judged(collection):
    query = collection.query(1)
    collection.teaching.mark(query, [2])
    count = 8
    found = collection.candidates(query, count)
    assert len(found) == len(set(found)) == count
    assert not {1, 2} & set(found)
    near = [i for i in collection.search(1, k=8, marks=False).ids.tolist() if i != 2][:4]
    assert found[::2] == near
    # Each other one is among the first 16 of a block by itself, and not of all of them.
    view = collection.look.view()
    rows, own = view.rows(view.ids), view.rows([1])[0]
    firsts = []
    for columns in view.plain.space.slices.values():
        order = view.ids[np.argsort(-(rows[:, columns] @ own[columns]), kind="stable")].tolist()
        firsts.append([i for i in order if i not in (1, 2)][: 2 * count])
    for item in found[1::2]:
        assert any(item in first for first in firsts)
        assert not all(item in first for first in firsts)


def test_candidates_come_from_where_a_new_model_disagrees(taught):
    model = taught.learn(activate=False)
    query, count = taught.query(150), 20
    found = taught.candidates(query, count)
    deep = 2 * count
    new, plain = (
        set(taught.ask(query, k=deep + 1, model=which).ids.tolist())
        for which in (model.id, "plain")
    )
    assert set(found) & (new - plain)


def test_the_same_log_gives_the_same_model_once(taught):
    first = taught.learn(name="once", activate=False)
    assert taught.learn(name="once", activate=False).id == first.id
    assert not taught.models.has_news()
    other = taught.learn(name="once", activate=False, seed=1)
    assert other.id > first.id
    assert taught.learn(name="once", force=True).id == first.id
    assert taught.models.active().id == first.id
    assert taught.learn(name="once").id == first.id  # it serves already
    taught.models.rollback()
    record = taught.mark(taught.query(5), [9])[0]
    assert taught.models.has_news()
    news = taught.learn(name="once", activate=False)
    assert news.id > other.id
    taught.undo(record)
    assert taught.models.has_news()  # what was taken back is news too
