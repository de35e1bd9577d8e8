"""A person points likewise at a folder and searches it; nothing is lost."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from PIL import Image

import likewise
from likewise.filters import Filter
from likewise.types import BadInput, DataProblem, NotFound


def brute_force(collection, item: int, k: int) -> list[int]:
    """Plain search by the formula, over every findable item."""
    snapshot = collection.look.view()
    ids, codes = snapshot.all_rows()
    scores = snapshot.plain.score(snapshot.codes([item])[0], codes)
    order = [int(i) for i in ids[np.lexsort((ids, -np.round(scores, 5)))] if i != item]
    return order[:k]


def test_search_by_item_equals_brute_force_and_leaves_the_query_out(collection):
    for item in (1, 17, 48):
        answer = collection.search(item, k=10)
        assert item not in answer.ids
        assert answer.ids.tolist() == brute_force(collection, item, 10)
        assert answer.model == "plain"
        assert answer.generation == 1
        assert not answer.degraded


def test_the_query_can_be_pinned_first(collection):
    answer = collection.search(5, k=4, pin=True)
    assert answer.ids[0] == 5
    assert answer.results[0].found_by == ("query",)
    assert len(answer) == 4


def test_a_file_outside_that_equals_an_item_finds_it(collection, tmp_path):
    item = collection.item(3)
    copy = tmp_path / "copy.jpg"
    shutil.copy(collection.file(3), copy)
    answer = collection.search(copy, k=1)
    assert answer.ids.tolist() == [3]
    assert collection.search(copy.read_bytes(), k=1).ids.tolist() == [3]
    assert collection.search(item.file, k=3).ids.tolist() == collection.search(3, k=3).ids.tolist()


def test_pictures_with_weights_and_negatives_are_a_sum_of_surrogates(collection):
    snapshot = collection.look.view()
    x = snapshot.codes([1, 2, 3])
    ids, codes = snapshot.all_rows()
    vector = snapshot.plain.w0 * (2 * x[0] + x[1] - x[2])
    scores = codes @ vector
    order = [int(i) for i in ids[np.lexsort((ids, -np.round(scores, 4)))] if i not in (1, 2, 3)]
    answer = collection.search([1, 2], weights=[2, 1], without=3, k=5)
    assert answer.ids.tolist() == order[:5]


def test_a_crop_is_another_query(collection):
    whole = collection.search(4, k=5)
    part = collection.search(4, crop=(0, 0, 0.3, 0.3), k=5)
    assert part.scores.tolist() != whole.scores.tolist()
    assert 4 in collection.search(4, crop=(0, 0, 1, 1), k=3).ids


def test_words_find_by_caption_tag_and_name(collection):
    texts = collection.store.texts
    item = next(i for i in range(1, 49) if texts.captions(i))
    caption = texts.captions(item)[0].text
    answer = collection.search(text=caption, k=48)
    assert item in answer.ids
    assert {"words"} <= {kind for r in answer if r.item == item for kind in r.found_by}
    assert collection.search(text="swatch-0007", k=5).ids.size


def test_words_and_pictures_together_say_which_found_what(collection):
    colour = next(
        t.text for i in range(1, 49) for t in collection.store.texts.tags(i) if t.source == "folder"
    )
    answer = collection.search(1, colour, k=48)
    kinds = {kind for r in answer.results for kind in r.found_by}
    assert kinds == {"picture with words", "words"}


def test_filters_hold_in_every_search(collection):
    tag = collection.store.texts.all_tags()[0][0]
    allowed = set(collection.store.items.matching(Filter(tags=(tag,))).tolist())
    assert 0 < len(allowed) < 48
    found = collection.search(1, k=48, filter=Filter(tags=(tag,)))
    assert set(found.ids.tolist()) == allowed - {1}
    assert not len(collection.search(1, filter=Filter(folder="nowhere")))


def test_only_new_and_changed_files_are_read(collection, folder):
    again = collection.index()
    assert (again.embedded, again.new, again.changed) == (0, 0, 0)
    Image.new("RGB", (50, 50), (250, 10, 10)).save(folder / "new.png")
    Image.new("RGB", (50, 50), (10, 250, 10)).save(folder / "swatch-0001.jpg")
    report = collection.index()
    assert (report.embedded, report.new, report.changed) == (2, 1, 1)
    assert len(collection) == 49
    assert collection.search(folder / "new.png", k=1, pin=True).paths == ["new.png"]


def test_a_renamed_or_copied_file_is_not_embedded_again_and_keeps_its_judgements(
    collection, folder
):
    before = collection.item("swatch-0002.jpg").id
    collection.teaching.mark(collection.query(1), [before])
    (folder / "swatch-0002.jpg").rename(folder / "renamed.jpg")
    (folder / "sub").mkdir()
    shutil.copy(folder / "swatch-0003.jpg", folder / "sub" / "copy.jpg")
    report = collection.index()
    assert report.embedded == 0
    assert report.renamed == 1
    assert collection.item("renamed.jpg").id == before
    assert collection.teaching.marks(collection.query(1)) == {before: 1.0}
    assert collection.item("sub/copy.jpg").state == "indexed"


def test_a_removed_file_leaves_search_but_not_the_judgements(collection, folder):
    collection.teaching.mark(collection.query(1), [2])
    (folder / "swatch-0002.jpg").unlink()
    report = collection.index()
    assert report.removed == 1
    assert 2 not in collection.search(1, k=48).ids
    assert len(collection.store.judgements) == 1


@pytest.mark.parametrize("lost", ["all", "most"])
def test_a_folder_that_lost_its_files_changes_nothing(collection, folder, lost):
    files = sorted(folder.glob("*.jpg"))
    for file in files if lost == "all" else files[:-5]:
        file.unlink()
    with pytest.raises(DataProblem, match="nothing was changed"):
        collection.index()
    assert len(collection.search(1, k=48)) == 47
    report = collection.index(accept_missing=True)
    assert report.removed == (48 if lost == "all" else 43)


def test_a_folder_that_vanished_changes_nothing(collection, folder):
    folder.rename(folder.with_name("elsewhere"))
    try:
        with pytest.raises(DataProblem, match="cannot be reached"):
            collection.index()
    finally:
        folder.with_name("elsewhere").rename(folder)


def test_fresh_items_are_found_before_the_index_is_rebuilt(collection, folder, monkeypatch):
    monkeypatch.setattr(type(collection), "build", lambda self: 0)
    Image.new("RGB", (40, 40), (0, 0, 255)).save(folder / "blue.png")
    collection.index()
    assert collection.search(folder / "blue.png", k=1, pin=True).paths == ["blue.png"]
    blue = collection.item("blue.png").id
    assert blue in collection.search(1, k=48).ids
    assert collection.search(blue, k=5).ids.tolist() == brute_force(collection, blue, 5)


@pytest.mark.parametrize("damage", ["flip", "missing"])
def test_a_damaged_index_is_not_served_and_answers_stay_exact(folder, damage):
    codes = next((folder / ".likewise" / "generations").glob("*/codes.npy"))
    if damage == "flip":
        data = bytearray(codes.read_bytes())
        data[-3] ^= 0xFF
        codes.write_bytes(data)
    else:
        codes.unlink()
    with likewise.open(folder, write=True) as collection:
        answer = collection.search(1, k=10)
        assert answer.generation == 0
        assert "generation 1" in answer.degraded
        assert answer.ids.tolist() == brute_force(collection, 1, 10)
        collection.index()
        healed = collection.search(1, k=10)
        assert healed.generation > 1
        assert not healed.degraded
        assert healed.ids.tolist() == answer.ids.tolist()


def test_why_adds_up_to_the_score(collection):
    query = collection.query(1, "swatch")
    best = collection.search(1, k=1).results[0]
    reason = collection.why(query, best.item)
    assert np.isclose(sum(reason["blocks"].values()), best.score, rtol=1e-4)
    assert reason["words"] == ["swatch"]


def test_near_duplicates_are_grouped_and_folded(collection, folder):
    with Image.open(folder / "swatch-0001.jpg") as image:
        image.save(folder / "again.jpg", quality=80)
    collection.index()
    again = collection.item("again.jpg").id
    assert any({1, again} <= set(group) for group in collection.duplicates())
    folded = collection.search(2, k=48, fold=True)
    one = next(r for r in folded.results if {r.item, *r.copies} >= {1, again})
    assert len({r.item for r in folded.results} & {1, again}) == 1
    assert one.copies


def test_neighbours_are_the_nearest_of_every_item(collection, tmp_path):
    import pyarrow.parquet as parquet

    rows = collection.neighbours(tmp_path / "n.parquet", k=3)
    table = parquet.read_table(tmp_path / "n.parquet").to_pylist()
    assert rows == len(table) == 48 * 3
    first = [r["neighbour"] for r in table if r["item"] == "swatch-0001.jpg"]
    assert first == [collection.item(i).file for i in brute_force(collection, 1, 3)]


def test_forgotten_items_are_gone_for_good(collection, folder):
    collection.teaching.mark(collection.query(1), [2, 3])
    name = collection.item(2).file
    collection.forget([2])
    assert 2 not in collection.search(1, k=48).ids
    with pytest.raises(NotFound):
        collection.store.items.find(name)
    assert collection.teaching.marks(collection.query(1)) == {3: 1.0}
    assert (folder / name).exists()


def test_several_readers_while_one_writes(collection, folder):
    with likewise.open(folder) as reader:
        assert len(reader.search(1, k=5)) == 5
        Image.new("RGB", (30, 30), (9, 9, 9)).save(folder / "dark.png")
        collection.index()
        assert reader.item("dark.png").id in reader.search(1, k=60).ids
        with pytest.raises(BadInput, match="opened for reading"):
            reader.teaching.mark(reader.query(1), [2])


def test_bad_queries_say_what_to_do(collection, tmp_path):
    with pytest.raises(BadInput, match="picture, words, or both"):
        collection.search()
    with pytest.raises(NotFound, match="no item and no file"):
        collection.search("nowhere.jpg")
    with pytest.raises(BadInput, match="weights"):
        collection.search([1, 2], weights=[1])
    with pytest.raises(BadInput, match="k must be"):
        collection.search(1, k=0)
    with pytest.raises(BadInput, match="cannot be used"):
        collection.search(b"this is no picture")
    with pytest.raises(BadInput, match="2 numbers each"):
        collection.search(vector=[1.0, 2.0])
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound, match="not indexed yet"):
        likewise.open(tmp_path / "empty")
    with pytest.raises(NotFound, match="There is no folder"):
        likewise.open(tmp_path / "none", create=True)


def test_an_empty_collection_answers_with_nothing(tmp_path):
    with likewise.open(tmp_path, create=True) as empty:
        assert empty.index(features=["colour"]).found == 0
        assert len(empty) == 0
        assert not len(empty.search(text="anything"))
        with pytest.raises(NotFound, match="No pictures are indexed"):
            empty.search(b"x")
        assert empty.duplicates() == []
        assert empty.representatives() == []


def test_names_of_every_kind_are_indexed(tmp_path):
    names = [b"new\nline.png", "emoji \N{ROSE}.png".encode(), b"bad-\xff-utf8.png"]
    names.append(b"x" * 251 + b".png")
    for shade, name in enumerate(names):
        target = os.path.join(os.fsencode(tmp_path), name)
        Image.new("RGB", (24, 24), (shade * 60, 40, 90)).save(os.fsdecode(target), "PNG")
    with likewise.open(tmp_path, create=True) as collection:
        report = collection.index(features=["colour"], processes=1)
        assert report.embedded == len(names)
        for name in names:
            answer = collection.search(os.fsdecode(name), k=3)
            assert len(answer) == 3


def test_links_loops_fifos_and_hidden_files(tmp_path):
    pictures = tmp_path / "pictures"
    (pictures / "sub").mkdir(parents=True)
    Image.new("RGB", (24, 24), (200, 40, 90)).save(pictures / "sub" / "a.png")
    Image.new("RGB", (24, 24), (20, 240, 90)).save(pictures / ".hidden.png")
    Image.new("RGB", (24, 24), (20, 40, 190)).save(tmp_path / "outside.png")
    os.symlink(pictures, pictures / "sub" / "loop")
    os.symlink(tmp_path / "outside.png", pictures / "link.png")
    os.symlink(tmp_path / "gone.png", pictures / "dangling.png")
    os.mkfifo(pictures / "pipe.png")
    (pictures / "notes.txt").write_text("no picture")
    shutil.copy(tmp_path / "outside.png", pictures / "without_ending")
    with likewise.open(pictures, create=True) as collection:
        report = collection.index(features=["colour"], processes=1)
        assert report.found == 3
        files = {i.file for i in collection.store.items.many(range(1, 9))}
        assert files == {"sub/a.png", "link.png", "without_ending"}


def test_two_writers_at_once_the_second_is_told_who(collection, folder):
    from likewise.types import Busy

    with pytest.raises(Busy, match=str(os.getpid())):
        likewise.open(folder, write=True)


def test_one_mark_changes_this_search_at_once_and_undo_brings_it_back(collection):
    query = collection.query(1)
    before = collection.ask(query, k=47)
    wanted, unwanted = int(before.ids[20]), int(before.ids[0])
    collection.teaching.mark(query, [wanted])
    after = collection.ask(query, k=47)
    assert after.marks == 1
    assert list(after.ids).index(wanted) < 20
    collection.teaching.mark(query, [unwanted], relevant=False)
    twice = collection.ask(query, k=47)
    assert twice.marks == 2
    assert list(twice.ids).index(unwanted) > 0
    plain = collection.ask(query, k=47, marks=False)
    assert plain.ids.tolist() == before.ids.tolist()
    collection.teaching.undo()
    collection.teaching.undo()
    again = collection.ask(query, k=47)
    assert again.marks == 0
    assert again.ids.tolist() == before.ids.tolist()


def test_the_latest_mark_of_an_item_counts(collection):
    query = collection.query(1)
    collection.teaching.mark(query, [5])
    collection.teaching.mark(query, [5], relevant=False)
    assert list(collection.teaching.marks(query).values()) == [0.0]


def test_marks_on_words_find_pictures_that_carry_none(collection):
    query = collection.query(text="zzyzx")
    assert not len(collection.ask(query, k=10))
    collection.teaching.mark(query, [1])
    answer = collection.ask(query, k=10)
    assert len(answer) == 10
    assert answer.results[0].item == 1


def test_marks_of_an_uploaded_picture_survive_reopening(folder, tmp_path):
    copy = tmp_path / "outside.png"
    Image.new("RGB", (40, 30), (200, 30, 30)).save(copy)
    with likewise.open(folder, write=True) as collection:
        collection.teaching.mark(collection.query(copy), [7])
    with likewise.open(folder) as collection:
        assert collection.search(copy, k=5).marks == 1


def test_a_request_sent_twice_is_written_once(collection):
    query = collection.query(1)
    first = collection.teaching.mark(query, [2], keys=["k1"])
    assert collection.teaching.mark(query, [2], keys=["k1"]) == first
    assert len(collection.store.judgements) == 1


def test_judgements_travel_through_a_file(collection, tmp_path):
    collection.teaching.mark(collection.query(1), [2, 3])
    collection.teaching.order(collection.query(4), [5, 6, 7])
    assert collection.teaching.write(tmp_path / "log.jsonl") == 3
    for _ in range(3):
        collection.teaching.undo()
    with open(tmp_path / "log.jsonl", "a", encoding="utf-8") as file:
        file.write("not json\n")
    count, problems = collection.teaching.read(tmp_path / "log.jsonl")
    assert count == 3
    assert len(problems) == 1
    marks = collection.teaching.marks(collection.query(1))
    assert marks == {2: 1.0, 3: 1.0}
