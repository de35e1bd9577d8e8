"""The pictures of the docs can be taken: every one that a page of the docs shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from tests.browser.conftest import CHROMIUM, INSTALL

DOCS = Path(__file__).resolve().parents[2] / "docs"


def shown() -> set[str]:
    """Names of the page's pictures in the docs."""
    texts = [page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")]
    return {name for text in texts for name in re.findall(r"images/(web-\S+\.jpg)", text)}


def test_every_picture_that_the_docs_show_is_there():
    assert shown() == {file.name for file in (DOCS / "images").glob("web-*.jpg")}


@pytest.mark.slow
def test_every_picture_of_the_page_is_taken(tmp_path, browser):
    assert CHROMIUM, f"install Chromium: {INSTALL}"
    command = [sys.executable, "-m", "experiments.screenshots", "--quick", "--out", str(tmp_path)]
    subprocess.run(command, check=True, timeout=600, stdout=subprocess.DEVNULL)
    assert shown() == {p.name for p in tmp_path.glob("web-*.jpg")}
    for name in shown():
        with Image.open(tmp_path / name) as taken:
            assert len(set(taken.convert("L").resize((40, 25)).tobytes())) > 20  # not a blank page
