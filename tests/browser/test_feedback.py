"""Every mark acts, shows, and can be taken back where it is seen."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import Held, marked, order, results, settled, shows

GLIDES = """window.glides = []; const real = Element.prototype.animate;
Element.prototype.animate = function (frames, how) {
  window.glides.push(how.duration); return real.call(this, frames, how);
}; void 0"""


def labels(served) -> int:
    return sum(r["kind"] == "label" for r in served.api("/judgements?limit=500")["records"])


def button(page, place: int, kind: str = "yes"):
    return page.locator('ul[aria-label="Results"] .card').nth(place).locator(f".{kind}")


@pytest.mark.parametrize("kind", ["yes", "no"])
def test_a_second_click_at_the_same_spot_marks_no_other_picture(signed_in, served, kind):
    page, before = signed_in, results(signed_in, served, f"like={30 + len(kind)}&fold=0")
    said = labels(served)
    box = button(page, 5, kind).bounding_box()
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    settled(page, before)
    marked(page, "1 ✓" if kind == "yes" else "1 ✗")
    assert labels(served) == said + 1


def test_pressing_again_releases_also_after_a_reload(signed_in, served):
    page, before = signed_in, results(signed_in, served, "like=41&fold=0")
    button(page, 4).click()
    settled(page, before)
    marked(page, "1 ✓")
    page.reload()
    page.wait_for_selector(".card.right")
    marked(page, "1 ✓")
    page.locator(".card.right .yes").click()
    page.locator(".feedback").wait_for(state="detached")
    shows(page, before)
    assert page.locator(".card.right").count() == 0


def test_a_mark_on_its_way_is_released_too(signed_in, served):
    page, before = signed_in, results(signed_in, served, "like=42&fold=0")
    said = labels(served)
    marks = Held(page, "**/api/v1/judgements", method="POST")
    page.locator(".card .picture").nth(3).focus()
    page.keyboard.press("r")
    page.wait_for_selector(".card.right")  # it shows before the server knows
    marks.wait()
    assert page.locator(".results").get_attribute("aria-busy") == "true"  # the list does not
    page.keyboard.press("r")
    page.locator(".card.right").wait_for(state="detached")
    marks.let_go()
    shows(page, before)
    while labels(served) != said:
        page.wait_for_timeout(50)


def test_the_strip_takes_back_one_or_all(signed_in, served):
    page, before = signed_in, results(signed_in, served, "like=43&fold=0")
    page.locator(".card .picture").nth(2).focus()
    page.keyboard.press("r")
    marked(page, "1 ✓")
    settled(page, before)
    wrong = order(page)[4]
    page.get_by_role("button", name=f"Wrong: {wrong}").click()
    marked(page, "1 ✓ 1 ✗")
    assert wrong not in order(page)
    page.get_by_role("button", name=f"Take back wrong: {wrong}").click()
    page.get_by_role("button", name=f"Take back wrong: {wrong}").wait_for(state="detached")
    settled(page)
    assert wrong in order(page)
    page.get_by_role("button", name=f"Wrong: {wrong}").press("Enter")
    marked(page, "1 ✓ 1 ✗")
    page.get_by_role("button", name="Clear").click()
    page.locator(".feedback").wait_for(state="detached")
    shows(page, before)


def test_before_is_the_unmarked_order_and_the_count_of_new_ones_agrees(signed_in, served):
    page, before = signed_in, results(signed_in, served, "like=44&fold=0&k=100")
    for place in (25, 35):
        page.locator(".card .picture").nth(place).focus()
        page.keyboard.press("r")
        settled(page, before)
    marked(page, "2 ✓")
    page.wait_for_selector(".changed")
    after = order(page)
    new = len(set(after[:20]) - set(before[:20]))
    told = page.locator(".changed").inner_text()
    assert [int(n) for n in re.findall(r"\d+", told)] == [new, 20]
    assert new > 0
    page.get_by_role("button", name="Hold to see before").hover()
    page.mouse.down()
    shows(page, before)
    page.mouse.up()
    shows(page, after)
    hold = page.get_by_role("button", name="Hold to see before")
    hold.focus()
    page.keyboard.down("Enter")
    shows(page, before)
    page.keyboard.up("Enter")
    shows(page, after)


@pytest.mark.parametrize("search", ["text=swatch&fold=0", "like=45&text=swatch&fold=0", "like=46"])
def test_what_is_wrong_leaves_the_list_whatever_was_asked(signed_in, served, search):
    page, before = signed_in, results(signed_in, served, search)
    button(page, 1, "no").click()
    marked(page, "1 ✗")
    assert before[1] not in order(page)
    page.reload()
    page.wait_for_selector(".feedback")
    settled(page)
    assert before[1] not in order(page)


def test_pictures_glide_and_new_ones_glow(signed_in, served):
    page, before = signed_in, results(signed_in, served, "like=47&fold=0&k=20")
    page.evaluate(GLIDES)
    page.locator(".card .picture").nth(15).focus()
    page.keyboard.press("r")
    settled(page, before)
    assert set(page.evaluate("window.glides")) == {240}
    new = {r for r in order(page) if r not in before}
    glowing = page.locator(".card.new .picture").evaluate_all(
        "all => all.map(c => c.getAttribute('aria-label'))"
    )
    assert {g.partition(": ")[2].partition(",")[0] for g in glowing} == new


def test_nothing_glides_where_motion_is_unwelcome(signed_in, served):
    page = signed_in
    page.emulate_media(reduced_motion="reduce")
    before = results(page, served, "like=48&fold=0&k=20")
    page.evaluate(GLIDES)
    page.locator(".card .picture").nth(15).focus()
    page.keyboard.press("r")
    settled(page, before)
    assert page.evaluate("window.glides") == []


def test_the_other_list_is_as_if_nothing_had_been_said(signed_in, served):
    page, before = signed_in, results(signed_in, served, "like=49&fold=0")
    button(page, 20).click()
    settled(page, before)
    for other in ("before", "plain"):
        results(page, served, f"like=49&fold=0&compare={other}")
        page.wait_for_selector('ul[aria-label="Results of the other one"] .card')
        settled(page)
        assert order(page, "Results of the other one") == before
        assert order(page) != before
