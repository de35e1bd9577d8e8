"""Words find pictures: learned from clicks and captions, guarded, served beside full text."""

from __future__ import annotations

import numpy as np
import pytest

import likewise
from likewise.collection.learn import descents
from likewise.collection.learn.evidence import Sources
from likewise.collection.learn.texts import Texts
from likewise.datasets import swatches
from likewise.filters import Filter
from likewise.types import BadInput, NotFound
from tests.laws.test_line_laws import sums_up


def draw(folder, count, seed):
    drawn = swatches(count, size=64, seed=seed)
    drawn.write(folder, jobs=1)
    return drawn


@pytest.fixture(scope="module")
def drawn_and_learned(tmp_path_factory):
    """Swatches of which seven in ten have a caption, and the words model learned from them."""
    folder = tmp_path_factory.mktemp("words") / "pictures"
    drawn = draw(folder, 200, 3)
    with likewise.open(folder, create=True) as collection:
        collection.index(features=("colour", "texture", "shape"), processes=1)
        before = collection.search(text="red stripes", k=200, model="plain")
        model = collection.learn("ranked-cca", name="words", settings={"dim": 20}, force=True)
        yield drawn, collection, model, before


@pytest.fixture
def worded(drawn_and_learned):
    """The collection, with the model of the captions active again."""
    _, collection, model, _ = drawn_and_learned
    collection.models.activate(model.id, force=True)
    return collection


def bare(drawn) -> set[str]:
    """Names of the pictures that nobody described."""
    return {name for name, caption in zip(drawn.names, drawn.captions) if not caption}


def test_words_find_pictures_that_carry_none(drawn_and_learned, worded):
    drawn, _, model, before = drawn_and_learned
    found = {row["method"]: row["judged_map"] for row in model.card["held_out"]}
    assert found["new"] > found["words without a model"] > 0.3  # captions speak without it too
    assert model.card["captions"] == len(drawn.names) - len(bare(drawn))
    assert not bare(drawn) & set(before.paths)
    colour = dict(zip(drawn.names, drawn.truth["colour"].tolist()))
    hits = []
    for hue in sorted(set(colour.values())):
        answer = worded.search(text=hue, k=200)
        assert answer.reader == f"{model.id} words"
        first = [p for p in answer.paths if p in bare(drawn)][:3]
        hits += [colour[p] == hue for p in first]
    assert np.mean(hits) > 0.6  # a dozen colours: chance is one in ten


def test_every_result_says_which_evidence_found_it(worded):
    answer = worded.search(text="red stripes", k=30)
    by = {evidence for r in answer.results for evidence in r.found_by}
    assert by == {"words", "learned words"}
    plain = worded.search(text="red stripes", k=30, model="plain")
    assert {r.found_by for r in plain.results} == {("words",)}
    assert plain.reader == ""
    both = [r for r in answer.results if len(r.found_by) == 2]
    assert both
    assert {r.item for r in both} <= set(plain.ids.tolist())
    why = worded.why(worded.query(text="red stripes"), int(answer.ids[0]))
    assert why["learned_words"] == ["red", "stripe"]
    assert why["blocks"]
    assert why["reader"] == answer.reader


def test_words_and_pictures_add(worded):
    picture = worded.search(7, k=10)
    words = worded.search(text="red", k=10)
    both = worded.search(7, text="red", k=200)
    assert {evidence for r in both.results for evidence in r.found_by} == {
        "picture with words",
        "words",
    }
    place = {item: at for at, item in enumerate(both.ids.tolist())}

    def middle(ids):
        return np.mean([place.get(i, 200) for i in ids])

    for part in (picture, words):
        assert middle(part.ids.tolist()) < 60  # of 200: both have their say


def test_a_compact_index_gives_the_same_answer(worded):
    wide = worded.search(text="red stripes", k=20)
    small = worded.search(text="red stripes", k=20, compact=True)
    assert small.ids.tolist() == wide.ids.tolist()
    words = worded.models.reader(None, worded.look.view())
    assert words.index(worded.look.view()).search(words.read("red", worded.look.view()).small[1], 5)
    assert words.index(worded.look.view()) is words.index(worded.look.view())
    some = worded.store.items.ids([b"swatch-0001.jpg", b"swatch-0002.jpg"])
    read = words.read("red", worded.look.view())
    among = read.find(worded.look.view(), 5, among=np.array(sorted(some.values())))
    assert set(among.ids.tolist()) <= set(some.values())


def test_between_pictures_a_model_of_words_gives_the_cosine(worded):
    model = worded.models.active("text")
    view = worded.look.view()
    similarity, _ = worded.models.serving(model.id, view)
    ids, rows = view.all_rows()
    projected = np.asarray(rows, float) @ similarity.wv @ similarity.w.T
    projected /= np.linalg.norm(projected, axis=1, keepdims=True)
    query = worded.query(int(ids[3]))
    answer = worded.ask(query, k=8, model=model.id)
    cosine = projected @ projected[3]
    expected = [int(i) for i in ids[np.argsort(-cosine)] if i != ids[3]][:8]
    assert answer.ids.tolist() == expected
    np.testing.assert_allclose(answer.scores, np.sort(cosine)[::-1][1:9], atol=1e-5)
    for result in answer.results[:3]:
        assert np.isclose(worded.why(query, result.item, model=model.id)["score"], result.score)
    some = expected[::2]
    worded.tag(some, add=["chosen"])
    among = worded.ask(query, k=8, model=model.id, filter=Filter(tags=("chosen",)))
    assert among.ids.tolist() == some
    worded.tag(some, remove=["chosen"])


def test_why_tells_what_the_text_adds(worded):
    for query in (worded.query(text="red stripes"), worded.query(1, "red stripes")):
        found = worded.ask(query, k=6)
        told = [sums_up(worded, query, result) for result in found]
        assert any("text" in one["parts"] for one in told)
        assert any(len(one["lists"]) > 1 for one in told)
        assert all(one["reader"] == found.reader for one in told)


def test_activate_and_roll_back_are_the_readers_own(worded):
    model = worded.models.active("text")
    assert worded.models.active() is None
    assert worded.models.all_active() == {"text": model.id}
    assert worded.status()["reader"] == f"{model.id} words"
    worded.models.activate("plain", task="text")
    assert worded.search(text="red stripes").reader == "class names"
    worded.models.rollback(task="text")
    assert worded.models.active("text").id == model.id
    again = worded.search(text="red", model=model.id)
    assert again.reader == f"{model.id} words"
    assert worded.search(3, model=model.id).model == f"{model.id} words"


def test_unknown_words_fall_back_to_full_text(worded):
    answer = worded.search(text="swatch-0007")
    assert answer.paths[0] == "swatch-0007.jpg"
    mixed = worded.search(text="red xylophone", k=10)
    assert "xylophon" in mixed.notes[0]
    assert mixed.results
    nothing = worded.search(text="xylophone quagga")
    assert not nothing.results
    assert "quagga" in nothing.notes[0]


@pytest.mark.parametrize("text", ["", "   ", "\0"])
def test_an_empty_query_is_refused(worded, text):
    with pytest.raises(BadInput, match="Ask for something"):
        worded.search(text=text)
    assert worded.suggest(text) == []


def test_stop_words_and_ten_thousand_words(worded):
    quiet = worded.search(text="the of and")
    assert all(r.found_by == ("words",) for r in quiet.results)
    assert not any("learned" in note for note in quiet.notes)
    long = worded.search(text=" ".join(["red stripes"] + [f"word{n}" for n in range(10_000)]), k=5)
    assert len(long) == 5
    assert len(long.notes[0]) < 200
    broken = worded.search(text=b"red \xff\xfe stripes".decode("utf-8", "surrogateescape"), k=5)
    assert len(broken) == 5


def test_suggestions_are_other_queries_for_alike_pictures(worded):
    for text in ("red stripes", "crimson", "blue dots"):
        worded.teaching.click(worded.query(text=text), 1, person="ada")
    found = [text for text, _ in worded.suggest("red")]
    assert "red stripes" in found
    assert "red" not in found
    assert worded.suggest("xylophone") == []
    scores = [score for _, score in worded.suggest("red")]
    assert scores == sorted(scores, reverse=True)


# -- the loop: clicks -----------------------------------------------------------------


def test_no_clicks_and_no_captions_say_what_to_do(collection):
    with pytest.raises(BadInput, match="no clicks after words"):
        collection.learn("ranked-cca", settings={"captions": False})
    collection.teaching.click(collection.query(text="the of and"), 1)
    with pytest.raises(BadInput, match="no word to learn from"):
        collection.learn("ranked-cca", settings={"captions": False})
    with pytest.raises(
        BadInput, match="ranked-cca has no setting 'depth'; its settings are propensity"
    ):
        collection.learn("ranked-cca", settings={"depth": 3})
    with pytest.raises(BadInput, match="No model that reads text is active"):
        collection.learn("ranked-cca", settings={"more": True})


def test_one_click_is_learned_and_stays_inactive(collection):
    record = collection.teaching.click(collection.query(text="Red  stripes"), 5, position=3)
    kept = next(iter(collection.store.judgements.records()))
    assert (kept.id, kept.judgement.position) == (record, 3)
    assert kept.judgement.query.value == "Red stripes"
    model = collection.learn("ranked-cca", settings={"captions": False})
    assert collection.models.active("text") is None
    assert "fewer than 100" in model.card["guard"]["sentence"]
    with pytest.raises(BadInput, match="not activated"):
        collection.models.activate(model.id)
    answer = collection.search(text="red stripes", k=3, model=model.id)
    assert answer.ids[0] == 5
    assert answer.reader.startswith(str(model.id))
    assert collection.teaching.clicks(collection.query(text="Red stripes"), 5) == 1
    collection.teaching.click(collection.query(7), 5)
    collection.teaching.click(collection.query(7, crop=(0, 0, 0.5, 1)), 5)
    assert collection.teaching.clicks(collection.query(7), 5) == 1
    assert collection.teaching.clicks(collection.query(without=7), 5) == 0
    collection.teaching.undo(record)
    assert collection.teaching.clicks(collection.query(text="Red stripes"), 5) == 0


def test_clicks_on_deleted_items_wait(collection, folder):
    asked = collection.query(text="red stripes")
    for item in (3, 5):
        collection.teaching.click(asked, item, person="ada")
    (folder / collection.item(3).file).unlink()
    collection.index()
    model = collection.learn("ranked-cca", settings={"captions": False})
    assert model.card["clicks"]["unknown_items"] == 1
    assert model.card["clicks"]["clicks"] == 1
    (folder / collection.item(5).file).unlink()
    collection.index()
    with pytest.raises(BadInput, match="no clicks"):
        collection.learn("ranked-cca", settings={"captions": False})


def test_spam_counts_little_and_positions_where_asked_for(collection):
    asked = collection.query(text="red")
    for _ in range(30):
        collection.teaching.click(asked, 2, person="bot", position=9)
    for person in ("ada", "bob"):
        collection.teaching.click(asked, 4, person=person, position=1)

    def counted(**changes):
        sources = Sources(collection.store, collection.look.view())
        found = Texts.gather(sources, captions=False, **changes)
        return dict(zip(found.ids[found.item].tolist(), found.count.tolist()))

    assert counted() == {2: 5.0, 4: 2.0}
    assert counted(propensity=1.0) == {2: 45.0, 4: 2.0}
    model = collection.learn("ranked-cca", settings={"captions": False})
    assert model.card["clicks"]["capped"] == 25


def test_counts_and_ubi_events_are_imported(collection, tmp_path):
    names = [collection.item(i).file for i in (1, 2, 3)]
    table = tmp_path / "clicks.csv"
    rows = ["query,image,count", f"red,{names[0]},5", f"red,{names[1]},-2", f"red,{names[2]},1e12"]
    table.write_bytes("\n".join([*rows, "red,gone.jpg,1", ""]).encode() + b"r\xff,x.jpg,1\n")
    count, problems = collection.teaching.read(table)
    assert count == 2
    assert len(problems) == 3
    asked, events = tmp_path / "queries.jsonl", tmp_path / "events.jsonl"
    hits = ", ".join(f'"{n}"' for n in [*names, "gone.jpg"])
    asked.write_text(
        f'{{"query_id": "q", "user_query": "dots", "query_response_hit_ids": [{hits}]}}'
    )
    events.write_text(
        '{"action_name": "click", "query_id": "q", "event_attributes": '
        f'{{"object": {{"object_id": "{names[1]}"}}, "position": {{"ordinal": 2}}}}}}'
    )
    count, problems = collection.teaching.read(events, format="ubi", queries=asked)
    assert (count, problems) == (2, [])
    log = [r.judgement for r in collection.store.judgements.records()]
    assert log[-2].position == 2
    assert log[-1].items == tuple(names)
    model = collection.learn("ranked-cca", settings={"captions": False})
    assert model.card["queries"] == 2
    assert model.card["clicks"]["clicks"] == 5 + 100 + 1


# -- going on -------------------------------------------------------------------------


def test_new_clicks_are_learned_on_top(worded, drawn_and_learned):
    drawn, _, first, _ = drawn_and_learned
    colour = drawn.truth["colour"]
    for at in range(40):
        asked = worded.query(text=f"{colour[at]} thing{at % 3}")
        item = worded.item(drawn.names[at]).id
        worded.teaching.click(asked, item, person=f"p{at}")
    more = worded.learn(
        "ranked-cca", name="more", settings={"more": True, "dim": 20}, activate=False
    )
    assert more.card["captions"] == 0
    assert more.card["words"] == first.card["words"]
    assert 0 < more.card["queries"] < first.card["queries"]
    assert "active" in more.card["guard"] or more.card["queries"] < 30
    again = worded.learn("ranked-cca", name="again", settings={"dim": 20}, activate=False)
    assert again.card["captions"] == first.card["captions"]
    assert again.card["words"] > first.card["words"]


class Stop(KeyboardInterrupt):
    """Somebody presses Ctrl-C."""


@pytest.mark.parametrize("threads", [1, 2])
def test_learning_goes_on_where_it_was_stopped(collection, monkeypatch, threads):
    rng = np.random.default_rng(0)
    for n in range(30):
        asked = collection.query(text=f"word{n % 7} word{7 + n % 5}")
        for item in rng.choice(np.arange(1, 49), 3, replace=False).tolist():
            collection.teaching.click(asked, item, person=f"p{n}")
    settings = {"captions": False, "threads": threads, "dim": 10}
    whole = collection.learn("ranked-cca", settings=settings)
    monkeypatch.setattr(descents, "EVERY", 0.0)
    saved: list[int] = []
    save = descents.States.save

    def stopping(self, name, state):
        save(self, name, state)
        saved.append(state.rounds)
        if len(saved) == 1:
            raise Stop

    monkeypatch.setattr(descents.States, "save", stopping)
    with pytest.raises(Stop):
        collection.learn("ranked-cca", settings=settings)
    assert list(collection.store.scratch.folder.iterdir())
    gone_on = collection.learn("ranked-cca", settings=settings)
    assert saved[1] > 1  # not from the first round again
    assert not list(collection.store.scratch.folder.iterdir())
    first, second = (collection.store.models.load(m.id)[0] for m in (whole, gone_on))
    for name in ("wq", "w", "wv"):
        np.testing.assert_allclose(first[name], second[name], rtol=1e-10)


def test_a_model_of_another_space_is_not_served(worded, collection, tmp_path):
    file = worded.models.write(worded.models.active("text").id, tmp_path / "words.safetensors")
    with pytest.raises(likewise.types.SpaceMismatch):
        collection.models.read(file)
    copy = worded.models.read(file)
    assert worded.search(text="red", model=copy.id, k=5).reader.startswith(str(copy.id))
    with pytest.raises(NotFound):
        worded.search(text="red", model=999)
