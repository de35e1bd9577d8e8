"""Indexing photos, against the same feature functions in a bare two-process loop.

Prints the time of a first run, of a second run on the unchanged folder, and the peak
memory of the parent and its children together.

    python -m benchmarks.ingest            2,000 photos, default features
"""

from __future__ import annotations

import contextlib
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
from PIL import Image

import likewise
from experiments.report import Report, run
from likewise.collection.lines.defaults import FEATURES
from likewise.datasets import load_flickr8k, swatches

CHUNK = 8


def write_photos(folder: Path, count: int, quick: bool) -> list[Path]:
    """Photos as JPEG files: Flickr8k, or swatches at toy size."""
    folder.mkdir()
    if quick:
        swatches(count, size=96, seed=0).write(folder)
    else:
        photos = load_flickr8k()
        for at in range(count):
            Image.fromarray(photos.pictures[at]).save(folder / f"{at:05d}.jpg", quality=92)
    return sorted(folder.glob("*.jpg"))


def bare(paths: list[str], features: tuple[str, ...]) -> int:
    """What one of the two processes of the peer does: open, convert, compute."""
    from likewise.features import feature_set

    compute = feature_set(features)
    done = 0
    for start in range(0, len(paths), CHUNK):
        pictures = []
        for path in paths[start : start + CHUNK]:
            with Image.open(path) as image:
                pictures.append(np.asarray(image.convert("RGB")))
        done += len(compute(pictures)[features[0]])
    return done


@contextlib.contextmanager
def peak_memory() -> Iterator[list[float]]:
    """Largest resident memory of this process and its children, in MiB, sampled."""
    peak, over = [0.0], threading.Event()
    me = psutil.Process()

    def watch() -> None:
        while not over.wait(0.1):
            total = 0
            for process in (me, *me.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    total += process.memory_info().rss
            peak[0] = max(peak[0], total / 2**20)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def main(report: Report) -> None:
    count = 40 if report.quick else 2_000
    features = ("colour", "texture") if report.quick else FEATURES
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "photos"
        files = [str(p) for p in write_photos(folder, count, report.quick)]
        context = multiprocessing.get_context("spawn")
        with context.Pool(2) as pool:
            started = time.perf_counter()
            pool.starmap(bare, [(files[0::2], features), (files[1::2], features)])
            peer = time.perf_counter() - started
        with likewise.open(folder, create=True) as collection, peak_memory() as peak:
            started = time.perf_counter()
            first = collection.index(features=features, processes=2)
            seconds = time.perf_counter() - started
            started = time.perf_counter()
            second = collection.index()
            again = time.perf_counter() - started
    report.row(
        method="first run", items=first.embedded, seconds=seconds, per_second=count / seconds,
        rss_mib=peak[0], peer="bare two-process loop", ratio=seconds / peer,
    )  # fmt: skip
    report.row(
        method="unchanged folder", items=count, decoded=second.embedded, seconds=again,
        seconds_per_10000=again * 10_000 / count,
    )  # fmt: skip


if __name__ == "__main__":
    run("ingest", main, __doc__)
