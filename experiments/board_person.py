"""How soon does a person find one picture with the board?  A scripted person in a real browser.

The person has one of 2,000 swatches in mind and follows a rule that the page does not know: same
motif.  On the start screen they choose the picture that is closest to the target; on each board
they drag the pictures of the target's motif close to the query and some others far away, choose
another query where one is closer to the target, and go on, until the target is on the board.
Everything is done with the mouse and the keys, as a person would.

``rounds`` is the median number of the round that shows the target (the start screen is round 1),
a target not found counting as one more than allowed; ``found10`` is the share found by round 10.
Rows: ``motif only`` sees nothing but the motif, in choosing a query too; ``closest by eye`` chooses
as query what shares most with the target (motif first, then colour, ground, scale and texture).
Each is shown without its drags as well.  ``random boards`` says what as many pictures drawn at
random would give.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import likewise
from experiments.browsing import CHROMIUM, FLAGS, INSTALL, Served
from experiments.report import Report, run
from likewise.collection.lines.defaults import FEATURES
from likewise.datasets import SwatchSet, swatches

ITEMS, RUNS, MOST = 2000, 20, 12
SHOWN = 50
NEAR, FAR = 5, 5
"""Pictures dragged close and far on each board, at most."""
LOOKS = ("colour", "ground", "scale", "texture")
PATIENCE = 120_000


@dataclass(frozen=True)
class Person:
    """Somebody who has a target in mind."""

    truth: dict[str, Any]
    target: int
    by_eye: bool = True
    drags: bool = True

    def likes(self, swatch: int) -> bool:
        """The hidden rule."""
        return bool(self.truth["motif"][swatch] == self.truth["motif"][self.target])

    def closeness(self, swatch: int) -> tuple[bool, int]:
        """How close a swatch is to the target, as far as this person looks."""
        shared = sum(self.truth[look][swatch] == self.truth[look][self.target] for look in LOOKS)
        return self.likes(swatch), int(shared) if self.by_eye else 0

    def closest(self, swatches: Sequence[int]) -> int:
        """The closest; the first of several."""
        return max(swatches, key=self.closeness)


def number(label: str) -> int:
    """Which swatch a file name means, wherever it stands in a label."""
    return int(label.partition("swatch-")[2].partition(".")[0]) - 1


def search(page: Any, base: str, person: Person, shown: int, most: int) -> int:
    """One search in the browser; gives the round that showed the target."""
    page.goto(f"{base}/target")
    page.wait_for_selector(".gallery .picture img")
    page.get_by_label("Photos on a board").select_option(str(shown))
    offered = [
        number(label)
        for label in page.locator(".gallery .picture").evaluate_all(
            "all => all.map(b => b.getAttribute('aria-label'))"
        )
    ]
    if person.target in offered:
        page.get_by_role("button", name="This is it: ").nth(offered.index(person.target)).click()
        finish(page)
        return 1
    page.get_by_role("button", name="Closest: ").nth(offered.index(person.closest(offered))).click()
    for depth in range(2, most + 1):
        page.wait_for_selector(f'.rests:has-text("Round {depth} ")')
        page.wait_for_selector('.round[aria-busy="false"] .piece.query')
        board = pieces(page)
        if person.target in board:
            page.locator(f'.piece[data-item="{board[person.target]}"]').focus()
            page.keyboard.press("i")
            finish(page)
            return depth
        if depth < most:
            one_round(page, person, board)
    page.get_by_role("button", name="Give up").click()
    finish(page)
    return most + 1


def one_round(page: Any, person: Person, board: dict[int, str]) -> None:
    """Drag, choose a query, go on."""
    query = number(page.locator(".piece.query").get_attribute("aria-label"))
    better = person.closest([query, *(s for s in board if s != query)])
    if better != query:
        page.locator(f'.piece[data-item="{board[better]}"]').focus()
        page.keyboard.press("q")
        page.wait_for_selector(f'.piece.query[data-item="{board[better]}"]')
    if person.drags and person.likes(better):
        others = [s for s in board if s not in (better, query)]
        near = [s for s in others if person.likes(s)][:NEAR]
        far = [s for s in others if not person.likes(s)][-FAR:]
        for place, swatch in enumerate(near):
            angle = 2 * np.pi * place / max(1, len(near))
            drag(page, board[swatch], 0.5 + 0.13 * np.cos(angle), 0.5 + 0.13 * np.sin(angle))
        for place, swatch in enumerate(far):
            drag(page, board[swatch], 0.06 + 0.88 * place / max(1, len(far) - 1), 0.95)
    page.keyboard.press("g")


def pieces(page: Any) -> dict[int, str]:
    """Swatches on the board by number, with the item each one is, in the order shown."""
    listed = page.locator(".piece[data-item]").evaluate_all(
        "all => all.map(p => [p.getAttribute('aria-label'), p.dataset.item])"
    )
    return {number(label): item for label, item in listed}


def drag(page: Any, item: str, x: float, y: float) -> None:
    """Take a picture with the mouse and put it somewhere on the board."""
    piece = page.locator(f'.piece[data-item="{item}"]')
    piece.evaluate("p => Promise.all(p.getAnimations().map(a => a.finished.catch(() => 0)))")
    box, frame = piece.bounding_box(), page.locator(".board").bounding_box()
    spot = seen_part(page, item, box)
    page.mouse.move(*spot)
    page.mouse.down()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(
        frame["x"] + x * frame["width"] + spot[0] - middle[0],
        frame["y"] + y * frame["height"] + spot[1] - middle[1],
        steps=3,
    )
    page.mouse.up()


def seen_part(page: Any, item: str, box: dict[str, float]) -> tuple[float, float]:
    """A point of a picture that no other picture covers."""
    for across in (0.5, 0.2, 0.8):
        for down in (0.5, 0.2, 0.8):
            spot = box["x"] + across * box["width"], box["y"] + down * box["height"]
            if page.evaluate(
                "([x, y, item]) => document.elementFromPoint(x, y)?.closest('.piece')"
                "?.dataset.item === item",
                [*spot, item],
            ):
                return spot
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def finish(page: Any) -> None:
    """Answer the question at the end: others do not learn from these searches."""
    page.get_by_role("button", name="No, only end it").click()
    page.wait_for_selector(".ended")


def made(folder: Path, items: int, quick: bool, seed: int) -> SwatchSet:
    """An indexed folder of swatches; with the default features unless it must be quick."""
    drawn = swatches(items, size=64 if quick else 128, seed=seed)
    drawn.write(folder, jobs=1)
    with likewise.open(folder, create=True) as collection:
        collection.index(features=("colour", "shape") if quick else FEATURES, processes=1)
    return drawn


def main(report: Report) -> None:
    """Search for the same targets in each way."""
    if CHROMIUM is None:
        report.say(f"Not run: there is no Chromium here; install it with: {INSTALL}")
        return
    from playwright.sync_api import sync_playwright

    items, runs, most, shown = (80, 2, 6, 20) if report.quick else (ITEMS, RUNS, MOST, SHOWN)
    methods: dict[str, dict[str, bool]] = {"motif only": {"by_eye": False}, "closest by eye": {}}
    if report.quick:
        methods.pop("closest by eye")
    else:
        without = {f"{name}, no drags": {**how, "drags": False} for name, how in methods.items()}
        methods |= without
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        truth = made(Path(place) / "swatches", items, report.quick, report.seed).truth
        served = Served(Path(place) / "swatches").start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            page = browser.new_page(
                viewport={"width": 1280, "height": 900}, reduced_motion="reduce"
            )
            page.set_default_timeout(PATIENCE)
            page.goto(served.address)
            targets = np.random.default_rng(report.seed).choice(items, runs, replace=False)
            for method, how in methods.items():
                rounds = [
                    search(page, served.base, Person(truth, int(t), **how), shown, most)
                    for t in targets
                ]
                report.row(method=method, items=items, n=shown, runs=runs, **figures(rounds))
        finally:
            browser.close()
            served.stop()
    rng = np.random.default_rng((report.seed, 1))
    # a random order of all items: 40 on the start screen, then a board a round
    by_chance = 2 + np.maximum(-1, (rng.integers(0, items, 1000) - 40) // shown)
    report.row(method="random boards", items=items, n=shown, runs=1000, **figures(by_chance))


def figures(rounds: Any) -> dict[str, float]:
    """Median, mean and share found by round 10."""
    found = np.asarray(rounds)
    return {
        "rounds": float(np.median(found)),
        "mean": float(found.mean()),
        "found10": float((found <= 10).mean()),
    }


if __name__ == "__main__":
    run("board_person", main, __doc__)
