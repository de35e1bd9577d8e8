"""The first minutes: pictures are seen as they are read, and searched long before the last."""

from __future__ import annotations

import re
import threading

import pytest

import likewise
from likewise.datasets import swatches
from likewise.intake import ingest as ingest_
from tests.browser.conftest import PATIENCE, violations
from tests.server.conftest import Server, wait_for


class Gate:
    """Lets pictures come in up to a number, and holds the next back."""

    def __init__(self, describe) -> None:
        self.describe, self.let, self.changed = describe, 0, threading.Condition()

    def __call__(self, *args, **how):
        for at, outcome in enumerate(self.describe(*args, **how)):
            with self.changed:
                self.changed.wait_for(lambda at=at: at < self.let)
            yield outcome

    def up_to(self, count: int) -> None:
        with self.changed:
            self.let = count
            self.changed.notify_all()


@pytest.fixture
def coming(tmp_path, monkeypatch):
    """A server whose 90 pictures come in as a test lets them."""
    gate = Gate(ingest_.describe)
    for name, value in (("describe", gate), ("COMMIT_EVERY", 10), ("FIRST_SECONDS", 0.0)):
        monkeypatch.setattr(ingest_, name, value)
    folder = tmp_path / "pictures"
    swatches(90, size=64, seed=4).write(folder, jobs=1)
    with (
        likewise.open(folder, create=True) as collection,
        Server(collection).running() as server,
        server.client(Authorization=f"Bearer {server.access.token}") as client,
    ):
        collection.store.settings.set("features", ["colour", "texture"])
        job = client.post("/api/v1/jobs", json={}).json()["id"]
        yield server, client, gate
        gate.up_to(1000)
        wait_for(client, job, "done", "failed", "paused")


def test_pictures_are_seen_when_read_and_found_after_fifty(page, coming):
    server, client, gate = coming
    page.goto(f"{server.base}/?token={server.access.token}")
    gate.up_to(20)
    read = page.get_by_role("list", name="Pictures just read")
    read.locator("img").first.wait_for()
    health = page.locator(".health")
    assert "0 pictures can be found" not in health.inner_text()
    assert "searching begins in a moment" in health.inner_text()
    assert not client.get("/api/v1/status").json()["findable"]
    assert violations(page) == []
    gate.up_to(70)
    page.get_by_text(re.compile(r"[567]\d pictures can be found")).wait_for()
    assert client.get("/api/v1/jobs").json()[0]["state"] == "running"
    newest = client.get("/api/v1/arrivals?count=3").json()["items"]
    assert [i["item"] for i in newest] == sorted((i["item"] for i in newest), reverse=True)
    found = client.post("/api/v1/search", json={"examples": [{"item": newest[-1]["item"]}], "k": 5})
    assert len(found.json()["results"]) == 5
    assert found.json()["degraded"] == ""
    gate.up_to(1000)
    page.wait_for_selector("text=90 pictures can be found", timeout=PATIENCE)
    page.get_by_role("list", name="A sample of your pictures").locator("img").first.wait_for()
