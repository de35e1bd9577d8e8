"""One writer at a time: a lock that the system lets go when its holder dies.

The lock file also says who holds it, so that the second writer can be told.  Readers
never look at it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
import weakref
from pathlib import Path
from typing import Any

from likewise.types import Busy, DataProblem

NAME = "writer.lock"
_FAR = 1 << 30
"""Byte that Windows locks: beyond the text, which the second writer must be able to read."""


class WriterLock:
    """Held from :meth:`acquire` until :meth:`release` or the death of the process."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock or raise :class:`~likewise.types.Busy` with the holder's name."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            taken = _try_lock(descriptor)
        except OSError as error:
            os.close(descriptor)
            raise DataProblem(
                f"The file system that holds {self.path.parent} cannot lock files ({error}); "
                "put the data folder on a local disk."
            ) from error
        if not taken:
            os.close(descriptor)
            raise Busy(_sentence(self.path.parent, holder(self.path.parent)))
        self._descriptor = descriptor
        with contextlib.suppress(OSError):  # a full disk costs the name, not the lock
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps(_self()).encode())
        self._let_children_go()

    def release(self) -> None:
        """Let the next writer in; harmless when not held."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            _unlock(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _forget(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _let_children_go(self) -> None:
        # A forked child shares the lock with its parent: without this a worker that
        # outlives a killed writer would keep everybody out.
        if hasattr(os, "register_at_fork"):
            me = weakref.ref(self)

            def close_in_child() -> None:
                lock = me()
                if lock is not None:
                    lock._forget()

            os.register_at_fork(after_in_child=close_in_child)


def holder(folder: Path) -> dict[str, Any]:
    """Who said last that they hold the lock: pid, host, command, since."""
    try:
        said = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _self() -> dict[str, Any]:
    command = " ".join([Path(sys.argv[0]).name if sys.argv else "python", *sys.argv[1:]])
    command = command.encode("utf-8", "replace").decode()[:200]
    return {
        "pid": os.getpid(), "host": socket.gethostname(), "command": command, "since": time.time()
    }  # fmt: skip


def _sentence(folder: Path, who: dict[str, Any]) -> str:
    if not who:
        return f"Another process is writing to {folder}; wait until it is done, then try again."
    since = time.strftime("%H:%M:%S", time.localtime(float(who.get("since", 0))))
    return (
        f"Process {who.get('pid')} on {who.get('host')} ({who.get('command')}) has been writing to "
        f"{folder} since {since}; wait until it is done or stop it, then try again."
    )


if os.name == "nt":  # pragma: no cover
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        os.lseek(descriptor, 0, os.SEEK_SET)
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        # flock, not lockf: it also keeps two openings in one process apart.
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
