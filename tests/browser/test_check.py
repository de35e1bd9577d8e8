"""The short check on the page: learn, answer, pause, go on, and what passes serves."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from experiments.browsing import Served
from tests.browser.conftest import PATIENCE, make, violations


@pytest.fixture
def school(tmp_path):
    """A collection whose truth is known, taught about motifs, and its server."""
    drawn = make(tmp_path / "swatches", 160)
    running = Served(tmp_path / "swatches").start()
    yield running, dict(zip(drawn.names, drawn.truth["motif"].tolist()))
    running.stop()


def teach(served, truth: dict[str, str], count: int) -> None:
    """The first ten results of some queries, marked as a person would."""
    items = {i["name"]: i["item"] for i in served.api("/items?limit=500")["items"]}
    for name in list(truth)[:count]:
        query = {"examples": [{"item": items[name]}]}
        found = served.api("/search", {**query, "k": 10})["results"]
        for relevant in (True, False):
            some = [r["item"] for r in found if (truth[r["name"]] == truth[name]) == relevant]
            if some:
                said = {"query": query, "items": some, "relevant": relevant}
                served.api("/judgements", said)


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


def test_a_short_check_after_learning_pauses_goes_on_and_lets_it_serve(page, school):
    served, motif = school
    teach(served, motif, 40)
    page.goto(served.address)
    page.wait_for_selector(".card img")
    page.goto(f"{served.base}/teach")
    page.get_by_role("button", name="Learn now").click()
    begin = page.get_by_role("button", name="Begin a short check")
    begin.wait_for(timeout=8 * PATIENCE)
    begin.click()
    assert "of 12 searches" in page.locator(".check .number").inner_text()
    assert not violations(page)
    for _ in range(3):
        answer(page, motif)
    page.get_by_role("button", name="I cannot tell").click()
    page.get_by_role("button", name="Pause").click()
    page.wait_for_selector("text=of 12 searches checked.")
    page.reload()  # another day
    page.get_by_role("button", name="Go on with the short check").click()
    model = served.api("/models")[0]["id"]
    for _ in range(60):
        if not page.locator(".choices").count():
            break
        answer(page, motif)
    expect(page.locator(".verdict.passed")).to_contain_text("It took 400 marks and")
    served_now = served.api(f"/models/{model}")
    assert served_now["active"]
    assert served_now["card"]["guard"]["asked"] > 12
    answers = [r for r in served.api("/judgements?limit=500")["records"] if r["source"] == "check"]
    assert sum(len(r["items"]) for r in answers) == served_now["card"]["guard"]["asked"]
    page.goto(f"{served.base}/models?model={model}")
    page.wait_for_selector("text=It took 400 marks")
    page.wait_for_selector("th:has-text('What comes first')")
