"""Models out and in as files, and two of them compared on chosen judgements."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import likewise
from likewise.store.arrays import pack, unpack
from tests.server.conftest import ids

API = "/api/v1"


@pytest.fixture(scope="module")
def taught(made, tmp_path_factory):
    """A folder with marks of two people and two models."""
    folder = tmp_path_factory.mktemp("taught") / "pictures"
    shutil.copytree(made, folder)
    with likewise.open(folder, write=True) as collection:
        items = ids(collection)
        rng = np.random.default_rng(0)
        for n, query in enumerate(items[:12]):
            others = [i for i in rng.permutation(items).tolist() if i != query][:8]
            ref = collection.query(query)
            who = {"person": ("Ada", "Ben")[n % 2], "source": "web"}
            collection.teaching.mark(ref, others[:3], True, **who)
            collection.teaching.mark(ref, others[3:], False, **who)
        for name in ("first", "second"):
            collection.learn(name=name, activate=False)
    return folder


@pytest.fixture
def folder(taught, tmp_path):
    target = tmp_path / "pictures"
    shutil.copytree(taught, target)
    return target


def test_the_card_has_curves_and_the_queries_that_changed(client, collection):
    card = client.get(f"{API}/models/1").json()["card"]
    assert set(card["curves"]) == {"plain", "new"}
    assert card["changes"]["worst"] or card["changes"]["best"]
    known = set(ids(collection))
    for one in [*card["changes"]["worst"], *card["changes"]["best"]]:
        assert one["query"]["item"] in known
        for order in ("items_before", "items_after"):
            assert {item for item, _ in one[order]} <= known
        assert sorted(one["items_before"]) == sorted(one["items_after"])  # eight were judged
    assert all(one["after"] < one["before"] for one in card["changes"]["worst"])
    assert all(one["after"] > one["before"] for one in card["changes"]["best"])


def test_two_models_are_compared_on_all_or_some_judgements(client):
    def compare(**on):
        return client.post(f"{API}/models/compare", json={"model": "1", **on}).json()

    whole = compare()
    assert [row["method"] for row in whole["rows"]] == ["plain", "1 first"]
    assert (whole["against"], whole["model"], whole["judgements"]) == ("plain", "1 first", 96)
    assert whole["rows"][1]["p_value"] <= 1
    assert set(whole["curves"]) == {"plain", "1 first"}
    assert compare(person="Ada")["judgements"] == 48
    assert compare(source="web")["judgements"] == 96
    twins = compare(against="2")
    assert twins["rows"][1]["difference"] == 0  # both learned the same
    assert twins["changes"] == {"worst": [], "best": []}


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"model": "1", "against": "1"}, 422, "two different"),
        ({"model": "77"}, 404, "no model 77"),
        ({"model": "1", "person": "Nobody"}, 422, "no labels"),
        ({"model": "1", "until": 1}, 422, "no labels"),
        ({"model": "best"}, 422, "model"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(client, body, status, says):
    answer = client.post(f"{API}/models/compare", json=body)
    assert answer.status_code == status
    assert says in answer.json()["detail"]


def test_who_said_how_much(client):
    found = client.get(f"{API}/judgements/by").json()
    assert found["people"] == [
        {"name": "Ada", "judgements": 48},
        {"name": "Ben", "judgements": 48},
    ]
    assert found["sources"] == [{"name": "web", "judgements": 96}]


def test_a_model_goes_out_and_comes_back_in(client, collection):
    answer = client.get(f"{API}/models/1/file")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert "1-first.safetensors" in answer.headers["content-disposition"]
    key = {"Idempotency-Key": "import-it-once"}
    came = client.post(f"{API}/models/import", content=answer.content, headers=key)
    again = client.post(f"{API}/models/import", content=answer.content, headers=key)
    assert came.status_code == 201
    assert came.json() == again.json()
    assert (came.json()["id"], came.json()["name"]) == (3, "first")
    assert came.json()["card"]["imported"]
    query = {"examples": [{"item": ids(collection)[0]}], "k": 10, "marks": False}
    one, other = (
        client.post(f"{API}/search", json={**query, "model": m}).json()["results"]
        for m in ("1", "3")
    )
    assert [r["item"] for r in one] == [r["item"] for r in other]

    # What the guard said elsewhere does not count here, however well it went there.
    assert "guard" not in came.json()["card"]
    refused = client.post(f"{API}/models/3/activate", json={})
    assert refused.status_code == 422
    assert "never compared" in refused.json()["detail"]
    assert client.post(f"{API}/models/3/activate", json={"force": True}).status_code == 200


def test_a_model_that_makes_infinite_numbers_is_not_activated(client, collection):
    """Such a file may have come in before imports were checked."""
    arrays, card = collection.store.models.load(1)
    space = collection.store.models.get(1).space
    bad = collection.store.models.add("large", enlarged(arrays, 1e308), card, space=space)
    before = client.get(f"{API}/models").json()
    answer = client.post(f"{API}/models/{bad.id}/activate", json={"force": True})
    assert answer.status_code == 422
    assert "every search would fail" in answer.json()["detail"]
    assert client.get(f"{API}/models").json() == before
    asked = {"examples": [{"item": ids(collection)[0]}]}
    assert client.post(f"{API}/search", json=asked).status_code == 200


def enlarged(arrays: dict, by: float) -> dict:
    return {
        name: np.sign(array.astype(float)) * by if array.dtype.kind == "f" else array
        for name, array in arrays.items()
    }


def spoilt(data: bytes, how: str) -> bytes:
    arrays, envelope = unpack(data, "it")
    if how == "cut short":
        return data[: len(data) // 2]
    if how == "no card":
        return pack(arrays, {})
    if how == "another space":
        return pack(arrays, {**envelope, "space": "elsewhere"})
    if how == "unknown kind":
        return pack(arrays, {**envelope, "card": {**envelope["card"], "kind": "magic"}})
    if how == "no mapping":
        return pack(arrays, {**envelope, "card": [1]})
    if how == "weights too large":
        return pack(enlarged(arrays, 1e308), envelope)
    if how == "weights too large for an index":
        return pack(enlarged(arrays, 1e30), envelope)
    if how == "name is a number":
        return pack(arrays, {**envelope, "name": 5})
    assert how == "wrong shape"
    return pack({name: array[..., :1] for name, array in arrays.items()}, envelope)


@pytest.mark.parametrize(
    "how",
    ["cut short", "no card", "another space", "unknown kind", "no mapping", "name is a number",
     "wrong shape", "weights too large", "weights too large for an index"],
)  # fmt: skip
def test_a_file_that_cannot_rank_here_is_refused_and_nothing_is_added(client, how):
    data = client.get(f"{API}/models/1/file").content
    answer = client.post(f"{API}/models/import", content=spoilt(data, how))
    assert answer.status_code == (409 if how == "another space" else 422), answer.text
    assert answer.json()["detail"].endswith(".")
    assert len(client.get(f"{API}/models").json()) == 2


def test_an_empty_import_is_refused(client):
    assert client.post(f"{API}/models/import", content=b"").status_code == 422


def test_the_guard_counts_queries_by_their_own_names(collection):
    """Runs are ranked in the order of names, "10" before "2"; measures must follow it."""
    from likewise.collection.learn.guard import _measures

    run = {str(q): {"1": 1.0, "2": 0.0} for q in range(12)}
    truth = {str(q): {"1": 1.0, "2": 1.0 if q == 2 else 0.0} for q in range(12)}
    found = _measures(run, truth)
    assert [name for name, (ap, *_) in found.items() if np.isnan(ap)] == ["2"]
