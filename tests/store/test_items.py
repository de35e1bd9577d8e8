"""Items: every name round trips, one state each, contents shared, scans compared in bulk."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise.filters import Filter
from likewise.store import Result, Seen, Store, Text, as_key, printable
from likewise.types import BadInput, NotFound
from tests.store.conftest import add, embed, seen

AWKWARD = [
    b"plain.jpg",
    b"line\nbreak\r.jpg",
    "emoji \U0001f431/\U0001f697.png".encode(),
    b"not \xff\xfe utf-8/\x80.jpg",
    b"quote'\"`;--.jpg",
    b"x" * 255,
    b"deep/" * 200 + b"name.jpg",
    b" leading and trailing ",
    b"\x01\x1b[31m.jpg",
    "éèü 漢字 \u202e.jpg".encode(),
    b"%s %d {} ?.jpg",
]


def test_awkward_names_round_trip(store: Store) -> None:
    ids = add(store, AWKWARD)
    assert len(set(ids)) == len(AWKWARD)
    for item, path in zip(ids, AWKWARD):
        found = store.items.get(item)
        assert found.path == path
        assert os.fsencode(found.file) == path
        assert store.items.find(found.file).id == item
        assert found.name.isprintable()
        found.name.encode("utf-8")
    assert store.items.paths(ids) == dict(zip(ids, AWKWARD))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(min_size=1, max_size=255).filter(lambda b: b"\0" not in b))
def test_any_bytes_are_a_name(store: Store, path: bytes) -> None:
    (item,) = store.items.see([Seen(path, 3, 4)])
    assert store.items.get(item).path == path
    assert as_key(os.fsdecode(path)) == path
    assert printable(path).isprintable()


@pytest.mark.parametrize("path", ["", b"a\0b"])
def test_impossible_names_are_refused(path: bytes) -> None:
    with pytest.raises(BadInput, match="zero byte"):
        as_key(path)


def test_seeing_twice_changes_nothing(store: Store) -> None:
    first = add(store, AWKWARD)
    before = store.items.many(first)
    assert add(store, AWKWARD) == first
    assert store.items.many(first) == before


def test_states_follow_the_facts(store: Store) -> None:
    store.items.see([Seen(b"hashless.jpg", 1, 1)])
    add(store, [b"a.jpg", b"b.jpg", b"bad.jpg", b"gone.jpg", b"unreadable.jpg"])
    waiting = {p.path: p for p in store.contents.pending()}
    store.contents.record([Result(waiting[b"bad.jpg"].content, problem="It is cut short.")])
    good = [waiting[b"a.jpg"], waiting[b"b.jpg"]]
    store.contents.record([Result(p.content, width=2, height=1) for p in good])
    assert store.items.find("a.jpg").state == "decoded"
    segment = store.segments.append([good[0].content], {"deep": np.ones((1, 4))})
    assert store.items.find("a.jpg").state == "embedded"
    with store.generations.build() as aside:
        (aside / "f").write_bytes(b"x")
        store.generations.publish(aside, space="s", kind="flat", segment=segment, items=1)
    store.items.remove([store.items.find("gone.jpg").id])
    store.items.trouble([(store.items.find("unreadable.jpg").id, "No permission.")])
    expected = {
        "a.jpg": ("indexed", ""),
        "b.jpg": ("decoded", ""),
        "bad.jpg": ("problem", "It is cut short."),
        "gone.jpg": ("removed", ""),
        "unreadable.jpg": ("problem", "No permission."),
        "hashless.jpg": ("seen", ""),
    }
    for path, (state, reason) in expected.items():
        item = store.items.find(path)
        assert (item.state, item.reason) == (state, reason), path
    counts = store.items.counts()
    assert sum(counts.values()) == len(expected)
    assert {i.file for i in store.items.problems()} == {"bad.jpg", "unreadable.jpg"}
    assert store.contents.retry() == 1
    assert store.items.find("bad.jpg").state == "seen"


def test_copies_and_renames_are_not_embedded_again(store: Store) -> None:
    add(store, [b"one.jpg"], content=b"same")
    assert len(embed(store)) == 1
    add(store, [b"copy/one.jpg", b"renamed.jpg"], content=b"same")
    assert store.contents.pending() == []
    items = [store.items.find(p) for p in ("one.jpg", "copy/one.jpg", "renamed.jpg")]
    assert len({item.content for item in items}) == 1
    assert {item.state for item in items} == {"embedded"}


def test_a_rename_keeps_the_id_and_its_judgements(store: Store) -> None:
    (item,) = add(store, [b"old.jpg"])
    digest = bytes.fromhex(store.items.get(item).sha256)
    assert store.items.by_content([digest]) == {digest: [item]}
    store.items.rename([(item, b"new/name.jpg")])
    assert store.items.find("new/name.jpg").id == item
    assert store.words.search("name", 5).ids.tolist() == [item]
    assert len(store.words.search("old", 5).ids) == 0
    add(store, [b"taken.jpg"])
    with pytest.raises(BadInput, match="there already"):
        store.items.rename([(item, b"taken.jpg")])
    assert store.items.get(item).path == b"new/name.jpg"


def test_a_scan_is_compared_without_changing_anything(store: Store) -> None:
    ids = add(store, [b"same", b"grown", b"touched", b"missing", b"removed"])
    store.items.remove([ids[4]])
    before = store.items.many(ids)
    scan = [
        seen(b"same"),
        seen(b"grown", b"longer than before"),
        seen(b"touched", mtime_ns=2),
        seen(b"new"),
        seen(b"removed"),
    ]
    found = store.items.compare(scan)
    assert [f.path for f in found.new] == [b"new"]
    assert [f.path for f in found.changed] == [b"grown", b"touched"]
    assert [f.path for f in found.returned] == [b"removed"]
    assert found.missing.tolist() == [ids[3]]
    assert (found.unchanged, found.known) == (1, 4)
    assert store.items.many(ids) == before


def test_a_changed_file_loses_its_content_until_it_is_hashed(store: Store) -> None:
    (item,) = add(store, [b"a.jpg"])
    embed(store)
    store.items.see([Seen(b"a.jpg", 99, 7)])
    assert store.items.get(item).state == "seen"
    assert store.contents.pending() == []
    store.items.see([seen(b"a.jpg", b"other bytes")])
    assert [p.item for p in store.contents.pending()] == [item]
    embed(store)
    assert store.items.get(item).state == "embedded"


def test_a_removed_file_that_returns_needs_no_work(store: Store) -> None:
    (item,) = add(store, [b"cat.jpg"])
    embed(store)
    store.items.remove([item])
    assert store.items.contents() == {}
    assert len(store.words.search("cat", 5).ids) == 0
    assert add(store, [b"cat.jpg"]) == [item]
    assert store.items.get(item).state == "embedded"
    assert store.words.search("cat", 5).ids.tolist() == [item]


def test_unknown_items_are_named(store: Store) -> None:
    with pytest.raises(NotFound, match="item 77"):
        store.items.get(77)
    with pytest.raises(NotFound, match=r"nowhere\.jpg"):
        store.items.find("nowhere.jpg")
    assert store.items.many([77]) == []
    with pytest.raises(BadInput, match="32 bytes"):
        store.items.see([Seen(b"x", 1, 1, b"short")])


def test_filters_give_exactly_the_right_ids(store: Store) -> None:
    paths = [b"a/1.jpg", b"a/b/2.jpg", b"a0/3.jpg", b"4.jpg", b"ab.jpg"]
    ids = add(store, paths)
    pending = store.contents.pending()
    facts = [
        Result(p.content, width=w, height=10, format=f, taken=t, tags=[Text(tag, "auto", 0.5)])
        for p, w, f, t, tag in zip(
            pending,
            (10, 20, 30, 40, 50),
            ("JPEG", "PNG", "JPEG", "GIF", "JPEG"),
            ("2019-12-31T23:59:59", "2020-05-01T08:00:00", "2020-05-31T10:00:00", None, "2021"),
            ("Cat", "dog", "cat", "cat", "bird"),
        )
    ]
    store.contents.record(facts, {"deep": np.ones((5, 3))})

    def found(**wanted: object) -> list[int]:
        one = Filter(**wanted)  # type: ignore[arg-type]
        matching = store.items.matching(one).tolist()
        assert store.items.count(one) == len(matching)
        after, pages = 0, []
        while page := store.items.page(one, 2, after):
            pages += [item.id for item in page]
            after = pages[-1]
        assert pages == matching
        return [ids.index(i) + 1 for i in matching]

    store.items.page(Filter(), 2)
    assert not store.items._values, "a page of all is read by its key alone"
    assert found() == [1, 2, 3, 4, 5]
    assert found(folder="a") == found(folder="a/") == [1, 2]
    assert found(folder=b"a/b") == [2]
    assert found(folder="") == [1, 2, 3, 4, 5]
    assert found(tags=("CAT",)) == [1, 3, 4]
    assert found(without_tags=("cat",)) == [2, 5]
    assert found(tags=("cat", "dog")) == []
    assert found(since="2020", until="2020-05") == [2, 3]
    assert found(until="2019-12-31") == [1, 4]  # 4 has the time of its file, 1970
    assert found(since="2020-05-31T10:00", until="2020") == [3]
    assert found(formats=("jpeg",)) == [1, 3, 5]
    assert found(min_pixels=300, max_pixels=400) == [3, 4]
    assert found(min_bytes=8) == [2, 3] == found(min_bytes=8, max_bytes=9)
    store.items.remove([ids[0]])
    assert found(states=("removed",)) == [1]
    assert found(states=("embedded", "removed"), folder="a") == [1, 2]
    with pytest.raises(BadInput, match="not 'lost'"):
        found(states=("lost",))
    with pytest.raises(BadInput, match="Write a date"):
        found(since="yesterday")


def test_bulk_is_quick(store: Store) -> None:
    # Generous bounds for a busy machine; the ratio is what matters: comparing an unchanged
    # scan must cost a small part of inserting it.
    files = [seen(b"folder%02d/IMG_%05d.jpg" % (i % 50, i)) for i in range(10_000)]
    start = time.perf_counter()
    for k in range(0, len(files), 1000):
        store.items.see(files[k : k + 1000])
    inserting = time.perf_counter() - start
    comparing = np.inf
    for _ in range(3):
        start = time.perf_counter()
        assert store.items.compare(files).unchanged == len(files)
        comparing = min(comparing, time.perf_counter() - start)
    assert inserting < 10
    assert comparing < inserting / 2
