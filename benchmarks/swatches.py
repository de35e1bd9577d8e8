"""Swatches: seconds to draw and write 2,000 pictures of 256 px, and the contact sheet of the docs.

The peer writes as many pictures of plain noise with Pillow, on as many cores: what the files
alone cost.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from PIL import Image

from experiments.report import Report, peak_mib, run
from experiments.sheets import SheetRow, sheet_of_rows
from likewise.datasets.swatch_art import SCALES, TEXTURES
from likewise.datasets.swatch_motifs import MOTIFS
from likewise.datasets.swatches import SwatchSet, swatches


def main(report: Report) -> None:
    n, size, jobs = (40, 64, 1) if report.quick else (2000, 256, -1)
    collection = swatches(n, size=size, seed=report.seed)
    with tempfile.TemporaryDirectory() as place:
        ours = _seconds(lambda: collection.write(Path(place) / "swatches", jobs=jobs))
        peer = _seconds(lambda: _write_noise(Path(place), n, size, jobs))
    report.row(
        method="swatches",
        items=n,
        size=size,
        seconds=ours,
        per_second=n / ours,
        ratio=ours / peer,
        peer="noise, Pillow",
        rss_mib=peak_mib(),
    )
    target = report.path("swatches.jpg")
    docs_sheet(collection, target)
    report.say(f"contact sheet: {target}")


def docs_sheet(collection: SwatchSet, path: Path) -> Image.Image:
    """The sheet of the docs: a first look, then one row that varies each part of the truth."""
    truth = collection.truth
    first = truth["change"] == "none"

    def pick(column: str, names: list[str], **fixed: str) -> list[int]:
        """One item for each name, agreeing with what is fixed as far as such an item exists."""
        agree = sum((truth[key] == value for key, value in fixed.items()), np.zeros(len(first)))
        wanted = [np.where(first & (truth[column] == name), agree, -1) for name in names]
        return [int(np.argmax(score)) for score in wanted if score.max() >= 0]

    def row(title: str, items: list[int], column: str) -> SheetRow:
        names = [str(truth[column][i]).replace("none", "original") for i in items]
        return SheetRow([collection.render(i) for i in items], title, names)

    groups, sizes = np.unique(truth["group"], return_counts=True)
    family = np.flatnonzero(truth["group"] == groups[np.argmax(sizes)])
    other = np.flatnonzero(truth["group"] == groups[np.argsort(-sizes, kind="stable")[1]])
    alike = [int(i) for kin in (family, other) for i in sorted(kin, key=lambda i: not first[i])]
    motifs = list(MOTIFS)
    rows = [
        SheetRow([collection.render(i) for i in range(min(len(collection), 32))], "A first look"),
        row("Motif", pick("motif", motifs, scale="medium"), "motif"),
        row("Colour", pick("colour", sorted(set(truth["colour"])), motif="leaves"), "colour"),
        row("Scale", pick("scale", list(SCALES), motif="scales", texture="woven"), "scale"),
        row("Texture", pick("texture", list(TEXTURES), motif="stars", scale="large"), "texture"),
        row("Near-duplicates", alike[:8], "change"),
    ]
    return sheet_of_rows(rows, path, columns=8, cell=128, quality=84)


def _write_noise(folder: Path, n: int, size: int, jobs: int) -> None:
    Parallel(n_jobs=jobs, batch_size=16)(delayed(_noise)(folder, i, size) for i in range(n))


def _noise(folder: Path, number: int, size: int) -> None:
    pixels = np.random.default_rng(number).integers(0, 256, (size, size, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / f"noise-{number}.jpg", quality=88, subsampling=0)


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    run("swatches", main, __doc__)
