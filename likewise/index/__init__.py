"""Static codes that answer surrogates: flat (exact, the reference), faiss, and others.

The registry names every index by its kind and imports it only when it is asked for, so
that nobody pays for an engine that is not used.
"""

from __future__ import annotations

from pathlib import Path

from likewise.index._base import BaseIndex
from likewise.index._files import read_manifest
from likewise.types import DataProblem, Registry

__all__ = ["REGISTRY", "BaseIndex", "load"]


REGISTRY = Registry(
    {
        "flat": "likewise.index.flat:FlatIndex",
        "faiss": "likewise.index.faiss:FaissIndex",
        "tree": "likewise.index.tree:TreeIndex",
        "inverted": "likewise.index.inverted:InvertedIndex",
        "postgres": "likewise.index.postgres:PostgresIndex",
        "milvus": "likewise.index.milvus:MilvusIndex",
    }
)


def load(folder: str | Path, *, mmap: bool = True) -> BaseIndex:
    """The index that ``save`` wrote into a folder, of whatever kind; see :meth:`BaseIndex.load`."""
    kind = str(read_manifest(Path(folder)).get("kind"))
    if kind not in REGISTRY:
        raise DataProblem(
            f"The index in {folder} is of the kind {kind!r}, which this version does not know; "
            f"build it anew as one of {', '.join(REGISTRY)}."
        )
    found: BaseIndex = REGISTRY[kind].load(folder, mmap=mmap)
    return found
