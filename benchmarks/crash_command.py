"""Kill the real command ``likewise index`` again and again; in the end nothing is missing.

The part of :mod:`benchmarks.crash` that goes through scanning, decoding, features, segments and the
index: pictures are added between kills, and after every kill the data folder must verify,
searches must equal brute force, and no picture that was once findable may be lost.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import likewise
from likewise.datasets import swatches
from likewise.store import verify

PROBES, TOP = 20, 10
FEATURES = ("colour", "texture")


def kill_command(kills: int, pictures: int, seed: int) -> dict[str, Any]:
    """Kill indexing at random moments; the row of what was found."""
    rng = np.random.default_rng(seed)
    row: dict[str, Any] = {"kills": 0, "lost": 0, "damage": 0, "wrong_probes": 0}
    made = swatches(pictures, size=64, seed=seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "pictures"
        made.write(folder, jobs=1)
        files = sorted(folder.glob("*.jpg"))
        hidden = Path(place) / "later"
        hidden.mkdir()
        for file in files[pictures // 2 :]:
            file.rename(hidden / file.name)
        waiting = sorted(hidden.iterdir())
        known: set[str] = set()
        for life in range(kills):
            for file in waiting[: max(1, len(files) // 2 // kills)]:
                file.rename(folder / file.name)
            waiting = sorted(hidden.iterdir())
            child = subprocess.Popen(
                [sys.executable, "-m", "likewise", "index", str(folder), "--features",
                 ",".join(FEATURES)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            time.sleep(float(rng.uniform(0.5, 6.0)))
            child.kill()
            child.wait()
            row["kills"] += 1
            if (folder / ".likewise" / "catalogue.sqlite").exists():
                _check(folder, known, row, life)
        for file in waiting:
            file.rename(folder / file.name)
        with likewise.open(folder, create=True) as collection:
            collection.index(features=FEATURES)
            row["items"] = len(collection)
            row["lost"] += pictures - len(collection)
        _check(folder, known, row, kills)
    return row


def _check(folder: Path, known: set[str], row: dict[str, Any], seed: int) -> None:
    with likewise.open(folder, write=True) as collection:
        row["damage"] += sum(f.severity == "damage" for f in verify(collection.store.folder))
        snapshot = collection.look.view()
        ids, codes = snapshot.all_rows()
        paths = {i.file for i in collection.store.items.many(ids.tolist())}
        row["lost"] += len(known - paths)
        known |= paths
        if not len(ids):
            return
        rng = np.random.default_rng(seed)
        for at in rng.integers(0, len(ids), PROBES).tolist():
            scores = codes.astype(np.float64) @ (snapshot.plain.w0 * codes[at])
            best = ids[np.lexsort((ids, -np.round(scores, 5)))][: TOP + 1].tolist()
            truth = [i for i in best if i != ids[at]][:TOP]
            found = collection.search(int(ids[at]), k=TOP).ids.tolist()
            row["wrong_probes"] += set(found) != set(truth)
