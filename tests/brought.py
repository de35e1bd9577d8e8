"""The method of docs/add-a-learner.md as an installed package, and one that is broken."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "add-a-learner.md"
BROKEN = "raise RuntimeError('this package needs a newer moon')\n"


def install(folder: Path) -> Path:
    """Write two distributions with entry points into a folder that goes onto the path."""
    code = re.search(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert code is not None
    point = re.search(r'^block-weights = "(.*)"$', PAGE.read_text(encoding="utf-8"), re.M)
    assert point is not None
    for name, text, entry in (
        ("blockweights", code[1], f"block-weights = {point[1]}"),
        ("brokenmethod", BROKEN, "broken = brokenmethod:METHOD"),
    ):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[likewise.methods]\n{entry}\n")
    return folder
