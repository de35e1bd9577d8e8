"""Each paper's own way, from the page, in at most three clicks (same object: its own file)."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from PIL import Image

import likewise
from likewise.datasets import swatches
from likewise.filters import Filter
from tests.browser.conftest import PATIENCE, Served, sign_in
from tests.browser.test_board import drag, piece, wait_round

KINDS, EACH = 4, 30
"""Pictures in class folders; with fewer than a hundred no check can tell."""


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """Swatches in a folder per motif, with marks by motif and clicks on words."""
    folder = tmp_path_factory.mktemp("papers") / "pictures"
    made = swatches(12 * KINDS * EACH, size=48, seed=3)
    motifs = made.truth["motif"]
    for motif in np.unique(motifs)[:KINDS]:
        (folder / motif).mkdir(parents=True)
        for row in np.flatnonzero(motifs == motif)[:EACH]:
            Image.fromarray(made[row]).save(folder / motif / f"{row}.png")
    with likewise.open(folder, create=True) as collection:
        collection.index(features=("colour", "texture"), processes=1)
        items = dict[str, list[int]]()
        for item in collection.items.page(Filter()):
            items.setdefault(item.file.partition("/")[0], []).append(item.id)
        for name, own in items.items():
            others = [i for other, ids in items.items() if other != name for i in ids]
            for at, query in enumerate(own[:6]):
                collection.mark(query, [i for i in own[at : at + 5] if i != query], True)
                collection.mark(query, others[at::20], False)
                collection.click((), own[at], text=name)
    running = Served(folder).start()
    yield running
    running.stop()


def learn(page, served, method: str, what: str, *setting: str) -> dict:
    """Choose what to learn, set at most one setting, press Learn: three clicks; its settings."""
    sign_in(page, served)
    page.goto(f"{served.base}/models")
    section = page.get_by_role("region", name="Learning")
    section.get_by_label("What").select_option(label=what)
    if setting:
        box = section.get_by_label(setting[0], exact=True)
        choosing = box.evaluate("e => e.tagName") == "SELECT"
        (box.select_option if choosing else box.fill)(setting[1])
    section.get_by_role("button", name="Learn now").click()
    page.wait_for_selector(f".learn .verdict b:has-text('{method}')", timeout=8 * PATIENCE)
    card = served.api("/models")[0]["card"]
    assert card["method"] == method
    return card["settings"]


def test_reference_queries_with_a_chosen_sigma(page, kinds):
    what = "What looks similar near taught photos, as in the paper"
    assert learn(page, kinds, "reference-queries", what, "sigma", "0.9")["sigma"] == 0.9


@pytest.mark.slow
def test_top_precision_from_folders_as_labels(page, kinds):
    what = "What comes first, from marks or folders"
    assert learn(page, kinds, "top-precision", what, "labels", "folders")["labels"] == "folders"


def test_words_from_clicks(page, kinds):
    learn(page, kinds, "ranked-cca", "What words look like, from clicks and captions")


def test_the_board_as_in_the_paper(page, kinds):
    sign_in(page, kinds)
    page.goto(f"{kinds.base}/target")
    page.wait_for_selector(".gallery .picture img")
    page.locator(".ways summary").click()
    page.get_by_label("The next board shows").select_option("paper")
    page.get_by_role("button", name="Closest: ").first.click()
    wait_round(page, 2)
    number = int(page.url.partition("session=")[2].partition("&")[0])
    board = kinds.api(f"/sessions/{number}")
    near, far = (p["item"] for p in board["pictures"][:2])
    drag(page, near, 0.5, 0.4)
    drag(page, far, 0.5, 0.1)
    piece(page, near).wait_for()
    page.keyboard.press("g")
    wait_round(page, 3)
    with likewise.open(kinds.folder) as collection:
        begun = collection.sessions.get(number).payload["settings"]
    assert (begun["use_filter"], begun["accumulate"]) == (False, False)


def test_a_study_gives_photos_to_look_for_both_ways_by_turns(page, kinds):
    sign_in(page, kinds)
    page.goto(f"{kinds.base}/target")
    page.wait_for_selector(".gallery .picture img")
    page.locator(".ways summary").click()
    page.get_by_role("button", name="Start a study").click()
    for number in (1, 2):
        page.wait_for_selector(f"text=Look for this photo ({number} of 10)")
        page.wait_for_selector(".gallery .picture img")
        page.get_by_role("button", name="Closest: ").first.click()
        wait_round(page, 2)
        page.wait_for_selector('img[alt="the photo to look for"]')
        page.get_by_role("button", name="Give up").click()
        page.get_by_role("button", name="No, only end it").click()
        page.get_by_role("button", name="Next photo of the study").click()
    page.wait_for_selector("text=Look for this photo (3 of 10)")
    page.get_by_role("button", name="End the study").click()
    page.wait_for_selector("text=Look for this photo", state="detached")
    with page.expect_download() as download:
        page.get_by_role("link", name="Times of all searches as CSV").click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["looked_for"]]
    ways = {row["session"]: row["way"] for row in rows}
    assert sorted(ways.values()) == ["ours", "paper"]
    assert len({row["looked_for"] for row in rows}) == 2


def test_the_next_closest_are_named_on_the_board(page, kinds):
    sign_in(page, kinds)
    page.goto(f"{kinds.base}/target")
    page.get_by_role("button", name="Closest: ").first.click()
    wait_round(page, 2)
    number = int(page.url.partition("session=")[2].partition("&")[0])
    near, second = (p["item"] for p in kinds.api(f"/sessions/{number}")["pictures"][:2])
    for item, key in ((near, "q"), (second, "t")):
        piece(page, item).focus()
        page.keyboard.press(key)
    page.wait_for_selector("text=Close to it too")
    page.get_by_text("2nd closest to what you look for").wait_for()
    page.keyboard.press("g")
    wait_round(page, 3)
    with likewise.open(kinds.folder) as collection:
        asked = collection.sessions.rounds(number)[-1].payload["asked"]
    assert asked["query"] == near
    assert [items[0] for items in asked["closer"]] == [second]
