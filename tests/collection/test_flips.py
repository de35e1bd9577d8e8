"""One wrong byte anywhere in the data folder never changes an answer without a word.

The catalogue is SQLite's own (``verify`` runs its integrity check) and is left out here.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import likewise
from likewise.collection.lines import building
from likewise.files import sha256_of
from likewise.store import checks
from likewise.types import LikewiseError
from tests.collection.plain_store import embed, make, seen

ITEMS = 60
SKIPPED = ("catalogue.sqlite", "writer.lock", "server.")


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """A collection with every kind of file: both indexes, fresh items, a model and an upload."""
    folder = tmp_path_factory.mktemp("sound") / "pictures"
    with make(folder, ITEMS) as collection:
        store = collection.store
        plain = collection.look.view().plain
        assert plain is not None
        arrays, settings = plain.to_arrays()
        card = {"kind": plain.kind, "similarity": settings}
        model = store.models.add("plain again", arrays, card, space=plain.space.fingerprint)
        store.models.activate(model.id)
        store.uploads.put(b"some picture")
        publish_words(collection)
        store.settings.set("engine", "faiss")
        building.build_generation(store, building.Fitted(plain))
        store.items.see([seen("fresh.png", "fresh")])
        embed(store)
    return folder


def publish_words(collection: Any) -> None:
    """The inverted file, as indexing publishes it."""
    view, store = collection.objects.view(), collection.store
    with store.generations.build() as aside:
        view.fresh.index.save(aside / "index")
        np.save(aside / "contents.npy", view.contents)
        store.generations.publish(
            aside, space=view.space, kind="inverted", segment=store.segments.last(),
            items=len(view), line="words",
        )  # fmt: skip


def files_of(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in (folder / ".likewise").rglob("*")
        if path.is_file() and not path.name.startswith(SKIPPED)
    )


def answers(folder: Path) -> dict[str, Any]:
    """What is answered, each with its mark; or the sentence why it is not."""
    found: dict[str, Any] = {}
    with likewise.open(folder) as collection:
        for name, ask in {
            "look": lambda: [collection.search(i, k=8) for i in (1, 2, ITEMS + 1)],
            "plain": lambda: [collection.search(1, k=8, model="plain")],
            "words": lambda: [collection.search(i, k=8, line="objects") for i in (1, 2)],
            "upload": lambda: collection.store.uploads.get(collection.store.uploads.all()[0]),
        }.items():
            try:
                found[name] = ask()
            except LikewiseError as error:
                found[name] = error
    return found


def flip(path: Path, random: np.random.Generator) -> None:
    """Change one bit, and put size and time back."""
    before = path.stat()
    at = int(random.integers(before.st_size))
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0] ^ (1 << int(random.integers(8)))
        file.seek(at)
        file.write(bytes([byte]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def wrong(right: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Answers that differ without a word."""
    out = []
    for name, value in now.items():
        if isinstance(value, LikewiseError):
            assert str(value).endswith(".")
            continue
        if isinstance(value, bytes):
            if value != right[name]:
                out.append(name)
            continue
        for was, answer in zip(right[name], value):
            same = was.paths == answer.paths and np.allclose(was.scores, answer.scores)
            if not same and not answer.degraded:
                out.append(name)
    return out


def flips(sound: Path, tmp_path: Path, count: int) -> None:
    right = answers(sound)
    assert not any(isinstance(value, LikewiseError) for value in right.values())
    assert not any(answer.degraded for answer in (*right["look"], *right["words"]))
    names = [path.relative_to(sound) for path in files_of(sound)]
    kinds = {name.suffix for name in names}
    assert {".seg", ".npy", ".faiss", ".json", ".safetensors", ""} <= kinds
    random, marked = np.random.default_rng(0), 0
    for at in range(count):
        folder = tmp_path / "pictures"
        shutil.copytree(sound, folder)
        flip(folder / names[at % len(names)], random)
        now = answers(folder)
        assert wrong(right, now) == [], names[at % len(names)]
        marked += str(now) != str(right)
        shutil.rmtree(folder)
    assert marked > 0


def test_forty_wrong_bytes(sound, tmp_path):
    flips(sound, tmp_path, count=40)


@pytest.mark.slow
def test_two_hundred_wrong_bytes(sound, tmp_path):
    flips(sound, tmp_path, count=200)


# -- while an index is being checked ---------------------------------------------


def spoil(folder: Path, name: str, number: float = np.nan) -> None:
    """Put a number into the middle of a matrix of the newest generation, time put back."""
    (path,) = sorted((folder / ".likewise" / "generations").glob(f"*/{name}"))[-1:]
    before = path.stat()
    matrix = np.load(path, mmap_mode="r+")
    matrix[len(matrix) // 2] = number
    matrix.flush()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture
def large(sound, tmp_path, monkeypatch) -> Iterator[tuple[Path, threading.Event]]:
    """A copy whose codes and FAISS file count as large, and what lets their check go on."""
    folder, go_on = tmp_path / "pictures", threading.Event()
    shutil.copytree(sound, folder)

    def slowly(path: Path) -> str:
        assert go_on.wait(60)
        return sha256_of(path)

    monkeypatch.setattr(checks, "AT_ONCE", 0)
    monkeypatch.setattr(checks, "sha256_of", slowly)
    yield folder, go_on
    go_on.set()


def test_answers_are_exact_and_marked_until_the_index_is_checked(sound, large):
    right = answers(sound)["look"]
    folder, go_on = large
    with likewise.open(folder) as collection:
        first = collection.search(1, k=8)
        assert "being compared" in first.degraded
        assert first.paths == right[0].paths
        assert "being compared" in collection.status()["degraded"]
        assert not collection.look.view(checked=False).is_complete
        go_on.set()
        assert not collection.look.view().degraded  # waits
        second = collection.search(1, k=8)
        assert not second.degraded
        assert second.paths == right[0].paths
        assert second.generation == first.generation


@pytest.mark.parametrize("number", [np.nan, 1e3])
def test_an_index_that_fails_its_check_is_replaced(sound, large, number):
    right = answers(sound)["look"]
    folder, go_on = large
    spoil(folder, "codes.npy", number)
    with likewise.open(folder, write=True) as collection:
        if np.isfinite(number):
            assert "being compared" in collection.search(1, k=8).degraded
        else:
            with pytest.raises(LikewiseError, match="damaged"):
                collection.search(1, k=8)
        go_on.set()
        assert "codes.npy" in collection.look.view().degraded
        answer = collection.search(1, k=8)
        assert "codes.npy" in answer.degraded
        assert answer.paths == right[0].paths
        old = collection.store.generations.current().number
        assert collection.build() > old
        assert not collection.search(1, k=8).degraded
        assert collection.search(1, k=8).paths == right[0].paths


def test_vectors_that_are_no_numbers_go_out_and_are_described_again(tmp_path, monkeypatch):
    with make(tmp_path / "pictures", 20) as collection:
        store, blocks = collection.store, type(collection.look.view().plain.space)
        (bad,) = store.items.see([seen("bad.png", "bad")])
        embed(store)
        vector = store.segments.read("own", [store.items.get(bad).content])[0]
        transform = blocks.transform

        def spoiled(self, features):
            out = np.array(transform(self, features))
            out[(features["own"] == vector).all(axis=1)] = np.nan
            return out

        with monkeypatch.context() as patched:
            patched.setattr(blocks, "transform", spoiled)
            assert "1 pictures are damaged" in collection.search(1, k=30).degraded
            collection.build()
            found = collection.search(1, k=30)
            assert "bad.png" not in found.paths
            assert len(found.paths) == 19
            assert "1 pictures are damaged" in found.degraded
        assert store.contents.waiting() == 1
        embed(store)  # as the next indexing does
        collection.build()
        found = collection.search(1, k=30)
        assert "bad.png" in found.paths
        assert not found.degraded
