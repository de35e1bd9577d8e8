"""The map on Home: drag, zoom, click, lasso, and a list of what is in view that does it all."""

from __future__ import annotations

import pytest

from likewise.datasets import swatches
from tests.browser.conftest import PATIENCE, sign_in, violations

HOST = ".map-host"


@pytest.fixture
def the_map(page, served):
    sign_in(page, served)
    page.goto(f"{served.base}/?view=map")
    ready(page)
    return page


def ready(page) -> None:
    """The map shows pictures and the list of what is in view is there."""
    page.wait_for_selector(f"{HOST}[data-pictures]", timeout=4 * PATIENCE)
    page.wait_for_selector('ul[aria-label="Photos in view"] .card')


def fact(page, name: str) -> str:
    return page.locator(HOST).get_attribute(f"data-{name}")


def in_view(page) -> int:
    return int(page.locator(".map-tools .soft").inner_text().split(" of ")[0])


def wait_in_view(page, wanted) -> None:
    for _ in range(PATIENCE // 50):
        if wanted(in_view(page)):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{in_view(page)} in view")


def chosen(page) -> int:
    bar = page.locator(".selection-bar b")
    return int(bar.inner_text().split()[0]) if bar.count() else 0


def colours(page) -> int:
    """How many different colours the canvas shows: pictures have many."""
    return page.evaluate(
        """async () => {
          const from = document.querySelector('.map-host canvas');
          const to = Object.assign(document.createElement('canvas'), { width: 200, height: 100 });
          await new Promise(requestAnimationFrame);
          to.getContext('2d').drawImage(await createImageBitmap(from), 0, 0, 200, 100);
          const d = to.getContext('2d').getImageData(0, 0, 200, 100).data;
          const seen = new Set();
          for (let i = 0; i < d.length; i += 4) {
            seen.add([d[i] >> 4, d[i + 1] >> 4, d[i + 2] >> 4].join());
          }
          return seen.size;
        }"""
    )


def drag(page, line, *, shift: bool = False) -> None:
    """Drag over the map along shares of its width and height."""
    box = page.locator(HOST).bounding_box()
    at = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in line]
    if shift:
        page.keyboard.down("Shift")
    page.mouse.move(*at[0])
    page.mouse.down()
    for point in at[1:]:
        page.mouse.move(*point, steps=4)
    page.mouse.up()
    if shift:
        page.keyboard.up("Shift")


AROUND = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98), (0.02, 0.03)]


def test_the_map_shows_every_picture_of_the_collection(the_map):
    wait_in_view(the_map, lambda n: n == 80)
    assert int(fact(the_map, "shown")) > 20
    assert colours(the_map) > 40
    assert the_map.locator('ul[aria-label="Photos in view"] .card').count() == 24


def test_zooming_shows_more_and_the_address_keeps_where_one_is(the_map):
    before = int(fact(the_map, "level"))
    wait_in_view(the_map, lambda n: n == 80)
    the_map.get_by_role("button", name="Nearer").click()
    wait_in_view(the_map, lambda n: n < 80)
    assert int(fact(the_map, "level")) > before
    seen = in_view(the_map)
    the_map.wait_for_url("**at=**")
    the_map.reload()
    ready(the_map)
    wait_in_view(the_map, lambda n: n == seen)
    the_map.get_by_role("button", name="Whole map").click()
    wait_in_view(the_map, lambda n: n == 80)


def test_the_wheel_zooms_once_the_map_is_touched(the_map):
    wait_in_view(the_map, lambda n: n == 80)
    level = fact(the_map, "level")
    the_map.locator(HOST).hover()
    the_map.mouse.wheel(0, -600)
    the_map.wait_for_timeout(300)
    assert fact(the_map, "level") == level  # the page scrolled instead
    the_map.locator(HOST).focus()
    the_map.locator(HOST).hover()
    the_map.mouse.wheel(0, -600)
    wait_in_view(the_map, lambda n: n < 80)


def test_dragging_moves_the_map_and_selects_nothing(the_map):
    the_map.get_by_role("button", name="Nearer").click()
    wait_in_view(the_map, lambda n: n < 80)
    the_map.wait_for_url("**at=**")
    here = the_map.url
    drag(the_map, [(0.6, 0.6), (0.3, 0.4)])
    the_map.wait_for_url(lambda url: url != here)
    assert chosen(the_map) == 0
    assert "/results" not in the_map.url


def test_a_whole_map_stays_whole_in_another_window(the_map):
    wait_in_view(the_map, lambda n: n == 80)
    margins = 1280 - int(the_map.locator(f"{HOST} canvas").get_attribute("width"))
    for size in ({"width": 1000, "height": 1000}, {"width": 1280, "height": 900}):
        the_map.set_viewport_size(size)
        the_map.wait_for_selector(f'{HOST} canvas[width="{size["width"] - margins}"]')
        the_map.get_by_role("button", name="Select all in view").click()
        the_map.wait_for_selector(".selection-bar b")
        assert chosen(the_map) == 80
        assert "at=" not in the_map.url
        the_map.keyboard.press("Escape")
        the_map.wait_for_selector(".selection-bar b", state="detached")


def test_a_click_opens_the_picture(the_map):
    the_map.get_by_role("button", name="Nearer").click()
    the_map.wait_for_url("**at=**")
    box = the_map.locator(HOST).bounding_box()
    name = the_map.evaluate(
        """async () => {
          const { loadMap } = await import('/static/lib/map-data.js');
          const about = await (await fetch('/api/v1/map')).json();
          const data = await loadMap(about);
          const at = new URLSearchParams(location.search).get('at');
          const [x, y, zoom] = at.split(',').map(Number);
          const wide = Number(document.querySelector('.map-host').dataset.wide);
          const far = (one) => Math.hypot((one.x - x) * wide, one.y - y);
          const all = data.shown([0, 0, 1, 1], data.level(2 ** zoom));
          const one = all.sort((a, b) => far(a) - far(b))[0];
          return [data.ids[one.i], (one.x - x) * 2 ** zoom * wide, (one.y - y) * 2 ** zoom];
        }"""
    )
    item, dx, dy = name
    the_map.mouse.click(box["x"] + box["width"] / 2 + dx, box["y"] + box["height"] / 2 + dy)
    the_map.wait_for_url(f"**show={int(item)}")
    the_map.wait_for_selector(".viewer .zoom img")
    the_map.get_by_role("button", name="Similar", exact=True).click()
    the_map.wait_for_url(f"**/results?like={int(item)}")


def test_a_map_in_parts_is_the_same_map(the_map):
    """As for a map of many: its first part is shown, the others follow."""
    whole = the_map.evaluate(SEEN)
    asked = []

    def a_part(route):
        address, _, part = route.request.url.partition("?part=")
        asked.append(int(part))
        data = route.fetch(url=address).body()
        n, some = len(data) // 13, slice(17 * int(part), 17 * int(part) + 17)
        sizes = [(8, 0), (2, 8), (2, 10), (1, 12)]
        rows = [data[at * n : (at + size) * n] for size, at in sizes]
        body = b"".join(
            row[some.start * size : some.stop * size] for row, (size, _) in zip(rows, sizes)
        )
        route.fulfill(body=body, content_type="application/octet-stream")

    the_map.route("**/map/items/*", a_part)
    assert the_map.evaluate(SEEN) == whole
    assert asked == [0, 1, 2, 3, 4]
    the_map.reload()
    ready(the_map)
    wait_in_view(the_map, lambda n: n == 80)
    the_map.get_by_role("button", name="Select all in view").click()
    the_map.wait_for_selector(".selection-bar b")
    assert chosen(the_map) == 80


SEEN = """async () => {
  const { loadMap } = await import('/static/lib/map-data.js');
  const data = await loadMap(await (await fetch('/api/v1/map')).json());
  await data.whole;
  const all = [0, 1, 2, 3, 4, 5].map((level) => data.shown([0, 0, 1, 1], level));
  const counts = [0, 1, 2, 3, 4, 5].map((level) => Array.from(data.counts(level).counts));
  return [all, counts, Array.from(data.within([0.2, 0.2, 0.7, 0.9])), Array.from(data.ids)];
}"""


def test_the_lasso_selects_what_is_inside_also_what_is_hidden(the_map):
    wait_in_view(the_map, lambda n: n == 80)
    assert int(fact(the_map, "shown")) < 80  # some stand behind others
    the_map.get_by_role("button", name="Lasso").click()
    drag(the_map, AROUND)
    assert chosen(the_map) == 80
    drag(the_map, [(0.02, 0.02), (0.5, 0.02), (0.5, 0.98), (0.02, 0.98)])
    half = chosen(the_map)
    assert 5 < half < 75
    the_map.get_by_role("button", name="Lasso").click()
    drag(the_map, [(0.98, 0.02), (0.5, 0.02), (0.5, 0.98), (0.98, 0.98)], shift=True)
    assert chosen(the_map) == 80 - half
    the_map.keyboard.press("Escape")
    assert chosen(the_map) == 0


def test_the_map_and_the_list_share_one_selection(the_map, served):
    the_map.get_by_role("button", name="Select all in view").click()
    assert chosen(the_map) == 80
    listed = the_map.locator('ul[aria-label="Photos in view"] .card')
    assert the_map.locator(".card.picked").count() == listed.count()
    the_map.locator(".card .picture").first.click(modifiers=["Control"])
    assert chosen(the_map) == 79
    with the_map.expect_download() as saved:
        the_map.get_by_role("button", name="Export CSV").click()
    rows = saved.value.path().read_text(encoding="utf-8").strip().splitlines()
    everything = {str(i["item"]) for i in served.api("/items?limit=500")["items"] if i["thumbnail"]}
    left_out = everything - {row.split(",")[0] for row in rows[1:]}
    assert len(rows) == 80
    assert len(left_out) == 1


def test_everything_by_keys_and_without_a_pointer(the_map):
    wait_in_view(the_map, lambda n: n == 80)
    the_map.locator(HOST).focus()
    the_map.keyboard.press("+")
    wait_in_view(the_map, lambda n: n < 80)
    the_map.wait_for_url("**at=**")
    here = the_map.url
    the_map.keyboard.press("ArrowLeft")
    the_map.wait_for_url(lambda url: url != here)
    the_map.keyboard.press("0")
    wait_in_view(the_map, lambda n: n == 80)
    the_map.keyboard.press("Tab")  # on to the list
    the_map.wait_for_function("document.activeElement.closest('.card')")
    the_map.keyboard.press("x")
    the_map.keyboard.press("ArrowRight")
    the_map.keyboard.press("x")
    assert chosen(the_map) == 2
    the_map.get_by_role("button", name="More like these").press("Enter")
    the_map.wait_for_url("**/results?like=*&like=*")


def test_reduced_motion_goes_there_at_once(the_map):
    the_map.emulate_media(reduced_motion="reduce")
    frames = the_map.evaluate(
        """async () => {
          const host = document.querySelector('.map-host');
          const seen = new Set();
          document.querySelector('[aria-label="Nearer"]').click();
          for (let n = 0; n < 12; n++) {
            await new Promise(requestAnimationFrame);
            seen.add(host.dataset.level + ':' + host.dataset.shown);
          }
          return seen.size;
        }"""
    )
    assert frames <= 2  # before and after, nothing in between


def test_the_whole_map_on_a_narrow_screen_is_accessible(the_map):
    the_map.set_viewport_size({"width": 390, "height": 780})
    the_map.wait_for_timeout(400)
    assert the_map.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(the_map) == []


@pytest.mark.slow
def test_the_map_is_drawn_anew_when_pictures_came_in(page, fresh):
    sign_in(page, fresh)
    page.goto(f"{fresh.base}/?view=map")
    ready(page)
    swatches(20, size=96, seed=11).write(fresh.folder / "more", jobs=1)
    fresh.api("/jobs", {"kind": "index"})
    page.wait_for_selector("text=100 of 100 photos in view", timeout=4 * PATIENCE)
