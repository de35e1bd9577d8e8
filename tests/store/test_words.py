"""Words: whatever a person types finds what it should and breaks nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.store import Described, Result, Store, Text
from likewise.store.fulltext import build_query
from likewise.types import BadInput
from tests.store.conftest import add


@pytest.fixture
def library(store: Store) -> Store:
    return furnish(store)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The same library for tests that only read."""
    with Store.open(tmp_path_factory.mktemp("words") / "data", create=True) as store:
        yield furnish(store)


def furnish(store: Store) -> Store:
    add(store, [b"holiday/IMG_1234.jpg", b"work/caf\xc3\xa9 menu.png", b"a\xff\n/strange.gif"])
    pending = store.contents.pending()
    store.contents.record(
        [
            Result(
                pending[0].content,
                tags=[Text("beach", "embedded"), Text("seashore", "auto", 0.9)],
                captions=[Text("The old lighthouse at dusk", "embedded")],
                metadata={"camera": {"maker": "Nikon"}, "iso": 400, "flash": True},
            ),
            Result(pending[1].content, tags=[Text("beach wagon", "auto", 0.4)]),
        ],
        {"deep": np.ones((2, 3))},
    )
    return store


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("img 1234", [1]),
        ("IMG_1234.jpg", [1]),
        ("cafe", [2]),
        ("CAFÉ", [2]),
        ("holi", [1]),
        ("light dusk", [1]),
        ('"old lighthouse"', [1]),
        ('"lighthouse old"', []),
        ("nikon 400", [1]),
        ("beach", [1, 2]),
        ("beach -wagon", [1]),
        ("beach -", [1, 2]),
        ("strange", [3]),
        ("lighthouse menu", []),
        ("", []),
        ("-beach", []),
        ("!?*", []),
    ],
)
def test_what_is_found(shared: Store, text: str, expected: list[int]) -> None:
    hits = shared.words.search(text, 10)
    assert sorted(hits.ids.tolist()) == expected
    assert (np.diff(hits.scores) <= 0).all()


def test_a_persons_tag_outranks_an_automatic_one(shared: Store) -> None:
    assert shared.words.search("beach", 10).ids.tolist() == [1, 2]


def test_whole_words_come_before_beginnings_and_plurals_count(store: Store) -> None:
    add(store, [b"1.jpg", b"2.jpg", b"3.jpg", b"4.jpg", b"5.jpg", b"6.jpg"])
    tags = {1: "bush", 2: "bus", 3: "buses", 4: "red bus", 5: "red", 6: "women"}
    store.texts.describe([Described(item, [tag]) for item, tag in tags.items()])
    assert set(store.words.search("bus", 10).ids.tolist()) == {2, 3, 4}
    assert set(store.words.search("bu", 10).ids.tolist()) == {1, 2, 3, 4}
    assert store.words.search("red buses", 10, any_word=True).ids.tolist() == [4]
    assert set(store.words.search("red boats", 10, any_word=True).ids.tolist()) == {4, 5}
    assert store.words.search("woman", 10).ids.tolist() == [6]


def test_automatic_tags_match_whole_words_the_surest_first(store: Store) -> None:
    add(store, [b"1.jpg", b"2.jpg", b"3.jpg"])
    pending = store.contents.pending()
    tags = [("school bus", 0.2), ("school bus", 0.9), ("African bush elephant", 0.99)]
    store.contents.record(
        [Result(p.content, tags=[Text(t, "auto", s)]) for p, (t, s) in zip(pending, tags)],
        {"deep": np.ones((3, 3))},
    )
    items = [p.item for p in pending]
    assert store.words.search("bus", 10).ids.tolist() == [items[1], items[0]]
    assert len(store.words.search("bus", 10, automatic=False).ids) == 0


def test_any_word_and_among(shared: Store) -> None:
    any_of = shared.words.search("lighthouse menu", 10, any_word=True)
    assert sorted(any_of.ids.tolist()) == [1, 2]
    only = shared.words.search("beach", 1, among=np.array([2, 3]))
    assert only.ids.tolist() == [2]


AWFUL = ['"', '""', "a AND", "NEAR(", "name:", "*", "a*b", "(", "x'y;--", "^beach", "\0", "{}", "-"]


@pytest.mark.parametrize("text", AWFUL)
def test_no_character_has_a_meaning_of_its_own(shared: Store, text: str) -> None:
    shared.words.search(text, 5)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
def test_no_text_breaks_the_search(shared: Store, text: str) -> None:
    hits = shared.words.search(text.encode("utf-8", "replace").decode(), 5)
    assert set(hits.ids.tolist()) <= {1, 2, 3}


words = st.sampled_from(
    ["beach", "lighthouses", "light", "nik", "menu", "seashore", "zebra", "-old"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(words | st.text(max_size=8), max_size=4).map(" ".join))
def test_what_nobody_wrote_is_not_looked_for_and_would_not_be_found(
    shared: Store, text: str
) -> None:
    text = text.encode("utf-8", "replace").decode()
    found = shared.words.search(text, 5, any_word=True, automatic=False)
    if not shared.words.has(text):
        assert not len(found.ids)
        assert not any(len(shared.words.named(word)) for word in text.split())
    assert not shared.words.has("seashore")  # by the network alone
    assert shared.words.has("zebra lightho")


def test_queries_are_quoted() -> None:
    assert build_query("red OR blue", prefix=True) == '"red"* AND "OR"* AND "blue"*'
    assert build_query('"a b" -c', any_word=True) == '("a b") NOT (("c"))'


def test_texts_are_kept_with_their_source(library: Store) -> None:
    library.texts.describe([Described(1, ["Mine", "Mine"], ["My words"], {"place": "Brest"})])
    assert library.texts.tags(1) == [
        Text("Mine", "user"),
        Text("beach", "embedded"),
        Text("seashore", "auto", 0.9),
    ]
    assert [c.text for c in library.texts.captions(1)] == ["My words", "The old lighthouse at dusk"]
    assert library.texts.metadata(1)["place"] == "Brest"
    assert library.texts.metadata(1)["iso"] == 400
    assert library.words.search("brest mine", 5).ids.tolist() == [1]
    assert dict(library.texts.all_tags())["beach"] == 1
    library.texts.untag([1], ["mine"])
    assert len(library.words.search("mine", 5).ids) == 0
    with pytest.raises(BadInput, match="at least one letter"):
        library.texts.describe([Described(1, ["  "])])


def test_texts_of_a_content_reach_every_copy(library: Store) -> None:
    (copy,) = add(library, [b"copy.jpg"], content=b"holiday/IMG_1234.jpg")
    assert set(library.words.search("lighthouse", 5).ids.tolist()) == {1, copy}
    assert Text("beach", "embedded") in library.texts.tags(copy)


def test_halves_of_surrogates_in_metadata_do_no_harm(store: Store) -> None:
    add(store, [b"a.jpg"])
    (waiting,) = store.contents.pending()
    store.contents.record(
        [
            Result(
                waiting.content, tags=[Text("bad \udcff tag", "embedded")], metadata={"x": "\udcff"}
            )
        ]
    )
    assert store.words.search("tag", 5).ids.tolist() == [waiting.item]


@pytest.mark.slow
def test_a_hundred_thousand_items_answer_in_milliseconds(store: Store) -> None:
    import time

    paths = [b"folder%03d/IMG_%06d.jpg" % (i % 500, i) for i in range(100_000)]
    for k in range(0, len(paths), 10_000):
        add(store, paths[k : k + 10_000])
    times = []
    for i in range(50):
        start = time.perf_counter()
        assert len(store.words.search(f"img {i * 1999:06d}", 10).ids) == 1
        times.append(time.perf_counter() - start)
    assert np.median(times) < 0.1
