"""Columns that live long answer filters like fresh ones, and like the words of the filter."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from likewise.filters import Filter
from likewise.store import NO_FILE, Described, Result, Seen, Store
from likewise.store.migrations import KEPT
from tests.store.conftest import add, seen, vectors

FILTERS = (
    Filter(), Filter(formats=("jpeg",)), Filter(formats=("PNG", "GIF")), Filter(folder="a"),
    Filter(folder=b"a/b"), Filter(since="2010"), Filter(until="2009-05"), Filter(min_pixels=300),
    Filter(max_pixels=300), Filter(min_bytes=6, max_bytes=7), Filter(states=("removed", "seen")),
    Filter(states=("indexed",), folder="a"), Filter(tags=("red",)), Filter(without_tags=("RED",)),
    Filter(folder="a", formats=("JPEG",), since="2005-01-01", max_pixels=5_000),
)  # fmt: skip


def describe(store: Store, rng: np.random.Generator) -> None:
    """Facts of many kinds, or none, for everything that waits."""
    pending = store.contents.pending(1_000)
    facts = [
        Result(
            p.content, width=int(rng.integers(5, 40)), height=20,
            format=str(rng.choice(["JPEG", "PNG"])),
            taken=None if rng.random() < 0.3 else f"20{rng.integers(0, 20):02d}-05-01T10:00:00",
        )
        for p in pending
    ]  # fmt: skip
    if pending:
        store.contents.record(facts, {"deep": vectors(pending)})


def act(store: Store, rng: np.random.Generator, step: int) -> None:
    """One thing that may happen to items."""
    known = [item.id for item in store.items.latest(50)]
    some = rng.choice(known, min(3, len(known)), replace=False).tolist() if known else []
    what = rng.choice(["add", "describe", "remove", "rename", "trouble", "tag", "time", "undo"])
    folder = str(rng.choice(["", "a/", "a/b/", "ab/"]))
    if what == "add":
        add(store, [f"{folder}{step}-{n}.jpg".encode() for n in range(3)])
    elif what == "describe":
        describe(store, rng)
    elif what == "remove":
        store.items.remove(some)
    elif what == "rename":
        store.items.rename([(item, f"{folder}moved-{step}-{item}".encode()) for item in some])
    elif what == "trouble":
        store.items.trouble([(item, "It cannot be read.") for item in some])
    elif what == "tag" and some:
        store.texts.describe([Described(item, tags=["red"]) for item in some])
    elif what == "time":
        store.items.see([seen(store.items.get(i).path, mtime_ns=10**18 + step) for i in some])
    else:
        with contextlib.suppress(ZeroDivisionError), store.transaction():
            add(store, [f"undone-{step}.jpg".encode()])
            store.items.matching(Filter())
            raise ZeroDivisionError


@pytest.mark.parametrize("seed", range(4))
def test_columns_that_live_long_answer_like_fresh_ones(folder, seed):
    rng = np.random.default_rng(seed)
    with Store.open(folder, create=True) as store, Store.open(folder) as reader:
        for step in range(25):
            act(store, rng, step)
            with Store.open(folder) as fresh:
                counts = fresh.items.counts()
                for one in (store, reader):
                    assert one.items.counts() == counts
                    for wanted in FILTERS:
                        found = one.items.matching(wanted).tolist()
                        assert found == fresh.items.matching(wanted).tolist(), (wanted, step)


def test_a_filter_means_what_it_says(store):
    add(store, [b"a/1.jpg", b"a/b/2.jpg", b"ab/3.jpg", b"4.jpg"])
    pending = store.contents.pending(10)
    shapes = [(10, "JPEG", "2010-05-01T10:00:00"), (20, "PNG", "2011-01-01T00:00:00"),
              (30, "jpeg", None), (None, None, "2009-12-31T23:59:59")]  # fmt: skip
    facts = [
        Result(p.content, width=w, height=w, format=f, taken=t)
        for p, (w, f, t) in zip(pending, shapes)
    ]
    store.contents.record(facts, {"deep": vectors(pending)})
    for wanted, right in (
        (Filter(folder="a"), [1, 2]),
        (Filter(folder="a/b/"), [2]),
        (Filter(formats=("Jpeg",)), [1, 3]),
        (Filter(since="2010"), [1, 2]),
        (Filter(until="2010"), [1, 3, 4]),
        (Filter(since="2010-05-01T10:00", until="2010-05-01T10:00"), [1]),
        (Filter(min_pixels=0), [1, 2, 3]),
        (Filter(max_pixels=400), [1, 2]),
        (Filter(formats=("TIFF",)), []),
    ):
        assert store.items.matching(wanted).tolist() == right, wanted


def test_what_nobody_changed_is_the_same_array(store):
    add(store, [b"1.jpg", b"2.jpg"])
    wanted = Filter(folder="")
    first = store.items.matching(wanted)
    assert store.items.matching(wanted) is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 5
    add(store, [b"3.jpg"])
    assert store.items.matching(wanted).tolist() == [1, 2, 3]


def test_the_log_of_touched_items_stays_short_and_says_when_it_ends(store):
    ids = add(store, [b"1.jpg", b"2.jpg"])
    number = store.catalogue.changes()[0]
    store.items.remove(ids[:1])
    assert store.catalogue.touched(number).tolist() == [1]
    store.settings.set("weights", {"deep": 1.0})
    assert store.catalogue.touched(number) is None
    assert store.catalogue.touched(number, framed=False).tolist() == [1]
    with store.transaction() as db:
        db.execute("UPDATE changes SET number = number + ?", (KEPT,))
    assert store.catalogue.touched(number, framed=False) is None
    store.items.remove(ids[1:])
    with store.snapshot() as db:
        assert db.execute("SELECT COUNT(*) FROM touched").fetchone()[0] <= 2


def test_no_scan_misses_an_item_without_a_file(store):
    store.items.see([Seen(b"named", 0, NO_FILE, bytes(32)), seen(b"1.jpg")])
    found = store.items.compare([])
    assert found.missing.tolist() == [2]
