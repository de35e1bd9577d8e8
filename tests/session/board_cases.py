"""Boards that the server and the page must fold alike: steps, and the draft after each."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from likewise.server.target import draft_out
from likewise.session.draft import Draft, fold, ordered

CASES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)


def whole(draft: dict[str, Any]) -> dict[str, Any]:
    """A draft of a case with what it leaves out: nothing was said."""
    return {**draft_out(Draft()), **draft}


def folded(steps: list[dict[str, Any]], pinned: list[int]) -> tuple[dict[str, Any], list[int]]:
    """The draft of the steps as JSON, and the order that it means, as the server has them."""
    draft = fold([SimpleNamespace(kind=s["kind"], payload=s) for s in steps], pinned)
    return draft_out(draft), ordered(draft.moved)
