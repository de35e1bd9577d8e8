"""Query pictures that a person brought along, kept by the hash of their bytes."""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path

from likewise.store.catalogue import Catalogue
from likewise.store.files import read_checked, remove_file, sweep, write_file
from likewise.types import BadInput, NotFound

FOLDER = "uploads"


class Uploads:
    """Bytes by SHA-256; what a judgement refers to cannot be removed."""

    def __init__(self, catalogue: Catalogue, folder: Path) -> None:
        self._catalogue, self.folder = catalogue, folder / FOLDER

    def put(self, data: bytes) -> str:
        """Keep a picture; gives its SHA-256 in hex.  The same bytes are kept once."""
        if not data:
            raise BadInput("The uploaded picture is empty; upload it again.")
        sha256 = hashlib.sha256(data).hexdigest()
        with self._catalogue.transaction() as db:
            if not db.execute("SELECT 1 FROM uploads WHERE sha256 = ?", (sha256,)).fetchone():
                write_file(self.folder / sha256, [data])
                db.execute("INSERT INTO uploads VALUES (?, ?, ?)", (sha256, len(data), time.time()))
        return sha256

    def get(self, sha256: str) -> bytes:
        """The bytes of a kept picture, checked."""
        if sha256 not in self.all():
            raise NotFound(f"The uploaded picture {sha256[:12]} is not kept; upload it again.")
        return read_checked(self.folder / sha256, sha256, f"the uploaded picture {sha256[:12]}")

    def all(self) -> list[str]:
        """Hashes of everything kept."""
        with self._catalogue.reading() as db:
            return [row[0] for row in db.execute("SELECT sha256 FROM uploads ORDER BY sha256")]

    def remove(self, sha256: str) -> None:
        """Remove a picture that no judgement refers to."""
        with self._catalogue.transaction() as db:
            if db.execute(
                "SELECT 1 FROM judgements WHERE query_kind = 'upload' AND query_value = ?",
                (sha256,),
            ).fetchone():
                raise BadInput(
                    f"Judgements refer to the uploaded picture {sha256[:12]}, so it is kept."
                )
            db.execute("DELETE FROM uploads WHERE sha256 = ?", (sha256,))
            if re.fullmatch(r"[0-9a-f]{64}", sha256):
                self._catalogue.after_commit(lambda: remove_file(self.folder / sha256))

    def sweep(self) -> list[str]:
        """Remove files that no row names."""
        return sweep(self.folder, set(self.all()))
