"""The loop: teach some queries, learn, pass the guard, serve later queries, roll back."""

from __future__ import annotations

import json

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


def test_a_model_that_helps_serves_and_can_be_taken_back(taught):
    fresh = 150
    before = taught.search(fresh, k=20)
    model = taught.learn(name="motifs")
    guard = model.card["guard"]
    assert guard["passed"], guard["sentence"]
    assert guard["plain"]["p_value"] < 0.05
    assert {r["method"] for r in model.card["held_out"]} == {"plain", "new"}
    assert json.loads(json.dumps(model.card)) == model.card
    after = taught.search(fresh, k=20)
    assert after.model == f"{model.id} motifs"
    assert after.ids.tolist() != before.ids.tolist()
    assert taught.search(fresh, k=20, model="plain").ids.tolist() == before.ids.tolist()
    taught.models.rollback()
    again = taught.search(fresh, k=20)
    assert again.model == "plain"
    assert again.ids.tolist() == before.ids.tolist()
    with pytest.raises(BadInput, match="there are bilinear, top-precision"):
        taught.learn("magic")


def test_models_are_compared_and_travel(taught, tmp_path):
    model = taught.learn(name="again", activate=False)
    compared = taught.models.evaluate([model.id])
    assert [r["method"] for r in compared.rows] == ["plain", f"{model.id} again"]
    compared.plot(tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").stat().st_size > 1000
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
    assert "more" in model.card["guard"]["sentence"]
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


def test_candidates_are_near_and_far_and_not_judged(collection):
    query = collection.query(1)
    collection.teaching.mark(query, [2])
    found = collection.candidates(query, 12)
    assert len(found) == len(set(found)) == 12
    assert not {1, 2} & set(found)
    near = [i for i in collection.search(1, k=8, marks=False).ids.tolist() if i != 2][:6]
    assert found[::2] == near
