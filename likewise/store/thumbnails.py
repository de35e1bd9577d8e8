"""Small pictures kept by the hash of what they show: a cache, whole or absent."""

from __future__ import annotations

import re
from pathlib import Path

from likewise.files import TEMPORARY, remove_file, sealed, unsealed, write_file
from likewise.types import BadInput

FOLDER = "thumbnails"
_HEX = re.compile(r"[0-9a-f]{64}")
_SIZE = re.compile(r"[A-Za-z0-9]{1,16}")
_STARTS = (b"\xff\xd8", b"RI")  # JPEG, WebP (RIFF)


class Thumbnails:
    """Encoded JPEG or WebP by content hash and size name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER

    def put(self, sha256: str, size: str, data: bytes) -> Path:
        """Keep a thumbnail; an older one of the same size is replaced."""
        if data[:2] not in _STARTS:
            raise BadInput("A thumbnail must be a JPEG or WebP file.")
        path = self._path(sha256, size)
        write_file(path, sealed(data), durable=False, beside=self.folder)
        return path

    def get(self, sha256: str, size: str) -> bytes | None:
        """The thumbnail, or None where it has to be made (again)."""
        try:
            data = unsealed(self._path(sha256, size).read_bytes(), older=True)
        except FileNotFoundError:
            return None
        # A power cut may leave an unsynced file empty; it then counts as absent.
        return data if data and data[:2] in _STARTS else None

    def remove(self, sha256: str) -> None:
        """Remove every size of a content."""
        for path in self._path(sha256, "x").parent.glob(f"{sha256}.*"):
            remove_file(path)

    def sweep(self) -> None:
        """Remove what a writer that died left unfinished."""
        for path in self.folder.glob(TEMPORARY + "*"):
            remove_file(path)

    def _path(self, sha256: str, size: str) -> Path:
        if not _HEX.fullmatch(sha256) or not _SIZE.fullmatch(size):
            raise BadInput("A thumbnail is named by a SHA-256 in hex and a short size name.")
        return self.folder / sha256[:2] / f"{sha256}.{size}"
