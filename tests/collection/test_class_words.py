"""Words find pictures that nobody described: by class names and colours, from the first minute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import likewise
from likewise.collection import Options
from likewise.collection.lines import meanings
from likewise.features.class_names import class_names
from likewise.store import Result
from tests.collection.plain_store import seen
from tests.laws.test_line_laws import sums_up

SHOWN = ("school bus", "African bush elephant", "daisy", "beach", "pizza", "red fox")
EACH = 12
COLOURED = {"red": 11, "blue": 31}


def kind_of(path: str) -> str:
    """What is shown; names must not tell it to full text."""
    return SHOWN["uvwxyz".index(path[0])]


def colour_of(path: str) -> str:
    return list(COLOURED)["pq".index(path[1])]


def made(folder, blocks=("logits", "colour")):
    """A collection of vectors: what the network would say, every other one red or blue."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    collection = likewise.open(folder, create=True)
    store = collection.store
    store.settings.set("features", list(blocks))
    names = [f"{shown}{colour}-{at}" for shown in "uvwxyz" for at in range(EACH) for colour in "pq"]
    store.items.see([seen(f"{name}.png", name) for name in names])
    pending = store.contents.pending(1_000)
    paths = {row.sha256: row.content for row in pending}
    order = {seen(f"{n}.png", n).sha256.hex(): n for n in names}
    logits, colours = [], []
    for sha in paths:
        name = order[sha]
        row = rng.normal(0, 0.1, 1000)
        row[class_names().index(kind_of(name))] += 8
        logits.append(row)
        bins = rng.random(36) * 0.2
        bins[COLOURED[colour_of(name)]] += 0.7
        colours.append(np.tile(bins, 4))
    every = {"logits": np.array(logits, np.float32), "colour": np.array(colours, np.float32)}
    results = [Result(c, width=8, height=8, format="PNG") for c in paths.values()]
    store.contents.record(results, {block: every[block] for block in blocks})
    collection.build()
    return collection


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    with made(tmp_path_factory.mktemp("shown") / "pictures") as collection:
        yield collection


@pytest.mark.parametrize(
    ("text", "kind"),
    [("bus", "school bus"), ("elephants", "African bush elephant"), ("flowers", "daisy"),
     ("food", "pizza"), ("the beach", "beach")],
)  # fmt: skip
def test_words_find_what_nobody_described(shown, text, kind):
    answer = shown.search(text=text, k=10, model=None)
    assert {kind_of(path) for path in answer.paths} == {kind}
    assert all("class names" in r.found_by for r in answer)
    assert answer.reader == "class names"
    assert not answer.notes
    # Full text found nothing, so that the words' own scores stand, best first.
    told = shown.why(shown.query(text=text), answer[0].item)
    assert answer[0].score == pytest.approx(told["score"], rel=1e-4)
    assert "fused" not in told


def test_why_names_the_classes_that_spoke_and_sums_up(shown):
    for query in (shown.query(text="red flower"), shown.query(3, "flower")):
        for result in shown.ask(query, k=6):
            told = sums_up(shown, query, result)
            assert "text" in told["parts"]
    first = shown.search(text="red flower", k=5)
    told = shown.why(shown.query(text="red flower"), int(first.ids[0]))
    assert set(told["looks_like"]) >= {"daisy", "red"}
    assert shown.why(shown.query(3), 4)["looks_like"] == []


def test_a_colour_and_a_thing_add(shown):
    for colour in COLOURED:
        answer = shown.search(text=f"{colour} flower", k=8)
        assert {(kind_of(p), colour_of(p)) for p in answer.paths} == {("daisy", colour)}


def test_words_add_to_a_picture(shown):
    bus = next(i for i in shown.items.contents() if kind_of(shown.item(i).file) == SHOWN[0])
    both = shown.search(bus, text="elephant", k=24)
    kinds = [kind_of(path) for path in both.paths]
    assert {"school bus", "African bush elephant"} <= set(kinds)
    assert "daisy" not in kinds


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("elefant", "elephant"), ("the of and", "name what is to be seen"),
     ("🐶", "name what is to be seen"), ("Schmetterling", "schmetterling")],
)  # fmt: skip
def test_what_is_not_understood_is_said_in_one_sentence(shown, text, sentence):
    answer = shown.search(text=text)
    (note,) = answer.notes
    assert sentence in note
    assert note.endswith(".")


@pytest.mark.parametrize(
    "text",
    ["Hund, собака, 狗", "ein Hund am Strand 🏖", "dgo", "a" * 5_000, "\u202e\x00 '; zzyzx --qq"],
)
def test_other_languages_and_odd_letters_are_named_as_unknown(shown, text):
    """What is known is found all the same; the others are named, one sentence in all."""
    unknown = shown.search(text=text, k=5)
    both = shown.search(text=f"{text} pizza", k=5)
    assert len(unknown.notes) == len(both.notes) == 1
    assert "Nothing is known of these words" in both.notes[0]
    assert len(both.notes[0]) < 200
    assert {kind_of(path) for path in both.paths} == {"pizza"}


def test_what_nothing_here_shows_is_said(shown):
    (note,) = shown.search(text="violin").notes
    assert note.startswith("Probably nothing here shows violin")
    assert len(shown.search(text="violin", k=5)) == 5


def test_a_word_with_no_class_near_it_says_so(shown):
    answer = shown.search(text="red democracy", k=5)
    assert answer.notes == (
        "No class of the network is near democracy; what comes nearest may be far off.",
    )
    assert len(answer) == 5
    assert not shown.search(text="red pizza").notes


def test_without_the_networks_classes_colours_still_speak(tmp_path):
    with made(tmp_path / "pictures", ("colour",)) as collection:
        answer = collection.search(text="red", k=10)
        assert {colour_of(path) for path in answer.paths} == {"red"}
        (note,) = collection.search(text="zebra").notes
        assert "without the network's classes" in note


def test_vectors_of_another_size_are_somebodys_own(tmp_path):
    (tmp_path / "pictures").mkdir()
    with likewise.open(tmp_path / "pictures", create=True) as collection:
        store = collection.store
        store.settings.set("features", ["colour"])
        store.items.see([seen(f"{at}.png", str(at)) for at in range(8)])
        contents = [p.content for p in store.contents.pending(8)]
        vectors = np.random.default_rng(0).random((8, 7)).astype(np.float32)
        results = [Result(c, width=8, height=8, format="PNG") for c in contents]
        store.contents.record(results, {"colour": vectors})
        collection.build()
        (note,) = collection.search(text="red").notes
        assert "without the network's classes" in note


def test_an_index_without_meanings_reads_words_all_the_same(tmp_path):
    """As one of an earlier version: they are fitted where they are first needed."""
    with made(tmp_path / "pictures") as collection:
        before = collection.search(text="bus", k=10)
        generation = collection.store.generations.current()
        (generation.folder / meanings.FILE).unlink()
        collection.look._meanings.clear()
        after = collection.search(text="bus", k=10)
        assert after.ids.tolist() == before.ids.tolist()
        np.testing.assert_allclose(after.scores, before.scores, rtol=1e-4)


def right(answer, kind, most=20):
    return sum(kind_of(path) == kind for path in answer.paths[:most])


def test_marks_move_a_text_at_once_and_what_is_crossed_leaves(tmp_path):
    with made(tmp_path / "pictures") as collection:
        query = collection.query(text="red")
        before = collection.ask(query, k=144)
        wrong = [r.item for r in before if kind_of(r.path) == "school bus"][:3]
        meant = next(r.item for r in before if kind_of(r.path) == "red fox")
        collection.mark(query, wrong, False)
        crossed = collection.ask(query, k=144)
        assert crossed.marks == 3
        assert not set(wrong) & set(crossed.ids.tolist())
        assert right(crossed, "school bus") < right(before, "school bus")
        collection.mark(query, [meant])
        after = collection.ask(query, k=20)
        assert right(after, "red fox", 10) >= 7 > right(before, "red fox", 10)
        for result in after.results[:5]:
            told = sums_up(collection, query, result)
            assert set(told["parts"]) == {"text", "marks"}
        assert collection.ask(query, k=144, marks=False).ids.tolist() == before.ids.tolist()


def test_the_number_of_a_file_teaches_nothing(shown):
    answer = shown.search(text="7", k=20)
    assert len(answer) == 12
    assert all(Path(path).stem.endswith("-7") for path in answer.paths)
    assert {r.found_by for r in answer} == {("words",)}
    assert not answer.notes


def test_own_captions_take_over_from_the_first_one(tmp_path):
    with made(tmp_path / "pictures") as collection:
        (note,) = collection.search(text="zorgl").notes
        assert "zorgl" in note
        pizzas = [
            i for i in collection.items.contents() if kind_of(collection.item(i).file) == "pizza"
        ]
        collection.tag(pizzas[:2], add=["zorgl"])
        answer = collection.search(text="zorgl", k=20)
        assert right(answer, "pizza") >= 19
        assert not answer.notes
        assert {"learned words"} <= set(answer[10].found_by)
        foxes = [
            i for i in collection.items.contents() if kind_of(collection.item(i).file) == "red fox"
        ]
        collection.tag(foxes[:8], add=["flower"])
        taught = collection.search(text="flowers", k=30)
        assert right(taught, "red fox", 30) >= 20


def test_results_that_were_opened_count_at_once_and_less_than_marks(tmp_path):
    with made(tmp_path / "pictures") as collection:
        query = collection.query(text="red")
        before = collection.ask(query, k=144)
        foxes = [r.item for r in before if kind_of(r.path) == "red fox"]
        records = [collection.click(query, item) for item in (foxes[0], foxes[0], foxes[1])]
        opened = collection.ask(query, k=144)
        assert opened.marks == 0
        assert right(opened, "red fox", 10) > right(before, "red fox", 10)
        for result in opened.results[:3]:
            assert set(sums_up(collection, query, result)["parts"]) == {"text", "opened"}
        vectors = [asked(collection, query)]
        records.append(collection.click(query, foxes[1]))  # once more says nothing more
        vectors.append(asked(collection, query))
        np.testing.assert_array_equal(*vectors)
        for record in records:
            collection.undo(record)
        assert collection.ask(query, k=144).ids.tolist() == before.ids.tolist()
        collection.click(query, foxes[0])
        collection.mark(query, [foxes[0]], False)  # a mark says more
        assert foxes[0] not in collection.ask(query, k=144).ids


def asked(collection, query):
    return collection._search.understand(query, Options()).surrogate.vector


def test_ten_thousand_words_are_answered(shown):
    answer = shown.search(text="pizza xqz " * 5_000, k=5)
    assert {kind_of(path) for path in answer.paths} == {"pizza"}
    assert "xqz" in answer.notes[0]
