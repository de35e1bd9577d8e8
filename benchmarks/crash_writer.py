"""The child of :mod:`benchmarks.crash`: writes to a store, acknowledges, waits to be killed."""

from __future__ import annotations

import hashlib
import time
import zlib
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from likewise.store import Result, Seen, Store
from likewise.store import segments as segment_module
from likewise.types import Judgement, QueryRef

DIM, BATCH = 16, 6
SPACE = "crash"


def vector_of(path: bytes) -> np.ndarray:
    """The vector that a picture of this name must have; nobody needs to remember it."""
    return np.random.default_rng(zlib.crc32(path)).standard_normal(DIM).astype(np.float32)


def work(folder: str, seed: int, pipe: Connection, sabotage: bool) -> None:
    """Write until killed: announce what may vanish, act, acknowledge."""
    rng = np.random.default_rng(seed)
    with Store.open(folder, create=True) as store:
        if sabotage:
            _sabotage(store)
        pipe.send(("open", None))
        acts = (_ingest, _judge, _learn, _publish, _forget)
        shares = (1, 0, 0, 0, 0) if sabotage else (0.35, 0.3, 0.15, 0.12, 0.08)
        for step in range(100_000):
            acts[rng.choice(len(acts), p=shares)](store, rng, f"{seed}-{step}", pipe)


def _ingest(store: Store, rng: np.random.Generator, name: str, pipe: Connection) -> None:
    kind = "gone" if rng.random() < 0.25 else "kept"
    paths = [f"{kind}/{name}-{i}.jpg".encode() for i in range(BATCH)]
    seen = [Seen(p, len(p), 1, hashlib.sha256(p).digest()) for p in paths]
    with store.transaction():
        ids = store.items.see(seen)
        contents = store.items.by_content([s.sha256 for s in seen if s.sha256])
        holding = {items[0]: key for key, items in contents.items()}
        found = {p.sha256: p.content for p in store.contents.pending(10_000)}
        store.contents.record(
            [Result(found[holding[i].hex()], width=1, height=1, format="PNG") for i in ids],
            {"v": np.stack([vector_of(p) for p in paths])},
        )
    pipe.send(("items", paths))


def _judge(store: Store, rng: np.random.Generator, name: str, pipe: Connection) -> None:
    kept = _paths(store, b"kept/")
    if len(kept) < 3:
        return
    chosen = [kept[i].decode() for i in rng.choice(len(kept), 3, replace=False)]
    judgement = Judgement(
        QueryRef("item", chosen[0]), tuple(chosen[1:]), "label", 1.0, 5.0, "ann", name
    )
    (number,) = store.judgements.add([judgement], [name])
    pipe.send(("judgement", (number, judgement)))


def _learn(store: Store, rng: np.random.Generator, name: str, pipe: Connection) -> None:
    arrays = {"w": rng.standard_normal(DIM)}
    model = store.models.add(name, arrays, {"n": 1}, space=SPACE)
    pipe.send(("model", (model.id, arrays["w"])))
    pipe.send(("activating", model.id))
    store.models.activate(model.id)
    pipe.send(("active", model.id))


def _publish(store: Store, rng: np.random.Generator, name: str, pipe: Connection) -> None:
    if "v" not in store.segments.blocks():
        return
    with store.snapshot():
        segment, ids = store.segments.last(), store.segments.contents("v")
    with store.generations.build() as aside:
        np.save(aside / "ids.npy", ids)
        np.save(aside / "codes.npy", store.segments.read("v", ids))
        made = store.generations.publish(
            aside, space=SPACE, kind="flat", segment=segment, items=len(ids)
        )
    pipe.send(("generation", made.number))


def _forget(store: Store, rng: np.random.Generator, name: str, pipe: Connection) -> None:
    gone = _paths(store, b"gone/")
    if gone:
        path = gone[int(rng.integers(len(gone)))]
        pipe.send(("forgetting", path))
        store.forget([store.items.find(path).id])
        pipe.send(("forgotten", path))


def _paths(store: Store, folder: bytes) -> list[bytes]:
    with store.snapshot() as db:
        rows = db.execute(
            "SELECT path FROM items WHERE path >= ? AND path < ? ORDER BY path",
            (folder, folder[:-1] + b"0"),
        ).fetchall()
    return [row[0] for row in rows]


def _sabotage(store: Store) -> None:
    """Name segments first and write them after the commit: the mistake to be caught."""
    honest = segment_module.write_file  # type: ignore[attr-defined]

    def too_late(path: Path, chunks: Any) -> tuple[str, int]:
        data = b"".join(bytes(chunk) for chunk in chunks)

        def write() -> None:
            time.sleep(0.02)
            honest(path, [data])

        store.catalogue.after_commit(write)
        return hashlib.sha256(data).hexdigest(), len(data)

    segment_module.write_file = too_late  # type: ignore[attr-defined, assignment]
