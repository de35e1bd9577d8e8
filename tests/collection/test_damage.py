"""Rotten vectors: out of the answers with a sentence, and described anew by the next runs."""

from __future__ import annotations

import os

import numpy as np
import pytest

import likewise
from likewise.collection.lines.building import encode_items
from likewise.datasets import swatches
from likewise.store import verify
from tests.conftest import FEATURES
from tests.store.test_damage import flip, without_sums


def rot(collection, which=-1):
    """Flip a bit in the middle of the last block of a segment; gives its contents."""
    segment = collection.store.segments.all()[which]
    place = list(segment.blocks.values())[-1]
    flip(collection.store.segments.folder / segment.file, place.offset + place.width // 2)
    return segment.contents


def in_own_segment(store, contents, blocks):
    """Write the vectors of some contents once more, into a segment of their own."""
    store.segments.append(contents, {name: store.segments.read(name, contents) for name in blocks})


@pytest.mark.parametrize("old", [False, True])
def test_a_rotten_segment_is_left_out_then_described_anew(folder, old):
    with likewise.open(folder, write=True) as collection:
        store = collection.store
        expected = collection.search(1, k=100).ids.tolist()
        some = [store.items.contents()[item] for item in range(40, 46)]
        in_own_segment(store, some, FEATURES)
        rot(collection)
        store.generations.withdraw()  # so that the vectors themselves are read
    if old:
        without_sums(folder / ".likewise")
    with likewise.open(folder) as reader:
        answer = reader.search(1, k=100)
        assert answer.ids.tolist() == [i for i in expected if not 40 <= i < 46]
        assert "6 pictures are damaged, so these are left out" in answer.degraded
        assert not reader.look.view().is_complete
    with likewise.open(folder, write=True) as collection:
        assert collection.build()
        # The build met the damage: its pictures wait, and answers still say so.
        waiting = collection.search(1, k=100)
        assert "6 pictures are damaged" in waiting.degraded
        assert waiting.ids.tolist() == answer.ids.tolist()
        assert collection.index(features=FEATURES, processes=1).embedded == 6
        assert collection.search(1, k=100).ids.tolist() == expected
        assert collection.search(1, k=100).degraded == ""
    assert verify(folder / ".likewise") == []


def test_retry_looks_at_every_segment_although_the_index_is_complete(collection):
    before = collection.search(1, k=50)
    rotten = rot(collection)
    assert collection.index(features=FEATURES, processes=1).embedded == 0  # nobody read it
    again = collection.index(features=FEATURES, processes=1, retry=True)
    assert again.embedded == len(rotten)
    after = collection.search(1, k=50)
    assert [r.item for r in after.results] == [r.item for r in before.results]
    assert after.degraded == ""
    assert verify(collection.store.folder) == []


def test_encoding_gives_what_is_sound_in_order(collection):
    store, space = collection.store, collection.look.view().plain.space
    contents = np.array(sorted(store.items.contents().values()))[::-1]

    def read(some):
        return np.concatenate(list(encode_items(store, space, some)))

    sound, codes = store.segments.sound(contents, read)
    assert sound.all()
    in_own_segment(store, contents[:3], FEATURES[:1])
    rot(collection)
    left, rest = store.segments.sound(contents, read)
    assert left.tolist() == [False] * 3 + [True] * 45
    np.testing.assert_allclose(rest, codes[3:], atol=1e-5)


@pytest.mark.parametrize("some", [range(2), range(6)], ids=["some", "all"])
def test_words_are_left_out_and_counted_anew(tmp_path, some):
    folder = tmp_path / "pictures"
    swatches(6, size=128, seed=3).write(folder, jobs=1)
    with likewise.open(folder, create=True) as collection:
        collection.index(features=("colour", "words"), processes=1)
        before = collection.search(1, k=20, line="objects", check=2)
        assert before.degraded == ""
        for block in ("local", "words"):
            contents = collection.store.segments.contents(block)[list(some)]
            in_own_segment(collection.store, contents, [block])
            rot(collection)
        collection.store.generations.withdraw("words")
    with likewise.open(folder) as reader:
        answer = reader.search(1, k=20, line="objects", check=2)
        assert len(answer.results) == 6 - max(len(some), 1)
        assert f"{len(some)} pictures are damaged" in answer.degraded
    with likewise.open(folder, write=True) as collection:
        collection.build()
        assert collection.index(processes=1).embedded == len(some)
        after = collection.search(1, k=20, line="objects", check=2)
        assert after.degraded == ""
        assert after.ids.tolist() == before.ids.tolist()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize("runs", [50, pytest.param(500, marks=pytest.mark.slow)])
def test_index_runs_leave_no_file_open(folder, runs):
    """A long-lived server and its writer: what each run publishes is opened and let go."""
    pictures = sorted(folder.glob("*.jpg"))
    with likewise.open(folder, write=True) as writer, likewise.open(folder) as reader:
        store, count = writer.store, []
        contents = list(store.items.contents().values())
        for run in range(runs):
            part = contents[run % 40 : run % 40 + 3]
            blocks = {block: store.segments.read(block, part) for block in FEATURES}
            store.segments.append(part, blocks)
            gone = [1 + run % 48]
            store.items.remove(gone)
            writer.build()
            for collection in (writer, reader):
                answer = collection.search(pictures[(run + 24) % 48], k=3)
                assert answer.generation == run + 2
            count.append(len(os.listdir("/proc/self/fd")))
            store.items.see(_seen_again(store, gone))
        assert max(count) <= count[0] + 40
        assert len(store.segments.all()) < 20


def _seen_again(store, items):
    from likewise.store import Seen

    sha256 = store.contents.sha256([i.content for i in store.items.many(items)])
    return [
        Seen(i.path, i.size, i.mtime_ns, bytes.fromhex(sha256[i.content]))
        for i in store.items.many(items)
    ]
