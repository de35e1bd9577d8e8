"""A collection that serves smoothed codes: what is smoothed, by whom, and what stays as it is."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from PIL import Image
from typer.testing import CliRunner

import likewise
from likewise.cli import app
from likewise.collection import Collection
from likewise.collection.lines import look, smoothing
from likewise.datasets import swatches
from likewise.learners import Plain
from likewise.solvers.smoothing import Smoothing, smooth
from likewise.spaces import Blocks
from likewise.store import Result
from likewise.types import BadInput, QueryRef, SpaceMismatch
from tests.collection.plain_store import embed, make, seen
from tests.server.conftest import Server, wait_for

COUNT = 60


@pytest.fixture
def collection(tmp_path: Path):
    """Sixty vectors, served smoothed."""
    with make(tmp_path / "vectors", COUNT) as made:
        made.store.settings.set("smoothing", "on")
        made.build()
        yield made


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drawn") / "pictures"
    folder.mkdir()
    for at, picture in enumerate(swatches(14, size=64, seed=4).render_all(jobs=1)):
        Image.fromarray(picture).save(folder / f"{at}.png")
    with likewise.open(folder, create=True) as made:
        made.index(features=("colour", "texture"), processes=1)
    return folder


@pytest.fixture
def folder(drawn: Path, tmp_path: Path) -> Path:
    return shutil.copytree(drawn, tmp_path / "pictures")


def expected(made: Collection) -> np.ndarray:
    view = made.look.view()
    return smooth(view.bare.rows(view.ids), view.plain.w0, k=5, power=3.0)


def test_items_serve_what_the_definition_says(collection: Collection) -> None:
    view = collection.look.view()
    assert view.is_complete
    assert view.plain.space.smoothing == Smoothing(5, 3.0)
    rows = view.rows(view.ids)
    np.testing.assert_allclose(rows, expected(collection), atol=1e-5)
    assert not np.allclose(rows, view.bare.rows(view.ids), atol=1e-3)
    own = collection.look.query(collection.ref("7.png"), view)  # its own stored code
    np.testing.assert_array_equal(own, view.rows([collection.item("7.png").id])[0])


def test_a_picture_from_elsewhere_is_smoothed_by_one_more_search(collection: Collection) -> None:
    view = collection.look.view()
    rng = np.random.default_rng(0)
    vector = rng.standard_normal(view.plain.space.dim).astype(np.float32)
    vector /= np.linalg.norm(vector)
    found = collection.look.vector(vector, view)
    items = view.bare.rows(view.ids)
    true = smooth(vector[None], view.plain.w0, items=items)[0]
    np.testing.assert_allclose(found, true, atol=1e-5)
    answer = collection.search(vector=vector, k=3)
    scores = np.sort(view.rows(view.ids) @ (view.plain.w0 * true))[::-1][:3]
    np.testing.assert_allclose(answer.scores, scores, atol=1e-5)
    np.testing.assert_array_equal(collection.look.vector(vector, view.bare), vector)


def test_a_new_picture_at_once_and_its_neighbours_at_the_next_generation(
    collection: Collection,
) -> None:
    before = collection.look.view()
    collection.store.items.see([seen(f"new {i}.png", f"new {i}") for i in range(3)])
    embed(collection.store)
    view = collection.look.view()
    old, new = before.ids, np.setdiff1d(view.ids, before.ids)
    assert len(new) == 3
    np.testing.assert_array_equal(view.rows(old), before.rows(old))
    whole = expected(collection)
    np.testing.assert_allclose(view.rows(new), whole[np.isin(view.ids, new)], atol=1e-5)
    collection.build()
    view = collection.look.view()
    assert view.is_complete
    np.testing.assert_allclose(view.rows(view.ids), whole, atol=1e-5)
    assert view.space == before.space  # models outlive generations


def test_too_many_new_ones_wait_and_the_answer_says_so(collection: Collection, monkeypatch) -> None:
    monkeypatch.setattr(look, "AT_ONCE", 100)
    collection.store.items.see([seen(f"new {i}.png", f"new {i}") for i in range(3)])
    embed(collection.store)
    answer = collection.search("0.png")
    assert "3 pictures are ranked without their neighbours until the index is built" in (
        answer.degraded
    )
    collection.build()
    assert not collection.search("0.png").degraded


@pytest.mark.parametrize("engine", ["flat", "faiss", pytest.param("tree", marks=pytest.mark.slow)])
def test_many_items_find_their_neighbours_through_an_index(
    collection: Collection, engine: str, monkeypatch
) -> None:
    exact = collection.look.view()
    codes = exact.rows(exact.ids)
    monkeypatch.setattr(smoothing, "MANY", 10)
    monkeypatch.setattr(smoothing, "BATCH", 7)
    collection.store.generations.withdraw()
    collection.store.settings.set("engine", engine)
    collection.build()
    view = collection.look.view()
    np.testing.assert_allclose(view.rows(view.ids), codes, atol=1e-5)
    asked = [view.plain.surrogate(row) for row in view.bare.rows(view.ids[:4])]
    for one, hits in zip(asked, view.bare.search_many(asked, 5)):
        np.testing.assert_array_equal(hits.ids, view.bare.search(one, 5).ids)
        scores = view.bare.rows(view.ids) @ one.vector
        np.testing.assert_allclose(hits.scores, np.sort(scores)[::-1][:5], atol=1e-5)


def test_duplicates_grid_target_search_and_neighbours_see_pictures_as_they_are(
    collection: Collection, tmp_path: Path
) -> None:
    def told() -> tuple:
        collection.neighbours(tmp_path / "near.parquet", k=4)
        near = parquet.read_table(tmp_path / "near.parquet")
        ids = collection.look.view().ids.tolist()
        return (
            collection.duplicates(0.7), collection.layouts.sorted(ids[:20]),
            collection.representatives(5), near["neighbour"].to_pylist(),
            collection.layouts.prepare_map().cells.tolist(),
            collection.targets.holdings().vectors.tolist(),
        )  # fmt: skip

    smoothed = told()
    plain = collection.search("0.png", k=COUNT)
    collection.store.settings.set("smoothing", "off")
    collection.build()
    assert collection.status()["smoothing"] == "off"
    assert not np.allclose(collection.search("0.png", k=COUNT).scores, plain.scores, atol=1e-3)
    for one, other in zip(smoothed, told()):
        assert one == other


def test_a_model_outlives_generations_and_a_switch_learns_it_anew(folder: Path) -> None:
    with likewise.open(folder, write=True) as made:
        assert made.status()["smoothing"] == "off"  # too few to check
        for query, good, bad in (("0.png", "1.png", "2.png"), ("3.png", "4.png", "5.png")):
            made.mark(query, [good])
            made.mark(query, [bad], False)
        before = made.learn(force=True)
        plain = made.search("9.png", k=5)
        assert plain.model == f"{before.id} {before.name}"
        report = made.index(processes=1, smoothing="on")
        assert report.embedded == 0  # nothing was read again
        assert made.status()["smoothing"] == "on"
        anew = made.models.all()[-1]
        assert anew.id == before.id + 1
        assert anew.space == made.look.view().space
        assert made.search("9.png").model == f"{anew.id} {anew.name}"  # forced, as it was before
        with pytest.raises(SpaceMismatch, match="another space"):
            made.search("9.png", model=before.id)
        Image.fromarray(np.full((64, 64, 3), 90, np.uint8)).save(folder / "grey.png")
        made.index(processes=1)  # another generation
        assert made.search("9.png").model == f"{anew.id} {anew.name}"
        made.models.activate(before.id, force=True)  # of another space: it waits for that
        assert made.search("9.png").model == "plain"
        made.index(processes=1, smoothing="off")
        assert made.search("9.png").model == f"{before.id} {before.name}"
        assert made.models.all()[-1].id == anew.id  # it came back: nothing to learn anew
        again = made.search("9.png", k=6)
        assert [p for p in again.paths if p != "grey.png"][:4] == plain.paths[:4]
        with pytest.raises(BadInput, match="auto, on, off"):
            made.index(smoothing="perhaps")


def test_a_folder_of_an_earlier_commit_stays_as_it_is_until_it_is_asked(tmp_path: Path) -> None:
    with zipfile.ZipFile(Path(__file__).parents[1] / "fixtures" / "old_folder.zip") as archive:
        archive.extractall(tmp_path)
    with likewise.open(tmp_path / "pictures", write=True) as made:
        space = made.look.view().space
        shutil.copy(made.file(int(made.look.view().ids[0])), tmp_path / "pictures" / "copy.jpg")
        made.index(processes=1)
        assert made.look.view().space == space
        assert made.status()["smoothing"] == "off"
        made.index(processes=1, smoothing="on")
        assert made.status()["smoothing"] == "on"


def test_a_query_picture_that_is_uploaded_or_cropped(folder: Path) -> None:
    with likewise.open(folder, write=True) as made:
        made.index(processes=1, smoothing="on")
        view = made.look.view()
        ref = QueryRef("item", "3.png", (0.1, 0.1, 0.9, 0.9))
        bare = made.look.query(ref, view.bare)
        true = smooth(bare[None], view.plain.w0, items=view.bare.rows(view.ids))[0]
        np.testing.assert_allclose(made.look.query(ref, view), true, atol=1e-5)
        query = made.query((folder / "3.png").read_bytes())
        assert made.ask(query, k=1).paths == ["3.png"]


def test_command_line_and_http_say_it_by_the_same_name(folder: Path) -> None:
    done = CliRunner().invoke(app, ["index", str(folder), "--smoothing", "on", "--processes", "1"])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["status", "-c", str(folder), "--json"])
    assert '"smoothing": "on"' in done.output
    done = CliRunner().invoke(app, ["index", str(folder), "--smoothing", "maybe"])
    assert done.exit_code != 0
    with (
        likewise.open(folder, write=True) as made,
        Server(made).running() as server,
        server.client(Authorization="Bearer the-token-of-the-tests") as client,
    ):
        assert client.get("/api/v1/status").json()["smoothing"] == "on"
        job = client.post("/api/v1/jobs", json={"smoothing": "off"}).json()
        assert wait_for(client, job["id"], "done", "failed")["state"] == "done"
        assert client.get("/api/v1/status").json()["smoothing"] == "off"
        assert client.post("/api/v1/jobs", json={"smoothing": "x"}).status_code == 422


def grown(made: Collection, count: int, *, alike: int) -> None:
    """More pictures: of each ``alike`` hardly differ, and the next ones are others."""
    rng = np.random.default_rng(count)
    made.store.items.see([seen(f"{count}-{i}.png", f"{count} {i}") for i in range(count)])
    pending = made.store.contents.pending(100_000)
    near = rng.standard_normal((count // alike + 1, 6)).repeat(alike, axis=0)[: len(pending)]
    own = (near + 0.02 * rng.standard_normal(near.shape)).astype(np.float32)
    results = [Result(p.content, width=8, height=8, format="PNG") for p in pending]
    made.store.contents.record(results, {"own": own, "words": np.zeros((len(own), 8), np.float32)})
    made.build()


def test_blocks_of_looks_alone_keep_nothing():
    x = np.random.default_rng(0).standard_normal((300, 12))
    looks = Blocks.identity({"colour": 6, "texture": 6})
    assert smoothing.kept(x, Plain(looks), Smoothing()) == 0
    seen_by_a_network = Plain(Blocks.identity({"deep": 6, "colour": 6}))
    assert smoothing.kept(x, seen_by_a_network, Smoothing()) > 0
    unweighed = Plain(seen_by_a_network.space, {"deep": 0.0, "colour": 1.0})
    assert smoothing.kept(x, unweighed, Smoothing()) == 0


@pytest.mark.parametrize(("alike", "decision"), [(1, "on"), (30, "off")])
def test_a_new_collection_decides_by_a_check(tmp_path: Path, alike: int, decision: str) -> None:
    """Scattered pictures stay apart; those that lie close together would run into one another."""
    with make(tmp_path / "vectors", 0) as made:
        grown(made, 60, alike=alike)
        assert made.status()["smoothing"] == "off"  # too few to tell
        grown(made, 300, alike=alike)
        assert made.status()["smoothing"] == decision
        told = made.store.settings.get("smoothing_check")
        assert (told["kept"] >= smoothing.KEPT) == (decision == "on")
        made.store.settings.set("smoothing", "off")
        made.build()
        assert made.status()["smoothing"] == "off"


def test_many_marks_see_pictures_as_they_are_and_few_see_what_serves(
    collection: Collection,
) -> None:
    query = collection.query("0.png")
    answers = {}
    for smoothing_ in ("on", "off"):
        collection.store.settings.set("smoothing", smoothing_)
        collection.build()
        for count in (1, 4, 5):
            records = [r for i in range(count) for r in collection.mark(query, [f"{3 + i}.png"])]
            answer = collection.ask(query, k=COUNT)
            assert answer.marks == count
            answers[smoothing_, count] = dict(zip(answer.ids.tolist(), answer.scores))
            first = int(answer.ids[0])
            told = collection.why(query, first)
            assert sum(told["blocks"].values()) == pytest.approx(answer.scores[0], abs=1e-5)
            assert sum(told["parts"].values()) == pytest.approx(answer.scores[0], abs=1e-5)
            for record in records:
                collection.undo(record)
    assert answers["on", 5] == pytest.approx(answers["off", 5], abs=1e-5)
    for few in (1, 4):
        assert answers["on", few] != pytest.approx(answers["off", few], abs=1e-3)
