"""The same-object switch: local features read on request, then found, checked and learned from."""

from __future__ import annotations

import time

import numpy as np
import pytest
from PIL import Image

import likewise
from likewise.datasets import swatches
from tests.browser.conftest import (
    PATIENCE,
    Served,
    drawer,
    order,
    results,
    settled,
    sign_in,
    violations,
)

OBJECTS, VIEWS = 6, 3


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Views of a few things, indexed by how they look only."""
    folder = tmp_path_factory.mktemp("objects") / "pictures"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for at, whole in enumerate(swatches(OBJECTS, size=160, seed=5).render_all(jobs=1)):
        for number in range(VIEWS):
            top, left = rng.integers(0, 25, 2)
            part = Image.fromarray(whole[top : top + 135, left : left + 135])
            part.rotate(90 * number).save(folder / f"{at}-{number}.png")
    with likewise.open(folder, create=True) as collection:
        collection.index(features=("colour",), processes=1)
    running = Served(folder).start()
    yield running
    running.stop()


def wait_for_objects(served) -> None:
    """Wait until the local features are read."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not any(job["kind"] == "index" and job["state"] == "done" for job in served.api("/jobs")):
        assert time.monotonic() < deadline, served.api("/jobs")
        time.sleep(0.2)
    assert served.api("/status")["same_object"]


def test_the_switch_offers_to_read_what_it_needs_and_then_finds(page, objects):
    sign_in(page, objects)
    # Of a pattern that no other thing repeats, as 0 and 4 do in each other's places.
    item = next(i for i in objects.api("/items")["items"] if i["path"].startswith("3-"))
    looks = results(page, objects, f"like={item['item']}")
    switch = drawer(page).get_by_role("checkbox", name="same object")
    switch.click()
    assert not switch.is_checked()
    assert "same=1" not in page.url
    page.get_by_role("button", name="Read them").click()
    wait_for_objects(objects)
    page.reload()
    page.wait_for_selector('ul[aria-label="Results"] .card img')
    drawer(page)
    switch.check()
    page.wait_for_url("**same=1**")
    settled(page, changed=looks)
    thing = item["path"].split("-")[0]
    assert all(name.startswith(thing) for name in order(page)[: VIEWS - 1])
    labels = page.locator('ul[aria-label="Results"] .picture').evaluate_all(
        "all => all.map(c => c.getAttribute('aria-label'))"
    )
    assert all("places agree" in label for label in labels[: VIEWS - 1]), labels
    assert violations(page) == []
    page.reload()
    page.wait_for_selector('ul[aria-label="Results"] .card img')
    page.wait_for_selector('.results[aria-busy="false"]')
    drawer(page)
    assert switch.is_checked()
    by_object = order(page)
    switch.uncheck()
    settled(page, changed=by_object)


def learning(page, served, what: str):
    """The learn section of the models, with this begun."""
    sign_in(page, served)
    page.goto(f"{served.base}/models")
    section = page.get_by_role("region", name="Learning")
    section.get_by_label("What").select_option(label=what)
    section.get_by_role("button", name="Learn now").click()
    return section


def test_marks_teach_the_table_from_the_models_screen(page, objects):
    if not objects.api("/status")["same_object"]:
        objects.api("/jobs", {"same_object": True})
    wait_for_objects(objects)
    every = {i["path"]: i["item"] for i in objects.api("/items?limit=100")["items"]}
    for path, query in every.items():
        thing = path.split("-")[0]
        for relevant in (True, False):
            marked = [i for p, i in every.items() if p.startswith(f"{thing}-") == relevant]
            marked = [i for i in marked if i != query][:4]
            about = {"query": {"examples": [{"item": query}]}, "items": marked}
            objects.api("/judgements", {**about, "relevant": relevant})
    learn = learning(page, objects, "What shows the same object, from marks")
    learn.locator(".verdict", has_text="word-table").wait_for()
    page.locator(".card-of-model").wait_for()
    page.locator(".modellist", has_text="word-table").wait_for()
    assert violations(page) == []


def test_words_without_any_click_say_what_to_do(page, objects):
    learn = learning(page, objects, "What words look like, from clicks and captions")
    learn.get_by_text("no clicks").wait_for()
