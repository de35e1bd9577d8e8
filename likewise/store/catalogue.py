"""The SQLite file that is the only record: one connection writes, any number read.

Reads come from a pool of read-only connections, each read in its own transaction, so an
answer sees one state of things however many statements it takes.  Writes go through one
connection behind one lock; that connection is also the only one that checkpoints,
because older SQLite libraries can lose pages when writes and checkpoints of several
connections race.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from likewise.files import plain_errors
from likewise.open_files import spare
from likewise.store import migrations
from likewise.types import BadInput, DataProblem, IdArray, NotFound

T = TypeVar("T")
NAME = "catalogue.sqlite"
_WAIT_MS = 10_000
_CHUNK = 20_000

_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):  # not on Windows, which knows no fork
    os.register_at_fork(after_in_child=_forked)


def id_list(ids: Iterable[Any]) -> str:
    """Ids as a JSON array, for ``IN (SELECT value FROM json_each(?))``."""
    plain = ids.tolist() if isinstance(ids, np.ndarray) else ids
    return "[" + ",".join(str(int(i)) for i in plain) + "]"


AMONG = "IN (SELECT value FROM json_each(?))"
"""SQL for «one of the ids of :func:`id_list`»."""


class Newest(NamedTuple):
    """Numbers that tell whether anything is new: of changes that count, and of three logs."""

    change: int
    judgement: int
    offered: int
    activation: int


_MAX = "(SELECT COALESCE(MAX(id), 0) FROM {})".format
_NEWEST = (
    f"SELECT number, {_MAX('judgements')}, {_MAX('offered')}, {_MAX('activations')} FROM changes"
)


class Catalogue:
    """Connections to ``catalogue.sqlite`` of one data folder."""

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.folder, self.path, self.writable = folder, folder / NAME, write
        self._born = _forks
        self._idle: list[sqlite3.Connection] = []
        self._here = threading.local()
        self._pool_lock, self._write_lock = threading.Lock(), threading.RLock()
        self._after: list[Callable[[], None]] = []
        self._undo: list[Callable[[], None]] = []
        self._undone = 0
        self._writer: sqlite3.Connection | None = None
        self._fixed = False  # whether the folder cannot be written, so that nothing changes
        with plain_errors(folder):
            if write:
                self._writer = self._open_writer()
            else:
                self._check_readable()

    # -- opening ---------------------------------------------------------------

    def _open_writer(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            self.path, timeout=_WAIT_MS / 1e3, isolation_level=None, check_same_thread=False
        )
        try:
            mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                raise DataProblem(
                    f"The file system that holds {self.folder} cannot share memory between "
                    "processes; put the data folder on a local disk."
                )
            for pragma in (
                "synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON",
                "secure_delete = ON", "foreign_keys = ON", "journal_size_limit = 67108864",
                "cache_size = -65536"
            ):  # fmt: skip
                db.execute(f"PRAGMA {pragma}")
            migrations.migrate(db, self.path)
        except BaseException:
            db.close()
            raise
        return db

    def _check_readable(self) -> None:
        if not self.path.is_file():
            raise NotFound(
                f"There is no catalogue in {self.folder}; index a folder of pictures first."
            )
        with self.reading() as db:
            migrations.check(db, self.path)
            if migrations.version_of(db) < migrations.READABLE:
                raise DataProblem(
                    f"{self.path} was written by an older likewise; index the folder once "
                    "more, which brings it up to date."
                )

    def _open_reader(self) -> sqlite3.Connection:
        uri = self.path.absolute().as_uri()
        db = self._connect(f"{uri}?mode=ro")
        try:
            db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
            return db
        except sqlite3.OperationalError as error:
            db.close()
            name = error.sqlite_errorname
            if not name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):
                raise
            spare(3)  # too many open files are no reason to read it as if nothing changed
        # Where the folder cannot be written SQLite cannot make its shared-memory file.
        # If no log is waiting the file is complete in itself and may be read as it is.
        log = self.path.with_name(NAME + "-wal")
        if log.exists() and log.stat().st_size:
            raise DataProblem(
                f"The catalogue in {self.folder} has unfinished business and the folder cannot be "
                "written; open it once with the permission to write."
            )
        self._fixed = True
        return self._connect(f"{uri}?mode=ro&immutable=1")

    def _connect(self, uri: str) -> sqlite3.Connection:
        db = sqlite3.connect(
            uri, uri=True, timeout=_WAIT_MS / 1e3, isolation_level=None, check_same_thread=False
        )
        db.execute("PRAGMA wal_autocheckpoint = 0")
        return db

    # -- reading and writing ---------------------------------------------------

    def reading(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """A connection that sees one state; inside a transaction or another read, that one."""
        current = self._current()
        return self._begun() if current is None else contextlib.nullcontext(current)

    @contextlib.contextmanager
    def _begun(self) -> Iterator[sqlite3.Connection]:
        with plain_errors(self.folder):
            with self._pool_lock:
                db = self._idle.pop() if self._idle else None
            db = db or self._open_reader()
            self._here.db, self._here.known = db, {}
            try:
                db.execute("BEGIN")
                yield db
            finally:
                self._here.db = self._here.known = None
                if db.in_transaction:
                    db.execute("ROLLBACK")
                self._put_back(db)

    def _put_back(self, db: sqlite3.Connection) -> None:
        # A connection told that nothing changes would not see another process change it.
        with self._pool_lock:
            if not self._fixed and len(self._idle) < 16:
                self._idle.append(db)
                return
        db.close()

    @property
    def is_reading(self) -> bool:
        """Whether this thread is in a block of :meth:`reading` or of a transaction."""
        return self._current() is not None

    def _current(self) -> sqlite3.Connection | None:
        if self._born != _forks:
            raise BadInput(
                "This collection was opened by the parent process; open it again in this one."
            )
        current: sqlite3.Connection | None = getattr(self._here, "db", None)
        return current

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, on the disk when the block has been left; blocks nest into one."""
        db, current = self._the_writer(), self._current()
        if current is db:
            yield db
            return
        if current is not None:
            raise BadInput("A read is going on in this thread; leave it before writing.")
        with self._write_lock, plain_errors(self.folder):
            self._after, self._undo = [], []
            db.execute("BEGIN IMMEDIATE")
            self._here.db = db
            try:
                yield db
                db.execute(migrations.TRIM)
                db.execute("COMMIT")
            except BaseException:
                self._roll_back(db)
                raise
            finally:
                self._here.db = None
            for action in self._after:
                action()

    def _roll_back(self, db: sqlite3.Connection) -> None:
        self._undone += 1
        if db.in_transaction:  # SQLite has rolled back by itself where the disk was full
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
        for action in self._undo:
            with contextlib.suppress(OSError):
                action()

    def changes(self) -> tuple[int, int]:
        """What is the same only while everything that can be found is: the counter of changes.

        The second number counts transactions of this process that were undone: they take the
        first one back, and what was read inside them must not be taken for what comes next.
        """
        return self.newest().change, self._undone

    def newest(self) -> Newest:
        """The newest of what readers follow, in one statement."""
        return self.once(Newest, lambda db: Newest._make(db.execute(_NEWEST).fetchone()))

    def touched(self, since: int, *, framed: bool = True) -> IdArray | None:
        """Items that changed after a number of :meth:`changes`; None where all may have.

        With ``framed``, also where something else changed that can be found: an index, a space.
        """
        with self.reading() as db:
            number, frame = db.execute("SELECT number, frame FROM changes").fetchone()
            if not since <= number <= since + migrations.KEPT or (framed and frame > since):
                return None
            items = self.column("SELECT DISTINCT item FROM touched WHERE number > ?", (since,))
            return np.array(sorted(items), dtype=np.int64)

    def rows(self, sql: str, given: Sequence[Any] = ()) -> list[Any]:
        """Every row that a statement gives."""
        with self.reading() as db:
            return db.execute(sql, given).fetchall()

    def column(self, sql: str, given: Sequence[Any] = ()) -> list[Any]:
        """The first value of every row that a statement gives."""
        return [row[0] for row in self.rows(sql, given)]

    def by_key(self, sql: str, keys: Sequence[Any]) -> list[Any]:
        """Rows of a statement that ends in ``IN``, for any number of keys."""
        found: list[Any] = []
        with self.reading():
            for start in range(0, len(keys), _CHUNK):
                part = keys[start : start + _CHUNK]
                found += self.rows(f"{sql} ({','.join('?' * len(part))})", part)
        return found

    def row(self, sql: str, given: Sequence[Any] = ()) -> Any:
        """The first row that a statement gives; None for none."""
        with self.reading() as db:
            return db.execute(sql, given).fetchone()

    def write(self, sql: str, given: Sequence[Any] = ()) -> int:
        """Change rows; gives how many."""
        with self.transaction() as db:
            return db.execute(sql, given).rowcount

    def insert(self, sql: str, given: Sequence[Any]) -> int:
        """Add a row; gives its number."""
        with self.transaction() as db:
            number = db.execute(sql, given).lastrowid
        assert number is not None
        return number

    def number(self, sql: str) -> int:
        """The number that a statement gives."""
        return self.once(sql, lambda db: int(db.execute(sql).fetchone()[0]))

    def once(self, name: Any, ask: Callable[[sqlite3.Connection], T]) -> T:
        """What the catalogue says, asked once by this name in a block of :meth:`reading`."""
        known: dict[Any, T] | None = getattr(self._here, "known", None)
        if known is not None and name in known:
            return known[name]
        with self.reading() as db:
            found = ask(db)
            if known is not None:  # else a transaction, or a read of its own
                known[name] = found
        return found

    def after_commit(self, action: Callable[[], None]) -> None:
        """Do something once the current transaction is on the disk."""
        self._after.append(action)

    def on_rollback(self, action: Callable[[], None]) -> None:
        """Do something if the current transaction fails."""
        self._undo.append(action)

    def _the_writer(self) -> sqlite3.Connection:
        if self._writer is None:
            raise BadInput(
                "This collection was opened for reading; open it with write=True to change it."
            )
        return self._writer

    # -- the log ---------------------------------------------------------------

    def scrub(self, *, rewrite: bool) -> bool:
        """Merge the full text and empty the log, or ``rewrite`` the file: no deleted byte stays.

        False when a reader still needs the old state; call again later.
        """
        db = self._the_writer()
        with self._write_lock, plain_errors(self.folder):
            # Deleted words stay in the full-text segments until these are merged.
            db.execute("VACUUM" if rewrite else "INSERT INTO words (words) VALUES ('optimize')")
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            return not busy

    def close(self) -> None:
        """Close every connection; the writer's last act is to empty the log."""
        with self._pool_lock:
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()
        if self._writer is not None and self._born == _forks:
            self._writer.close()
        self._writer = None
