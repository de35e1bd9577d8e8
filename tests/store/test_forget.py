"""Forgetting: afterwards no file of the data folder holds a byte of the item."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from likewise.store import Described, Result, Store, Text, verify
from likewise.types import Judgement, NotFound, QueryRef
from tests.store.conftest import add, vectors

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
