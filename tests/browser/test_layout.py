"""Pictures first: whole, in rows, on a desk and on a phone; one field, one table of keys."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

import likewise
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

SHAPES = [(96, 64), (64, 96), (128, 48), (80, 80), (60, 90), (120, 80)]


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    """Photos of many shapes with dates, served."""
    folder = tmp_path_factory.mktemp("shapes") / "pictures"
    (folder / "Summer").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for at in range(24):
        width, height = SHAPES[at % len(SHAPES)]
        pixels = rng.integers(0, 255, (height, width, 3), dtype=np.uint8)
        picture = Image.fromarray(pixels)
        exif = picture.getexif()
        exif[0x9003] = exif[0x0132] = f"2019:07:{at + 1:02d} 10:11:12"
        kind = "png" if at % 8 == 7 else "jpg"
        picture.save(folder / "Summer" / f"photo-{at:02d}.{kind}", exif=exif)
    with likewise.open(folder, create=True) as collection:
        collection.index(features=("colour",), processes=1)
    running = Served(folder).start()
    yield running
    running.stop()


def test_whole_pictures_in_rows_of_one_height(page, shapes):
    sign_in(page, shapes)
    results(page, shapes, "text=photo&fold=0")
    # Pictures further down wait until somebody comes near them.
    seen = "c => c.getBoundingClientRect().bottom < innerHeight"
    page.wait_for_function(
        f"() => [...document.querySelectorAll('.card')].filter({seen})"
        ".every(c => c.querySelector('img')?.naturalWidth > 0)"
    )
    cards = page.locator(".card").evaluate_all(
        f"all => all.filter({seen}).map(c => {{"
        " const b = c.getBoundingClientRect(), i = c.querySelector('img');"
        " return [Math.round(b.top), b.height, b.width / b.height,"
        " i.naturalWidth / i.naturalHeight]; })"
    )
    rows: dict[int, list[float]] = {}
    for top, height, shown, true in cards:
        assert shown == pytest.approx(true, rel=0.03)
        rows.setdefault(top, []).append(height)
    assert len(rows) > 1
    for heights in rows.values():
        assert max(heights) - min(heights) < 2


def test_the_size_is_chosen_once(page, shapes):
    sign_in(page, shapes)
    results(page, shapes, "text=photo&fold=0")
    height = page.locator(".card").first.bounding_box()["height"]
    drawer(page).get_by_label("Size of the photos").fill("400")
    page.reload()
    page.wait_for_selector(".card img")
    assert page.locator(".card").first.bounding_box()["height"] > 1.3 * height


def test_filters_order_and_dates_in_words(page, shapes):
    sign_in(page, shapes)
    every = results(page, shapes, "text=photo&fold=0")
    panel = drawer(page)
    panel.get_by_label("Order").select_option("newest")
    page.wait_for_url("**order=newest**")
    settled(page, every)
    assert order(page)[0] == "photo-23.png"
    panel.get_by_label("Taken until").fill("2019-07-10")
    page.wait_for_url("**until=2019-07-10**")
    settled(page, sorted(every, reverse=True))
    assert order(page) == [
        f"photo-{n:02d}.{'png' if n % 8 == 7 else 'jpg'}" for n in range(9, -1, -1)
    ]
    panel.get_by_label("Kind").select_option("PNG")
    page.wait_for_url("**kind=PNG**")
    page.locator(".card").nth(1).wait_for(state="detached")
    assert order(page) == ["photo-07.png"]
    page.keyboard.press("Escape")
    page.keyboard.press("v")
    facts = page.locator(".viewer .facts")
    facts.wait_for()
    assert "8 July 2019, 10:11" in facts.inner_text()
    assert "Summer" in facts.inner_text()


def test_the_whole_answer_is_put_in_order_not_what_was_fetched(page, shapes):
    sign_in(page, shapes)
    asked = []
    page.on("request", lambda r: r.url.endswith("/search") and asked.append(r.post_data_json["k"]))
    oldest = results(page, shapes, "like=12&fold=0&k=5&order=oldest")
    every = {i["item"]: i for i in shapes.api("/items?limit=500")["items"]}
    others = [every[item] for item in every if item != 12]
    names = [one["name"] for one in sorted(others, key=lambda one: one["taken"])]
    assert oldest == names[: len(oldest)]
    page.mouse.wheel(0, 20_000)
    expect(page.locator(".card")).to_have_count(23)
    assert order(page) == names
    assert set(asked) == {1000}  # however much of it is shown


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(browser, served, faults, scheme):
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, color_scheme=scheme
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    faults.watch(page)
    page.goto(served.address)
    page.wait_for_selector(".card img")
    for address in ("/", "/results?like=7", "/target", "/teach", "/models", "/jobs", "/?view=map"):
        page.goto(served.base + address)
        page.wait_for_selector("main h1, main h2", state="attached")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address
        assert page.locator("header").bounding_box()["height"] <= 64
    results(page, served, "like=7")
    assert page.locator(".card").first.bounding_box()["y"] < 260
    tabs = page.locator(".tabs a").evaluate_all(
        "all => all.map(a => a.getBoundingClientRect().height)"
    )
    assert len(tabs) == 4
    assert min(tabs) >= 44
    small = page.locator("main button, header button").evaluate_all(
        "all => all.filter(b => b.offsetParent && !b.closest('.acts, .card, .examples'))"
        ".map(b => [b.textContent, b.getBoundingClientRect().height]).filter(([, h]) => h < 36)"
    )
    assert small == []
    assert violations(page) == []
    assert faults.unexpected == []
    context.close()


def test_a_finger_that_rests_begins_to_select(browser, served, faults):
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    faults.watch(page)
    sign_in(page, served)
    results(page, served, "like=7&fold=0")
    cards, picked = page.locator(".card .picture"), page.locator(".card.picked")
    wire = context.new_cdp_session(page)
    box = cards.nth(1).bounding_box()
    at = {"x": box["x"] + 40, "y": box["y"] + 40}
    wire.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at]})
    slipped = {"x": at["x"] + 3, "y": at["y"] + 2}
    wire.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [slipped]})
    picked.wait_for()
    wire.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert cards.nth(1).get_attribute("aria-pressed") == "true"
    cards.nth(3).tap()
    expect(picked).to_have_count(2)
    cards.nth(1).tap()
    expect(picked).to_have_count(1)
    assert "show=" not in page.url
    page.get_by_role("button", name="None").tap()
    expect(picked).to_have_count(0)
    cards.nth(3).tap()
    page.wait_for_selector("dialog.viewer[open]")
    assert faults.unexpected == []
    context.close()


def test_a_tap_on_closest_begins_although_the_photo_is_narrow(browser, served, faults):
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    faults.watch(page)
    sign_in(page, served).goto(f"{served.base}/target")
    page.get_by_role("button", name="Closest: ").nth(1).tap()
    page.wait_for_selector(".piece.query, .row")
    assert faults.unexpected == []
    context.close()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_no_piece_of_a_board_is_larger_than_100_pixels(signed_in, served, count):
    page = signed_in
    page.set_viewport_size({"width": 1440, "height": 900})
    like = "&".join(f"like={item}" for item in range(5, 5 + count))
    page.goto(f"{served.base}/results?{like}&fold=0&view=board")
    page.wait_for_selector(".piece.query")
    boxes = page.locator(".piece").evaluate_all(
        "all => all.map(p => [p.offsetWidth, p.offsetHeight])"
    )
    assert max(side for box in boxes for side in box) <= 100
    assert page.locator(".piece.query").count() == count


def test_words_beside_a_picture_ask_both_or_words_only(signed_in, served):
    page, pictures = signed_in, results(signed_in, served, "like=8&fold=0")
    page.fill("#words", "swatch-0011")
    page.keyboard.press("Enter")
    page.get_by_role("group", name="What to search for").wait_for()
    assert "text=" not in page.url
    page.keyboard.press("Enter")  # both
    page.wait_for_url("**text=swatch-0011&like=8**")
    settled(page, pictures)
    assert "by photo and words" in page.locator(".strip").inner_text()
    page.fill("#words", "swatch-0012")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Words only").click()
    page.wait_for_url("**/results?text=swatch-0012&fold=0")


def test_keys_work_on_arrival(signed_in, served):
    page, shown = signed_in, results(signed_in, served, "like=9&fold=0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused).startswith(f"2: {shown[1]}")
    page.keyboard.press("x")
    assert page.locator(".card.picked").count() == 1
    page.keyboard.press("Escape")
    page.goto(f"{served.base}/")
    page.wait_for_selector(".card img")
    page.keyboard.press("v")
    page.wait_for_selector(".viewer .zoom img")
    page.keyboard.press("v")
    page.locator(".viewer[open]").wait_for(state="detached")


def test_a_lost_server_is_told_in_a_sentence(page, fresh, faults):
    faults.allowed = ("ERR_", "Failed to load resource")
    sign_in(page, fresh)
    results(page, fresh, "like=5")
    fresh.kill()
    page.fill("#words", "swatch")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.locator(".error").wait_for()
    assert "The server does not answer" in page.locator(".error").inner_text()
    assert "Failed to fetch" not in page.inner_text("body")
