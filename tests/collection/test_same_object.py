"""Same-object search through a collection: incremental words, geometry, a learned table."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import likewise
from likewise.cli import app
from likewise.collection.lines import visual_words as words_
from likewise.datasets import swatches
from likewise.filters import Filter
from likewise.types import BadInput, SpaceMismatch
from tests.server.conftest import Server, wait_for

OBJECTS, VIEWS = 8, 4


def view(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Part of a picture, as another photographer would have it: shifted, scaled, darker."""
    side = int(rng.integers(110, 145))
    top, left = rng.integers(0, 160 - side, 2)
    part = Image.fromarray(picture[top : top + side, left : left + side])
    size = int(side * rng.uniform(0.8, 1.3))
    small = np.asarray(part.resize((size, size), Image.Resampling.BICUBIC), np.float32)
    return np.clip(small * rng.uniform(0.7, 1.1), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Views of a few objects, one flat picture, indexed for same-object search."""
    folder = tmp_path_factory.mktemp("objects") / "pictures"
    folder.mkdir()
    rng = np.random.default_rng(0)
    drawn = swatches(OBJECTS, size=160, seed=5).render_all(jobs=1)
    for at, picture in enumerate(drawn):
        for number in range(VIEWS):
            Image.fromarray(view(picture, rng)).save(folder / f"{at}-{number}.png")
    Image.new("RGB", (60, 40), (90, 90, 90)).save(folder / "flat.png")
    with likewise.open(folder, create=True) as collection:
        report = collection.index(features=("colour", "words"), processes=1)
        assert report.embedded == OBJECTS * VIEWS + 1
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    target = tmp_path / "pictures"
    shutil.copytree(made, target)
    return target


def same(path: str, query: str) -> bool:
    return path.split("-")[0] == query.split("-")[0]


def test_the_same_object_comes_first_and_geometry_agrees(made: Path) -> None:
    with likewise.open(made) as collection:
        right, wrong = [], []
        hits = 0
        for at in range(OBJECTS):
            query = f"{at}-0.png"
            found = collection.search(query, k=10, line="objects", check=10)
            assert query not in found.paths
            assert all(r.found_by == ("same object",) for r in found.results)
            hits += sum(same(path, query) for path in found.paths[: VIEWS - 1])
            for r in found.results:
                (right if same(r.path, query) else wrong).append(r.inliers)
        assert hits >= 0.8 * OBJECTS * (VIEWS - 1)
        assert np.median(right) > 3 * max(1, np.median(wrong))
        assert collection.status()["same_object"]


def test_geometry_puts_the_first_results_in_order(made: Path) -> None:
    with likewise.open(made) as collection:
        plain = collection.search("3-0.png", k=20, line="objects")
        found = collection.search("3-0.png", k=5, line="objects", check=20)
        agree = [r.inliers for r in found.results]
        sure = [count for count in agree if count >= 10]
        assert len(sure) >= VIEWS - 1
        assert agree[: len(sure)] == sorted(sure, reverse=True)
        # What does not agree stays in the order of the words.
        rest = [path for path in plain.paths if path not in found.paths[: len(sure)]]
        assert found.paths[len(sure) :] == rest[: 5 - len(sure)]
        pinned = collection.search("3-0.png", k=5, line="objects", check=5, pin=True)
        assert pinned.paths[0] == "3-0.png"


def test_files_crops_filters_and_pins_work_as_elsewhere(made: Path, tmp_path: Path) -> None:
    with likewise.open(made) as collection:
        copy = tmp_path / "copy.png"
        shutil.copy(made / "2-1.png", copy)
        outside = collection.search(copy, k=3, line="objects")
        assert outside.paths[0] == "2-1.png"
        part = collection.search("2-1.png", k=5, crop=(0.1, 0.1, 0.9, 0.9), line="objects")
        assert sum(same(p, "2-1.png") for p in part.paths) >= 3
        pinned = collection.search("2-1.png", k=3, line="objects", pin=True)
        assert pinned.paths[0] == "2-1.png"
        assert pinned.results[0].found_by == ("query",)
        png = collection.search("2-1.png", line="objects", filter=Filter(formats=("JPEG",)))
        assert not len(png)
        both = collection.search(["2-1.png", "3-0.png"], k=6, line="objects")
        assert {p[0] for p in both.paths} == {"2", "3"}


def test_new_changed_and_removed_pictures(folder: Path) -> None:
    with likewise.open(folder, write=True) as collection:
        before = collection.search("1-0.png", line="objects")
        assert before.generation > 0
        vocabulary = collection.store.settings.get("vocabulary")
        shutil.copy(folder / "1-1.png", folder / "new.png")  # a known content under a new name
        Image.fromarray(np.asarray(Image.open(folder / "1-2.png"))[5:, 5:]).save(folder / "cut.png")
        (folder / "1-3.png").unlink()
        report = collection.index(processes=1)
        assert report.embedded == 1
        after = collection.search("1-0.png", k=8, line="objects")
        assert {"new.png", "cut.png"} <= set(after.paths[:5])
        assert "1-3.png" not in after.paths
        assert after.generation > before.generation
        assert collection.store.settings.get("vocabulary") == vocabulary
        collection.forget(["new.png"])
        assert "new.png" not in collection.search("1-0.png", k=30, line="objects").paths


def test_a_damaged_inverted_file_is_never_served(folder: Path) -> None:
    with likewise.open(folder) as collection:
        whole = collection.search("4-0.png", k=5, line="objects")
        generation = collection.store.generations.current("words")
        file = generation.folder / "index" / "posts.npy"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(bytes(data))
    with likewise.open(folder, write=True) as collection:
        degraded = collection.search("4-0.png", k=5, line="objects")
        assert "damaged" in degraded.degraded
        assert degraded.paths == whole.paths
        np.testing.assert_allclose(degraded.scores, whole.scores)
        collection.build()
        assert not collection.search("4-0.png", line="objects").degraded


def test_words_can_be_added_later(tmp_path: Path, made: Path) -> None:
    target = tmp_path / "later"
    target.mkdir()
    for name in ("0-0.png", "0-1.png", "5-0.png", "flat.png"):
        shutil.copy(made / name, target / name)
    with likewise.open(target, create=True) as collection:
        collection.index(features=("colour",), processes=1)
        assert not collection.status()["same_object"]
        with pytest.raises(BadInput, match="--features words"):
            collection.search("0-0.png", line="objects")
        assert collection.index(features=("words",), processes=1).embedded == 0
        assert collection.search("0-0.png", k=1, line="objects").paths == ["0-1.png"]
        assert collection.search("0-0.png", k=3).paths  # the look is as it was


def test_a_picture_without_local_features_says_so(made: Path, tmp_path: Path) -> None:
    blank = tmp_path / "blank.png"
    Image.new("RGB", (200, 200), (10, 20, 30)).save(blank)
    with likewise.open(made) as collection:
        for query in ("flat.png", blank):
            found = collection.search(query, line="objects", check=3)
            assert not len(found)
            assert "no local feature" in found.notes[0]
        assert "flat.png" in collection.search("0-0.png", k=99, line="objects").paths


def test_a_collection_of_flat_pictures_has_no_words(tmp_path: Path) -> None:
    for at in range(3):
        Image.new("RGB", (50, 50), (80 * at, 0, 0)).save(tmp_path / f"{at}.png")
    with likewise.open(tmp_path, create=True) as collection:
        collection.index(features=("colour", "words"), processes=1)
        found = collection.search("0.png", line="objects")
        assert not len(found)
        assert "local features" in found.notes[0]


def test_what_cannot_be_asked_is_refused(made: Path) -> None:
    with likewise.open(made) as collection:
        with pytest.raises(BadInput, match="pictures only"):
            collection.search("0-0.png", "red", line="objects")
        with pytest.raises(BadInput, match="pictures only"):
            collection.search(text="red", line="objects")
        with pytest.raises(BadInput, match="checked"):
            collection.search("0-0.png", line="objects", check=-1)
        with pytest.raises(BadInput, match="same-object"):
            collection.search("0-0.png", check=3)


def test_the_vocabulary_grows_with_the_collection(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with likewise.open(folder, write=True) as collection:
        old = collection.store.settings.get("vocabulary")
        monkeypatch.setattr(words_, "GROWTH", 1)
        collection.build()
        assert collection.store.settings.get("vocabulary") == old  # the same pictures give it
        collection.store.settings.set("vocabulary_pictures", 3)
        monkeypatch.setattr(words_, "PER_WORD", 30)
        collection.build()
        assert collection.store.settings.get("vocabulary") != old
        found = collection.search("3-0.png", k=3, line="objects")
        assert sum(same(p, "3-0.png") for p in found.paths) >= 2


def mark(collection: likewise.Collection, count: int = OBJECTS) -> None:
    for at in range(count):
        for number in range(2):
            query = collection.query(f"{at}-{number}.png", line="objects")
            shown = collection.ask(query, k=12).paths
            for relevant in (True, False):
                marked = [p for p in shown if same(p, f"{at}-") == relevant]
                collection.teaching.mark(query, marked, relevant)


def test_a_table_is_learned_shown_used_and_taken_back(folder: Path, tmp_path: Path) -> None:
    with likewise.open(folder, write=True) as collection:
        with pytest.raises(BadInput, match="no judgements"):
            collection.learn("word-table")
        mark(collection)
        model = collection.learn("word-table", name="mine", force=True)
        assert model.card["kind"] == "word-table"
        assert model.card["guard"]["sentence"]
        assert [b["idf"] for b in model.card["table"]] == sorted(
            b["idf"] for b in model.card["table"]
        )
        assert collection.models.active() is None  # the look is ranked as before
        assert collection.models.active("objects").id == model.id
        found = collection.search("3-0.png", line="objects")
        assert found.model == f"{model.id} mine"
        assert sum(same(p, "3-0.png") for p in found.paths[:3]) >= 2
        plain = collection.search("3-0.png", line="objects", model="plain")
        assert plain.model == "plain"
        with pytest.raises(SpaceMismatch):
            collection.search("3-0.png", model=model.id)
        compared = collection.models.evaluate([model.id])
        assert {row["method"] for row in compared.rows} == {"plain", f"{model.id} mine"}
        look = collection.learn(name="by look")  # older marks count for a line that has none
        with pytest.raises(BadInput, match="search the same"):
            collection.models.evaluate([model.id, look.id])
        file = collection.models.write(model.id, tmp_path / "table.safetensors")
        assert collection.models.read(file).space == model.space
        collection.models.rollback(task="objects")
        assert collection.search("3-0.png", line="objects").model == "plain"


def test_a_table_of_another_vocabulary_is_refused(folder: Path, tmp_path: Path) -> None:
    with likewise.open(folder, write=True) as collection:
        mark(collection, 3)
        model = collection.learn("word-table", force=True)
        file = collection.models.write(model.id, tmp_path / "table.safetensors")
    other = tmp_path / "other"
    other.mkdir()
    for name in ("0-0.png", "0-1.png", "5-0.png"):
        shutil.copy(folder / name, other / name)
    with likewise.open(other, create=True) as collection:
        collection.index(features=("colour", "words"), processes=1)
        with pytest.raises(SpaceMismatch, match="another space"):
            collection.models.read(file)


# -- the same through the command line and over HTTP ------------------------------


def run(*words: str, folder: Path) -> Any:
    result = CliRunner().invoke(app, [*words, "-c", str(folder), "--json"])
    assert result.exit_code == 0, result.output + result.stderr
    return json.loads(result.stdout)


def test_the_command_line_searches_learns_and_shows(folder: Path, tmp_path: Path) -> None:
    found = run("search", "6-0.png", "--line", "objects", "--check", "4", "-k", "5", folder=folder)
    assert found["results"][0]["inliers"] > 0
    assert found["results"][4]["inliers"] is None
    shown = CliRunner().invoke(
        app, ["search", "6-0.png", "--line", "objects", "--check", "4", "-c", str(folder)]
    )
    assert "places that agree" in shown.stdout
    assert "places that agree" not in CliRunner().invoke(
        app, ["search", "6-0.png", "-c", str(folder)]
    ).stdout  # fmt: skip
    with likewise.open(folder, write=True) as collection:
        mark(collection, 4)
    model = run("learn", "word-table", "--force", folder=folder)
    assert model["active"]
    card = CliRunner().invoke(app, ["models", "show", str(model["id"]), "-c", str(folder)])
    assert "1,1" in card.stdout
    assert [m["active"] for m in run("models", "list", folder=folder)] == [True]
    assert run("models", "rollback", "--task", "objects", folder=folder)["active"] is None
    assert run("models", "activate", str(model["id"]), "--force", folder=folder)["active"] == 1


def test_the_server_offers_the_switch(folder: Path) -> None:
    with (
        likewise.open(folder, write=True) as collection,
        Server(collection).running() as server,
        server.client(Authorization="Bearer the-token-of-the-tests") as client,
    ):
        assert client.get("/api/v1/status").json()["same_object"] is True
        item = collection.item("2-0.png").id
        asked = {"examples": [{"item": item}], "line": "objects", "check": 6, "k": 6}
        found = client.post("/api/v1/search", json=asked).json()["results"]
        assert sum(same(r["path"], "2-0.png") for r in found[:3]) >= 2
        assert found[0]["inliers"] > found[5]["inliers"]
        refused = client.post("/api/v1/search", json={**asked, "text": "red"})
        assert refused.status_code == 422
        assert "pictures only" in refused.json()["detail"]


@pytest.mark.slow
def test_the_server_learns_a_table_beside_another_model(folder: Path) -> None:
    with (
        likewise.open(folder, write=True) as collection,
        Server(collection).running() as server,
        server.client(Authorization="Bearer the-token-of-the-tests") as client,
    ):
        mark(collection)
        started = [
            client.post("/api/v1/models/learn", json=asked).json()["id"]
            for asked in (
                {"method": "word-table", "activate": False},
                {"activate": False},
                {"method": "word-table", "activate": False},
            )
        ]
        assert started[0] == started[2] != started[1]  # the same work once, other work beside it
        done = [wait_for(client, job, "done", "failed") for job in started[:2]]
        assert [job["state"] for job in done] == ["done", "done"], done
        table, look = (client.get(f"/api/v1/models/{job['model']}").json() for job in done)
        assert (table["task"], look["task"]) == ("objects", "look")
        assert table["card"]["kind"] == "word-table"
        told = client.post(f"/api/v1/models/{table['id']}/activate", json={"force": True})
        assert told.json() == {"model": table["id"], "previous": None}
        query = {"examples": [{"item": collection.item("2-0.png").id}], "line": "objects"}
        answer = client.post("/api/v1/search", json=query).json()
        assert answer["model"] == f"{table['id']} word-table"
        back = client.post("/api/v1/models/rollback", json={"task": "objects"}).json()
        assert back == {"model": None, "previous": table["id"]}


def test_the_server_reads_local_features_when_asked(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name in ("0-0.png", "0-1.png", "5-0.png"):
        shutil.copy(folder / name, other / name)
    with likewise.open(other, create=True) as collection:
        collection.index(features=("colour",), processes=1)
        with (
            Server(collection).running() as server,
            server.client(Authorization="Bearer the-token-of-the-tests") as client,
        ):
            assert client.get("/api/v1/status").json()["same_object"] is False
            job = client.post("/api/v1/jobs", json={"same_object": True}).json()
            assert wait_for(client, job["id"], "done", "failed")["state"] == "done"
            assert client.get("/api/v1/status").json()["same_object"] is True
            asked = {"examples": [{"item": collection.item("0-0.png").id}], "line": "objects"}
            found = client.post("/api/v1/search", json=asked).json()["results"]
            assert found[0]["path"] == "0-1.png"
