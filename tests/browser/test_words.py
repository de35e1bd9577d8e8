"""Words on swatches that nobody described: colours speak, and crosses act at once."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
import snowballstemmer
from PIL import Image

import likewise
from experiments import words_asked
from experiments.browsing import Served
from experiments.report import Report
from experiments.sets import load_corel5k, load_flickr8k
from experiments.words_uncaptioned import collected
from likewise.datasets import swatches
from likewise.features.text import split_words
from likewise.intake.reading.decoding import encode_jpeg
from tests.browser.conftest import FEATURES, PATIENCE, marked, order, results, settled

ASKED = "green"


@pytest.fixture
def undescribed(tmp_path) -> Iterator[tuple[Served, list[str]]]:
    """A server of swatches without captions, and the colour of each by number."""
    drawn, folder = swatches(360, size=64, seed=5), tmp_path / "swatches"
    folder.mkdir()
    for at, picture in enumerate(drawn.render_all(jobs=1)):
        Image.fromarray(picture).save(folder / f"{at:04d}.png")
    with likewise.open(folder, create=True) as collection:
        collection.index(features=FEATURES, processes=1)
    running = Served(folder).start()
    yield running, drawn.truth["colour"].tolist()
    running.stop()


def crossed(page, shown, is_right) -> list[str]:
    """What is shown once the first three wrong ones were crossed out, one after the other."""
    for count in range(1, 4):
        wrong = next((at for at, name in enumerate(shown[:20]) if not is_right(name)), None)
        if wrong is None:
            break
        gone = shown[wrong]
        cards = page.locator('ul[aria-label="Results"] .card')
        cards.nth(wrong).hover()
        cards.nth(wrong).locator(".no").click()
        marked(page, f"{count} ✗")
        settled(page, shown)
        shown = [name for name in order(page) if name != gone]
    return shown


def test_three_crosses_on_a_text_query_bring_what_was_meant(page, undescribed):
    served, colours = undescribed
    page.goto(served.address)
    page.wait_for_selector(".card img")

    def right(names: list[str]) -> int:
        return sum(colours[int(name[:4])] == ASKED for name in names[:20])

    shown = results(page, served, f"text={ASKED}&fold=0")
    assert len(shown) >= 20
    before = right(shown)
    shown = crossed(page, shown, lambda name: colours[int(name[:4])] == ASKED)
    assert right(shown) >= 14
    assert right(shown) >= before


@pytest.mark.slow
@pytest.mark.skipif("LIKEWISE_DATA" not in os.environ, reason="LIKEWISE_DATA names no folder")
def test_the_first_words_on_photographs(page, tmp_path, capsys):
    """Corel5k and Flickr8k in one folder without their text, through the page.

    It prints how many of the first 20 are right, and how many once three were crossed out.
    """
    page.set_default_timeout(4 * PATIENCE)
    report = Report("words_asked")
    task, named = words_asked.both(report)
    pictures = [*load_corel5k().pictures, *load_flickr8k().pictures]

    def small(at: int) -> bytes:
        image = Image.fromarray(np.asarray(pictures[at]))
        image.thumbnail((256, 256))
        return encode_jpeg(image)

    collected(tmp_path, task, small).close()
    stem = snowballstemmer.stemmer("english").stemWord
    served = Served(tmp_path).start()
    after = {}
    try:
        page.goto(served.address)
        page.wait_for_selector(".card img")
        for text in words_asked.ASKED:
            words = {stem(word) for word in split_words(text)}
            meant = [words <= own for own in named]

            def is_right(name: str, meant: list[bool] = meant) -> bool:
                return meant[int(name[:6])]

            shown = results(page, served, f"text={text}&fold=0")
            assert len(shown) >= 20, text
            if text == "bus":
                assert not any("eleph" in named[int(name[:6])] for name in shown[:20])
            before = sum(map(is_right, shown[:20]))
            page.screenshot(path=str(tmp_path / f"{text}.png"))
            now = sum(map(is_right, crossed(page, shown, is_right)[:20]))
            with capsys.disabled():
                print(f"{text:12} right of 20: {before:2}  after: {now:2}  meant: {sum(meant):5}")
            if sum(meant) >= words_asked.MANY:
                after[text] = now
    finally:
        served.stop()
    assert sum(now >= 14 for now in after.values()) >= 7, after
    assert min(after.values()) >= 10, after
