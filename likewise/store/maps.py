"""Maps of the collection and their pages of small pictures: a cache, whole or absent: one
that does not match its checksum is made again.

A map is named by what it was made from, a page by what it shows, so neither ever changes;
the newest map is kept, and the pages that it names.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from likewise.files import TEMPORARY, remove_file, sealed, unsealed, write_file
from likewise.store.arrays import Arrays, pack, unpack
from likewise.types import BadInput, DataProblem

FOLDER = "maps"
_HEX = re.compile(r"[0-9a-f]{64}")


class Maps:
    """The newest map as named arrays, and JPEG pages by hash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER

    def put(self, name: str, arrays: Mapping[str, Any], card: Mapping[str, Any]) -> None:
        """Keep a map instead of the one before."""
        path = self._path(name, "map")
        write_file(path, sealed(pack(arrays, card)), durable=False)
        for other in self.folder.glob("*.map"):
            if other != path:
                remove_file(other)

    def latest(self) -> tuple[str, Arrays, dict[str, Any]] | None:
        """Name, arrays and card of the newest map; None where it has to be made (again)."""
        for path in self.folder.glob("*.map"):
            try:
                arrays, card = unpack(unsealed(path.read_bytes()) or b"", "the map")
            except (FileNotFoundError, DataProblem):
                continue
            return path.stem, arrays, card
        return None

    def put_page(self, name: str, data: bytes) -> None:
        """Keep a page."""
        write_file(self._path(name, "jpg"), sealed(data), durable=False)

    def page(self, name: str) -> bytes | None:
        """A page, or None where it has to be made (again)."""
        try:
            return unsealed(self._path(name, "jpg").read_bytes())
        except FileNotFoundError:
            return None

    def keep_pages(self, names: Iterable[str]) -> None:
        """Remove the pages that are not among these."""
        kept = {f"{name}.jpg" for name in names}
        for path in self.folder.glob("*.jpg"):
            if path.name not in kept:
                remove_file(path)

    def clear(self) -> None:
        """Remove everything: pages show pictures that may have to be forgotten."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what a writer that died left unfinished."""
        for path in self.folder.glob(TEMPORARY + "*"):
            remove_file(path)

    def _path(self, name: str, kind: str) -> Path:
        if not _HEX.fullmatch(name):
            raise BadInput("Maps and their pages are named by a SHA-256 in hex.")
        return self.folder / f"{name}.{kind}"
