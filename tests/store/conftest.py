"""A store to play with, and pictures' worth of facts without pictures."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from likewise.store import Result, Seen, Store
from likewise.store.contents import Pending


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with Store.open(folder, create=True) as opened:
        yield opened


def seen(path: bytes, content: bytes | None = None, mtime_ns: int = 1) -> Seen:
    """A file whose content is its own name unless told otherwise."""
    data = path if content is None else content
    return Seen(path, len(data), mtime_ns, hashlib.sha256(data).digest())


def add(store: Store, paths: Sequence[bytes], content: bytes | None = None) -> list[int]:
    """See files; gives their item ids."""
    return store.items.see([seen(path, content) for path in paths])


def vectors(pending: Sequence[Pending], dim: int = 4) -> np.ndarray:
    """One recognisable row a content, made from its hash."""
    rows = [
        np.random.default_rng(list(bytes.fromhex(p.sha256))).standard_normal(dim) for p in pending
    ]
    return np.array(rows, dtype=np.float32).reshape(len(rows), dim)


def embed(store: Store, dim: int = 4, **facts: object) -> list[Pending]:
    """Record vectors for everything that waits; gives what was waiting."""
    pending = store.contents.pending(100_000)
    if pending:
        results = [Result(p.content, width=30, height=20, format="JPEG", **facts) for p in pending]  # type: ignore[arg-type]
        store.contents.record(results, {"deep": vectors(pending, dim)})
    return pending
