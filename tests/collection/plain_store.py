"""Collections without pictures: vectors and visual words written straight into the store."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

import likewise
from likewise.collection import Collection
from likewise.spaces import Words
from likewise.store import Result, Seen, Store

DIM, WORDS = 6, 24


def seen(path: str, content: str, time: int = 1) -> Seen:
    """A file whose bytes are those of a text."""
    return Seen(path.encode(), len(content), time, hashlib.sha256(content.encode()).digest())


def embed(store: Store) -> None:
    """Give everything that waits a vector and words that follow from its content."""
    pending = store.contents.pending(100_000)
    if pending:
        chance = [np.random.default_rng(list(bytes.fromhex(p.sha256))) for p in pending]
        own = np.array([r.standard_normal(DIM) for r in chance], np.float32)
        words = np.array([r.integers(0, WORDS + 1, 8) for r in chance], np.float32)
        results = [Result(p.content, width=8, height=8, format="PNG") for p in pending]
        store.contents.record(results, {"own": own, "words": words})


def make(folder: Path, count: int) -> Collection:
    """A new collection of so many items, open for writing and indexed."""
    folder.mkdir(exist_ok=True)
    collection = likewise.open(folder, create=True)
    store = collection.store
    store.settings.set("features", ["own"])
    store.settings.set("same_object", True)
    space = Words(np.linspace(0.5, 2, WORDS), levels=3, vocabulary="none")
    arrays, settings = space.to_arrays()
    store.spaces.put(space.fingerprint, arrays, {"kind": space.kind, "settings": settings})
    store.settings.set("words_space", space.fingerprint)
    if count:
        store.items.see([seen(f"{i}.png", f"content {i}") for i in range(count)])
        embed(store)
        collection.build()
    return collection
