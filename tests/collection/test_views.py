"""A view that lives long answers like a fresh one, whatever happens beside it."""

from __future__ import annotations

import gc
import multiprocessing
import threading
import time
import traceback
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import likewise
from likewise.collection import Collection
from likewise.store import checks
from tests.collection.plain_store import embed, make, seen

# -- the counter -----------------------------------------------------------------


def test_what_changes_nothing_is_not_counted(tmp_path):
    with make(tmp_path / "pictures", 5) as collection:
        store = collection.store
        before = store.catalogue.changes()
        store.items.see([seen(f"{i}.png", f"content {i}") for i in range(5)])
        store.items.remove([])
        store.settings.set("weights", store.settings.get("weights"))
        store.settings.set("gps", True)
        assert collection.build() == collection.look.view().generation
        assert store.catalogue.changes() == before


def test_a_transaction_that_is_undone_leaves_no_snapshot_behind(tmp_path):
    with make(tmp_path / "pictures", 5) as collection:
        store = collection.store

        def fail() -> None:
            with store.transaction():
                store.items.remove([1])
                assert not collection.look.view().holds(1)
                raise RuntimeError("enough")

        with pytest.raises(RuntimeError, match="enough"):
            fail()
        store.items.remove([2])
        assert collection.look.view().holds(1)
        assert not collection.look.view().holds(2)


def test_opening_reads_only_the_items_that_changed_since_the_index_was_built(tmp_path, monkeypatch):
    with make(tmp_path / "pictures", 9) as collection:
        store = collection.store
        collection.build()
        store.items.see([seen("new.png", "content new"), seen("0.png", "content 8", time=9)])
        embed(store)
        store.items.remove([2])
        store.forget([3])
        right = collection.look.view()
        described, asked = store.items.described, []

        def some(self: Any, ids: Any = None) -> Any:
            assert ids is not None, "every item was listed"
            asked.append(len(ids))
            return described(ids)

        monkeypatch.setattr(type(store.items), "described", some)
        with likewise.open(tmp_path / "pictures") as fresh:
            view = fresh.look.view()
            assert view.ids.tolist() == right.ids.tolist() == [1, 4, 5, 6, 7, 8, 9, 10]
            assert view.contents.tolist() == right.contents.tolist()
            assert view.rows(view.ids).tobytes() == right.rows(right.ids).tobytes()
        assert asked == [4]


# -- random sequences ------------------------------------------------------------


class Play:
    """One collection to which things happen, a long-lived reader of it, and fresh ones."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, np.random.default_rng(seed)
        self.writer = make(folder, 8)
        self.reader = likewise.open(folder)
        self.number = 8

    def close(self) -> None:
        self.reader.close()
        self.writer.close()

    def some(self, count: int, state: str = "present") -> list[Any]:
        with self.writer.store.snapshot() as db:
            last = db.execute("SELECT MAX(id) FROM items").fetchone()[0]
        items = self.writer.store.items
        found = [
            i
            for i in items.many(range(1, last + 1))
            if (i.state == "removed") != (state == "present")
        ]
        if len(found) < count + (state == "present"):
            return []
        return [found[at] for at in self.random.choice(len(found), count, replace=False)]

    def again(self, item: Any, content: str | None = None) -> likewise.store.Seen:
        """An item's file as a scan finds it."""
        made = seen(item.file, content or "")
        time_ns = int(self.random.integers(1, 2**40))
        return made._replace(mtime_ns=time_ns, sha256=bytes.fromhex(item.sha256))

    # what may happen

    def add(self) -> None:
        self.number += 1
        content = f"content {self.random.integers(self.number)}"
        self.writer.store.items.see([seen(f"{self.number}.png", content)])
        embed(self.writer.store)

    def remove(self) -> None:
        self.writer.store.items.remove([i.id for i in self.some(1)])

    def come_back(self) -> None:
        self.writer.store.items.see([self.again(i) for i in self.some(1, "removed") if i.sha256])
        embed(self.writer.store)

    def exchange(self) -> None:
        """One leaves and another comes back, in one step: sums cancel out."""
        back = [i for i in self.some(1, "removed") if i.sha256]
        with self.writer.store.transaction():
            self.writer.store.items.remove([i.id for i in self.some(1)])
            self.writer.store.items.see([self.again(i) for i in back])
        embed(self.writer.store)

    def swap(self) -> None:
        two = self.some(2)
        if two:
            one, other = two
            changed = [
                self.again(one)._replace(sha256=bytes.fromhex(other.sha256)),
                self.again(other)._replace(sha256=bytes.fromhex(one.sha256)),
            ]
            self.writer.store.items.see(changed)

    def rename(self) -> None:
        self.number += 1
        name = f"renamed {self.number}.png".encode()
        self.writer.store.items.rename([(i.id, name) for i in self.some(1)])

    def forget(self) -> None:
        gone = self.some(1)
        if gone:
            self.writer.store.forget([gone[0].id])

    def build(self) -> None:
        self.writer.build()

    STEPS = ("add", "remove", "come_back", "exchange", "swap", "rename", "forget", "build")

    def step(self) -> str:
        name = str(self.random.choice(self.STEPS))
        getattr(self, name)()
        return name

    # what must hold

    def compare(self, told: list[str]) -> None:
        with likewise.open(self.folder) as fresh, likewise.open(self.folder) as whole:
            whole.look._after = lambda *_: None  # lists every item, whatever changed
            right = facts(whole)
            for other in (self.writer, self.reader, fresh):
                for name, value in facts(other).items():
                    assert value == right[name], (name, told)


def facts(collection: Collection) -> dict[str, Any]:
    """What a collection answers: items, codes, words, first hits, and how it marks them."""
    snapshot, view = collection.look.view(), collection.objects.view()
    ids, codes = snapshot.all_rows()
    answers = [collection.search(item, k=5) for item in ids[:2].tolist()]
    return {
        "ids": ids.tolist(),
        "codes": codes.tobytes(),
        "hits": [(a.paths, a.scores.tolist(), a.generation, a.degraded) for a in answers],
        "degraded": snapshot.degraded,
        "generation": snapshot.generation,
        "complete": snapshot.is_complete,
        "words": sorted(zip(view.ids.tolist(), view.contents.tolist())),
        "counts": view.rows(view.ids[:4]).toarray().tolist(),
    }


def play(folder: Path, sequences: int, steps: int) -> None:
    """Sequences of steps, each compared; a new collection for every twenty of them."""
    for seed in range(0, sequences, 20):
        game = Play(folder / str(seed), seed)
        try:
            for _ in range(min(20, sequences - seed)):
                told: list[str] = []
                for _ in range(steps):
                    told.append(game.step())
                    game.compare(told)
        finally:
            game.close()


def test_a_view_that_lives_long_answers_like_a_fresh_one(tmp_path):
    play(tmp_path, sequences=60, steps=4)


@pytest.mark.slow
def test_a_thousand_sequences(tmp_path):
    play(tmp_path, sequences=1_000, steps=12)


# -- readers beside a writer -----------------------------------------------------

KEPT = 4
"""Items that are never forgotten, so that every search for one must succeed."""


def search_on(collection: Collection, over: Any, errors: Any) -> int:
    """Search until told to stop; errors go into a list or a queue."""
    done = 0
    while not over.is_set() or not done:
        try:
            answer = collection.search(1 + done % KEPT, k=5)
            assert len(set(answer.paths)) >= 2  # what was just forgotten may be missing
            assert np.isfinite(answer.scores).all()
            view = collection.objects.view()
            assert len(view) >= KEPT
            assert collection.search(1 + done % KEPT, k=3, line="objects").results
        except Exception:
            errors.put(traceback.format_exc())
            return done
        done += 1
    return done


def other_process(folder: str, over: Any, errors: Any, done: Any) -> None:
    with likewise.open(folder) as collection:
        done.put(search_on(collection, over, errors))


def beside(folder: Path, seconds: float) -> dict[str, int]:
    """Readers in threads and another process beside a writer that adds, forgets and publishes."""
    spawn = multiprocessing.get_context("spawn")
    over, errors, counts = spawn.Event(), spawn.Queue(), spawn.Queue()
    rounds = 0
    with make(folder, 40) as writer, likewise.open(folder) as reader:
        child = spawn.Process(target=other_process, args=(str(folder), over, errors, counts))
        child.start()
        threads = [
            threading.Thread(target=lambda c=c: counts.put(search_on(c, over, errors)))
            for c in (writer, reader, reader)
        ]
        for thread in threads:
            thread.start()
        try:
            until = time.monotonic() + seconds
            while (time.monotonic() < until or rounds < 3) and errors.empty():
                rounds += 1
                names = [f"new {rounds} {n}.png" for n in range(3)]
                added = writer.store.items.see([seen(name, name) for name in names])
                embed(writer.store)
                if rounds % 2:
                    writer.build()
                writer.forget(added)  # publishes an index without them
        finally:
            over.set()
            for thread in threads:
                thread.join()
            searches = sum(counts.get(timeout=120) for _ in range(4))
            child.join()
    assert errors.empty(), errors.get()
    return {"rounds": rounds, "searches": searches}


def test_readers_beside_a_writer_that_forgets_see_no_error(tmp_path):
    done = beside(tmp_path / "pictures", seconds=20)
    assert done["searches"] >= 4  # a thread or process that never found a moment gives none


@pytest.mark.slow
def test_readers_beside_a_writer_for_ten_minutes(tmp_path):
    print(beside(tmp_path / "pictures", seconds=600))


def test_a_scan_is_mapped_once_also_while_it_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "pictures", 30).close()
    monkeypatch.setattr(checks, "AT_ONCE", 0)
    checks._compared.clear()
    with Collection.open(tmp_path / "pictures") as collection:
        first = collection.look.view(checked=False)
        index = first.old.index
        second = collection.look.view()
        assert first.check is not None
        assert second.check is None
        assert second.old.index is index


def test_a_part_goes_with_its_view_and_not_later(tmp_path: Path) -> None:
    with make(tmp_path / "pictures", 30) as collection:
        view = collection.look.view()
        collection.search(1)
        part = weakref.ref(view.old)
        gc.disable()
        try:
            collection.store.generations.withdraw()
            assert collection.look.view().generation == 0
            del view
            assert part() is None
        finally:
            gc.enable()
