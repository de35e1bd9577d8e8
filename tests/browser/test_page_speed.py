"""What the page fetches before it shows anything, and what it never fetches twice."""

from __future__ import annotations

import pytest

from tests.browser.conftest import PATIENCE, sign_in

REQUESTS, SCRIPTS = 60, 80_000
"""At most so many requests, and bytes of scripts on the wire, before the first paint."""
FETCHED = """() => {
  const paint = performance.getEntriesByName('first-contentful-paint')[0].startTime;
  return performance.getEntriesByType('resource').map((r) => [new URL(r.name).pathname,
    r.startTime <= paint, r.transferSize, r.encodedBodySize, r.decodedBodySize]);
}"""


@pytest.fixture
def stranger(browser, faults):
    """A browser that was never here."""
    made = browser.new_context(viewport={"width": 1440, "height": 900})
    made.set_default_timeout(PATIENCE)
    page = made.new_page()
    faults.watch(page)
    yield page
    made.close()
    assert faults.unexpected == []


def look(page, address: str) -> list:
    page.goto(address)
    page.wait_for_selector(".card img")
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
    return page.evaluate(FETCHED)


@pytest.mark.parametrize("address", ["/", "/results?like=7&fold=0"])
def test_little_is_fetched_before_the_first_paint_and_nothing_twice(stranger, served, address):
    page = sign_in(stranger, served)
    fetched = look(page, served.base + address)
    before = [row for row in fetched if row[1]]
    assert 1 + len(before) <= REQUESTS  # the page itself is one
    scripts = [row for row in fetched if row[0].endswith(".js")]
    assert scripts
    assert sum(row[2] for row in scripts) <= SCRIPTS
    assert sum(row[3] for row in scripts) < 0.5 * sum(row[4] for row in scripts)  # compressed
    names = {row[0].rpartition("/")[2] for row in scripts}
    assert not names & {"models.js", "teach.js", "target.js", "map.js", "board-view.js"}
    again = look(page, served.base + address)
    static = [row for row in again if row[0].startswith("/static/")]
    assert len(static) >= len(scripts)
    assert sum(row[2] for row in static) == 0  # all of it was kept


def test_what_another_screen_needs_comes_with_it(stranger, served, faults):
    page = sign_in(stranger, served)
    look(page, f"{served.base}/")
    for key, seen in (("t", ".candidate img"), ("o", ".learn"), ("j", ".problems"), ("h", ".home")):
        page.keyboard.press(key)
        page.wait_for_selector(seen)
