"""What a space was fitted to (PCA matrices and the like), as one file by its fingerprint."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from likewise.files import read_checked, remove_file, sweep
from likewise.store.arrays import Arrays, to_json, unpack, write_arrays
from likewise.store.catalogue import Catalogue
from likewise.types import BadInput, NotFound

FOLDER = "spaces"


class SpaceFiles:
    """Arrays and card of each fitted space."""

    def __init__(self, catalogue: Catalogue, folder: Path) -> None:
        self._catalogue, self.folder = catalogue, folder / FOLDER

    def put(self, fingerprint: str, arrays: Mapping[str, Any], card: Mapping[str, Any]) -> None:
        """Keep a space; one that is kept already stays as it is."""
        if not fingerprint:
            raise BadInput("A space is kept by its fingerprint, and this one has none.")
        with self._catalogue.transaction() as db:
            if db.execute("SELECT 1 FROM spaces WHERE fingerprint = ?", (fingerprint,)).fetchone():
                return
            file = _file(fingerprint)
            self._catalogue.on_rollback(lambda: remove_file(self.folder / file))
            sha256 = write_arrays(self.folder / file, arrays, card)
            db.execute(
                "INSERT INTO spaces VALUES (?, ?, ?, ?, ?)",
                (fingerprint, file, sha256, to_json(card), time.time()),
            )

    def get(self, fingerprint: str) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and card of a space, checked."""
        row = self._catalogue.row(
            "SELECT file, sha256, card FROM spaces WHERE fingerprint = ?", (fingerprint,)
        )
        what = f"space {fingerprint[:12]}"
        if row is None:
            raise NotFound(f"There is no {what} in this collection; index it again.")
        data = read_checked(self.folder / row[0], row[1], what)
        return unpack(data, what)[0], json.loads(row[2])

    def remove(self, fingerprint: str) -> None:
        """Remove a space that no model was learned in."""
        with self._catalogue.transaction() as db:
            if db.execute("SELECT 1 FROM models WHERE space = ?", (fingerprint,)).fetchone():
                raise BadInput("A model was learned in this space, so it is kept.")
            db.execute("DELETE FROM spaces WHERE fingerprint = ?", (fingerprint,))
            self._catalogue.after_commit(lambda: remove_file(self.folder / _file(fingerprint)))

    def sweep(self) -> list[str]:
        """Remove files that no row names."""
        return sweep(self.folder, set(self._catalogue.column("SELECT file FROM spaces")))


def _file(fingerprint: str) -> str:
    return hashlib.sha256(fingerprint.encode()).hexdigest()[:32] + ".safetensors"
