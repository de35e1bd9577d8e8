"""Static codes that answer surrogates: flat (exact, the reference), faiss, and others.

The registry names every index by its kind and imports it only when it is asked for, so
that nobody pays for an engine that is not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

from likewise.index._base import BaseIndex
from likewise.index._files import read_manifest
from likewise.types import DataProblem

__all__ = ["REGISTRY", "BaseIndex", "load"]


class _Registry(Mapping[str, type[BaseIndex]]):
    """Kind of index -> class; the class's file is imported at the first look."""

    def __init__(self, places: Mapping[str, tuple[str, str]]) -> None:
        self._places = dict(places)

    def __getitem__(self, kind: str) -> type[BaseIndex]:
        module, name = self._places[kind]
        found: type[BaseIndex] = getattr(import_module(f"likewise.index.{module}"), name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


REGISTRY: Mapping[str, type[BaseIndex]] = _Registry(
    {
        "flat": ("flat", "FlatIndex"),
        "faiss": ("faiss", "FaissIndex"),
        "tree": ("tree", "TreeIndex"),
        "inverted": ("inverted", "InvertedIndex"),
    }
)


def load(folder: str | Path, *, mmap: bool = True) -> BaseIndex:
    """The index that was saved in a folder, of whatever kind it is.

    Parameters
    ----------
    folder
        What was handed to ``save``.
    mmap
        Whether large arrays stay on disk and are read as they are needed.
    """
    kind = str(read_manifest(Path(folder)).get("kind"))
    if kind not in REGISTRY:
        raise DataProblem(
            f"The index in {folder} is of the kind {kind!r}, which this version does not know; "
            f"build it anew as one of {', '.join(REGISTRY)}."
        )
    return REGISTRY[kind].load(folder, mmap=mmap)
