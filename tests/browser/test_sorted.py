"""Results sorted by the eye: the same pictures, the same selection, the same marks."""

from __future__ import annotations

from tests.browser.conftest import drawer, marked, order, results, settled, violations

LIKE = "like=5&fold=0"


def sorted_tiles(page) -> list[str]:
    return order(page)


def open_sorted(page, served, more: str = "") -> list[str]:
    page.goto(f"{served.base}/results?{LIKE}&view=sorted{more}")
    page.wait_for_selector(".sorted .tile img")
    return sorted_tiles(page)


def picked(page) -> set[str]:
    """Names of the selected pictures, in whatever view."""
    shown = page.locator('.picture[aria-pressed="true"]')
    labels = shown.evaluate_all("all => all.map(c => c.getAttribute('aria-label'))")
    return {label.partition(": ")[2].partition(",")[0] for label in labels}


def test_sorted_shows_the_ranked_results_in_another_order(signed_in, served):
    page = signed_in
    ranked = results(page, served, f"{LIKE}&k=79")
    drawer(page).get_by_role("button", name="Sorted").click()
    page.wait_for_url("**view=sorted**")
    page.wait_for_selector(".sorted .tile img")
    assert "79 photos" in page.locator(".strip").inner_text()
    assert sorted(sorted_tiles(page)) == sorted(ranked)
    assert sorted_tiles(page) != ranked
    page.reload()
    page.wait_for_selector(".sorted .tile img")
    drawer(page).get_by_role("button", name="Ranked").click()
    page.wait_for_selector('ul.rows[aria-label="Results"] .card')


def test_the_grid_has_no_holes(signed_in, served):
    page = signed_in
    open_sorted(page, served)
    columns = page.evaluate(
        "getComputedStyle(document.querySelector('.sorted')).gridTemplateColumns.split(' ').length"
    )
    cells = page.locator(".sorted .tile").evaluate_all(
        "all => all.map(c => [c.querySelector('img').src, c.style.gridRow, c.style.gridColumn])"
    )
    rows = [int(r.split(" /")[0]) for _, r, _ in cells]
    last = max(rows)
    assert all(rows.count(row) == columns for row in set(rows) - {last})  # no holes


def test_selecting_works_as_in_the_grid_and_stays_when_the_view_changes(signed_in, served):
    page = signed_in
    open_sorted(page, served)
    tiles = page.locator(".sorted .picture")
    tiles.nth(2).click(modifiers=["Control"])
    assert picked(page) == {sorted_tiles(page)[2]}
    tiles.nth(5).click(modifiers=["Shift"])
    assert picked(page) == set(sorted_tiles(page)[2:6])
    tiles.nth(3).click(modifiers=["Control"])
    chosen = picked(page)
    assert len(chosen) == 3
    assert "3 photos selected" in page.locator(".selection-bar").inner_text()
    drawer(page).get_by_role("button", name="Ranked").click()
    page.locator(".drawer").get_by_label("Close").click()
    page.wait_for_selector(".card.picked")
    settled(page)
    shown = set(order(page))
    assert picked(page) == chosen & shown
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    assert picked(page) == shown


def test_keyboard_moves_selects_and_marks(signed_in, served):
    page = signed_in
    names = open_sorted(page, served)
    page.keyboard.press("ArrowRight")  # into the grid
    for key in ("ArrowRight", "ArrowDown", "ArrowUp", "x"):
        page.keyboard.press(key)
    assert picked(page) == {names[1]}
    page.get_by_role("button", name="Open", exact=True).click()
    page.wait_for_selector(".viewer .zoom img")
    page.keyboard.press("Escape")
    page.wait_for_selector(".viewer[open]", state="detached")
    page.keyboard.press("r")
    page.wait_for_selector(".tile.right")
    marked(page, "1 ✓")
    page.keyboard.press("u")
    page.wait_for_selector(".tile.right", state="detached")


def test_narrow_and_accessible(signed_in, served):
    page = signed_in
    page.set_viewport_size({"width": 390, "height": 780})
    open_sorted(page, served, "&k=100")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page) == []
