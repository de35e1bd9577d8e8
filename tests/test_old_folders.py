"""A data folder that an earlier commit made opens, answers as it did, and goes on.

``fixtures/old_folder.zip`` was made by ``fixtures/make_old_folder.py``, run by commit 93a8f1c:
drawn pictures, their data folder (marks, clicks, an upload, one model per way of learning,
visual words, a half-finished target search), and in ``answers.json`` what that commit answered.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import likewise
from likewise.collection.learn.methods import METHODS, SLOTS
from likewise.collection.lines.objects import Objects
from likewise.collection.lines.visual_words import space_of
from likewise.datasets import swatches
from likewise.filters import Filter
from likewise.learners.word_table import WordTable

FIXTURE = Path(__file__).parent / "fixtures" / "old_folder.zip"


def read_told() -> dict[str, Any]:
    with zipfile.ZipFile(FIXTURE) as archive:
        told: dict[str, Any] = json.loads(archive.read("answers.json"))
    return told


TOLD = read_told()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder somewhere else than it was made, opened once for writing."""
    folder = tmp_path_factory.mktemp("old")
    with zipfile.ZipFile(FIXTURE) as archive:
        archive.extractall(folder)
    with likewise.open(folder / "pictures", write=True):
        pass
    return folder


@pytest.fixture
def folder(opened: Path, tmp_path: Path) -> Path:
    """A copy, to be changed at will."""
    return shutil.copytree(opened, tmp_path / "old")


def ask(collection: Any, question: dict[str, Any], folder: Path) -> Any:
    asked = dict(question)
    if "upload" in asked:
        asked["pictures"] = (folder / asked.pop("upload")).read_bytes()
    if "filter" in asked:
        given = {k: tuple(v) if isinstance(v, list) else v for k, v in asked["filter"].items()}
        asked["filter"] = Filter(**given)
    if "crop" in asked:
        asked["crop"] = tuple(asked["crop"])
    named = {"unwanted": "without", "use_marks": "marks", "pin_query": "pin", "collapse": "fold"}
    if asked.pop("same_object", False):
        asked["line"] = "objects"
    asked = {named.get(name, name): value for name, value in asked.items()}
    return collection.search(k=50, **asked)


def assert_same_answer(found: Any, told: dict[str, Any]) -> None:
    """The same items in the same order, where equal scores may change places."""
    near = 1e-5 * max(1.0, np.abs(told["scores"]).max())
    assert found.scores.tolist() == pytest.approx(told["scores"], abs=near)
    score_of = dict(zip(told["ids"], told["scores"]))
    for item, score in zip(found.ids.tolist(), told["scores"]):
        # An item that is not told of may only have been cut off by a tie with the last one.
        assert score_of.get(item, told["scores"][-1]) == pytest.approx(score, abs=2 * near)
    for name, then in (("model", "model"), ("reader", "words_model"), ("marks", "marks")):
        assert getattr(found, name) == told[then]


def binary(line: Objects) -> WordTable:
    space = space_of(line._store)
    assert space is not None
    return WordTable.binary_idf(space)


CHANGED = {"text with clicks and marks"}
"""Marks on words move them since, and what was crossed leaves the list."""
NOT_FUSED = {"text, learned"}
"""Full text finds nothing there: the words' own scores stand since, in the same order."""


@pytest.mark.parametrize("name", TOLD["answers"])
def test_an_old_folder_answers_as_it_did(
    name: str, opened: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = TOLD["answers"][name]
    if told["question"].get("same_object") and told["model"] == "plain":
        # Counts say something since; where they do not, all is as it was.
        monkeypatch.setattr(Objects, "plain", binary)
    with likewise.open(opened / "pictures") as collection:
        found = ask(collection, told["question"], opened)
        assert not found.degraded
    if name in CHANGED:
        assert found.ids[0] == told["ids"][0]
        return
    if name in NOT_FUSED:
        assert found.ids.tolist() == told["ids"]
        assert (np.diff(found.scores) <= 0).all()
        return
    assert_same_answer(found, told)


def test_what_was_said_and_learned_is_all_there(opened: Path) -> None:
    with likewise.open(opened / "pictures") as collection:
        assert collection.store.items.counts() == TOLD["items"]
        assert len(collection) == TOLD["findable"]
        models = [[m.id, m.name, m.card["kind"]] for m in collection.models.all()]
        assert models == TOLD["models"]
        active = {SLOTS[task]: n for task, n in collection.models.all_active().items()}
        assert active == TOLD["active"]
        records = [(r.id, r.judgement) for r in collection.store.judgements.records()]
        assert TOLD["judgements"] == [
            [at, j.kind, j.query.kind, list(j.items), j.value, j.person] for at, j in records
        ]
        assert [p.file for p in collection.problems()] == ["broken.jpg"]


def test_a_half_finished_target_search_goes_on(folder: Path) -> None:
    told = TOLD["target"]
    with likewise.open(folder / "pictures", write=True) as collection:
        search = collection.targets.resume(told["number"])
        assert list(search.board.shown) == told["shown"]
        board = search.next(told["shown"][0], moved=told["shown"][1:4])
        assert list(board.shown) == told["after"]
        assert list(search.undo().shown) == told["shown"]
        search.found(told["shown"][2], keep=True)


def test_it_is_taught_on(folder: Path) -> None:
    told = TOLD["answers"]["picture, active model"]
    with likewise.open(folder / "pictures", write=True) as collection:
        query = collection.query(told["question"]["pictures"])
        count = len(collection.store.judgements)
        last, first = int(told["ids"][-1]), int(told["ids"][0])
        (record,) = collection.teaching.mark(query, [last])
        marked = collection.ask(query, k=50)
        assert marked.marks == 1
        assert marked.ids.tolist().index(last) < told["ids"].index(last)
        assert collection.teaching.undo() == record
        assert len(collection.store.judgements) == count
        assert_same_answer(collection.ask(query, k=50), told)
        collection.teaching.mark(query, [first])
        collection.models.rollback()
        assert collection.ask(query, marks=False).model == "plain"


def test_pictures_are_added_without_reading_the_old_ones_again(folder: Path) -> None:
    pictures = folder / "pictures"
    new = swatches(1, size=48, seed=99).render_all(jobs=1)[0]
    Image.fromarray(new).save(pictures / "new.png")
    with likewise.open(pictures, write=True) as collection:
        report = collection.index(processes=1)
        assert report.embedded == 1
        assert len(collection) == TOLD["findable"] + 1
        for line in collection.lines:
            found = collection.search("new.png", k=5, pin=True, line=line)
            assert found.paths[0] == "new.png"
            assert len(found.results) == 5
            assert not found.degraded


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("bilinear", {}),
        ("top-precision", {}),
        ("ranked-cca", {"dim": 12}),
        ("ranked-cca", {"more": True}),
        ("word-table", {}),
    ],
)
def test_it_learns_again(method: str, settings: dict[str, Any], folder: Path) -> None:
    with likewise.open(folder / "pictures", write=True) as collection:
        collection.teaching.mark(collection.query("swatch-0007.jpg"), ["swatch-0019.jpg"])
        collection.teaching.click(collection.query(text="red stripes"), "swatch-0018.jpg")
        model = collection.learn(method, name="again", force=True, settings=settings)
        assert model.id == len(TOLD["models"]) + 1
        assert model.id in collection.models.all_active().values()
        task = METHODS[method].task
        asked: dict[str, Any] = {"text": "red"} if task == "text" else {}
        line = METHODS[method].line
        found = collection.search("swatch-0007.jpg", line=line, **asked)
        assert f"{model.id} again" in (found.model, found.reader)
        assert len(found.results) == 20
