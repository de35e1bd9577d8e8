"""A network of one's own, end to end: indexed, found by words, marked, moved, broken."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

import likewise
from likewise.cli import app
from likewise.collection.query_pictures import QueryPictures
from likewise.types import BadInput, DataProblem, NotFound
from tests.features.towers import colour_pictures, tokenizer, towers
from tests.laws.test_line_laws import sums_up

ASKED = ("red", "green", "blue", "yellow")


def drawn(folder: Path, count: int = 60) -> Path:
    """Pictures in four colours; letters stand for them, so that names say nothing."""
    folder.mkdir(parents=True)
    pictures, names = colour_pictures(4 * count, seed=11)
    shown = [(p, n) for p, n in zip(pictures, names) if n in ASKED]
    for at, (picture, name) in enumerate(shown[:count]):
        Image.fromarray(picture).save(folder / f"{'uvwx'[ASKED.index(name)]}{at}.png")
    return folder


def colour(path: str) -> str:
    return ASKED["uvwx".index(Path(path).name[0])]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return towers(tmp_path_factory.mktemp("network") / "clip")


@pytest.fixture(scope="module")
def indexed(network: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = drawn(tmp_path_factory.mktemp("collection") / "pictures")
    told = CliRunner().invoke(
        app, ["index", str(folder), "--features", f"clip:{network}", "--processes", "1"]
    )
    assert told.exit_code == 0, told.output
    return folder


@pytest.fixture(scope="module")
def shown(indexed: Path):
    with likewise.open(indexed, write=True) as collection:
        yield collection


def test_words_find_what_the_network_sees(shown):
    for word in ASKED:
        answer = shown.search(text=f"a {word} pattern", k=5)
        assert [colour(p) for p in answer.paths].count(word) >= 4
        assert answer.reader == "your network"
        assert all(r.found_by == ("your network",) for r in answer)
        assert not answer.notes
    (block,) = shown.look.view().plain.space.names
    assert block.startswith("clip-")


def test_the_surrogate_is_the_texts_vector_in_that_block(shown):
    """The order is that of the centred cosine of picture and text, as the network gives them."""
    view = shown.look.view()
    (block,) = view.plain.space.names
    text = shown.pictures.read("blue", block)
    raw = shown.store.segments.read(block, view.contents)
    centred = raw - view.plain.space.to_arrays()[0][f"{block}.mean"]
    cosine = centred @ text / (centred**2).sum(axis=1) ** 0.5
    told = shown.look.read("blue", view)
    scores = view.rows(view.ids) @ told.vector
    assert abs(scores @ cosine / ((scores @ scores) * (cosine @ cosine)) ** 0.5 - 1) < 1e-3


def test_why_sums_up_and_words_add_to_a_picture(shown):
    query = shown.query(text="red")
    for result in shown.ask(query, k=3):
        assert "text" in sums_up(shown, query, result)["parts"]
    green = next(i for i in shown.items.contents() if colour(shown.item(i).file) == "green")
    both = [colour(p) for p in shown.search(green, text="red", k=12).paths]
    assert {"red", "green"} <= set(both)


def test_marks_and_own_words_act_on_top(shown):
    query = shown.query(text="red")
    first = shown.ask(query, k=10)
    wrong = first.ids[:2].tolist()
    shown.mark(query, wrong, False)
    after = shown.ask(query, k=10)
    assert not set(wrong) & set(after.ids.tolist())
    assert after.marks == 2
    blue = [i for i in shown.items.contents() if colour(shown.item(i).file) == "blue"][:6]
    shown.tag(blue, add=["zanzibar"])
    found = shown.search(text="zanzibar", k=16)
    assert [colour(p) for p in found.paths].count("blue") >= 9  # more than were named
    assert found.reader == "your network"
    shown.click(query, after.ids[0])
    told = shown.why(query, int(after.ids[1]))
    assert "marks" in told["parts"]


def test_a_text_is_read_once(shown, monkeypatch):
    shown.search(text="yellow")
    monkeypatch.setattr("likewise.intake.workers.Describer.__call__", None)
    assert len(shown.search(text="yellow"))


def test_a_folder_that_moved_is_told_and_found_again(indexed, network, tmp_path):
    copy = Path(shutil.copytree(indexed, tmp_path / "pictures"))
    moved = Path(shutil.copytree(network, tmp_path / "moved"))
    with likewise.open(copy, write=True) as collection:
        places = {name: str(tmp_path / "gone") for name in collection.look.view().plain.space.names}
        collection.store.settings.set("network_places", places)
        answer = collection.search(text="red")
        assert "looked up in texts only" in answer.notes[0]
        assert "There is no onnx/vision_model.onnx" in answer.notes[0]
        Image.new("RGB", (64, 64), "red").save(copy / "u-new.png")
        with pytest.raises(DataProblem, match="no onnx/vision_model"):
            collection.index(processes=1)
        report = collection.index(features=[f"clip:{moved}"], processes=1)
        assert report.embedded == 1
        assert collection.search(text="red").reader == "your network"


def test_what_does_not_fit_is_told_before_pictures_are_read(tmp_path):
    folder = drawn(tmp_path / "pictures", 4)
    bad = towers(tmp_path / "bad")
    tokenizer(["<unknown>", "<start>", "<end>", *map(str, range(100))]).save(
        str(bad / "tokenizer.json")
    )
    broken = towers(tmp_path / "broken")
    (broken / "onnx/text_model.onnx").write_bytes(b"none")
    with likewise.open(folder, create=True) as collection:
        for place, says in ((bad, "does not fit"), (broken, "no ONNX network")):
            with pytest.raises((BadInput, DataProblem), match=says):
                collection.index(features=[f"clip:{place}"], processes=1)
        with pytest.raises(NotFound, match="takes a folder with"):
            collection.index(features=[f"clip:{tmp_path / 'none'}"], processes=1)
        assert not collection.items.contents()


def test_pictures_that_are_described_already_are_described_anew(network, tmp_path):
    folder = drawn(tmp_path / "pictures", 30)
    with likewise.open(folder, create=True) as collection:
        collection.index(features=["colour"], processes=1)
        collection.mark(1, [2], True)
        report = collection.index(features=["colour", f"clip:{network}"], processes=1)
        assert report.finished
        names = collection.look.view().plain.space.names
        assert names[0] == "colour"
        assert names[1].startswith("clip-")
        found = collection.search(text="green", k=3)
        assert [colour(p) for p in found.paths].count("green") >= 2
        assert collection.search(1, k=3).marks == 1


def test_the_text_network_runs_in_a_confined_child_only(network, indexed, monkeypatch):
    """Nothing of the folder is parsed by the process that serves."""
    import onnxruntime
    import tokenizers

    def refuse(*_):
        raise AssertionError("parsed here")

    monkeypatch.setattr(onnxruntime, "InferenceSession", refuse)
    monkeypatch.setattr(tokenizers.Tokenizer, "from_file", refuse, raising=False)
    with likewise.open(indexed) as collection:
        assert collection.search(text="blue", k=3).reader == "your network"
        assert isinstance(collection.pictures, QueryPictures)
