"""Things go wrong: the server dies, a job is cancelled, two tabs are open; nothing is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.browser.conftest import PATIENCE, Held, marked, order, results, settled, sign_in

LOST = ("ERR_CONNECTION", "ERR_INCOMPLETE", "ERR_EMPTY", "Failed to load resource", "net::ERR")


def test_a_killed_server_is_announced_and_queued_marks_are_sent_once(page, fresh, faults):
    faults.allowed = LOST
    sign_in(page, fresh)
    before = results(page, fresh, "like=5&fold=0")
    fresh.kill()
    page.wait_for_selector(".banner", timeout=PATIENCE)
    page.locator(".card .yes").nth(7).click()
    page.locator(".card .no").nth(3).click()
    page.wait_for_selector("text=2 marks will be sent")
    fresh.start()
    page.wait_for_selector(".banner", state="detached", timeout=PATIENCE)
    settled(page, before)
    marked(page, "1 ✓ 1 ✗")
    assert fresh.api("/judgements")["counting"] == 2
    page.reload()
    page.wait_for_selector(".card.right")
    page.wait_for_timeout(1000)
    assert fresh.api("/judgements")["counting"] == 2


def test_a_mark_made_while_the_server_is_away_survives_a_reload_of_the_page(page, fresh, faults):
    faults.allowed = LOST
    sign_in(page, fresh)
    results(page, fresh, "like=6&fold=0")
    fresh.kill()
    page.locator(".card .yes").nth(2).click()
    page.wait_for_selector("text=1 mark will be sent")
    fresh.start()
    page.route("**/api/v1/events", lambda route: None)  # no news: the page knows by itself
    marks = Held(page, "**/api/v1/judgements")  # sent after the search
    page.reload()
    page.wait_for_selector('ul[aria-label="Results"] .card img')
    settled(page)
    marks.let_go()
    page.wait_for_selector(".card.right", timeout=PATIENCE)
    assert fresh.api("/judgements")["counting"] == 1


def test_two_tabs_see_each_others_marks(context, page, served):
    sign_in(page, served)
    first = results(page, served, "like=9&fold=0")
    other = context.new_page()
    assert results(other, served, "like=9&fold=0") == first
    page.locator(".card .yes").nth(10).click()
    settled(page, first)
    other.wait_for_selector(".card.right")
    settled(other)
    assert order(other) == order(page)


def test_what_happened_before_the_news_came_through_is_not_missed(context, page, served):
    sign_in(page, served)
    results(page, served, "like=12&fold=0")
    other = context.new_page()
    news = Held(other, "**/api/v1/events")
    before = results(other, served, "like=12&fold=0")
    page.locator(".card .yes").nth(8).click()
    settled(page, before)
    assert order(other) == before
    news.let_go()
    other.wait_for_selector(".card.right")
    settled(other)
    assert order(other) == order(page)


def more(folder: Path, count: int) -> None:
    """New pictures, so many that somebody can look at the work while it is under way."""
    target = folder / "more"
    target.mkdir()
    one = (folder / "swatch-0001.jpg").read_bytes()
    for number in range(count):
        (target / f"{number}.jpg").write_bytes(one + b"%d" % number)


def test_new_pictures_come_in_as_a_job_with_progress(page, fresh):
    more(fresh.folder, 150)
    sign_in(page, fresh)
    page.goto(f"{fresh.base}/jobs")
    page.get_by_role("button", name="Look for new pictures").click()
    page.wait_for_selector(".job.running progress")
    page.wait_for_selector(".job.done", timeout=4 * PATIENCE)
    assert "150 new pictures" in page.locator(".job.done").inner_text()
    page.goto(fresh.address)
    page.wait_for_selector("text=230 photos can be found")


def test_a_job_cancelled_half_way_keeps_what_was_done(page, fresh):
    more(fresh.folder, 600)
    sign_in(page, fresh)
    page.goto(f"{fresh.base}/jobs")
    page.get_by_role("button", name="Look for new pictures").click()
    page.wait_for_selector(".job.running progress")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector(".job.cancelled", timeout=2 * PATIENCE)
    found = fresh.api("/status")["findable"]
    assert 80 <= found < 680
    assert fresh.api("/search", {"examples": [{"item": 5}], "k": 3})["results"]


def test_problems_are_listed_with_reasons_and_mended_ones_leave(page, fresh):
    sign_in(page, fresh)
    page.goto(f"{fresh.base}/jobs")
    row = page.locator(".problems tbody tr")
    row.wait_for()
    assert "broken.jpg" in row.inner_text()
    assert "not of a format" in row.inner_text()
    shutil.copy(fresh.folder / "swatch-0001.jpg", fresh.folder / "broken.jpg")
    page.get_by_role("button", name="Look for new pictures").click()
    page.wait_for_selector("text=every file could be read", timeout=2 * PATIENCE)


def test_an_empty_collection_says_what_to_do(page, tmp_path):
    import likewise
    from tests.browser.conftest import Served

    folder = tmp_path / "nothing"
    folder.mkdir()
    with likewise.open(folder, create=True):
        pass
    served = Served(folder).start()
    try:
        page.goto(served.address)
        page.wait_for_selector("text=No photos yet")
        page.goto(f"{served.base}/teach")
        page.wait_for_selector("text=Nothing to teach yet")
        page.goto(f"{served.base}/jobs")
        page.wait_for_selector("text=Nothing is going on")
    finally:
        served.stop()
