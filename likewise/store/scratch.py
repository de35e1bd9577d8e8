"""Work that was interrupted: arrays and settings by name, a cache that may be lost at any time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from likewise.files import remove_file, write_file
from likewise.store.arrays import Arrays, pack, unpack

FOLDER = "scratch"
ENDING = ".safetensors"


class Scratch:
    """Unfinished work; only the writer of a data folder keeps any."""

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.folder, self._write = folder / FOLDER, write

    def put(self, name: str, arrays: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
        """Keep arrays and settings under a name (letters and digits), instead of earlier ones."""
        if self._write:
            write_file(self.folder / (name + ENDING), [pack(arrays, settings)], durable=False)

    def get(self, name: str) -> tuple[Arrays, dict[str, Any]] | None:
        """What was kept; None for nothing."""
        try:
            data = (self.folder / (name + ENDING)).read_bytes()
        except OSError:
            return None
        return unpack(data, f"unfinished work {name}")

    def clear(self) -> None:
        """Throw everything away."""
        if self._write and self.folder.is_dir():
            for path in self.folder.iterdir():
                remove_file(path)
