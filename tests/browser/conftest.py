"""A real server in its own process, and a real Chromium that looks at it.

Where there is no Chromium the tests are reported as not run, with the command that
installs it; under CI=true that is a failure.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Error, Route

import likewise
from experiments.browsing import CHROMIUM, FLAGS, INSTALL, Served
from likewise.datasets import SwatchSet, swatches

PATIENCE = 45_000
"""Milliseconds that a step may take on a machine with other work to do."""
FEATURES = ("colour", "texture", "shape")
SLOWER = float(os.environ.get("LIKEWISE_SLOW_BROWSER") or 1)
"""How many times slower pages run, with as many hundredths of a second on the way to the server:
what a fast machine hides comes out at 5."""
AXE = Path(__file__).parent / "vendor" / "axe.min.js"


def pytest_collection_modifyitems(items) -> None:
    for item in items:
        if Path(item.fspath).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        sentence = f"Not run: there is no Chromium here; install it with: {INSTALL}"
        if os.environ.get("CI") == "true":
            pytest.fail(sentence)
        pytest.skip(sentence)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


def make(folder: Path, count: int) -> SwatchSet:
    """An indexed folder of swatches with one unreadable file."""
    drawn = swatches(count, size=96, seed=3)
    drawn.write(folder, jobs=1)
    (folder / "broken.jpg").write_bytes(b"not a picture")
    with likewise.open(folder, create=True) as collection:
        collection.index(features=FEATURES, processes=1)
    return drawn


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("browser") / "swatches"
    make(folder, 80)
    return folder


@pytest.fixture(scope="module")
def served(made, tmp_path_factory) -> Iterator[Served]:
    """A server that the tests of one file share."""
    folder = tmp_path_factory.mktemp("served") / "swatches"
    shutil.copytree(made, folder)
    running = Served(folder).start()
    yield running
    running.stop()


@pytest.fixture
def fresh(made, tmp_path) -> Iterator[Served]:
    """A server of one test's own, to be killed at will."""
    folder = tmp_path / "swatches"
    shutil.copytree(made, folder)
    running = Served(folder).start()
    yield running
    running.stop()


class Faults(list):
    """What the console and the page complained about; ``allowed`` names what is expected."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed: tuple[str, ...] = ()

    def watch(self, page) -> None:
        page.on("console", lambda m: m.type in ("error", "warning") and self.append(m.text))
        page.on("pageerror", lambda e: self.append(str(e)))

    @property
    def unexpected(self) -> list[str]:
        return [text for text in self if not any(a in text for a in self.allowed)]


@pytest.fixture
def faults() -> Faults:
    return Faults()


class Held:
    """Requests that do not get through before they are let go.

    ``answered``: the server answers at once, and what it said is held back; ``most``: how many are
    held, the later ones get through; ``method``: only these.
    """

    def __init__(
        self, page, address: str, *, answered: bool = False, most: int = 1000, method: str = ""
    ) -> None:
        self.page, self.answered, self.most, self.method = page, answered, most, method
        self.routes: list[tuple[Route, APIResponse | None]] = []
        self.open = False
        page.route(address, self.take)

    def take(self, route: Route) -> None:
        other = self.method and route.request.method != self.method
        if self.open or other or len(self.routes) >= self.most:
            route.continue_()
        else:
            self.routes.append((route, route.fetch() if self.answered else None))

    def wait(self, count: int = 1) -> None:
        """Wait until so many are held."""
        deadline = time.monotonic() + PATIENCE / 1000
        while len(self.routes) < count:
            assert time.monotonic() < deadline, "nothing was asked"
            self.page.wait_for_timeout(20)

    def let_go(self) -> None:
        self.open = True
        for route, answer in self.routes:
            with contextlib.suppress(Error):  # taken back, or of a page that was left meanwhile
                route.fulfill(response=answer) if answer else route.continue_()
                route.request.response()
        # Whatever the answers do to the page is done and drawn when a later one is there.
        self.page.evaluate(
            "fetch('/api/v1/status').then(() => new Promise((drawn) =>"
            " requestAnimationFrame(() => requestAnimationFrame(drawn)))).then(() => 1)"
        )


@pytest.fixture(scope="session")
def kept_context(browser):
    """What all tests share: files of the page that a browser keeps for good, and an empty tab."""
    made = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    made.set_default_timeout(PATIENCE)
    made.new_page()
    if SLOWER > 1:
        made.on("page", slow_down)
    yield made
    made.close()


@pytest.fixture
def context(kept_context):
    """A browser that nobody has used, but for the files of the page."""
    yield kept_context
    empty, *opened = kept_context.pages
    origins = {"/".join(page.url.split("/")[:3]) for page in opened}
    for page in opened:
        page.close()
    wire = kept_context.new_cdp_session(empty)
    for origin in origins - {"about:blank"}:
        kinds = "local_storage,session_storage"
        wire.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": kinds})
    wire.detach()
    kept_context.clear_cookies()
    kept_context.clear_permissions()


def slow_down(page) -> None:
    """Let a page run as on a slow machine, far from its server."""
    wire = page.context.new_cdp_session(page)
    wire.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    wire.send("Network.enable")
    far = {"offline": False, "latency": 10 * SLOWER, "downloadThroughput": -1}
    wire.send("Network.emulateNetworkConditions", {**far, "uploadThroughput": -1})


@pytest.fixture
def page(context, faults):
    """A page without complaints: any console error fails the test."""
    opened = context.new_page()
    faults.watch(opened)
    yield opened
    assert faults.unexpected == []


def sign_in(page, served):
    """The page of somebody who has opened the printed address before, and is nowhere yet."""
    page.context.request.get(served.address)
    return page


@pytest.fixture
def signed_in(page, served):
    return sign_in(page, served)


@pytest.fixture
def home(page, served):
    """The page at home, signed in by the printed address."""
    page.goto(served.address)
    page.wait_for_selector(".card img")
    return page


def order(page, grid: str = "Results") -> list[str]:
    """Names of the results as they are shown."""
    cards = page.locator(f'ul[aria-label="{grid}"] .picture')
    labels = cards.evaluate_all("all => all.map(c => c.getAttribute('aria-label'))")
    return [label.partition(": ")[2].partition(",")[0] for label in labels]


def results(page, served, search: str) -> list[str]:
    """Open a results address and wait for its pictures."""
    page.goto(f"{served.base}/results?{search}")
    page.wait_for_selector('ul[aria-label="Results"] .card img')
    page.wait_for_selector('.results[aria-busy="false"]')
    return order(page)


def shows(page, wanted) -> None:
    """Wait until the answer shown has this order."""
    deadline = time.monotonic() + PATIENCE / 1000
    while order(page) != wanted:
        assert time.monotonic() < deadline, "the order did not come back"
        page.wait_for_timeout(50)


def settled(page, changed=None) -> None:
    """Wait until the answer shown is the latest one (and differs from ``changed``)."""
    page.wait_for_selector('.results[aria-busy="false"]')
    if changed is not None:
        deadline = time.monotonic() + PATIENCE / 1000
        while order(page) in ([], changed):  # none are there while a new answer is fetched
            assert time.monotonic() < deadline, "the order did not change"
            page.wait_for_timeout(50)
        page.wait_for_selector('.results[aria-busy="false"]')  # what is wrong leaves it at once


def marked(page, feedback: str) -> None:
    """Wait until the strip counts this feedback, and the answer shown is made of it."""
    page.locator(".feedback", has_text=feedback).wait_for()
    page.wait_for_selector('.results[aria-busy="false"]')


def menu(page) -> None:
    """Open what lies behind the three dots."""
    page.locator(".menu > button").click()


def drawer(page):
    """Open the drawer with filters, order and what ranks."""
    page.get_by_role("button", name="Filters").click()
    return page.locator(".drawer")


def violations(page) -> list[str]:
    """What axe finds that is serious or critical."""
    # Through the debugger, because the page's policy rightly lets no script in.
    page.evaluate(AXE.read_text(encoding="utf-8") + "; void 0")
    found = page.evaluate("axe.run().then(r => r.violations)")
    return [
        f"{v['id']} ({v['impact']}): {v['nodes'][0]['html'][:160]}"
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
