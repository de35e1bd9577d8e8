"""A sorted grid of some pictures and a map of all: kept by generation, forgotten with its items."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

import likewise
from likewise.collection.whole.layouts import ACROSS, ON_PAGE, TILE
from likewise.datasets import swatches
from likewise.types import BadInput, NotFound


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("laid") / "pictures"
    swatches(30, size=64, seed=2).write(place, jobs=1)
    with likewise.open(place, create=True) as collection:
        collection.index(features=("colour", "texture"), processes=1)
    return place


@pytest.fixture
def collection(folder, tmp_path):
    import shutil

    shutil.copytree(folder, tmp_path / "pictures")
    with likewise.open(tmp_path / "pictures", write=True) as opened:
        yield opened


def test_a_sorted_grid_holds_every_item_once_and_its_gaps_at_the_end(collection):
    ids = collection.look.view().ids.tolist()
    rows = collection.layouts.sorted(ids[:23], 5)
    flat = [item for row in rows for item in row]
    assert sorted(flat[:23]) == sorted(ids[:23])
    assert flat[23:] == [None, None]
    assert collection.layouts.sorted([ids[0]]) == [[ids[0]]]


def test_items_without_vectors_come_last(collection):
    ids = collection.look.view().ids.tolist()
    rows = collection.layouts.sorted([10_001, *ids[:4]], 3)
    assert rows[-1] == [10_001, None, None]
    assert sorted(i for row in rows[:-1] for i in row if i) == sorted(ids[:4])


@pytest.mark.parametrize(("items", "columns"), [([], 3), (range(1, 1002), 3), ([1], -1)])
def test_what_cannot_be_sorted_is_refused(collection, items, columns):
    with pytest.raises(BadInput):
        collection.layouts.sorted(list(items), columns)


def test_a_map_is_kept_with_its_generation(collection):
    layouts = collection.layouts
    assert layouts.map() is None
    assert not layouts.is_current
    made = layouts.prepare_map()
    assert layouts.map() is None  # preparing writes nothing
    layouts.keep_map(made)
    assert layouts.is_current
    assert sorted(made.ids.tolist()) == collection.look.view().ids.tolist()
    layouts.forget_map()  # as another process would see it
    again = layouts.map()
    assert again.name == made.name
    assert again.pages == made.pages
    assert np.array_equal(again.cells, made.cells)


def test_a_page_shows_the_items_in_their_order(collection):
    made = collection.layouts.prepare_map()
    collection.layouts.keep_map(made)
    data, whole = collection.layouts.page(made.pages[0])
    assert whole
    assert collection.layouts.page(made.pages[0]) == (data, True)
    sheet = np.asarray(Image.open(io.BytesIO(data)), float)
    assert sheet.shape == (-(-30 // ACROSS) * TILE, ACROSS * TILE, 3)
    for at in (0, 17, 29):
        small = Image.open(io.BytesIO(collection.thumbnail(int(made.ids[at])))).convert("RGB")
        own = np.asarray(small.resize((TILE, TILE)), float).mean(axis=(0, 1))
        top, left = at // ACROSS * TILE, at % ACROSS * TILE
        tile = sheet[top : top + TILE, left : left + TILE].mean(axis=(0, 1))
        assert np.abs(tile - own).max() < 6
    assert len(made.pages) == -(-30 // ON_PAGE)


def test_a_page_with_a_lost_picture_is_not_kept(collection):
    made = collection.layouts.prepare_map()
    collection.layouts.keep_map(made)
    gone = collection.store.items.get(int(made.ids[3]))
    collection.store.thumbnails.remove([gone.sha256])
    (collection.folder / gone.file).unlink()
    _, whole = collection.layouts.page(made.pages[0])
    assert not whole
    assert collection.store.maps.page(made.pages[0]) is None


def test_a_new_generation_outdates_the_map_and_same_pictures_keep_their_page(collection):
    made = collection.layouts.prepare_map()
    collection.layouts.keep_map(made)
    collection.layouts.page(made.pages[0])
    swatches(3, size=64, seed=9).write(collection.folder / "more", jobs=1)
    collection.index(processes=1)
    assert not collection.layouts.is_current
    assert collection.layouts.map().name == made.name  # shown until the next one is drawn
    newer = collection.layouts.prepare_map()
    collection.layouts.keep_map(newer)
    assert collection.layouts.is_current
    assert len(newer.ids) == 33
    assert collection.store.maps.page(made.pages[0]) is None or made.pages[0] in newer.pages


def test_forgetting_removes_the_map_and_its_pages(collection):
    made = collection.layouts.prepare_map()
    collection.layouts.keep_map(made)
    collection.layouts.page(made.pages[0])
    collection.forget([int(made.ids[0])])
    assert collection.layouts.map() is None
    assert not list((collection.store.folder / "maps").rglob("*"))
    with pytest.raises(NotFound):
        collection.layouts.page(made.pages[0])


def test_a_damaged_map_counts_as_absent(collection):
    collection.layouts.keep_map(collection.layouts.prepare_map())
    collection.layouts.forget_map()
    (path,) = (collection.store.folder / "maps").glob("*.map")
    path.write_bytes(b"")
    assert collection.layouts.map() is None


def test_without_an_index_there_is_no_map(tmp_path):
    with (
        likewise.open(tmp_path, create=True) as collection,
        pytest.raises(NotFound, match="drawn when"),
    ):
        collection.layouts.prepare_map()
