"""Kill the writer at random moments; what it acknowledged must be there afterwards.

A child process writes to a store (pictures with vectors, judgements, models, activations, index
generations, forgetting) and acknowledges each act over a pipe when the store's call has
returned.  The parent kills it with SIGKILL at a random moment, opens the store again and
compares: every acknowledged record is there and equal, ``verify`` finds nothing, and the top
10 of 20 probes through the published index equal brute force.

The real command ``likewise index`` is killed as well, 40 times, while pictures are added.

The control is the same with a sabotaged order: the commit that names a segment comes before
the segment is written.  It must be caught, or the benchmark proves nothing.

    python -m benchmarks.crash [--quick] [--kills 200]
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.crash_command import kill_command
from benchmarks.crash_writer import DIM, SPACE, vector_of, work
from experiments.report import Report, run
from likewise.store import Store, verify
from likewise.types import Judgement

PROBES, TOP = 20, 10


@dataclass
class Expected:
    """What was acknowledged, over all lives of the store."""

    items: set[bytes] = field(default_factory=set)
    uncertain: set[bytes] = field(default_factory=set)
    forgotten: set[bytes] = field(default_factory=set)
    judgements: dict[int, Judgement] = field(default_factory=dict)
    models: dict[int, np.ndarray] = field(default_factory=dict)
    active: set[int | None] = field(default_factory=lambda: {None})
    acknowledged: int = 0

    def hear(self, kind: str, what: Any) -> None:
        """Take in one message of the child."""
        self.acknowledged += kind not in ("open", "forgetting", "activating")
        if kind == "items":
            self.items.update(what)
        elif kind == "forgetting":
            self.uncertain.add(what)
        elif kind == "forgotten":
            self.forgotten.add(what)
        elif kind == "judgement":
            self.judgements[what[0]] = what[1]
        elif kind == "model":
            self.models[what[0]] = what[1]
        elif kind == "activating":
            self.active.add(what)
        elif kind == "active":
            self.active = {what}


def one_life(
    folder: Path, seed: int, expected: Expected, rng: np.random.Generator, *, sabotage: bool
) -> None:
    """Let a child write, kill it, and hear all that it still said."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.crash_writer"])
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=work, args=(str(folder), seed, theirs, sabotage))
    child.start()
    theirs.close()
    if rng.random() < 0.75:  # after so much was said; the other quarter dies while opening
        for _ in range(rng.integers(1, 15)):
            if ours.poll(20):
                expected.hear(*ours.recv())
    time.sleep(rng.uniform(0, 0.1))
    child.kill()
    child.join()
    with contextlib.suppress(EOFError, OSError):
        while True:
            expected.hear(*ours.recv())
    ours.close()
    child.close()


def losses(store: Store, expected: Expected) -> Iterator[str]:
    """Everything acknowledged that is not there, or not equal."""
    contents = store.items.contents()
    paths = store.items.paths(contents)
    present = {path: contents[item] for item, path in paths.items()}
    for path in expected.items - expected.uncertain - set(present):
        yield f"item {path!r} is lost"
    for path in expected.forgotten & set(store.items.ids(list(expected.forgotten))):
        yield f"item {path!r} came back after it was forgotten"
    if present:
        stored = store.segments.read("v", list(present.values()))
        for path, row in zip(present, stored):
            if not np.array_equal(row, vector_of(path)):
                yield f"the vector of {path!r} is another"
    logged = {record.id: record.judgement for record in store.judgements.records()}
    for number, judgement in expected.judgements.items():
        if logged.get(number) != judgement:
            yield f"judgement {number} is lost or another"
    known = {model.id for model in store.models.all()}
    for number, weights in expected.models.items():
        if number not in known or not np.array_equal(store.models.load(number)[0]["w"], weights):
            yield f"model {number} is lost or another"
    now = store.models.active()
    if (now.id if now else None) not in expected.active:
        yield "another model is active"


def wrong_probes(store: Store, seed: int) -> int:
    """Probes whose top 10 through the index differs from brute force over the names."""
    contents = store.items.contents()
    if not contents:
        return 0
    paths = store.items.paths(contents)
    names = {contents[item]: path for item, path in paths.items()}
    truth = np.stack([vector_of(path) for path in names.values()])
    ids, codes = _index(store, np.array(list(names)))
    wrong = 0
    for probe in np.random.default_rng(seed).standard_normal((PROBES, DIM)).astype(np.float32):
        best = np.array(list(names))[np.argsort(-(truth @ probe), kind="stable")[:TOP]]
        wrong += set(best.tolist()) != set(ids[np.argsort(-(codes @ probe))[:TOP]].tolist())
    return wrong


def _index(store: Store, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the published index covers, and the rest straight from the segments."""
    made = store.generations.current()
    if made is None or store.generations.unusable(made, SPACE):
        return wanted, store.segments.read("v", wanted)
    ids, codes = np.load(made.folder / "ids.npy"), np.load(made.folder / "codes.npy")
    kept = np.isin(ids, wanted)
    newer = np.setdiff1d(wanted, ids)
    rest = store.segments.read("v", newer)
    return np.concatenate([ids[kept], newer]), np.concatenate([codes[kept], rest])


def kill_often(kills: int, seed: int, *, sabotage: bool = False) -> dict[str, Any]:
    """Kill a writer many times; the row of what was found (the control stops when caught)."""
    rng = np.random.default_rng(seed)
    expected = Expected()
    row: dict[str, Any] = {"kills": 0, "lost": 0, "damage": 0, "wrong_probes": 0}
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "data"
        for life in range(kills):
            one_life(folder, seed * 1_000_000 + life, expected, rng, sabotage=sabotage)
            row["kills"] += 1
            if not (folder / "catalogue.sqlite").exists():
                continue
            with Store.open(folder, create=True) as store:
                row["damage"] += len(verify(folder))
                if row["damage"] and sabotage:
                    break
                row["lost"] += len(list(losses(store, expected)))
                row["wrong_probes"] += wrong_probes(store, life)
        row["acknowledged"] = expected.acknowledged
    return row


def main(report: Report) -> None:
    kills = int(report.settings.get("kills") or (20 if report.quick else 200))
    row = kill_often(kills, report.seed)
    report.row(method="likewise", **row)
    command = kill_command(4 if report.quick else 40, 24 if report.quick else 200, report.seed)
    report.row(method="likewise index", **command)
    row = {name: row[name] + command[name] for name in ("lost", "damage", "wrong_probes")}
    control = kill_often(kills, report.seed, sabotage=True)
    report.row(method="sabotaged order", **control)
    sound = not (row["lost"] or row["damage"] or row["wrong_probes"])
    report.say(
        f"{'Nothing was lost' if sound else 'SOMETHING WAS LOST'}; the sabotaged order was "
        f"{'caught' if control['damage'] else 'NOT CAUGHT'}."
    )


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, help="how often (default 200, quick 20)")


if __name__ == "__main__":
    run("crash", main, __doc__, options=_options)
