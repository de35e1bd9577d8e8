"""The map in a real browser without a GPU: frames while it is dragged, memory, first picture.

python -m benchmarks.map                   10,000, 100,000 and 1,000,000 pictures
python -m benchmarks.map --items 10000     one size alone

One row for the job that draws the map (``seconds``), then rows for the page, with the whole map in
view and from near.
``fps`` counts the frames that were drawn while the map was dragged (the goal is 30), ``seconds``
is the time from opening the page to the first picture on the map, the first row of a size with
pages of small pictures that are still to be made; ``shown`` is how many pictures a frame draws,
``rss_mib`` the memory of the tab's process and ``gpu_mib`` that of the browser's drawing process.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import shutil
import sqlite3
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import likewise
from benchmarks.server import served
from experiments.report import Report, run
from likewise.datasets import swatches
from likewise.features import feature_set
from likewise.files import sealed
from likewise.store import Result, Seen, Store

FEATURES = ("colour", "texture")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
PATIENCE = 120_000
NEAR = 3
"""Times that the near view doubles the scale of the whole one."""


def small_pictures(count: int, seed: int) -> list[bytes]:
    """Thumbnails to hand out to made-up items."""
    out = []
    for picture in swatches(count, size=96, seed=seed):
        data = io.BytesIO()
        Image.fromarray(picture).save(data, "JPEG", quality=82)
        out.append(data.getvalue())
    return out


def make_collection(folder: Path, items: int, seed: int) -> None:
    """Made-up vectors of the real features' lengths in clusters, with a thumbnail for each item."""
    rng = np.random.default_rng(seed)
    probe = feature_set(FEATURES)([np.zeros((32, 32, 3), np.uint8)])
    centres = {name: rng.random((64, row.shape[1])) for name, row in probe.items()}
    pictures = small_pictures(64, seed)
    with likewise.open(folder, create=True) as collection:
        store = collection.store
        for name, value in (("features", list(FEATURES)), ("engine", "flat"), ("smoothing", "off")):
            store.settings.set(name, value)  # what serves searches is no matter here
        for start in range(0, items, 5_000):
            numbers = range(start, min(start + 5_000, items))
            store.items.see(
                [Seen(f"{n:07d}.jpg".encode(), 1, 1, n.to_bytes(32, "big")) for n in numbers]
            )
            contents = [p.content for p in store.contents.pending(limit=5_000)]
            which = rng.integers(0, 64, len(contents))
            blocks = {
                name: (c[which] + 0.2 * rng.random((len(which), c.shape[1]))).astype("f4")
                for name, c in centres.items()
            }
            store.contents.record(
                [Result(c, width=96, height=96, format="JPEG") for c in contents], blocks
            )
            keep(store, {n.to_bytes(32, "big"): pictures[w] for n, w in zip(numbers, which)})
        collection.build()


def keep(store: Store, pictures: dict[bytes, bytes]) -> None:
    """Small pictures by hash, in one transaction: so many would take long one by one."""
    store.thumbnails.put((0).to_bytes(32, "big").hex(), "small", next(iter(pictures.values())))
    rows = [(key, "small", b"".join(sealed(key + data))) for key, data in pictures.items()]

    def insert(db: sqlite3.Connection) -> None:
        db.execute("BEGIN")
        with db:
            db.executemany("INSERT OR REPLACE INTO pictures VALUES (?, ?, ?)", rows)

    store.thumbnails._do(insert)


def draw(port: int, token: str) -> float:
    """Have the map drawn; gives the seconds it took."""

    def ask(path: str, post: bool = False) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        asked = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/v1{path}", b"" if post else None, headers
        )
        with urllib.request.urlopen(asked, timeout=120) as answer:
            return json.load(answer)

    started = time.perf_counter()
    job = ask("/map", post=True)
    while job["state"] in ("queued", "running"):
        time.sleep(0.05)
        job = ask(f"/jobs/{job['id']}")
    if job["state"] != "done":
        raise SystemExit(f"The map was not drawn: {job['message']}")
    return time.perf_counter() - started


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """A headless browser that draws with the processor alone."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise FileNotFoundError("This benchmark needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def memory(browser: Any) -> dict[str, float]:
    """Resident MiB of the largest process of a kind: the tab, and what draws for it."""
    import psutil

    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    out: dict[str, float] = {"renderer": 0.0, "GPU": 0.0}
    for process in found:
        if process["type"] in out:
            with contextlib.suppress(psutil.NoSuchProcess):
                size = psutil.Process(process["id"]).memory_info().rss / 2**20
                out[process["type"]] = max(out[process["type"]], size)
    return out


def frames(page: Any) -> int:
    return int(page.locator(".map-host").get_attribute("data-frames"))


def drag(page: Any, seconds: float) -> float:
    """Drag the map round and round; gives the frames a second that were drawn."""
    box = page.locator(".map-host").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    before, started = frames(page), time.perf_counter()
    step = 0
    while time.perf_counter() - started < seconds:
        step += 1
        at = step / 40
        page.mouse.move(x + 160 * math.sin(at), y + 90 * math.sin(1.7 * at))
    drawn, took = frames(page) - before, time.perf_counter() - started
    page.mouse.up()
    return drawn / took


def look(report: Report, browser: Any, address: str, items: int) -> None:
    """The rows of the page: the whole map, then from near."""
    seconds = 0.5 if report.quick else 5.0
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    try:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        base, _, token = address.partition("/?")
        page.goto(f"{base}/jobs?{token}")  # signed in, and the browser is warm
        page.goto(f"{base}/?view=map")
        page.wait_for_selector(".map-host[data-pictures]")
        first = page.evaluate("performance.getEntriesByName('map: first picture')[0].startTime")
        page.wait_for_selector(".card img")
        for where in ("whole map", "near"):
            if where == "near":
                for _ in range(NEAR):
                    page.get_by_role("button", name="Nearer").click()
            page.wait_for_timeout(300 if report.quick else 2500)  # pages of pictures come in
            fps = drag(page, seconds)
            used = memory(browser)
            report.row(
                method=where,
                items=items,
                fps=fps,
                seconds=first / 1000,
                shown=int(page.locator(".map-host").get_attribute("data-shown")),
                rss_mib=used["renderer"],
                gpu_mib=used["GPU"],
            )
    finally:
        context.close()


def main(report: Report) -> None:
    sizes = (80,) if report.quick else report.settings.get("items") or (10_000, 100_000, 1_000_000)
    for items in sizes:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "pictures"
            folder.mkdir()
            make_collection(folder, items, report.seed)
            with served(folder) as (port, token):
                report.row(method="drawing the map", items=items, seconds=draw(port, token))
                address = f"http://127.0.0.1:{port}/?token={token}"
                with chromium() as browser:  # another one each time, for its memory
                    look(report, browser, address, items)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=int, nargs="+", metavar="N", help="how many pictures")


if __name__ == "__main__":
    run("map", main, __doc__, options=options)
