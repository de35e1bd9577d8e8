"""Earlier teaching comes back: offered, used, refused, and gone when its pictures are."""

from __future__ import annotations

import io
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from PIL import Image

import likewise
from likewise.collection import Options
from likewise.learners.offers import TaughtGroups
from likewise.types import BadInput, NotFound


@pytest.fixture
def taught(collection):
    """Item 1 was taught: its first four results right, the last two wrong."""
    ids = collection.search(1, k=47).ids.tolist()
    collection.mark(1, ids[:4])
    collection.mark(1, ids[-2:], False)
    return ids


def near(collection, item: int, **options) -> dict:
    return {offer.name: offer for offer in collection.search(item, **options).offers}


def test_a_near_query_is_offered_it_and_a_far_one_or_its_own_is_not(collection, taught):
    offer = near(collection, taught[0])["item:1"]
    assert (offer.kind, offer.item, offer.right, offer.wrong) == ("item", 1, 4, 2)
    assert not offer.used
    assert near(collection, taught[-1]) == {}
    assert near(collection, 1) == {}
    assert collection.search(taught[0]).as_json()["offers"][0]["name"] == "item:1"


def test_what_was_just_said_of_a_query_reaches_the_others_at_once(collection, taught):
    item = taught[0]
    assert set(near(collection, item)) == {"item:1"}
    for other in taught[1:4]:
        collection.mark(item, [other])
        assert near(collection, item)["item:1"].right == 4
    assert near(collection, taught[1])[f"item:{item}"].right == 3
    collection.mark(1, [taught[5]], False)
    assert near(collection, item)["item:1"].wrong == 3


def test_a_mark_brings_what_was_taught_of_the_same_picture(collection, taught):
    far = taught[-5]
    assert near(collection, far) == {}
    collection.mark(far, [taught[1]])
    assert set(near(collection, far)) == {"item:1"}
    assert near(collection, far, marks=False) == {}
    collection.undo()
    assert near(collection, far) == {}
    collection.mark(taught[-1], [taught[1]])  # this very picture was marked wrong there
    assert near(collection, taught[-1]) == {}


def test_what_is_used_shapes_the_answer_and_is_told_of(collection, taught):
    item = taught[0]
    before, after = collection.search(item, k=47), collection.search(item, k=47, use="item:1")
    assert before.ids.tolist() != after.ids.tolist()
    (used,) = [offer for offer in after.offers if offer.used]
    assert used.name == "item:1"
    assert after.ids.tolist().index(1) <= before.ids.tolist().index(1)
    assert after.ids.tolist().index(taught[-1]) > 30
    query = collection.query(item)
    why = collection.why(query, taught[1], use=["item:1"])
    assert why["parts"]["used"] != 0
    assert sum(why["parts"].values()) == pytest.approx(why["score"], rel=1e-5)
    assert sum(why["blocks"].values()) == pytest.approx(why["score"], rel=1e-4)
    score = dict(zip(after.ids.tolist(), after.scores.tolist()))[taught[1]]
    assert score == pytest.approx(why["score"], rel=1e-4)
    collection.mark(query, [taught[3]], False)  # one's own word about a picture holds
    why = collection.why(query, taught[3], use=["item:1"])
    assert set(why["parts"]) == {"picture", "marks", "used"}
    assert sum(why["parts"].values()) == pytest.approx(why["score"], rel=1e-5)
    with pytest.raises(BadInput, match="No feedback is kept for 'item:9'"):
        collection.search(item, use=["item:9"])


def test_words_several_pictures_uploads_and_parts_are_offered_it_too(collection, taught, folder):
    items = taught[:2]
    names = [collection.item(i).file for i in items]
    assert "item:1" in {o.name for o in collection.search(items).offers}
    picture = (folder / names[0]).read_bytes()
    assert "item:1" in {o.name for o in collection.search(picture).offers}
    collection.tag(taught[:4], add=["harbour"])
    answer = collection.search(text="harbour", k=4)
    assert "item:1" in {o.name for o in answer.offers}
    used = collection.search(text="harbour", use=["item:1"], k=8)
    assert used.ids.tolist() != answer.ids.tolist()
    collection.mark(collection.query(text="harbour"), taught[:3])
    offer = near(collection, taught[0])["text:harbour"]
    assert (offer.kind, offer.text, offer.right, offer.wrong) == ("text", "harbour", 3, 0)
    part = collection.query(items[0], crop=(0.1, 0.1, 0.9, 0.9))
    collection.mark(part, [taught[1]])
    name = f"item:{items[0]}@0.1,0.1,0.9,0.9"
    assert near(collection, taught[1])[name].item == items[0]


def test_a_refusal_is_remembered_and_can_be_taken_back(collection, folder, taught):
    offer = near(collection, taught[0])["item:1"]
    collection.teaching.reply(collection.query(taught[0]), "item:1", likeness=offer.likeness)
    assert near(collection, taught[0]) == {}
    with likewise.open(folder) as reader:
        assert near(reader, taught[0]) == {}
    assert "item:1" in near(collection, taught[1])  # refused for one picture, not for all
    collection.teaching.reply(collection.query(taught[0]), "item:1", None)
    again = near(collection, taught[0])["item:1"]
    assert again.likeness == pytest.approx(offer.likeness, abs=1e-5)
    assert replace(again, likeness=offer.likeness) == offer
    for item in taught[4:20]:
        collection.teaching.reply(collection.query(item), "item:1", likeness=offer.likeness)
    assert "item:1" in near(collection, taught[0])  # this very picture was marked right there
    with pytest.raises(NotFound, match="taken back or forgotten"):
        collection.teaching.reply(collection.query(taught[0]), "item:7")


def test_who_comes_back_with_a_right_picture_or_a_copy_finds_it_first_in_line(
    collection, folder, taught
):
    for number, item in enumerate(taught[1:4]):  # three other wishes, near as well
        others = [i for i in collection.search(item, k=47).ids.tolist() if i != taught[0]]
        collection.mark(item, others[:5])
        collection.mark(item, others[-2 - number :], False)
    assert next(iter(near(collection, taught[0]))) == "item:1"
    with Image.open(folder / collection.item(1).file) as picture:  # the taught one, saved anew
        again = io.BytesIO()
        picture.convert("RGB").save(again, "JPEG", quality=85)
    offers = collection.search(again.getvalue()).offers
    assert offers[0].name == "item:1"


def test_what_is_undone_or_forgotten_is_not_offered(collection, folder, taught):
    assert "item:1" in near(collection, taught[0])
    while len(collection.log):
        collection.undo()
    assert near(collection, taught[0]) == {}
    collection.mark(1, taught[:4])
    collection.teaching.reply(collection.query(taught[0]), "item:1")
    collection.teaching.reply(collection.query(taught[0]), "item:1", None)
    assert near(collection, taught[0])["item:1"].wrong == 0
    collection.forget([taught[3]])
    assert near(collection, taught[0])["item:1"].right == 3
    (folder / collection.item(taught[2]).file).unlink()
    collection.index()
    assert "item:1" in near(collection, taught[0])  # what is left still teaches
    assert collection.search(taught[0], use=["item:1"]).offers[0].used
    collection.forget([1])
    assert near(collection, taught[0]) == {}
    assert collection.store.offered.answers() == []


def test_a_kept_target_search_is_offered(collection, taught):
    search = collection.targets.start(picture=taught[0], seed=1)
    board = [i for i in search.board.shown if i != taught[0]]
    search.next(query=taught[0], moved=board[:4])
    search.found(taught[1], keep=True)
    collection.targets.teach_others(search)
    name = f"session:{search.id}"
    while len(collection.teaching.taught.marks("look", "item:1")):
        first = next(r for r in collection.log.records(kind="label"))
        collection.undo(first.id)
    offer = near(collection, taught[1])[name]
    assert (offer.kind, offer.item) == ("session", taught[1])
    assert offer.right + offer.wrong == 4
    used = collection.search(taught[1], use=[name])
    assert used.offers[0].used


def test_nothing_is_walked_where_nothing_was_said(collection, monkeypatch):
    collection.search(1)
    monkeypatch.setattr(collection.log, "said", lambda after: pytest.fail("the log was read"))
    collection.search(2)
    assert Options.of(use=["item:1"]).use == ("item:1",)


@pytest.fixture
def learned(collection, taught, monkeypatch):
    """Five taught queries, from which was learned; gives how often that was done."""
    for item in taught[5:9]:
        collection.mark(item, collection.search(item, k=4).ids.tolist())
    times, learn = [], TaughtGroups.learn

    def counted(self):
        times.append(len(self))
        learn(self)

    monkeypatch.setattr(TaughtGroups, "learn", counted)
    assert "item:1" in near(collection, taught[0])
    assert times == [5]
    return times


def test_pictures_that_come_in_do_not_fit_it_anew(collection, folder, taught, learned):
    before = near(collection, taught[0])["item:1"]
    for number in range(3):
        Image.new("RGB", (40, 40), (number * 80, 90, 20)).save(folder / f"new {number}.png")
        collection.index()
        assert near(collection, taught[0])["item:1"] == before
    assert learned == [5]
    member = folder / collection.item(taught[1]).file
    kept = member.read_bytes()
    member.unlink()
    collection.index()
    assert near(collection, taught[0])["item:1"].likeness != before.likeness
    member.write_bytes(kept)
    collection.index()
    assert near(collection, taught[0])["item:1"].likeness == pytest.approx(before.likeness)
    assert learned == [5]
    for number in range(20):
        Image.new("RGB", (30, 30), (number * 12, 50, 90)).save(folder / f"more {number}.png")
    collection.index()
    near(collection, taught[0])
    assert learned == [5, 5]  # there are many more pictures to compare with


def test_others_are_answered_while_one_fits_it_anew(collection, taught, learned, monkeypatch):
    going_on, over = threading.Event(), threading.Event()

    def slow(self):
        going_on.set()
        assert over.wait(60)

    monkeypatch.setattr(TaughtGroups, "learn", slow)
    for item in taught[10:15]:
        collection.mark(item, collection.search(item, k=4).ids.tolist())
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(near, collection, taught[0])
        assert going_on.wait(60)
        assert "item:1" in near(collection, taught[1])
        assert not first.done()
        over.set()
        assert "item:1" in first.result()
