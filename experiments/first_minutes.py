"""The first minutes with a new folder: what a person sees and finds, and how soon.

Photographs of known kinds are enlarged to the size that a camera writes (detail of every scale is
added), put into a fresh folder under names that do not tell their kind, and opened by ``likewise
open``.  A real browser goes to the printed address; all seconds count from the moment in which it
was printed.

``first thumbnail`` (goal: 5 s) is when the first small picture is drawn on Home, ``first answer``
(goal: 15 s) when a search for similar ones first gives results, ``all`` when the last picture was
taken in; ``cpu`` is what the server and its children had reckoned by then, in seconds of one core,
which says more than the seconds where the machine has other work to do.  Rows ``after`` give the
number of results of the same search at each second.  Then a
scripted person takes query pictures, looks at the first 20 results and presses ✓ or ✗ on the first
that they have not marked yet, by its kind; ``right20`` is the mean number of right ones among the
20 best that are not marked wrong, after 0, 1, 3 and 5 marks.

The photographs are ten kinds of Corel5k where that is, else those of the demo; they lie in a
temporary folder, 8 GB at full size, or in the one that ``--photos`` names, for the next time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from joblib import Parallel, delayed
from PIL import Image

from benchmarks.ingest import enlarged
from experiments.browsing import CHROMIUM, FLAGS, INSTALL, ROOT
from experiments.report import Report, run
from experiments.sets import MissingData, load_corel5k
from likewise.datasets import photographs

COUNT, KINDS, MEGAPIXELS, QUERIES = 1_000, 10, 24.0, 30
MARKS = (0, 1, 3, 5)
LOOKED_AT = 20
PATIENCE = 600_000
PACE = 1_000
"""Milliseconds that the person looks before the next mark."""
ASK = """([item, k]) => fetch('/api/v1/search', {method: 'POST', headers: {'Content-Type':
'application/json'}, body: JSON.stringify({examples: [{item}], k, fold: false})})
.then(a => a.ok ? a.json() : {results: []}).then(a => a.results.length)"""
NAMES = (
    ASK.replace("[item, k]", "item")
    .replace("k, fold", "k: 60, fold")
    .replace("a.results.length", "[a.marks, a.results.map(r => r.name)]")
)
LATEST = "fetch('/api/v1/jobs').then(a => a.json()).then(jobs => [jobs[0].state, jobs[0].message])"


def sources(count: int, quick: bool) -> list[tuple[str, Any]]:
    """Pictures with the kind of each, as many of each kind as can be."""
    try:
        if quick:
            raise MissingData("the demo's own will do")
        corel = load_corel5k()
        sizes = np.bincount(corel.labels)
        kinds = np.argsort(-sizes, kind="stable")[:KINDS]
        rows = [(kind, np.flatnonzero(corel.labels == kind).tolist()) for kind in kinds]
        found = [(str(kind), at) for kind, own in rows for at in own]
        pictures: Any = corel.pictures
    except MissingData:
        files = sorted(photographs.HERE.glob("*.jpg"))
        found = [(file.stem.rpartition("-")[0], at) for at, file in enumerate(files)]
        pictures = [np.asarray(Image.open(file).convert("RGB")) for file in files]
    order = np.random.default_rng(0).permutation(len(found))
    if quick:  # whole kinds, so that there is something to find
        order = np.arange(len(found))
    return [(kind, pictures[at]) for kind, at in (found[i] for i in order[:count])]


def write(folder: Path, count: int, megapixels: float, quick: bool) -> dict[str, str]:
    """Enlarge the pictures into a folder; gives the kind of each file."""
    folder.mkdir(parents=True, exist_ok=True)
    given = sources(count, quick)
    numbers = np.random.default_rng(1).permutation(max(len(given), COUNT))[: len(given)]
    names = [f"IMG_{number:04d}.jpg" for number in numbers]

    def one(name: str, picture: Any, seed: int) -> None:
        made = enlarged(picture, megapixels, np.random.default_rng(seed))
        made.save(folder / f"{name}.part", "JPEG", quality=90)
        (folder / f"{name}.part").rename(folder / name)

    Parallel(n_jobs=1 if quick else -1)(
        delayed(one)(name, picture, at)
        for at, (name, (_, picture)) in enumerate(zip(names, given))
        if not (folder / name).exists()
    )
    return dict(zip(names, (kind for kind, _ in given)))


class Opened:
    """``likewise open`` as a person starts it; ``printed`` is when its address was."""

    def __init__(self, folder: Path, features: str) -> None:
        command = [
            sys.executable, "-m", "likewise", "open", str(folder), "--port", "0", "--no-browser",
            "--json", *(["--features", features] if features else []),
        ]  # fmt: skip
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            line = self.process.stdout.readline()
            assert line, "the server ended before it was ready"
            said += line
        self.printed, self._used = time.monotonic(), dict[int, float]()
        self.address: str = json.loads(said)["address"]
        self.base = self.address.partition("/?")[0]

    @property
    def seconds(self) -> float:
        """Since the address was printed."""
        return time.monotonic() - self.printed

    @property
    def cpu(self) -> float:
        """Seconds that the server and its children reckoned since it was started."""
        server = psutil.Process(self.process.pid)
        for one in (server, *server.children(recursive=True)):
            with contextlib.suppress(psutil.Error):  # it has ended meanwhile: keep what it had
                used = one.cpu_times()
                self._used[one.pid] = used.user + used.system
        return sum(self._used.values())

    def stop(self) -> None:
        """End it in an orderly way."""
        assert self.process.stdout is not None
        self.process.terminate()
        self.process.wait(120)
        self.process.stdout.close()


def first_seconds(page: Any, opened: Opened, report: Report, count: int) -> None:
    """Look at Home until a picture is there, ask for similar ones until all are."""
    began = opened.cpu
    page.goto(opened.address)
    page.wait_for_selector(".home .card img")
    page.locator(".home .card img").first.evaluate("i => i.decode()")
    report.row(method="printed", seconds=0, cpu=began)
    report.row(method="first thumbnail", seconds=opened.seconds, goal=5, cpu=opened.cpu)
    item = int(
        page.evaluate(
            "fetch('/api/v1/arrivals').then(a => a.json()).then(p => p.items.at(-1).item)"
        )
    )
    answered, told = None, 0.0
    while True:
        results, reckoned = page.evaluate(ASK, [item, count]), opened.cpu
        if results and answered is None:
            answered = opened.seconds
            report.row(
                method="first answer", seconds=answered, goal=15, results=results, cpu=reckoned
            )
        if opened.seconds - told >= 1:
            told = opened.seconds
            report.row(method="after", seconds=round(told), results=results)
        state, said = page.evaluate(LATEST)
        if state not in ("queued", "running"):
            if answered is None:
                report.row(method="first answer", seconds=opened.seconds, goal=15)
            found = page.evaluate(ASK, [item, count])
            report.row(method="all", seconds=opened.seconds, results=found, cpu=opened.cpu)
            report.say(f"The job is {state}: {said}")
            return
        page.wait_for_timeout(100)


def with_marks(page: Any, base: str, kinds: dict[str, str], item: int, kind: str) -> list[int]:
    """Right ones among the first 20 after each number of marks, for one query."""
    page.goto(f"{base}/results?like={item}&fold=0")
    out, marked = [], dict[str, bool]()
    for marks in range(max(MARKS) + 1):
        shown = settled(page, item, marked)
        if marks in MARKS:
            out.append(sum(kinds[name] == kind for name in shown))
        following = next((name for name in shown if name not in marked), None)
        if following is None or marks == max(MARKS):
            continue
        marked[following] = kinds[following] == kind
        card = page.locator(".results .card", has=page.locator(f'[title^="{following}"]')).first
        page.wait_for_timeout(PACE)  # a second click sooner than that is taken for a slip
        card.hover()
        card.locator(".yes" if marked[following] else ".no").click()
        page.mouse.move(2, 2)  # the list stays as it is while the pointer is on its buttons
    return out


def settled(page: Any, item: int, marked: dict[str, bool]) -> list[str]:
    """The first 20 on the page that are not marked wrong, once it shows the answer to all marks."""
    deadline = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < deadline:
        page.wait_for_selector('.results[aria-busy="false"] .card img')
        marks, names = page.evaluate(NAMES, item)
        wanted = [name for name in names if marked.get(name, True)][:LOOKED_AT]
        if marks == len(marked) and [n for n in listed(page) if n in wanted] == wanted:
            return wanted
        page.wait_for_timeout(50)
    raise AssertionError("the page does not show what the server answers")


def listed(page: Any) -> list[str]:
    """Names of the results in the order shown."""
    labels = page.locator(".results .card .picture").evaluate_all(
        "all => all.map(c => c.getAttribute('aria-label'))"
    )
    return [label.partition(": ")[2].partition(",")[0] for label in labels]


def marking(page: Any, opened: Opened, report: Report, kinds: dict[str, str], queries: int) -> None:
    """Mark results of some queries, one after another, by their kind."""
    page.goto(opened.base)
    every = page.evaluate("fetch('/api/v1/items?limit=500').then(a => a.json())")
    items = every["items"]
    while every["next"]:
        every = page.evaluate(
            f"fetch('/api/v1/items?limit=500&cursor={every['next']}').then(a => a.json())"
        )
        items += every["items"]
    rng = np.random.default_rng(report.seed)
    chosen = [items[at] for at in rng.permutation(len(items))[:queries]]
    right = [with_marks(page, opened.base, kinds, q["item"], kinds[q["name"]]) for q in chosen]
    for at, marks in enumerate(MARKS):
        report.row(
            method="marks",
            marks=marks,
            queries=len(chosen),
            right20=float(np.mean([r[at] for r in right])),
        )


def main(report: Report) -> None:
    """Make the folder, open it, look, search and mark."""
    if CHROMIUM is None:
        report.say(f"Not run: there is no Chromium here; install it with: {INSTALL}")
        return
    from playwright.sync_api import sync_playwright

    count = report.settings.get("count") or (70 if report.quick else COUNT)
    size = report.settings.get("megapixels") or (0.2 if report.quick else MEGAPIXELS)
    queries = report.settings.get("queries") or (3 if report.quick else QUERIES)
    kept = report.settings.get("photos")
    if kept:
        Path(kept).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept) as place, sync_playwright() as playwright:
        folder = Path(place) / "camera"
        made = Path(kept) / "made" if kept else folder
        kinds = write(made, count, size, report.quick)
        if kept:  # a fresh folder of these files alone
            folder.mkdir()
            for name in kinds:
                os.link(made / name, folder / name)
        if report.settings.get("only_make"):
            return
        size_of_all = sum(os.path.getsize(folder / name) for name in kinds)
        report.row(method="made", pictures=len(kinds), megapixels=size, gigabytes=size_of_all / 1e9)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        opened = Opened(folder, "colour,texture" if report.quick else "")
        try:
            page = browser.new_page(
                viewport={"width": 1440, "height": 900}, reduced_motion="reduce"
            )
            page.set_default_timeout(PATIENCE)
            first_seconds(page, opened, report, count)
            marking(page, opened, report, kinds, queries)
        finally:
            browser.close()
            opened.stop()


def options(parser: argparse.ArgumentParser) -> None:
    """Fewer or smaller photographs."""
    parser.add_argument("--count", type=int, help=f"photographs (default: {COUNT})")
    parser.add_argument("--queries", type=int, help=f"pictures searched for (default: {QUERIES})")
    parser.add_argument("--megapixels", type=float, help=f"size of each (default: {MEGAPIXELS:g})")
    parser.add_argument("--photos", metavar="FOLDER", help="where photographs are made, and kept")
    parser.add_argument("--only-make", action="store_true", help="make the photographs, then stop")


if __name__ == "__main__":
    run("first_minutes", main, __doc__, options=options)
