"""Words on swatches that nobody described: colours speak, and crosses act at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PIL import Image

import likewise
from experiments.browsing import Served
from likewise.datasets import swatches
from tests.browser.conftest import FEATURES, marked, order, results, settled

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


def test_three_crosses_on_a_text_query_bring_what_was_meant(page, undescribed):
    served, colours = undescribed
    page.goto(served.address)
    page.wait_for_selector(".card img")

    def right(names: list[str]) -> int:
        return sum(colours[int(name[:4])] == ASKED for name in names[:20])

    shown = results(page, served, f"text={ASKED}&fold=0")
    assert len(shown) >= 20
    before = right(shown)
    for count in range(1, 4):
        wrong = next(at for at, name in enumerate(shown) if colours[int(name[:4])] != ASKED)
        crossed = shown[wrong]
        cards = page.locator('ul[aria-label="Results"] .card')
        cards.nth(wrong).hover()
        cards.nth(wrong).locator(".no").click()
        settled(page, shown)
        marked(page, f"{count} ✗")
        shown = [name for name in order(page) if name != crossed]
    assert right(shown) >= 14
    assert right(shown) >= before
