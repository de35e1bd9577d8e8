"""The first minutes: pictures are seen as they are read, and searched long before the last."""

from __future__ import annotations

import re
import threading

import pytest

import likewise
from likewise.datasets import swatches
from likewise.intake import ingest as ingest_
from tests.browser.conftest import PATIENCE, sign_in, violations
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
    read = page.get_by_role("list", name="Photos just read")
    read.locator("img").first.wait_for()
    health = page.locator(".health")
    assert "0 photos can be found" not in health.inner_text()
    assert "searching begins in a moment" in health.inner_text()
    assert not client.get("/api/v1/status").json()["findable"]
    assert violations(page) == []
    gate.up_to(70)
    page.get_by_text(re.compile(r"[567]\d photos can be found")).wait_for()
    assert client.get("/api/v1/jobs").json()[0]["state"] == "running"
    newest = client.get("/api/v1/arrivals?count=3").json()["items"]
    assert [i["item"] for i in newest] == sorted((i["item"] for i in newest), reverse=True)
    found = client.post("/api/v1/search", json={"examples": [{"item": newest[-1]["item"]}], "k": 5})
    assert len(found.json()["results"]) == 5
    assert found.json()["degraded"] == ""
    gate.up_to(1000)
    page.wait_for_selector("text=90 photos can be found", timeout=PATIENCE)
    page.get_by_role("list", name="A sample of your photos").locator("img").first.wait_for()


def test_three_steps_lead_to_the_first_mark_and_never_come_back(page, served):
    page.goto(served.address)
    coach = page.get_by_role("status", name="First steps")
    coach.get_by_text("and press Similar").wait_for()
    assert coach.locator("li[aria-current]").inner_text() == "Pick one"
    assert violations(page) == []
    page.goto(f"{served.base}/results?like=12")
    coach.get_by_text("if it is what you look for").wait_for()
    page.locator(".card .yes").nth(4).click()
    coach.get_by_text("has learned from you").wait_for()
    assert coach.locator("li[aria-current]").inner_text() == "See it change"
    page.get_by_role("link", name="likewise").click()
    page.wait_for_selector(".card img")
    assert not coach.count()
    served.api("/judgements/1/undo", {})  # also where all feedback was taken back
    page.goto(served.base)
    page.wait_for_selector(".card img")
    assert not coach.count()


def test_home_remembers_searches_and_keeps_those_that_are_wanted(page, served):
    page.goto(served.address)
    page.wait_for_selector(".card img")
    for search in ("like=12", "text=stripes", "like=7&not=9&k=120", "like=12&view=sorted"):
        page.goto(f"{served.base}/results?{search}")
        page.wait_for_selector('.results[aria-busy="false"] img')
    page.goto(served.base)
    listed = page.get_by_role("list", name="Your searches")
    listed.locator("img").nth(1).wait_for()
    assert listed.locator("li").count() == 3  # how a search is shown makes it no other search
    assert [a.get_attribute("href") for a in listed.locator("a").all()] == [
        "/results?like=12", "/results?like=7&not=9", "/results?text=stripes",
    ]  # fmt: skip
    listed.get_by_role("button", name="Keep “stripes”").click()
    assert listed.locator("a").first.get_attribute("href") == "/results?text=stripes"
    listed.get_by_role("button", name="Remove like a photo and 1 more").click()
    page.reload()
    assert listed.locator("li").count() == 2
    assert violations(page) == []
    listed.locator("a").first.click()
    page.wait_for_url("**/results?text=stripes")


def test_the_search_field_suggests_words_of_this_collection(page, served):
    tags = {one["tag"] for one in served.api("/tags?limit=12")}
    page.goto(served.address)
    words = page.locator('#words:not([placeholder="Words"])')
    words.wait_for()
    given = words.get_attribute("placeholder").partition(": ")[2].split(", ")
    assert given
    assert set(given) <= tags


def test_the_map_fills_its_box_and_islands_have_names(page, served):
    sign_in(page, served)
    page.goto(f"{served.base}/?view=map")
    page.wait_for_selector('.map-host[data-pictures="true"]', timeout=4 * PATIENCE)
    page.get_by_text("80 of 80 photos in view").wait_for()
    box = page.locator(".map-host").bounding_box()
    assert box["width"] > 1.5 * box["height"]
    about = served.api("/map")
    page.wait_for_function(  # photos are drawn as they come
        """() => { const shown = document.querySelector('.map-host canvas');
        const c = new OffscreenCanvas(shown.width, shown.height);
        const g = c.getContext('2d', { willReadFrequently: true }); g.drawImage(shown, 0, 0);
        const d = g.getImageData(0, 0, c.width, c.height).data; let left = c.width, right = 0;
        for (let i = 3; i < d.length; i += 4) if (d[i] > 250) {
          const x = ((i - 3) / 4) % c.width; left = Math.min(left, x); right = Math.max(right, x); }
        return (right - left) / c.width > 0.75; }"""
    )
    names = [span.inner_text() for span in page.locator(".map-names span:visible").all()]
    assert names
    assert set(names) <= {name["text"] for name in about["names"]}
    assert {name["text"] for name in about["names"]} <= {t["tag"] for t in served.api("/tags")}


@pytest.mark.slow
def test_the_experiment_tells_what_a_person_sees_and_when(browser):
    from concurrent.futures import ThreadPoolExecutor

    from experiments import first_minutes
    from experiments.report import Report

    report = Report("first_minutes", quick=True, settings={"count": 56})
    with ThreadPoolExecutor(1) as apart:  # a driver of its own, beside that of the tests
        apart.submit(first_minutes.main, report).result()
    rows = {row["method"]: row for row in report.rows}
    thumbnail, answer, every = (rows[n] for n in ("first thumbnail", "first answer", "all"))
    assert 0 < thumbnail["seconds"] <= answer["seconds"] <= every["seconds"]
    assert every["results"] == 55  # all but the query itself
    assert [r["marks"] for r in report.rows if r["method"] == "marks"] == [0, 1, 3, 5]
    assert all(0 <= r["right20"] <= 20 for r in report.rows if r["method"] == "marks")
