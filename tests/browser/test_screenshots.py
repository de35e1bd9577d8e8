"""The pictures of the docs can be taken: every one that a page of the docs shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from PIL import Image

from tests.browser.conftest import CHROMIUM, INSTALL

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_picture_of_the_page_is_taken(tmp_path, browser):
    assert CHROMIUM, f"install Chromium: {INSTALL}"
    command = [sys.executable, "-m", "experiments.screenshots", "--quick", "--out", str(tmp_path)]
    subprocess.run(command, check=True, timeout=600, stdout=subprocess.DEVNULL)
    shown = {
        n for p in DOCS.glob("*.md") for n in re.findall(r"images/(web-\S+\.jpg)", p.read_text())
    }
    assert shown == {p.name for p in tmp_path.glob("web-*.jpg")}
    for name in shown:
        with Image.open(tmp_path / name) as taken:
            assert len(set(taken.convert("L").resize((40, 25)).tobytes())) > 20  # not a blank page
