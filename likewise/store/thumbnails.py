"""Small pictures kept by the hash of what they show: a cache in one file, whole or absent.

All lie in one SQLite file, so that a million pictures are no million files.  It is written without
waiting for the disk: after a power cut it may be damaged, and is then begun anew.  Folders of
earlier commits hold a file a picture; these are still read.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from likewise.files import TEMPORARY, make_folder, plain_errors, remove_file, sealed, unsealed
from likewise.types import BadInput

FOLDER = "thumbnails"
PACK = "pictures.sqlite"
_HEX = re.compile(r"[0-9a-f]{64}")
_SIZE = re.compile(r"[A-Za-z0-9]{1,16}")
_STARTS = (b"\xff\xd8", b"RI")  # JPEG, WebP (RIFF)
_TABLE = (
    "CREATE TABLE IF NOT EXISTS pictures (sha256 BLOB NOT NULL, size TEXT NOT NULL, "
    "data BLOB NOT NULL, PRIMARY KEY (sha256, size))"
)
_BROKEN = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_IOERR_SHORT_READ")
T = TypeVar("T")


class Thumbnails:
    """Encoded JPEG or WebP by content hash and size name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER
        self.pack = self.folder / PACK
        self._lock = threading.Lock()
        self._db: tuple[int, sqlite3.Connection] | None = None

    def put(self, sha256: str, size: str, data: bytes) -> Path:
        """Keep a thumbnail; an older one of the same size is replaced."""
        if data[:2] not in _STARTS:
            raise BadInput("A thumbnail must be a JPEG or WebP file.")
        key, size = _key(sha256, size)
        row = key, size, b"".join(sealed(key + data))  # sealed with its name: never another's
        insert = "INSERT OR REPLACE INTO pictures VALUES (?, ?, ?)"
        for _ in range(2):  # once more where the file was damaged and is begun anew
            if self._do(lambda db: db.execute(insert, row), write=True) is not None:
                break
        return self.pack

    def get(self, sha256: str, size: str) -> bytes | None:
        """The thumbnail, or None where it has to be made (again)."""
        key, size = _key(sha256, size)
        sql = "SELECT data FROM pictures WHERE sha256 = ? AND size = ?"
        rows = self._do(lambda db: db.execute(sql, (key, size)).fetchall())
        if rows:
            named = unsealed(rows[0][0])
            return named[len(key) :] if named and named.startswith(key) else None
        try:
            data = unsealed(
                (self.folder / sha256[:2] / f"{sha256}.{size}").read_bytes(), older=True
            )
        except FileNotFoundError:
            return None
        return data if data and data[:2] in _STARTS else None

    def remove(self, sha256: Iterable[str]) -> None:
        """Remove every size of contents, at once: what is deleted is overwritten."""
        keys = [_key(one, "x")[0] for one in sha256]

        def delete(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            with db:
                db.executemany("DELETE FROM pictures WHERE sha256 = ?", ((key,) for key in keys))

        self._do(delete)
        for key in keys:
            folder = self.folder / key.hex()[:2]
            if folder.is_dir():  # of earlier commits
                for path in folder.glob(f"{key.hex()}.*"):
                    remove_file(path)

    def sweep(self) -> None:
        """Remove what a writer that died left unfinished."""
        for path in self.folder.glob(TEMPORARY + "*"):
            remove_file(path)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._end()

    def _do(self, work: Callable[[sqlite3.Connection], T], *, write: bool = False) -> T | None:
        """Work on the file; None where there is none, or where it was damaged and is gone now."""
        with self._lock, plain_errors(self.folder.parent):
            try:
                db = self._connection(write)
                return None if db is None else work(db)
            except sqlite3.DatabaseError as error:
                if not getattr(error, "sqlite_errorname", "").startswith(_BROKEN):
                    raise
                self._end()
                remove_file(self.pack)
                return None

    def _connection(self, write: bool) -> sqlite3.Connection | None:
        if self._db is not None and (self._db[0] != os.getpid() or not self.pack.exists()):
            self._end()
        if self._db is None:
            if not write and not self.pack.exists():
                return None
            make_folder(self.folder, durable=False)
            db = sqlite3.connect(
                self.pack, timeout=10, isolation_level=None, check_same_thread=False
            )
            self._db = os.getpid(), db
            for pragma in ("synchronous = OFF", "secure_delete = ON", "cache_size = -4096"):
                db.execute(f"PRAGMA {pragma}")
            with contextlib.suppress(sqlite3.OperationalError):  # a folder for reading only
                db.execute(_TABLE)
        return self._db[1]

    def _end(self) -> None:
        if self._db is not None and self._db[0] == os.getpid():
            self._db[1].close()
        self._db = None


def _key(sha256: str, size: str) -> tuple[bytes, str]:
    if not _HEX.fullmatch(sha256) or not _SIZE.fullmatch(size):
        raise BadInput("A thumbnail is named by a SHA-256 in hex and a short size name.")
    return bytes.fromhex(sha256), size
