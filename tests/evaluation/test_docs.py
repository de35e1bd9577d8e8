"""Every public name of the room is in its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from likewise import evaluation as ev

PAGE = Path(__file__).parents[2] / "docs" / "measures.md"


@pytest.mark.parametrize("name", ev.__all__)
def test_public_names_are_documented(name):
    assert f"`{name}" in PAGE.read_text(encoding="utf-8")
