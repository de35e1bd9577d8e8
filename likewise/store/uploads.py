"""Query pictures that a person brought along, kept by the hash of their bytes."""

from __future__ import annotations

import hashlib
import re
import sqlite3
import time
from pathlib import Path

from likewise.files import read_checked, remove_file, sweep, write_file
from likewise.store.catalogue import Catalogue
from likewise.store.thumbnails import Thumbnails
from likewise.types import BadInput, NotFound

FOLDER = "uploads"
MOST, MOST_BYTES, SECONDS = 1000, 1 << 30, 30 * 24 * 3600.0
"""How many pictures are kept that nothing refers to, of how many bytes, and for how long."""
_USED = """(
    sha256 IN (SELECT query_value FROM judgements WHERE query_kind = 'upload')
    OR EXISTS (SELECT 1 FROM sessions WHERE state = 'open' AND instr(payload, sha256))
)"""


class Uploads:
    """Bytes by SHA-256; what a judgement or an open session refers to stays."""

    def __init__(self, catalogue: Catalogue, folder: Path, thumbnails: Thumbnails) -> None:
        self._catalogue, self.folder = catalogue, folder / FOLDER
        self._thumbnails = thumbnails

    def put(self, data: bytes) -> str:
        """Keep a picture; gives its SHA-256 in hex.  The same bytes are kept once.

        Others that nothing refers to go where they are too old, or too many: the oldest first.
        """
        if not data:
            raise BadInput("The uploaded picture is empty; upload it again.")
        sha256 = hashlib.sha256(data).hexdigest()
        with self._catalogue.transaction() as db:
            if not db.execute("SELECT 1 FROM uploads WHERE sha256 = ?", (sha256,)).fetchone():
                write_file(self.folder / sha256, [data])
            db.execute("REPLACE INTO uploads VALUES (?, ?, ?)", (sha256, len(data), time.time()))
            self._expire(db)
        return sha256

    def get(self, sha256: str) -> bytes:
        """The bytes of a kept picture, checked."""
        if sha256 not in self.all():
            raise NotFound(f"The uploaded picture {sha256[:12]} is not kept; upload it again.")
        return read_checked(self.folder / sha256, sha256, f"the uploaded picture {sha256[:12]}")

    def all(self) -> list[str]:
        """Hashes of everything kept."""
        return self._catalogue.column("SELECT sha256 FROM uploads ORDER BY sha256")

    def _expire(self, db: sqlite3.Connection) -> None:
        """Remove what nothing refers to, but for the newest within the quota."""
        unused = f"SELECT sha256, size, added FROM uploads WHERE NOT {_USED} ORDER BY added DESC"
        count = size = 0
        for sha256, own, added in db.execute(unused).fetchall():
            count, size = count + 1, size + own
            if count > MOST or size > MOST_BYTES or added < time.time() - SECONDS:
                self._drop(db, sha256)

    def _drop(self, db: sqlite3.Connection, sha256: str) -> None:
        db.execute("DELETE FROM uploads WHERE sha256 = ?", (sha256,))
        if re.fullmatch(r"[0-9a-f]{64}", sha256):
            self._catalogue.after_commit(lambda: remove_file(self.folder / sha256))
            self._catalogue.after_commit(lambda: self._thumbnails.remove([sha256]))

    def sweep(self) -> list[str]:
        """Remove pictures that have come to their end, and files that no row names."""
        with self._catalogue.transaction() as db:
            self._expire(db)
        return sweep(self.folder, set(self.all()))
