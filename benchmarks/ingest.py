"""Indexing photos of 1, 6, 12 and 24 megapixels, against a bare loop and against an older commit.

Photos are enlarged with detail added.  Rows of ``mixed`` files hold one HEIC in ten and one DNG
with a preview in twenty, the others JPEGs alone, which older commits read too.  The bare loop
reads, decodes at the same scale and computes the same features, in as many processes; it neither
hashes nor keeps anything.  Runs are interleaved, each in a process of its own, and compared by
their CPU time, which others on the machine change least; the best of ``--rounds`` counts.
``cpu_ms`` is of one picture more: what a run over a few pictures takes is the start, and is taken
off.  ``alone`` is decoding and features in one process, and what ``times_old`` tells most exactly.
``stage`` rows say where the time of one picture goes.  All is done with the network that older
commits have, and with the one that a new collection has; ``times_old`` is against the former.

    python -m benchmarks.ingest                        1,000 pictures of each size
    python -m benchmarks.ingest --pictures 200 --sizes 24 --files mixed
    python -m benchmarks.ingest --old FOLDER           a checkout of another commit beside it
"""

from __future__ import annotations

import argparse
import hashlib
import io
import itertools
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import psutil
from numpy.typing import NDArray
from PIL import Image

import likewise
from benchmarks.camera_files import dng, heic
from experiments.report import Report, run
from experiments.sets import load_flickr8k
from likewise.collection.lines.defaults import FEATURES, NETWORK
from likewise.collection.network import given_by
from likewise.datasets import swatches
from likewise.features import feature_set
from likewise.intake.reading.decoding import THUMBNAIL_SIDE, WORK_SIDE, decode, encode_jpeg
from likewise.intake.reading.metadata import read_metadata
from likewise.intake.workers import Task, describe

CHUNK = 8
START = 10
"""Pictures of the run that shows what a start takes."""
SIZES = (1.0, 6.0, 12.0, 24.0)
NETWORKS = ("lite0-float32", "-".join(NETWORK))
"""What older commits have, and what a new collection has."""
RUNS = {"bare loop": "bare", "alone": "alone", "children": "children", "likewise": "index"}
"""Functions below, by the name of their rows."""
TILE = 1024
MODELS = 20
"""Different pictures of each size; the others have the same pixels and a few bytes more."""


# -- pictures --------------------------------------------------------------------


def write_photos(
    folder: Path, count: int, megapixels: float, report: Report, *, mixed: bool = True
) -> None:
    """A folder of photos of one size: JPEG; mixed with HEIC (one in ten) and DNG (in twenty).

    One that is there already stays as it is.
    """
    if folder.exists():
        return
    folder.mkdir(parents=True)
    if report.quick:
        sources: Any = swatches(MODELS, size=96, seed=0).render_all(jobs=1)
    else:
        sources = load_flickr8k().pictures
    rng = np.random.default_rng(report.seed)
    made: dict[int, tuple[str, bytes]] = {}
    models = report.settings.get("models") or MODELS
    for at in range(count):
        model = at % models
        if model not in made:
            picture = enlarged(sources[model], megapixels, rng)
            made[model] = encoded(picture, model if mixed else 0)
        ending, data = made[model]
        # A box that every reader of HEIC passes over; behind the others nobody looks.
        more = b"\x00\x00\x00\x10free" + at.to_bytes(8, "big")
        (folder / f"{at:05d}.{ending}").write_bytes(data + more)


def encoded(picture: Image.Image, number: int) -> tuple[str, bytes]:
    """Ending and bytes of a file, by its place among :data:`MODELS`."""
    if number % 10 == 4:
        return "heic", heic(picture, quality=80, enc_params={"preset": "ultrafast"})
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=92)
    if number == 7:
        even = picture.crop((0, 0, picture.width // 2 * 2, picture.height // 2 * 2))
        return "dng", dng(np.asarray(even), out.getvalue())
    return "jpg", out.getvalue()


def enlarged(source: Any, megapixels: float, rng: np.random.Generator) -> Image.Image:
    """A photo at another size, with detail of every scale added: a blown-up one has none."""
    picture = np.asarray(source)
    factor = (megapixels * 1e6 / (picture.shape[0] * picture.shape[1])) ** 0.5
    height, width = (max(8, round(side * factor)) for side in picture.shape[:2])
    large = cv2.resize(picture, (width, height), interpolation=cv2.INTER_CUBIC)
    tile = np.roll(grain(), rng.integers(0, TILE, 2), (0, 1))
    whole = np.tile(tile, (height // TILE + 1, width // TILE + 1))[:height, :width]
    return Image.fromarray(cv2.add(large, cv2.merge([whole] * 3), dtype=cv2.CV_8U))


@lru_cache(1)
def grain() -> NDArray[np.int16]:
    """A square of noise at scales of 1, 2, 4 and 8 pixels: made once, since it takes longest."""
    rng, out = np.random.default_rng(0), np.zeros((TILE, TILE), np.int16)
    for step in (1, 2, 4, 8):
        noise = rng.normal(0, 6, (TILE // step,) * 2).astype(np.float32)
        out += np.rint(cv2.resize(noise, (TILE, TILE))).astype(np.int16)
    return out


# -- the runs, each in a process of its own --------------------------------------


def index(folder: str, data: str, processes: int, features: list[str]) -> dict[str, float]:
    """The product: a first run and a second one on the unchanged folder."""
    with likewise.open(folder, data=data, create=True) as collection:
        started = time.perf_counter()
        first = collection.index(features=features, processes=processes)
        seconds = time.perf_counter() - started
        started = time.perf_counter()
        second = collection.index(processes=processes)
        again = time.perf_counter() - started
    return {
        "items": first.embedded, "seconds": seconds, "again": again, "decoded": second.embedded,
    }  # fmt: skip


def children(folder: str, data: str, processes: int, features: list[str]) -> dict[str, float]:
    """What reads pictures, without the record and the index: files to children and back."""
    files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    started = time.perf_counter()
    tasks = [Task(at, os.fsencode(file)) for at, file in enumerate(files)]
    done = sum(o.picture is not None for o in describe(tasks, features, processes=processes))
    return {"items": done, "seconds": time.perf_counter() - started}


def alone(folder: str, data: str, processes: int, features: list[str]) -> dict[str, float]:
    """Hash, decode and describe a few pictures in this process, also by an older commit's code."""
    import hashlib
    import importlib

    from likewise.features import feature_set

    here = os.path.dirname(likewise.__file__)
    rooms = ("intake.reading", "intake", "collection")  # where it stands, and stood before
    room = next(r for r in rooms if os.path.exists(f"{here}/{r.replace('.', '/')}/decoding.py"))
    decode = importlib.import_module(f"likewise.{room}.decoding").decode
    compute = feature_set(features)
    files = sorted(os.path.join(folder, name) for name in os.listdir(folder))[:8]
    best = []
    for _ in range(4):  # the first one loads what is needed
        started = time.process_time()
        pictures = []
        for file in files:
            with open(file, "rb") as opened:
                read = opened.read()
            hashlib.sha256(read).digest()
            pictures.append(decode(read).pixels)
        compute(pictures)
        best.append((time.process_time() - started) / len(files))
    seconds = min(best[1:])
    return {"items": len(files), "seconds": seconds * len(files), "each": seconds}


def bare(folder: str, data: str, processes: int, features: list[str]) -> dict[str, float]:
    """The peer: files dealt out to processes beforehand, decoded, described, and forgotten."""
    files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    shares = [(files[at::processes], features) for at in range(processes)]
    started = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        done = sum(pool.starmap(bare_share, shares))
        pool.close()
        pool.join()
    return {"items": done, "seconds": time.perf_counter() - started}


def bare_share(files: list[str], features: list[str]) -> int:
    """What one process of the peer does."""
    compute = feature_set(features)
    done = 0
    for start in range(0, len(files), CHUNK):
        done += len(compute([bare_decode(f) for f in files[start : start + CHUNK]])[features[0]])
    return done


def bare_decode(file: str) -> Any:
    """The shortest way from a file to pixels at the working size."""
    import pillow_heif
    import rawpy

    pillow_heif.register_heif_opener(decode_threads=1, depth_images=False, aux_images=False)
    source: Any = file
    if file.endswith(".dng"):
        with rawpy.imread(file) as raw:
            source = io.BytesIO(bytes(raw.extract_thumb().data))
    with Image.open(source) as image:
        share = WORK_SIDE / max(image.size)
        size = (int(image.width * share), int(image.height * share))
        image.draft("RGB", size)
        rgb = image.convert("RGB")
        return np.asarray(rgb.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0))


def in_process(what: str, given: tuple[Any, ...], root: str | None = None) -> dict[str, Any]:
    """Run one of the above in a new process; adds its CPU time and peak memory.

    ``root`` names the folder that ``likewise`` is imported from.
    """
    here = str(Path(__file__).resolve().parent.parent)
    # An older commit may not have what this file imports; all it needs is the one function.
    code = "import json, os, sys, time, likewise\n" + _source(globals()[what]) if root else ""
    code = code or f"import json, os, sys, time\nfrom benchmarks.ingest import {what}\n"
    code += f"if __name__ == '__main__':\n    print(json.dumps({what}(*json.loads(sys.argv[1]))))\n"
    environment = {**os.environ, "PYTHONPATH": root or here}
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / "run.py"
        script.write_text(code)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(
            [sys.executable, str(script), json.dumps(given)],
            env=environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        peak = Peak(process.pid)
        out, _ = process.communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise RuntimeError(f"{what} ended with {process.returncode}.")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(out.splitlines()[-1]), "cpu": cpu, "rss_mib": peak.stop()}


def _source(function: Callable[..., Any]) -> str:
    import inspect

    return inspect.getsource(function)


class Peak:
    """Largest memory of a process and its children together, in MiB, sampled."""

    def __init__(self, pid: int) -> None:
        self.most, self._over = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(pid,), daemon=True)
        self._thread.start()

    def _watch(self, pid: int) -> None:
        while not self._over.wait(0.1):
            total = 0
            try:
                top = psutil.Process(pid)
                for process in (top, *top.children(recursive=True)):
                    total += process.memory_info().rss
            except psutil.Error:
                continue
            self.most = max(self.most, total / 2**20)

    def stop(self) -> float:
        """The most that was seen."""
        self._over.set()
        self._thread.join()
        return self.most


# -- where the time goes ---------------------------------------------------------


def stages(folder: Path, features: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    """CPU milliseconds per picture and stage, over one of each model, in this process."""
    files = sorted(folder.iterdir())[:MODELS]
    compute = feature_set(features)
    spent: dict[str, float] = {}

    def timed(stage: str, work: Callable[..., Any], *given: Any, **options: Any) -> Any:
        started = time.process_time()
        made = work(*given, **options)
        spent[stage] = spent.get(stage, 0.0) + time.process_time() - started
        return made

    compute([np.zeros((32, 32, 3), np.uint8)])
    pictures = []
    for file in files:
        data = timed("read", file.read_bytes)
        timed("hash", hashlib.sha256, data)
        picture = timed("decode", decode, data, thumbnail=False)
        small = Image.fromarray(picture.pixels)
        small.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE))
        timed("thumbnail", encode_jpeg, small)
        if file.suffix == ".jpg":
            with Image.open(file) as image:
                timed("metadata (in decode)", read_metadata, image)
        pictures.append(picture.pixels)
    for start in range(0, len(pictures), CHUNK):
        timed("features", compute, pictures[start : start + CHUNK])
    for stage, seconds in spent.items():
        yield stage, 1000 * seconds / len(files)


def main(report: Report) -> None:
    count = 20 if report.quick else report.settings.get("pictures") or 1_000
    sizes = (0.05,) if report.quick else report.settings.get("sizes") or SIZES
    kinds = ("mixed",) if report.quick else report.settings.get("files") or ("mixed", "jpeg")
    with tempfile.TemporaryDirectory() as elsewhere:
        place = Path(report.settings.get("place") or elsewhere)
        for megapixels, files in itertools.product(sizes, kinds):
            folder = place / f"{files}-{megapixels:g}-{count}"
            write_photos(folder, count, megapixels, report, mixed=files == "mixed")
            with tempfile.TemporaryDirectory(dir=place) as data:
                of_one_size(folder, Path(data), files, megapixels, report)


def blocks_of(network: str) -> list[str]:
    """What is computed for each picture, by the network and arithmetic of this name."""
    name, _, arithmetic = network.partition("-")
    return list(given_by(FEATURES, (name, arithmetic)))


def of_one_size(folder: Path, place: Path, files: str, megapixels: float, report: Report) -> None:
    """All runs over one folder, by turns, and a row for each."""
    networks = report.settings.get("networks") or NETWORKS
    blocks = {network: blocks_of(network) for network in networks}
    if report.quick:
        blocks = {"none": ["colour", "texture"]}
    asked = report.settings.get("runs") or RUNS
    runs: list[tuple[str, str, str | None]]
    runs = [(name, network, None) for network in blocks for name in RUNS if name in asked]
    old = report.settings.get("old")
    if old and files == "jpeg":  # what it cannot read would cost it nothing
        there = str(Path(old).resolve())
        own = NETWORKS[0]  # the only one that it has
        runs += [("old " + n, own, there) for n in ("alone", "likewise") if n in asked]
        blocks[own] = blocks_of(own)
    few = place / "few"
    few.mkdir()
    for file in sorted(folder.iterdir())[:START]:
        os.link(file, few / file.name)
    best: dict[tuple[str, str, int], dict[str, Any]] = {}
    rounds = range(1 if report.quick else report.settings.get("rounds") or 2)
    numbers = report.settings.get("processes") or (1, 2)
    for turn, processes, (name, network, root) in itertools.product(rounds, numbers, runs):
        what, one_process = RUNS[name.removeprefix("old ")], name.endswith("alone")
        if one_process and processes != numbers[0]:
            continue
        data = str(place / f"{name}-{network}-{processes}-{turn}")
        given = (processes, blocks[network])
        start = {"cpu": 0.0, "items": 0}
        if not one_process and not report.quick:  # else noise is larger than the difference
            start = in_process(what, (str(few), data + "-few", *given), root)
        now = in_process(what, (str(folder), data, *given), root)
        more = now["items"] - start["items"]
        now.setdefault("each", (now["cpu"] - start["cpu"]) / max(more, 1))
        key = (name, network, processes)
        best[key] = min(best.get(key, now), now, key=lambda r: float(r["each"]))
    for (name, network, processes), one in best.items():
        peer = best.get(("bare loop", network, processes), one)
        former = best.get(("old " + name, NETWORKS[0], processes))
        report.row(
            method=name, files=files, megapixels=megapixels, network=network,
            processes=processes, items=one["items"], per_second=one["items"] / one["seconds"],
            cpu_ms=1000 * one["each"], ratio=one["each"] / peer["each"],
            times_old=former and former["each"] / one["each"], rss_mib=one["rss_mib"],
            again_seconds=one.get("again"), decoded_again=one.get("decoded"),
        )  # fmt: skip
    for network, features in blocks.items():
        for stage, ms in stages(folder, tuple(features)):
            report.row(
                method="stage", files=files, megapixels=megapixels, network=network,
                stage=stage, cpu_ms=ms,
            )  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pictures", type=int, metavar="N", help="pictures of each size (1,000)")
    parser.add_argument("--sizes", type=float, nargs="+", help="megapixels (1 6 12 24)")
    parser.add_argument("--files", nargs="+", choices=("mixed", "jpeg"), help="kinds (both)")
    parser.add_argument("--rounds", type=int, help="runs of each kind, the best counts (2)")
    parser.add_argument("--processes", type=int, nargs="+", help="numbers of processes (1 2)")
    parser.add_argument("--runs", nargs="+", help="kinds of run (all)")
    parser.add_argument("--models", type=int, help="different pictures of each size (20)")
    parser.add_argument("--old", metavar="FOLDER", help="a checkout of another commit to compare")
    parser.add_argument("--networks", nargs="+", help=f"network-arithmetic ({' '.join(NETWORKS)})")
    parser.add_argument("--place", metavar="FOLDER", help="where pictures are written, and kept")


if __name__ == "__main__":
    run("ingest", main, __doc__, options=options)
