"""The sorted grid and the map over HTTP."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest
from PIL import Image

from likewise.server.routes import layouts
from tests.server.conftest import ids

API = "/api/v1"


def wait_for(client, job: dict) -> dict:
    deadline = time.monotonic() + 90
    while job["state"] in ("queued", "running"):
        assert time.monotonic() < deadline, job
        time.sleep(0.1)
        job = client.get(f"{API}/jobs/{job['id']}").json()
    return job


def drawn(client) -> dict:
    job = wait_for(client, client.post(f"{API}/map").json())
    assert job["state"] == "done", job
    return client.get(f"{API}/map").json()


def test_the_map_is_drawn_by_a_job_and_kept(client, collection):
    before = client.get(f"{API}/map").json()
    assert (before["current"], before["count"], before["items"]) == (False, 0, None)
    about = drawn(client)
    assert about["current"]
    assert about["count"] == 40
    job = client.get(f"{API}/jobs").json()[0]
    assert (job["kind"], job["message"]) == ("map", "The map shows 40 pictures.")

    answer = client.get(about["items"])
    assert "immutable" in answer.headers["cache-control"]
    n, data = about["count"], answer.content
    assert len(data) == 13 * n
    numbers = np.frombuffer(data, "<f8", n)
    columns, rows = (np.frombuffer(data, "<u2", n, at * n) for at in (8, 10))
    levels = np.frombuffer(data, "u1", n, 12 * n)
    assert sorted(numbers.astype(int).tolist()) == ids(collection)
    assert len(set(zip(columns.tolist(), rows.tolist()))) == n
    assert max(columns.max(), rows.max()) < 2 ** about["bits"]
    assert levels.max() <= about["bits"]

    assert sum(about["counts"]) == n
    level = min(about["bits"], 6)
    shift = about["bits"] - level
    own = (rows.astype(int) >> shift << level) + (columns.astype(int) >> shift)
    assert about["counts"] == np.bincount(own, minlength=4**level).tolist()

    (page,) = about["pages"]
    answer = client.get(page)
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"] == "image/jpeg"
    sheet = Image.open(io.BytesIO(answer.content))
    assert sheet.width == about["tile"] * about["across"]


def test_places_come_in_parts(client, collection, monkeypatch):
    collection.layouts.keep_map(collection.layouts.prepare_map())
    about = client.get(f"{API}/map").json()
    whole = client.get(about["items"]).content
    assert client.get(f"{about['items']}?part=0").content == whole
    monkeypatch.setattr(layouts, "ON_PART", 16)
    parts = [client.get(f"{about['items']}?part={part}").content for part in range(4)]
    assert [len(part) // 13 for part in parts] == [16, 16, 8, 0]
    for kind, size, at in (("<f8", 8, 0), ("<u2", 2, 8), ("<u2", 2, 10), ("u1", 1, 12)):
        read = [np.frombuffer(p, kind, len(p) // 13, at * len(p) // 13) for p in parts]
        assert np.concatenate(read).tobytes() == whole[at * 40 : (at + size) * 40]
    assert client.get(f"{about['items']}?part=-1").status_code == 422


def test_addresses_of_another_map_are_not_found(client, collection):
    collection.layouts.keep_map(collection.layouts.prepare_map())
    assert client.get(f"{API}/map").json()["current"]
    for part in ("items", "pages"):
        answer = client.get(f"{API}/map/{part}/{'0' * 64}")
        assert answer.status_code == 404
        assert "again" in answer.json()["detail"]


def test_two_askers_get_the_same_job(client):
    first, second = (client.post(f"{API}/map").json() for _ in range(2))
    assert first["id"] == second["id"]
    client.post(f"{API}/jobs/{first['id']}/cancel")
    assert wait_for(client, first)["state"] == "cancelled"
    assert not client.get(f"{API}/map").json()["current"]


def test_sorting_over_http(client, collection):
    items = ids(collection)
    rows = client.post(f"{API}/layouts/sorted", json={"items": items, "columns": 7}).json()["rows"]
    assert {len(row) for row in rows} == {7}
    assert sorted(i for row in rows for i in row if i) == items


@pytest.mark.parametrize(
    "body", [{"items": []}, {"items": [1], "columns": 0}, {"items": list(range(1, 1002))}]
)
def test_what_cannot_be_sorted_is_refused(client, body):
    assert client.post(f"{API}/layouts/sorted", json=body).status_code == 422


def test_items_are_looked_up_in_the_order_asked(client, collection):
    few = [*reversed(ids(collection)[:3]), 99_999]
    found = client.post(f"{API}/items/list", json={"items": few}).json()["items"]
    assert [i["item"] for i in found] == few[:3]


def test_a_search_gives_up_to_a_thousand(client, collection):
    body = {"examples": [{"item": ids(collection)[0]}], "k": 1000}
    assert len(client.post(f"{API}/search", json=body).json()["results"]) == 39
    assert client.post(f"{API}/search", json={**body, "k": 1001}).status_code == 422
