"""Facts about the ground the store stands on: SQLite, room on the disk, permissions."""

from __future__ import annotations

import os
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from likewise import open_files
from likewise.store import catalogue, lock
from likewise.types import Busy, DataProblem

_LITTLE_ROOM = 1 << 30
# The release that mended the log-reset race, and the older lines it was carried back to.
_MENDED = (3, 51, 3)
_CARRIED_BACK = ((3, 50, 7), (3, 44, 6))


@dataclass(frozen=True)
class Fact:
    """One thing that was looked at; ``advice`` says what to do where it is not well."""

    name: str
    value: str
    advice: str = ""

    @property
    def well(self) -> bool:
        """Whether nothing is to be done."""
        return not self.advice


def doctor(folder: str | os.PathLike[str]) -> list[Fact]:
    """Look at what a data folder needs to be safe (it may not exist yet)."""
    path = Path(folder)
    ground = path
    while not ground.exists() and ground != ground.parent:
        ground = ground.parent
    return [
        _sqlite(sqlite3.sqlite_version_info), _room(ground), _permission(ground),
        _open_files(open_files.limit()), _writer(path)
    ]  # fmt: skip


def is_mended(version: tuple[int, ...]) -> bool:
    """Whether an SQLite version is free of the race of writes with log resets."""
    return version >= _MENDED or any(
        version[:2] == line[:2] and version >= line for line in _CARRIED_BACK
    )


def _sqlite(version: tuple[int, ...]) -> Fact:
    text = ".".join(map(str, version))
    if is_mended(version):
        return Fact("SQLite", text)
    return Fact(
        "SQLite",
        text,
        "This SQLite can lose committed pages when several connections write and checkpoint at "
        "once; likewise uses one connection for both, so do not open the catalogue for writing "
        "with other tools while likewise runs, or use a Python with SQLite 3.51.3 or newer.",
    )


def _room(ground: Path) -> Fact:
    free = shutil.disk_usage(ground).free
    advice = "" if free >= _LITTLE_ROOM else "Free some space before indexing."
    return Fact("disk", f"{free / (1 << 30):.1f} GiB free", advice)


def _permission(ground: Path) -> Fact:
    if os.access(ground, os.W_OK | os.X_OK):
        return Fact("permission", f"{ground} can be written")
    return Fact(
        "permission",
        f"{ground} cannot be written",
        "Change its permissions or choose another data folder; searching still works.",
    )


def _open_files(limit: tuple[int, int] | None) -> Fact:
    if limit is None:
        return Fact("open files", "as many as wanted")
    soft, hard = limit
    text = f"{soft:,} at once" + (f", up to {hard:,} if asked for" if hard > soft else "")
    few = max(soft, hard) < open_files.ENOUGH
    advice = "Allow more with «ulimit -n 4096» before starting likewise." if few else ""
    return Fact("open files", text, advice)


def _writer(folder: Path) -> Fact:
    if not (folder / catalogue.NAME).is_file():
        return Fact("writer", "no catalogue yet")
    held = lock.WriterLock(folder)
    try:
        held.acquire()
    except Busy as error:
        return Fact("writer", str(error))
    except (OSError, DataProblem) as error:
        return Fact("writer", f"the lock cannot be tried ({error})")
    held.release()
    return Fact("writer", "nobody is writing")
