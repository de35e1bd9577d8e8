"""A method of an installed package: learned, guarded, activated, explained, rolled back."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import likewise
from likewise.collection.learn.methods import METHODS
from likewise.types import BadInput, DataProblem
from tests.brought import PAGE, install
from tests.server.conftest import Server, wait_for


@pytest.fixture
def brought(tmp_path, monkeypatch):
    """The folder of the package, on the path of this process and of those it starts."""
    place = tmp_path / "site"
    place.mkdir()
    install(place)
    monkeypatch.syspath_prepend(str(place))
    path = os.pathsep.join([str(place), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)
    METHODS.__dict__.pop("_brought", None)
    yield place
    METHODS.__dict__.pop("_brought", None)
    sys.modules.pop("blockweights", None)


@pytest.fixture
def marked(folder):
    """A collection with some marks."""
    with likewise.open(folder, write=True) as collection:
        for item in range(1, 7):
            query = collection.query(item)
            collection.teaching.mark(query, [item + 10, item + 20])
            collection.teaching.mark(query, [item + 30, item + 35], relevant=False)
        yield collection


def test_through_python(brought, marked):
    model = marked.learn("block-weights", name="mine", settings={"strength": 2}, force=True)
    assert model.card["guard"]["sentence"]
    assert model.card["settings"] == {"strength": 2.0}
    assert marked.models.active().id == model.id
    answer = marked.search(3, k=5, marks=False)
    assert answer.model == f"{model.id} mine"
    why = marked.why(marked.query(40), int(answer.ids[1]))
    assert why["model"] == answer.model
    assert sum(why["blocks"].values()) == pytest.approx(why["score"], abs=1e-5)
    marked.models.rollback()
    assert marked.search(3, marks=False).model == "plain"
    with pytest.raises(BadInput, match="strength is a number from 0 to 10, not 11"):
        marked.learn("block-weights", settings={"strength": 11})


def test_a_model_whose_package_is_gone_waits(brought, marked, monkeypatch):
    model = marked.learn("block-weights", force=True)
    data = marked.models.packed(model.id)
    monkeypatch.undo()
    METHODS.__dict__.pop("_brought", None)
    with likewise.open(marked.folder) as again:
        assert again.search(3, marks=False).model == "plain"
        assert again.models.active().id == model.id
        with pytest.raises(DataProblem, match="install the package"):
            again.search(3, model=model.id)
    with pytest.raises(BadInput, match="cannot rank here"):
        marked.models.take(data)


def test_a_method_that_fails_is_one_sentence(brought, marked, monkeypatch):
    import blockweights

    def fit(self, *_):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(blockweights.BlockWeightsLearner, "fit", fit)
    with pytest.raises(DataProblem, match="package blockweights failed: ZeroDivisionError"):
        marked.learn("block-weights")


def run(*words: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "likewise", *words],
        cwd=PAGE.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def test_through_the_command_line(brought, folder, marked):
    listed = json.loads(run("methods", "--json"))
    assert [m["name"] for m in listed["methods"]][-1] == "block-weights"
    assert len(listed["problems"]) == 1
    assert "package brokenmethod is left out: this package needs" in listed["problems"][0]
    assert "newer moon" in run("doctor", "-c", str(folder), "--json", code=1)
    marked.close()
    at = ("-c", str(folder), "--json")
    model = json.loads(run("learn", "block-weights", "--set", "strength=2", "--force", *at))
    assert (model["task"], model["active"]) == ("look", True)
    assert json.loads(run("search", "3", *at))["model"] == f"{model['id']} block-weights"
    assert json.loads(run("models", "rollback", *at))["active"] is None


def test_over_http(brought, marked):
    with (
        Server(marked).running() as server,
        server.client(Authorization="Bearer the-token-of-the-tests") as client,
    ):
        api = "/api/v1"
        listed = {m["name"]: m for m in client.get(f"{api}/methods").json()}
        assert listed["block-weights"]["package"] == "blockweights"
        assert listed["block-weights"]["settings"][0]["most"] == 10
        for body, sentence in (
            ({"method": "magic"}, "There is no method 'magic'; there are"),
            ({"method": "block-weights", "settings": {"x": 1}}, "its settings are strength"),
            ({"method": "block-weights", "settings": {"strength": "2"}}, "from 0 to 10, not '2'"),
        ):
            refused = client.post(f"{api}/models/learn", json=body)
            assert refused.status_code == 422
            assert sentence in refused.json()["detail"]
        assert client.get(f"{api}/jobs").json() == []  # refused before any job began
        body = {"method": "block-weights", "settings": {"strength": 2}, "name": "mine"}
        job = client.post(f"{api}/models/learn", json=body).json()
        done = wait_for(client, job["id"], "done", "failed")
        assert done["state"] == "done", done
        model = client.get(f"{api}/models/{done['model']}").json()
        assert (model["name"], model["task"]) == ("mine", "look")
        client.post(f"{api}/models/{model['id']}/activate", json={"force": True})
        asked = {"examples": [{"item": 40}], "k": 3}
        answer = client.post(f"{api}/search", json=asked).json()
        assert answer["model"] == f"{model['id']} mine"
        item = answer["results"][1]["item"]
        why = client.post(f"{api}/why", json={"examples": [{"item": 40}], "item": item}).json()
        assert sum(why["blocks"].values()) == pytest.approx(why["score"], abs=1e-5)
        assert client.post(f"{api}/models/rollback", json={}).json()["model"] is None
