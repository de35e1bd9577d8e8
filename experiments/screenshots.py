"""The pictures of the web page in the docs, all taken anew from one collection.

    python -m experiments.screenshots --out docs/images       (needs the development packages)

The demo's photographs with the default features, sixty of them taught by kind, two models, one
search for a target; every screen at 1440 by 900, and some on a tablet (1024 by 768) and on a phone
(390 by 780).
So when the page changes, its pictures do too.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

import likewise
from experiments.board_person import seen_part
from experiments.browsing import CHROMIUM, FLAGS, INSTALL, Served
from experiments.report import Report, run
from likewise.types import BadInput

SIZES = {"desk": (1440, 900), "tablet": (1024, 768), "phone": (390, 780)}
PATIENCE = 240_000
"""Milliseconds that a step may take on a machine with other work to do."""
WIDE = 1200
"""Width of a picture in the docs."""
HIGH = 640
"""Height of pictures side by side."""
Shots = list[Image.Image]
PHOTOS = Path(__file__).resolve().parent.parent / "demo_photos"
SOME = 5
"""One photograph of so many is taken where it must be quick."""
LOADED = """() => [...document.images].every((one) => {
  const box = one.getBoundingClientRect();
  return one.complete || box.bottom < 0 || box.top > innerHeight || !box.width;
})"""
"""Whether every picture in view is there."""
HERO = "tulip"
"""What the search of the pictures is about."""


def main(report: Report) -> None:
    if CHROMIUM is None:
        raise BadInput(f"There is no Chromium here; install it with: {INSTALL}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "photos"
        kinds = made(folder, report)
        served = Served(folder).start()
        try:
            for name, picture in taken(served, kinds):
                file = report.path(f"web-{name}.jpg")
                picture.convert("RGB").save(file, quality=85)
                report.row(method=name, width=picture.width, height=picture.height)
        finally:
            served.stop()


def made(folder: Path, report: Report) -> dict[str, str]:
    """The demo's photographs, two files that cannot be read, marks by kind, two models.

    Gives what each photograph shows by its name, fewer of them where it must be quick.
    """
    folder.mkdir()
    chosen = sorted(PHOTOS.glob("*.jpg"))[:: SOME if report.quick else 1]
    for file in chosen:
        shutil.copy(file, folder)
    kinds = {file.name: file.stem.rpartition("-")[0] for file in chosen}
    (folder / "empty.png").write_bytes(b"")
    (folder / "scan-0042.jpg").write_bytes(b"not a picture")
    features = ("colour", "texture", "shape") if report.quick else None
    with likewise.open(folder, create=True) as collection:
        collection.index(features=features)
        for name in taught(kinds):
            query = collection.query(name)
            shown = collection.ask(query, k=25, fold=False).paths
            for right in (True, False):
                marked = [p for p in shown if p != name and (kinds[p] == kinds[name]) == right]
                collection.mark(query, marked, right, person="Ada", source="web")
        collection.learn(name="kind by marks", force=True)
        collection.learn("top-precision", name="what comes first", activate=False)
    return kinds


def taught(kinds: dict[str, str]) -> list[str]:
    """Names of the photographs that are taught as queries."""
    return list(kinds)[:: max(2, len(kinds) // 60)][:60]


def numbers(served: Served) -> dict[str, int]:
    """The number of every picture by its name."""
    found: dict[str, int] = {}
    cursor = ""
    while True:
        page = served.api(f"/items?limit=200{cursor}")
        found |= {one["name"]: one["item"] for one in page["items"]}
        if not page["next"]:
            return found
        cursor = f"&cursor={page['next']}"


def taken(served: Served, kinds: dict[str, str]) -> Iterator[tuple[str, Image.Image]]:
    """Every picture with its name."""
    from playwright.sync_api import sync_playwright

    items = numbers(served)
    new = [name for name in kinds if name not in taught(kinds)]
    first = next((name for name in new if kinds[name] == HERO), new[0])
    other = next(name for name in new if kinds[name] != kinds[first])
    like, unlike = items[first], items[other]
    query = f"/results?like={like}&not={unlike}"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)

        @contextmanager
        def on(size: str) -> Iterator[Any]:
            width, height = SIZES[size]
            context = chromium.new_context(viewport={"width": width, "height": height})
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.goto(served.address)
            page.wait_for_selector(".card img, .map-host")
            yield page
            context.close()

        def shot(page: Any) -> Image.Image:
            page.wait_for_timeout(1_200)  # pictures fade in, boards glide
            page.wait_for_function(LOADED)
            return Image.open(io.BytesIO(page.screenshot()))

        def wide(page: Any) -> Image.Image:
            picture = shot(page)
            return picture.resize((WIDE, WIDE * picture.height // picture.width))

        def small(show: Callable[[Any], None]) -> Image.Image:
            both = []
            for size in ("tablet", "phone"):
                with on(size) as page:
                    show(page)
                    both.append(shot(page))
            return beside(both)

        with on("desk") as page:
            whole_map(page, served)
            yield "home", wide(page)
            lasso(page)
            yield "map-selected", wide(page)
            results(page, served, query, marks=True)
            yield "results", wide(page)
            page.keyboard.press("v")
            page.wait_for_selector(".why .bar-track")
            page.locator(".viewer .zoom .whole").wait_for()
            yield "viewer", wide(page)
            results(page, served, query + "&view=sorted")
            yield "sorted", wide(page)
            page.goto(f"{served.base}/target")
            page.wait_for_selector(".gallery .picture img")
            yield "target-begin", wide(page)
            moves = board(page, served, items, kinds)
            yield "board", wide(page)
            teach(page, served)
            yield "teach", wide(page)
            page.goto(f"{served.base}/models?model=1")
            page.wait_for_selector(".card-of-model")
            yield "models", wide(page)
            form = page.get_by_role("region", name="Compare two models")
            form.get_by_role("button", name="Compare").click()
            form.get_by_text("Best gains").or_(form.get_by_text("Worst")).first.wait_for()
            form.scroll_into_view_if_needed()
            page.wait_for_timeout(500)
            yield "compare", wide(page)
            page.goto(f"{served.base}/jobs")
            page.get_by_role("button", name="Look for new pictures").click()
            page.wait_for_selector("text=Files that could not be read")
            yield "jobs", wide(page)
        yield "map-small", small(lambda page: whole_map(page, served))
        yield "sorted-small", small(lambda page: results(page, served, query + "&view=sorted"))
        yield "board-small", small(lambda page: again(page, served, moves))
        yield "models-small", small(lambda page: models(page, served))
        themes = []
        for scheme in ("light", "dark"):
            with on("desk") as page:
                page.emulate_media(color_scheme=scheme)
                results(page, served, query)
                themes.append(shot(page))
        yield "themes", beside(themes)
        phone = []
        with on("phone") as page:
            page.goto(f"{served.base}/")
            page.wait_for_selector(".card img")
            phone.append(shot(page))
            results(page, served, query)
            phone.append(shot(page))
            teach(page, served, judged=3)
            phone.append(shot(page))
        yield "phone", beside(phone)
        chromium.close()


# -- screens -----------------------------------------------------------------------


def whole_map(page: Any, served: Served) -> None:
    """The map, once it is drawn."""
    page.goto(f"{served.base}/?view=map")
    page.wait_for_selector(".map-host canvas")
    page.wait_for_selector('.map-host[data-shown]:not([data-shown="0"])')


def lasso(page: Any) -> None:
    """Some pictures of the map selected."""
    page.get_by_role("button", name="Lasso").click()
    box = page.locator(".map-host").bounding_box()
    page.mouse.move(box["x"] + 0.45 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    for x, y in ((0.62, 0.3), (0.62, 0.7), (0.45, 0.7)):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
    page.mouse.up()


def results(page: Any, served: Served, query: str, marks: bool = False) -> None:
    """Results of a query; with two of them marked right."""
    page.goto(served.base + query)
    page.wait_for_selector(".results[aria-busy='false'] img")
    page.wait_for_selector(".results .card img, .results .tile img")  # not that of the query alone
    if not marks:
        return
    for marked, place in enumerate((1, 3)):
        page.locator('ul[aria-label="Results"] .picture').nth(place).focus()
        page.keyboard.press("r")
        page.locator(".card.right").nth(marked).wait_for()
        page.wait_for_selector(".results[aria-busy='false'] img")
    page.locator('ul[aria-label="Results"] .picture').nth(0).focus()


def board(
    page: Any, served: Served, items: dict[str, int], kinds: dict[str, str]
) -> dict[str, int]:
    """A board in its third round, four pictures moved: one kind close, others far."""
    kind = {items[name]: kinds[name] for name in kinds}
    wanted = HERO if HERO in kinds.values() else next(iter(kinds.values()))
    began = next(item for item, shows in kind.items() if shows == wanted)
    first = served.api("/sessions", {"shown": 30, "query": {"examples": [{"item": began}]}})
    at = {"session": first["session"]}
    now = served.api(f"/sessions/{at['session']}/next", {"round": first["round"]})
    page.goto(f"{served.base}/target?session={at['session']}&round={now['round']}")
    page.wait_for_selector(".piece img")
    page.wait_for_timeout(800)
    shown = [one["item"] for one in now["pictures"] if one["item"] != now["query"]]
    near = [item for item in shown if kind[item] == wanted][:2]
    far = [item for item in shown if item not in near and kind[item] != wanted][:2]
    for item, (x, y) in zip([*near, *far], ((0.4, 0.4), (0.62, 0.42), (0.9, 0.1), (0.1, 0.9))):
        place(page, item, x, y)
    return {**at, "round": now["round"]}


def place(page: Any, item: int, x: float, y: float) -> None:
    """Drag a picture to a place of the board, given as shares of its sides."""
    box = page.locator(".board").bounding_box()
    held = seen_part(page, str(item), page.locator(f'.piece[data-item="{item}"]').bounding_box())
    page.mouse.move(*held)
    page.mouse.down()
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=6)
    page.mouse.up()
    page.wait_for_timeout(200)


def again(page: Any, served: Served, at: dict[str, int]) -> None:
    """The same board once more."""
    page.goto(f"{served.base}/target?session={at['session']}&round={at['round']}")
    page.wait_for_selector(".piece img, .row img")


def teach(page: Any, served: Served, judged: int = 6) -> None:
    """Teach, some candidates judged."""
    page.goto(f"{served.base}/teach?item={served.api('/teach/next')['reference']['item']}")
    page.wait_for_selector(".upcoming img")
    for number in range(judged):
        page.keyboard.press("r" if number % 3 == 0 else "n")
        page.wait_for_timeout(150)


def models(page: Any, served: Served) -> None:
    """The models, and the card of the first."""
    page.goto(f"{served.base}/models?model=1")
    page.wait_for_selector(".card-of-model")


def beside(shots: Shots) -> Image.Image:
    """Pictures side by side, of one height."""
    scaled = [one.convert("RGB").resize((one.width * HIGH // one.height, HIGH)) for one in shots]
    gap = 16
    whole = Image.new("RGB", (sum(o.width + gap for o in scaled) - gap, HIGH), "white")
    left = 0
    for one in scaled:
        whole.paste(one, (left, 0))
        left += one.width + gap
    return whole


if __name__ == "__main__":
    run("screenshots", main, __doc__)
