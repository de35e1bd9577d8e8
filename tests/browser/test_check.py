"""The short check on the page: learn, answer, pause, go on, and what passes serves."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from experiments.browsing import Served
from tests.browser.conftest import PATIENCE, make, sign_in, violations


@pytest.fixture
def school(tmp_path):
    """A new collection, and what is to be seen on each picture."""
    drawn = make(tmp_path / "swatches", 300)
    running = Served(tmp_path / "swatches").start()
    yield running, {kind: dict(zip(drawn.names, map(str, drawn.truth[kind]))) for kind in KINDS}
    running.stop()


KINDS = ("colour", "motif")


def lesson(page, served, truth: dict[str, str], photos: int = 40) -> None:
    """The first lesson on the page: typical photos with five others each, a key per mark."""
    names = {i["item"]: i["name"] for i in served.api("/items?limit=500")["items"]}
    for _ in range(photos):
        page.wait_for_selector(".upcoming li")
        assert page.locator(".upcoming li").count() == 5
        item = int(page.evaluate("new URLSearchParams(location.search).get('item')"))
        for place in range(1, 6):
            page.wait_for_selector(f".candidate figcaption:has-text('Photo {place} of 5')")
            shown = page.locator(".candidate > img").get_attribute("alt")
            page.keyboard.press("r" if truth[shown] == truth[names[item]] else "n")
        page.wait_for_function(  # it goes on by itself
            "item => new URLSearchParams(location.search).get('item') !== item", arg=str(item)
        )


def right_ones(served, truth: dict[str, str]) -> float:
    """Of the first 20 of ten searches that nobody taught, how many are right on average."""
    said = served.api("/judgements?limit=500")["records"]
    taught = {r["query"]["examples"][0]["item"] for r in said if r["query"].get("examples")}
    items = {i["name"]: i["item"] for i in served.api("/items?limit=500")["items"]}
    fresh = [name for name in sorted(items, reverse=True) if items[name] not in taught][:10]
    found = []
    for name in fresh:
        asked = {"examples": [{"item": items[name]}], "k": 21}
        shown = [r["name"] for r in served.api("/search", asked)["results"] if r["name"] != name]
        found.append(sum(truth[other] == truth[name] for other in shown[:20]))
    return sum(found) / len(found)


def answer(page, truth: dict[str, str]) -> None:
    """One search of the check: press what is right, then next."""
    wanted = truth[page.locator(".check figure img").get_attribute("alt")]
    far = page.locator(".check .number").inner_text()
    shown = page.locator(".check figure img").get_attribute("src")
    for one in page.locator(".choices button").all():
        if truth[one.get_attribute("aria-label")] == wanted:
            one.click()
    page.locator(".check button.main").click()
    page.wait_for_function(
        """([far, shown]) => !document.querySelector(".check .number")
          || document.querySelector(".check .number").innerText !== far
          || document.querySelector(".check figure img").getAttribute("src") !== shown""",
        arg=[far, shown],
    )


def learn_and_begin(page, served) -> int:
    """Learn, begin the check; gives the model's number."""
    page.get_by_role("button", name="Learn now").click()
    begin = page.get_by_role("button", name="Begin a short check")
    begin.wait_for(timeout=8 * PATIENCE)
    expect(page.locator(".verdict")).to_contain_text("12 searches are to be checked first")
    begin.click()
    assert "of 12 searches" in page.locator(".check .number").inner_text()
    return int(served.api("/models")[0]["id"])


def opened(page, served) -> None:
    sign_in(page, served)
    page.goto(f"{served.base}/teach")


@pytest.mark.slow
def test_a_colour_person_teaches_checks_and_finds_more(page, school):
    served, truths = school
    colour = truths["colour"]
    opened(page, served)
    expect(page.locator(".teach .health")).to_contain_text("The first lesson: 40 typical photos")
    assert not violations(page)
    lesson(page, served, colour)
    expect(page.locator(".teach .health")).to_contain_text("200 marks on 40 photos")
    expect(page.locator(".teach .health")).not_to_contain_text("The first lesson")
    model = learn_and_begin(page, served)
    expect(page.locator(".learn")).to_contain_text("You gave no feedback since")
    assert page.get_by_role("button", name="Learn now").is_disabled()
    for _ in range(3):
        answer(page, colour)
    page.get_by_role("button", name="I cannot tell").click()
    page.get_by_role("button", name="Pause").click()
    page.wait_for_selector("text=of 12 searches checked.")
    page.reload()  # another day
    page.get_by_role("button", name="Go on with the short check").click()
    for _ in range(60):
        if not page.locator(".choices").count():
            break
        answer(page, colour)
    expect(page.locator(".verdict.passed")).to_contain_text("It took 200 marks and")
    now = served.api(f"/models/{model}")
    assert now["active"]
    with_it = right_ones(served, colour)
    served.api("/models/rollback", {})
    assert with_it - right_ones(served, colour) >= 3
    said = served.api("/judgements?limit=500")["records"]
    asked = sum(len(r["items"]) for r in said if r["source"] == "check")
    assert asked == now["card"]["guard"]["asked"] > 12
    page.goto(f"{served.base}/models?model={model}")
    page.wait_for_selector("text=It took 200 marks")
    page.wait_for_selector("th:has-text('What comes first')")


@pytest.mark.slow
def test_a_class_person_may_rightly_be_refused(page, school):
    served, truths = school
    motif = truths["motif"]
    opened(page, served)
    lesson(page, served, motif, photos=12)
    before = right_ones(served, motif)
    model = learn_and_begin(page, served)
    for _ in range(60):
        if not page.locator(".choices").count():
            break
        answer(page, motif)
    guard = served.api(f"/models/{model}")["card"]["guard"]
    if guard["passed"]:
        assert right_ones(served, motif) >= before - 0.5
    else:
        expect(page.locator(".verdict")).to_contain_text("Not used")
