"""One photo in the whole window: there at once, in the address, with marks, zoom, and the file."""

from __future__ import annotations

import pytest

from tests.browser.conftest import PATIENCE, Held, marked, order, results, sign_in


@pytest.fixture
def signed_in(page, served):
    page.set_viewport_size({"width": 1440, "height": 900})
    return sign_in(page, served)


def name(page) -> str:
    return page.locator(".viewer h2").inner_text()


def named(page, wanted: str) -> None:
    page.locator(".viewer h2", has_text=wanted).wait_for()


def closed(page) -> None:
    page.locator(".viewer[open]").wait_for(state="detached")


def test_v_right_right_r_back_marks_the_third_and_returns_to_the_place(signed_in, served):
    page, shown = signed_in, results(signed_in, served, "like=50&fold=0")
    page.mouse.move(600, 500)
    page.mouse.wheel(0, 300)
    while page.evaluate("scrollY") != 300:
        page.wait_for_timeout(20)
    page.keyboard.press("v")
    named(page, shown[0])
    page.keyboard.press("ArrowRight")
    named(page, shown[1])
    page.keyboard.press("ArrowRight")
    named(page, shown[2])
    page.keyboard.press("r")
    page.locator('.viewer .yes[aria-pressed="true"]').wait_for()
    page.go_back()
    closed(page)
    assert "show=" not in page.url
    assert "/results?like=50" in page.url
    marked(page, "1 ✓")
    assert page.evaluate("scrollY") == 300
    said = served.api("/judgements?limit=20")["records"]
    label = next(r for r in said if r["kind"] == "label")
    assert served.api(f"/items/{label['items'][0]}")["name"] == shown[2]


def test_what_is_wrong_hands_over_to_the_next(signed_in, served):
    page, shown = signed_in, results(signed_in, served, "like=51&fold=0")
    page.locator(".card .picture").nth(1).click()
    named(page, shown[1])
    page.keyboard.press("n")
    named(page, shown[2])
    page.keyboard.press("Escape")
    closed(page)
    marked(page, "1 ✗")
    assert shown[1] not in order(page)


def test_it_is_in_the_address_and_fills_the_window(signed_in, served):
    page, shown = signed_in, results(signed_in, served, "like=52")
    page.locator(".card .picture").nth(3).click()
    named(page, shown[3])
    page.reload()
    named(page, shown[3])
    box = page.locator(".viewer .zoom .whole").bounding_box()
    assert box["width"] >= 1000
    assert box["height"] >= 700
    page.get_by_role("button", name="Close").click()
    closed(page)
    page.locator(".card .picture").nth(3).wait_for()
    assert order(page) == shown


def test_the_small_picture_is_there_before_the_large_one(signed_in, served):
    page = signed_in
    results(page, served, "like=53")
    large = Held(page, "**/api/v1/pictures/*")
    page.locator(".card .picture").nth(2).click()
    page.wait_for_selector(".viewer .zoom .small")
    assert page.locator(".viewer .zoom .small").evaluate(
        "i => i.decode().then(() => i.naturalWidth)"
    )
    large.let_go()
    page.locator(".viewer .zoom .small").wait_for(state="detached")


def test_the_file_can_be_had(signed_in, served, context):
    page, shown = signed_in, results(signed_in, served, "like=54")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".card .picture").nth(0).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == shown[0]
    assert download.value.path().read_bytes() == (served.folder / shown[0]).read_bytes()
    page.get_by_role("button", name="Copy path").click()
    page.wait_for_selector("text=The path is copied")
    assert page.evaluate("navigator.clipboard.readText()") == str(served.folder / shown[0])
    assert page.get_by_role("button", name="Show in folder").count() == 1


def test_zoom_and_pan(signed_in, served):
    page = signed_in
    results(page, served, "like=55")
    page.keyboard.press("v")
    page.wait_for_selector(".viewer .zoom .whole")
    moved = "() => getComputedStyle(document.querySelector('.zoom > div')).transform"
    still = page.evaluate(moved)
    page.mouse.move(500, 400)
    page.mouse.wheel(0, -400)
    page.wait_for_selector(".zoom.large")
    zoomed = page.evaluate(moved)
    assert zoomed != still
    page.mouse.down()
    page.mouse.move(620, 460, steps=3)
    page.mouse.up()
    assert page.evaluate(moved) != zoomed
    page.mouse.dblclick(500, 400)
    page.wait_for_selector(".zoom:not(.large)")
    assert page.evaluate(moved) == still


def test_a_swipe_leads_on(browser, served, faults):
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    faults.watch(page)
    sign_in(page, served)
    shown = results(page, served, "like=56")
    page.locator(".card .picture").nth(0).tap()
    named(page, shown[0])
    wire = context.new_cdp_session(page)
    at = [{"x": x, "y": 250} for x in (300, 220, 140, 80)]
    wire.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": at[:1]})
    for point in at[1:]:
        wire.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    wire.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    named(page, shown[1])
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert faults.unexpected == []
    context.close()


def test_copies_can_be_opened(signed_in, served):
    page = signed_in
    results(page, served, "text=swatch")
    badge = page.locator("button.badge").first
    copies = int(badge.inner_text().lstrip("+"))
    cards = page.locator(".card").count()
    badge.click()
    page.locator(".card").nth(cards + copies - 1).wait_for()
    badge.click()
    page.locator(".card").nth(cards).wait_for(state="detached")
    page.locator(".card", has=page.locator("button.badge")).first.locator(".picture").click()
    before = name(page)
    page.get_by_role("button", name="Open copy 1").click()
    page.wait_for_url("**show=*")
    page.locator(".viewer .facts").wait_for()
    assert before
