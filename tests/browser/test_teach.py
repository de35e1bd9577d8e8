"""A person teaches: one key a judgement, learn, what the guard says, activate, roll back."""

from __future__ import annotations

import time

import pytest

from tests.browser.conftest import PATIENCE, Served, make, order, results, settled, sign_in


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """A larger collection whose truth is known, and its server."""
    folder = tmp_path_factory.mktemp("school") / "swatches"
    drawn = make(folder, 160)
    running = Served(folder).start()
    yield running, dict(zip(drawn.names, drawn.truth["motif"].tolist()))
    running.stop()


@pytest.fixture
def teach(page, served):
    """A photo of one's own choice, with 20 others beside it."""
    sign_in(page, served)
    page.goto(f"{served.base}/teach?item={served.api('/teach/next')['reference']['item']}")
    page.wait_for_selector(".candidate img")
    return page


def tally(served) -> int:
    return served.api("/teach/next")["judgements"]


def wait_for_tally(page, served, count: int) -> None:
    for _ in range(PATIENCE // 100):
        if tally(served) == count:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{tally(served)} marks rather than {count}")


def test_arriving_begins_the_first_lesson(teach, served):
    assert "Photo 1 of 20" in teach.locator(".candidate").inner_text()
    assert "The first lesson" not in teach.locator(".health").inner_text()
    teach.goto(f"{served.base}/teach")
    teach.wait_for_selector("text=Photo 1 of 5")
    assert "item=" in teach.url
    assert teach.locator(".upcoming li").count() == 5
    assert "The first lesson" in teach.locator(".health").inner_text()


def test_keyboard_only(teach, served):
    before = tally(served)
    for key in ("r", "n", "s", "y", "n", "ArrowRight", "r"):
        teach.keyboard.press(key)
    assert "Photo 8 of 20" in teach.locator(".candidate").inner_text()
    wait_for_tally(teach, served, before + 5)
    assert teach.locator(".upcoming li.right").count() == 3
    assert teach.locator(".upcoming li.wrong").count() == 2
    here = teach.url
    teach.keyboard.press("Enter")
    teach.wait_for_url(lambda url: url != here)
    teach.wait_for_selector("text=Photo 1 of 5")  # on with the lesson


def test_undo_goes_back_to_the_candidate(teach, served):
    before = tally(served)
    teach.keyboard.press("y")
    teach.keyboard.press("n")
    wait_for_tally(teach, served, before + 2)
    teach.keyboard.press("u")
    teach.wait_for_selector("text=Photo 2 of 20")
    wait_for_tally(teach, served, before + 1)
    teach.keyboard.press("u")
    teach.wait_for_selector("text=Photo 1 of 20")
    wait_for_tally(teach, served, before)


def test_a_mark_taken_back_before_its_answer_came_does_not_count(teach, served):
    before, held = tally(served), []
    # The server has the mark, the page does not know it yet.
    teach.route("**/api/v1/judgements", lambda route: held.append((route, route.fetch())))
    teach.keyboard.press("y")
    wait_for_tally(teach, served, before + 1)
    teach.keyboard.press("u")
    teach.wait_for_selector("text=Photo 1 of 20")
    for route, answer in held:
        route.fulfill(response=answer)
    wait_for_tally(teach, served, before)


def test_a_mark_that_waits_for_the_server_and_is_taken_back_never_counts(page, fresh, faults):
    faults.allowed = ("ERR_", "Failed to load resource")
    sign_in(page, fresh)
    page.goto(f"{fresh.base}/teach")
    page.wait_for_selector("text=Photo 1 of")
    fresh.kill()
    page.wait_for_selector(".banner")
    page.keyboard.press("y")
    page.wait_for_selector("text=1 mark will be sent")
    page.keyboard.press("u")
    page.wait_for_selector("text=1 mark will be sent", state="detached")
    page.keyboard.press("n")
    fresh.start()
    page.wait_for_selector(".banner", state="detached")
    deadline = time.monotonic() + PATIENCE / 1000
    while True:  # both were said, the first was taken back
        log = fresh.api("/judgements?undone=true")["records"]
        if [(r["value"], r["undone"]) for r in log if r["kind"] == "label"] == [
            (0, False),
            (1, True),
        ]:
            break
        assert time.monotonic() < deadline, log
        page.wait_for_timeout(50)
    assert fresh.api("/judgements")["counting"] == 1


def test_buttons_do_the_same_as_keys(teach, served):
    before = tally(served)
    teach.locator(".candidate .yes").click()
    teach.locator(".candidate .no").click()
    teach.get_by_role("button", name="Skip").click()
    teach.wait_for_selector("text=Photo 4 of 20")
    wait_for_tally(teach, served, before + 2)


def test_a_reload_goes_on_with_what_is_not_judged_yet(teach, served):
    before = tally(served)
    shown = teach.locator(".candidate img").get_attribute("alt")
    teach.keyboard.press("y")
    wait_for_tally(teach, served, before + 1)
    here = teach.url
    teach.reload()
    teach.wait_for_selector(".candidate img")
    assert teach.url == here
    assert teach.locator(".candidate img").get_attribute("alt") != shown


def test_every_judgement_is_listed_and_can_be_undone(teach, served):
    teach.keyboard.press("y")
    before = tally(served)
    teach.locator(".history summary").click()
    before = served.api("/judgements")["counting"]
    teach.locator(".history li").first.get_by_role("button", name="Undo").click()
    for _ in range(100):
        if served.api("/judgements")["counting"] == before - 1:
            break
        teach.wait_for_timeout(100)
    assert served.api("/judgements")["counting"] == before - 1


def test_teach_learn_guard_activate_and_roll_back(page, school):
    served, motif = school
    sign_in(page, served)
    taught = [teach_one(page, served, motif, number) for number in range(5)]
    taught += [teach_quickly(served, motif) for _ in range(15)]
    assert len(set(taught)) == 20

    assert "12 searches are to be checked first" in learn(page)
    names = {i["item"]: i["name"] for i in served.api("/items?limit=500")["items"]}
    model = served.api("/models")[0]["id"]
    asked = served.api(f"/models/{model}/check")
    while not asked["passed"]:
        wanted = motif[names[asked["item"]["item"]]]
        right = [i["item"] for i in asked["items"] if motif[i["name"]] == wanted]
        answer = {"item": asked["item"]["item"], "right": right}
        asked = served.api(f"/models/{model}/check", answer)
    page.wait_for_selector(".verdict.passed")

    query = fresh_query(served, motif)
    page.wait_for_selector("text=In use")
    learned = results(page, served, f"like={query}&fold=0&details=1")
    assert "model plain" not in page.locator(".rests").inner_text()
    plain = results(page, served, f"like={query}&fold=0&model=plain")
    assert learned != plain
    page.goto(f"{served.base}/teach")
    page.get_by_role("button", name="Go back to before").click()
    page.wait_for_selector("text=without anything learned")
    results(page, served, f"like={query}&fold=0")
    settled(page)
    assert order(page) == plain


def teach_one(page, served, motif: dict[str, str], before: int) -> str:
    """Ten marks by keys for a photo that nobody taught, after so many others; gives its name."""
    reference = served.api("/teach/next")["reference"]
    name = reference["name"]
    page.goto(f"{served.base}/teach?item={reference['item']}")
    for number in range(1, 11):
        page.wait_for_selector(f"text=Photo {number} of 20")
        shown = page.locator(".candidate img").get_attribute("alt")
        page.keyboard.press("y" if motif[shown] == motif[name] else "n")
    page.wait_for_selector("text=Photo 11 of 20")
    wait_for_tally(page, served, 10 * (before + 1))
    return name


def teach_quickly(served, motif: dict[str, str]) -> str:
    """The same without the page."""
    reference = served.api("/teach/next")["reference"]
    query = {"examples": [{"item": reference["item"]}]}
    shown = served.api("/teach/candidates", {**query, "count": 20})["items"][:10]
    wanted = motif[reference["name"]]
    for is_right in (True, False):
        items = [i["item"] for i in shown if (motif[i["name"]] == wanted) == is_right]
        if items:
            served.api("/judgements", {"query": query, "items": items, "relevant": is_right})
    return reference["name"]


def learn(page) -> str:
    """Press the button, wait for the job to end, give what the guard said."""
    page.reload()
    page.get_by_role("button", name="Learn now").click()
    page.wait_for_selector(".learn progress")
    page.wait_for_selector(".learn progress", state="detached", timeout=8 * PATIENCE)
    page.wait_for_selector(".verdict b", timeout=PATIENCE)
    return page.locator(".verdict").inner_text()


def fresh_query(served, motif: dict[str, str]) -> int:
    """An item that nobody taught, the last of all."""
    items = {i["name"]: i["item"] for i in served.api("/items?limit=500")["items"]}
    return items[max(motif)]
