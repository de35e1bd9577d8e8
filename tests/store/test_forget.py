"""Forgetting: afterwards no file of the data folder holds a byte of the item."""

from __future__ import annotations

import os
import shutil
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from likewise.store import Described, Result, Store, Text, backup, verify
from likewise.types import Damaged, Judgement, NotFound, QueryRef
from tests.store.conftest import add, embed, vectors
from tests.store.test_crash import die_at
from tests.store.test_opening import in_child

SECRET, PLAIN = b"secrets/Zanzibar-4711.jpg", b"plain/other.jpg"
THUMB = b"\xff\xd8 the thumbnail of the secret"


def traces(folder: Path, needles: list[bytes]) -> list[tuple[str, bytes]]:
    """Which of the byte strings occur in which file, in any case."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            lower = data.lower()
            found += [
                (path.name, needle)
                for needle in needles
                if needle in data or needle.lower() in lower or needle in str(path).encode()
            ]
    return found


@pytest.fixture
def full(store: Store) -> tuple[Store, list[bytes]]:
    """A store with a secret in every corner, and the bytes to look for."""
    add(store, [SECRET, PLAIN, b"plain/third.jpg"])
    # Enough others that rows of the secret lie in pages that stay.
    add(store, [b"crowd/%04d.jpg" % i for i in range(500)])
    pending = store.contents.pending(1000)
    x = vectors(pending, 32)
    results = [Result(p.content, width=1, height=1) for p in pending]
    results[0] = Result(
        pending[0].content,
        camera="SecretCam",
        tags=[Text("sekrettag", "embedded")],
        captions=[Text("a caption of confidentiality", "embedded")],
        metadata={"note": "metasecret"},
        thumbnails={"s": THUMB},
    )
    store.contents.record(results, {"deep": x})
    store.texts.describe(
        [Described(1, ["ownsecrettag"], ["ownsecretcaption"], {"k": "sidesecret"})]
    )
    names = [path.decode() for path in (SECRET, PLAIN, b"plain/third.jpg")]
    store.judgements.add(
        [
            Judgement(QueryRef("item", names[0]), (names[1],), "label", person="a"),
            Judgement(QueryRef("item", names[1]), (names[0], names[2]), "label", person="b"),
            Judgement(QueryRef("item", names[1]), (names[0], names[2]), "ordering", person="c"),
            Judgement(QueryRef("item", names[1]), (names[0],), "click", person="d"),
            Judgement(QueryRef("text", "words"), (names[2],), "click", person="e"),
        ]
    )
    store.judgements.undo(1)
    with store.generations.build() as aside:
        np.save(aside / "codes.npy", x)
        store.generations.publish(
            aside, space="s", kind="flat", segment=store.segments.last(), items=len(x)
        )
    needles = [
        SECRET, b"Zanzibar", b"4711", x[0].tobytes(), x[0, :4].tobytes(), THUMB, b"SecretCam",
        b"sekrettag", b"confidentiality", b"metasecret", b"ownsecrettag", b"ownsecretcaption",
        b"sidesecret", bytes.fromhex(pending[0].sha256),
    ]  # fmt: skip
    return store, needles


def test_every_byte_is_gone(full: tuple[Store, list[bytes]], folder: Path) -> None:
    store, needles = full
    before = {needle for _, needle in traces(folder, needles)}
    assert before == set(needles)  # otherwise the test could not fail
    result = store.forget([1])
    assert result.complete
    assert traces(folder, needles) == []
    assert (result.items, result.segments, result.shared) == ((1,), 1, ())
    assert verify(folder) == []
    store.close()
    assert traces(folder, needles) == []


def test_what_others_said_stays(full: tuple[Store, list[bytes]]) -> None:
    store, _ = full
    third = "plain/third.jpg"
    assert store.forget([1]).judgements == 3
    left = {j.person: j.items for j in store.judgements}
    assert left == {"b": (third,), "e": (third,)}
    assert store.generations.current() is None  # it held the codes of the item
    assert len(store.segments.contents("deep")) == 502
    assert sum(store.items.counts().values()) == 502
    with pytest.raises(NotFound, match="no item 1"):
        store.items.get(1)
    with pytest.raises(NotFound, match="no item 1"):
        store.forget([1])
    (again,) = add(store, [SECRET])
    assert again > 503  # ids are never used twice


def test_a_copy_keeps_its_own(store: Store, folder: Path) -> None:
    first, second = add(store, [b"a.jpg", b"copy.jpg"], content=b"same")
    (waiting,) = store.contents.pending()
    store.contents.record(
        [Result(waiting.content, thumbnails={"s": THUMB})], {"deep": np.ones((1, 3))}
    )
    result = store.forget([first])
    assert result.shared == (second,)
    assert result.contents == ()
    assert store.items.get(second).state == "embedded"
    assert store.thumbnails.get(waiting.sha256, "s") == THUMB
    result = store.forget([second])
    assert len(result.contents) == 1
    assert store.thumbnails.get(waiting.sha256, "s") is None
    assert len(store.segments.contents("deep")) == 0
    assert verify(folder) == []


def test_a_removed_twin_keeps_only_its_name(store: Store) -> None:
    first, second = add(store, [b"old name.jpg", b"new name.jpg"], content=b"same")
    (waiting,) = store.contents.pending()
    store.contents.record([Result(waiting.content)], {"deep": np.ones((1, 3))})
    store.items.remove([first])
    result = store.forget([second])
    assert result.shared == (first,)
    assert len(result.contents) == 1
    assert store.items.get(first).content is None
    assert store.items.get(first).state == "removed"


def test_a_reader_delays_only_the_last_bytes(
    full: tuple[Store, list[bytes]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, needles = full
    with store.transaction() as db:
        db.execute("SELECT 1")
    store.catalogue._the_writer().execute("PRAGMA busy_timeout = 50")
    with Store.open(folder) as reader:
        with reader.snapshot():
            assert reader.items.get(1).path == SECRET
            assert not store.forget([1]).complete
            assert reader.items.get(1).path == SECRET  # still its own state
        with pytest.raises(NotFound):
            reader.items.get(1)
    store.close()
    with Store.open(folder, write=True):
        assert traces(folder, needles) == []


def _filled(folder: Path) -> tuple[np.ndarray, list[bytes]]:
    """Two segments and an index, and the bytes of what is to be forgotten."""
    with Store.open(folder, create=True) as store:
        for part in (b"a", b"b"):
            add(store, [part + b"%02d.jpg" % i for i in range(20)])
            embed(store, dim=300)
        x = store.segments.read("deep", store.segments.contents("deep"))
        with store.generations.build() as aside:
            for name, rows in (("codes", x + 1), ("ids", np.arange(1, 41))):
                np.save(aside / f"{name}.npy", rows)
            np.save(aside / "contents.npy", np.arange(1, 41))
            store.generations.publish(aside, space="s", kind="flat", segment=2, items=40)
    return x, [rows[i].tobytes() for i in (4, 5, 29) for rows in (x, x + 1)]


def _forget(pipe: Connection, folder: str, fatal: int) -> None:
    """Forget, and die at the ``fatal``-th call that touches the disk."""
    store = Store.open(folder, write=True)
    calls = die_at(fatal)
    store.forget([5, 6, 30])
    pipe.send("forgotten")
    pipe.send(len(calls))
    os._exit(0)


def test_death_while_forgetting(folder: Path, tmp_path: Path) -> None:
    """A reader finds what is left at any point; the next writer finishes, or nothing happened."""
    x, needles = _filled(folder)
    shutil.copytree(folder, tmp_path / "rehearsal")
    calls = in_child(_forget, str(tmp_path / "rehearsal"), 0)[-1]
    outcomes = set()
    for fatal in range(1, calls + 1):
        again = tmp_path / f"life-{fatal}"
        shutil.copytree(folder, again)
        done = in_child(_forget, str(again), fatal)
        with Store.open(again) as reader:
            ids = reader.segments.contents("deep")
            assert np.array_equal(reader.segments.read("deep", ids), x[ids - 1])
            made = reader.generations.current()
            assert made is not None
            assert reader.generations.unusable(made, "s", again=True) == ""
        assert verify(again) == []
        Store.open(again, write=True).close()
        assert verify(again) == []
        assert not list(again.rglob(".tmp-*"))
        outcomes.add(len(ids))
        if len(ids) == 37:
            assert traces(again, needles) == []
        assert len(ids) == 37 or not done
        shutil.rmtree(again)
    assert outcomes == {37, 40}


def test_half_a_row_of_zeros_is_no_damage(store: Store, folder: Path) -> None:
    add(store, [b"%d.jpg" % i for i in range(9)])
    embed(store, dim=300)
    x = store.segments.read("deep", range(1, 10))
    store.segments.purge([3, 4])
    (segment,) = store.segments.all()
    with open(store.segments.folder / segment.file, "rb+") as file:
        file.seek(segment.blocks["deep"].offset + 2 * 1200)
        file.write(bytes(700))
    assert verify(folder) == []
    assert np.array_equal(store.segments.read("deep", [1, 2, 5]), x[[0, 1, 4]])
    with open(store.segments.folder / segment.file, "rb+") as file:
        file.seek(segment.blocks["deep"].offset + 4 * 1200)
        file.write(bytes(1))  # of a row that is left
    with pytest.raises(Damaged):
        store.segments.read("deep", [1])


def test_a_reader_of_the_old_state_looks_again(store: Store, folder: Path) -> None:
    add(store, [b"%d.jpg" % i for i in range(9)])
    embed(store, dim=300)
    x = store.segments.read("deep", range(1, 10))
    with Store.open(folder) as reader, reader.snapshot():
        (old,) = reader.segments.all()
        store.forget([3])
        (new,) = store.segments.folder.iterdir()
        os.link(new, store.segments.folder / old.file)  # as if it was open already
        assert np.array_equal(reader.segments.read("deep", [1, 2, 5]), x[[0, 1, 4]])


def test_a_backup_of_links_keeps_its_own(store: Store, folder: Path, tmp_path: Path) -> None:
    store.close()
    x, needles = _filled(folder)
    with Store.open(folder, write=True) as again:
        backup(folder, tmp_path / "links", link=True)
        assert again.forget([5, 6, 30]).complete
    assert traces(folder, needles) == []
    assert verify(folder) == verify(tmp_path / "links") == []
    with Store.open(tmp_path / "links") as kept:
        assert np.array_equal(kept.segments.read("deep", range(1, 41)), x)


def test_rows_that_went_are_not_merged(store: Store, folder: Path) -> None:
    for part in range(8):
        add(store, [b"%d-%d.jpg" % (part, i) for i in range(5)])
        embed(store)
    store.forget([2, 3, 40])
    kept = store.segments.contents("deep")
    x = store.segments.read("deep", kept)
    assert store.segments.merge() == 7
    assert np.array_equal(store.segments.read("deep", kept), x)
    (segment,) = store.segments.all()
    assert segment.contents.all()
    assert verify(folder) == []
