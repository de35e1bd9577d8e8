"""Another network for the deep features: a new space beside the old one, marks go along."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import likewise
from likewise.cli import app
from likewise.collection.lines.defaults import NETWORK
from likewise.collection.network import features_of
from likewise.datasets import swatches
from likewise.features import named
from likewise.types import BadInput, SpaceMismatch


@pytest.fixture
def folder(tmp_path):
    top = tmp_path / "pictures"
    swatches(12, size=64, seed=1).write(top, jobs=1)
    with likewise.open(top, create=True) as collection:
        collection.index(features=("deep", "colour"), processes=1)
    return top


def test_a_changed_network_is_a_new_space_beside_the_old_one(folder):
    with likewise.open(folder, write=True) as collection:
        status, space = collection.status(), collection.look.view().space
        assert (status["network"], status["arithmetic"]) == ("lite0", "float32")
        collection.mark(1, [2], True)
        before = collection.search(5, k=5)
        arrays = {"weights": np.ones(2, np.float32)}
        model = collection.store.models.add("old", arrays, {"kind": "bilinear"}, space=space).id

        paused = collection.index(network="lite2", processes=1, should_stop=lambda: True)
        assert not paused.finished
        assert collection.status()["network"] == "lite0"  # serves until all is described
        assert collection.search(5, k=5).ids.tolist() == before.ids.tolist()

        report = collection.index(processes=1)  # what was paused goes on
        assert report.finished
        assert "put aside (1)" in report.notes[0]
        assert collection.status()["network"] == "lite2"
        view = collection.look.view()
        assert view.space != space
        assert view.plain.space.names == ("deep-lite2", "colour")
        assert {"deep", "deep-lite2"} <= set(collection.store.segments.blocks())
        answer = collection.search(5, k=5)
        assert answer.ids.tolist()
        assert collection.search(1, k=5).marks == 1
        with pytest.raises(SpaceMismatch, match="learn it anew"):
            collection.search(5, model=model)

        # New pictures and query pictures are described by the network of now.
        (folder / "new.jpg").write_bytes((folder / "swatch-0003.jpg").read_bytes() + b" ")
        assert collection.index(processes=1).embedded == 1
        assert collection.search(folder / "new.jpg", k=2).ids.tolist()
        # Plain names mean the blocks of the collection's own network.
        assert collection.index(features=("deep", "colour"), processes=1).finished


def test_the_default_is_that_of_new_collections_and_old_ones_remember_theirs(tmp_path):
    with likewise.open(tmp_path, create=True) as collection:
        told = collection.status()
        assert (told["network"], told["arithmetic"]) == NETWORK
        assert features_of(collection.store)[0] == named("deep", *NETWORK)
        collection.store.settings.set("features", ["deep", "logits", "colour"])
        told = collection.status()
        assert (told["network"], told["arithmetic"]) == ("lite0", "float32")


def test_a_new_collection_takes_its_network_at_once(tmp_path):
    swatches(4, size=64, seed=2).write(tmp_path / "pictures", jobs=1)
    options = ["index", str(tmp_path / "pictures"), "--processes", "1", "--features", "deep"]
    result = CliRunner().invoke(app, [*options, "--network", "lite1", "--arithmetic", "int8"])
    assert result.exit_code == 0, result.output
    with likewise.open(tmp_path / "pictures", write=True) as collection:
        assert collection.store.settings.get("features") == ["deep-lite1-int8"]
        assert (collection.status()["network"], collection.status()["arithmetic"]) == (
            "lite1",
            "int8",
        )
        with pytest.raises(BadInput, match="network is one of lite0, lite1, lite2"):
            collection.index(network="lite9")


def test_a_collection_without_a_network_has_none_to_choose(tmp_path):
    swatches(2, size=64, seed=2).write(tmp_path / "pictures", jobs=1)
    with likewise.open(tmp_path / "pictures", create=True) as collection:
        collection.index(features=("colour",), processes=1)
        assert collection.status()["network"] == ""
        with pytest.raises(BadInput, match="no deep features"):
            collection.index(network="lite2")
