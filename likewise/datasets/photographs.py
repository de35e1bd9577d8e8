"""The photographs of the demo: openly licensed, in the source checkout only, with their credits."""

from __future__ import annotations

import csv
import hashlib
import shutil
from pathlib import Path

from likewise.files import write_file
from likewise.types import DataProblem, Progress

HERE = Path(__file__).resolve().parents[2] / "demo_photos"
"""In a checkout; an installed package has none."""
CREDITS, README = "CREDITS.csv", "README.txt"


def are_here() -> bool:
    """Whether this is a checkout that has the photographs."""
    return (HERE / CREDITS).is_file()


def copy(folder: Path, progress: Progress | None = None, *, first: int | None = None) -> int:
    """Copy photographs under names that do not tell what they show; gives how many there are.

    What is there already is not copied again.  The credits go along under the new names.  Of all,
    the ``first`` so many are taken.
    """
    if not are_here():
        raise DataProblem("The photographs are in the source checkout only; use --swatches.")
    with open(HERE / CREDITS, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    # Mixed, and the same everywhere: neither name nor number says which belong together.
    rows.sort(key=lambda row: hashlib.sha256(row["file"].encode()).digest())
    rows = rows[:first]
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, row in enumerate(rows, start=1):
        target = folder / f"photo-{number:03d}.jpg"
        if not target.exists():
            shutil.copyfile(HERE / row["file"], target.with_suffix(".part"))
            target.with_suffix(".part").rename(target)
        lines.append({**row, "file": target.name})
        if progress is not None:
            progress(number, len(rows))
    with open(folder / CREDITS, "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, lines[0].keys())
        table.writeheader()
        table.writerows(lines)
    write_file(folder / README, [(HERE / README).read_bytes()], durable=False)
    return len(rows)
