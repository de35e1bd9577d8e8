"""A segment that does not match its checksums never answers, and its pictures wait again."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from likewise.store import Result, Store, verify
from likewise.store.segment_file import PIECE
from likewise.types import Damaged
from tests.store.conftest import add, embed


def flip(path: Path, at: int) -> None:
    """Change one bit, and put the time back."""
    times = path.stat()
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def three_segments(store: Store, rows: int = 40, dim: int = 900) -> tuple[list[int], np.ndarray]:
    """Segments of several pieces each: ids of contents and their vectors."""
    add(store, [b"%03d.jpg" % i for i in range(3 * rows)])
    ids = [p.content for p in store.contents.pending(3 * rows)]
    x = np.random.default_rng(0).standard_normal((3 * rows, dim)).astype(np.float32)
    for start in range(0, 3 * rows, rows):
        part = slice(start, start + rows)
        store.contents.record(
            [Result(c) for c in ids[part]], {"deep": x[part], "small": x[part, :3]}
        )
    return ids, x


def without_sums(folder: Path) -> None:
    """What an earlier release left: no checksum of a piece."""
    db = sqlite3.connect(folder / "catalogue.sqlite")
    with db:
        db.execute("UPDATE segments SET sums = x''")
    db.close()


@pytest.mark.parametrize("old", [False, True])
def test_a_flipped_byte_never_changes_a_number(folder: Path, old: bool) -> None:
    with Store.open(folder, create=True) as store:
        ids, x = three_segments(store)
        segment = store.segments.all()[1]
    if old:
        without_sums(folder)
    path = folder / "segments" / segment.file
    place = segment.blocks["deep"]
    length = 40 * place.width - 1
    for at in np.linspace(0, segment.size - 1, 23).astype(int):
        flip(path, at)
        with Store.open(folder) as reader:
            if old or place.offset // PIECE <= at // PIECE <= (place.offset + length) // PIECE:
                with pytest.raises(Damaged, match=segment.file) as caught:
                    reader.segments.read("deep", ids)
                assert caught.value.contents == tuple(ids[40:80])
            else:
                assert np.array_equal(reader.segments.read("deep", ids), x)
            rest = [*ids[80:], *ids[:40]]
            assert np.array_equal(
                reader.segments.read("deep", rest), x[[*range(80, 120), *range(40)]]
            )
        assert any(f.what == "segment 2" and "index --retry" in f.sentence for f in verify(folder))
        flip(path, at)
    assert verify(folder) == []


def test_rows_of_sound_pieces_are_read_although_another_piece_is_damaged(store: Store) -> None:
    ids, x = three_segments(store)
    segment = store.segments.all()[0]
    flip(store.segments.folder / segment.file, segment.blocks["deep"].offset)
    assert np.array_equal(store.segments.read("deep", ids[30:40]), x[30:40])
    with pytest.raises(Damaged):
        store.segments.read("deep", ids[:1])


def test_a_damaged_segment_is_set_aside_and_its_pictures_wait(store: Store, folder: Path) -> None:
    ids, x = three_segments(store)
    store.segments.append(ids, {"words": x[:, :2]})  # another block of the same contents
    segment = store.segments.all()[1]
    flip(store.segments.folder / segment.file, segment.size // 2)
    assert store.segments.left_out() == ""
    tries: list[int] = []

    def work() -> float:
        tries.append(len(store.items.contents()))
        live = list(store.items.contents().values())
        return float(store.segments.read("deep", live).sum())

    assert store.segments.without_damage(work) == x[[*range(40), *range(80, 120)]].sum()
    assert tries == [120, 80]
    assert "40 pictures are damaged" in store.segments.left_out()
    assert "43 pictures" in store.segments.left_out(3)
    assert [p.content for p in store.contents.pending()] == ids[40:80]
    assert not (store.segments.folder / segment.file).exists()
    assert verify(folder) == []
    # Writing the segment of the other block anew does not make them seem described.
    store.segments.purge(ids[:1])
    assert [p.content for p in store.contents.pending()] == [ids[0], *ids[40:80]]
    store.contents.record(
        [Result(c) for c in ids[40:80]], {"deep": x[40:80], "small": x[40:80, :3]}
    )
    assert store.segments.left_out() == ""
    assert np.array_equal(store.segments.read("deep", ids[1:]), x[1:])


def test_what_nobody_can_mend_is_raised(store: Store) -> None:
    def work() -> None:
        raise Damaged("As before.", [1])

    with pytest.raises(Damaged, match="As before"):
        store.segments.without_damage(work)


@pytest.mark.parametrize("how", ["missing", "cut short"])
def test_a_segment_that_is_gone_is_damaged_too(store: Store, how: str) -> None:
    ids, x = three_segments(store)
    path = store.segments.folder / store.segments.all()[2].file
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:70_000])
    with pytest.raises(Damaged, match=how) as caught:
        store.segments.read("deep", ids)
    assert caught.value.contents == tuple(ids[80:])
    assert store.segments.mend() == 1
    assert np.array_equal(store.segments.read("deep", ids[:80]), x[:80])
    assert len(store.contents.pending()) == 40


@pytest.mark.parametrize("touched", [True, False])
def test_forgetting_is_not_stopped_by_damage(store: Store, folder: Path, touched: bool) -> None:
    ids, _ = three_segments(store)
    segment = store.segments.all()[1]
    place = segment.blocks["deep"]
    flip(store.segments.folder / segment.file, place.offset + (10 if touched else 25) * place.width)
    item = next(i for i, content in store.items.contents().items() if content == ids[50])
    store.forget([item])
    assert not (store.segments.folder / segment.file).exists()
    if not touched:  # what is not read is not compared: a reader finds it, or the next build
        assert "restore it from a backup" in verify(folder)[0].sentence
        assert store.segments.mend() == 1
    assert "39 pictures" in store.segments.left_out()
    assert len(store.contents.pending()) == 39
    assert verify(folder) == []


def test_old_segments_get_their_checksums_from_the_writer(folder: Path) -> None:
    with Store.open(folder, create=True) as store:
        three_segments(store)
        kept = [segment.sums for segment in store.segments.all()]
        assert [len(sums) // 4 for sums in kept] == [
            -(-segment.size // 65536) for segment in store.segments.all()
        ]
    without_sums(folder)
    with Store.open(folder, write=True) as store:
        assert not any(segment.sums for segment in store.segments.all())
        store.segments.merge()
        assert [segment.sums for segment in store.segments.all()] == kept


def test_checksums_that_are_damaged_themselves_are_found(folder: Path) -> None:
    with Store.open(folder, create=True) as store:
        add(store, [b"a"])
        embed(store)
    db = sqlite3.connect(folder / "catalogue.sqlite")
    with db:
        db.execute("UPDATE segments SET sums = x'00000000'")
    db.close()
    assert "checksums of segment 1" in verify(folder)[0].sentence
