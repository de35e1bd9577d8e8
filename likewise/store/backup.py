"""Backup while a writer works, and restore: the record only, no caches.

The catalogue is copied through SQLite's own backup, which sees one state; the files that
this state names never change, so copying them afterwards cannot mix two states.  Indexes and
thumbnails are rebuilt.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from likewise.store import catalogue as _catalogue
from likewise.store.catalogue import Catalogue
from likewise.store.files import (
    TEMPORARY,
    make_folder,
    plain_errors,
    sync_file,
    sync_folder,
    write_file,
)
from likewise.store.verify import Finding, named_files, verify
from likewise.types import BadInput, DataProblem, NotFound

NOTE = "backup.json"
_TRIES = 5


@dataclass(frozen=True)
class Copied:
    """What a backup or restore wrote."""

    folder: Path
    files: int
    bytes: int


def backup(
    folder: str | os.PathLike[str], target: str | os.PathLike[str], *, link: bool = False
) -> Copied:
    """Copy a data folder to a new folder, checked; a writer may go on meanwhile.

    Parameters
    ----------
    target
        A folder that does not exist yet, or an empty one.
    link
        Use hard links for files where the disk is the same: at once and without room, but
        no help against a broken disk.
    """
    source, goal = Path(folder), Path(target)
    with plain_errors(goal), _aside(goal) as aside:
        for attempt in range(_TRIES):
            try:
                copied = _copy_state(source, aside, link=link)
                break
            except FileNotFoundError:
                # A file of the copied state was purged before its turn came: take a newer state.
                _empty(aside)
                if attempt == _TRIES - 1 or verify(source):
                    raise DataProblem(
                        f"Files of {source} are missing, so it cannot be backed up; run verify."
                    ) from None
        note = {"made": time.time(), "source": str(source.absolute()), "format": 1}
        text = json.dumps(note, indent=1).encode("utf-8", "replace")
        write_file(aside / NOTE, [text])
        _must_be_sound(aside, "The backup would be damaged, because the data folder is")
    return Copied(goal, *copied)


def restore(source: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Copied:
    """Make a data folder from a backup; nothing that exists is overwritten."""
    origin, goal = Path(source), Path(folder)
    if not (origin / NOTE).is_file():
        raise NotFound(f"{origin} is not a backup of likewise (it has no {NOTE}).")
    with plain_errors(goal), _aside(goal) as aside:
        copied = _copy_state(origin, aside, link=False)
        _must_be_sound(aside, "The backup is damaged, so nothing was restored")
    return Copied(goal, *copied)


def _copy_state(source: Path, aside: Path, *, link: bool) -> tuple[int, int]:
    reader = Catalogue(source, write=False)
    target = sqlite3.connect(aside / _catalogue.NAME, isolation_level=None)
    try:
        with reader.reading() as db:
            db.backup(target)
        target.execute("PRAGMA journal_mode = WAL")
        target.execute("DELETE FROM generations")  # a cache, and not copied
        files = named_files(target)
    finally:
        target.close()
        reader.close()
    _sync(aside / _catalogue.NAME)
    size = (aside / _catalogue.NAME).stat().st_size
    for named in files:
        path = aside / named.path
        make_folder(path.parent)
        _copy(source / named.path, path, link=link)
        size += path.stat().st_size
    for inner in {(aside / named.path).parent for named in files} | {aside}:
        sync_folder(inner)
    return len(files) + 1, size


def _copy(source: Path, target: Path, *, link: bool) -> None:
    if link:
        with contextlib.suppress(PermissionError, NotImplementedError):
            try:
                os.link(source, target)
                return
            except OSError as error:
                if isinstance(error, FileNotFoundError):
                    raise
    shutil.copyfile(source, target)
    _sync(target)


def _sync(path: Path) -> None:
    with open(path, "rb+") as file:
        sync_file(file.fileno())


@contextlib.contextmanager
def _aside(goal: Path) -> Iterator[Path]:
    """A folder beside the goal that becomes the goal when all went well."""
    if goal.exists() and (not goal.is_dir() or any(goal.iterdir())):
        raise BadInput(f"{goal} is there already and not empty; choose another folder.")
    make_folder(goal.absolute().parent)
    aside = goal.absolute().parent / (TEMPORARY + secrets.token_hex(8))
    aside.mkdir(mode=0o700)
    try:
        yield aside
        if goal.exists():
            goal.rmdir()
        aside.rename(goal)
        sync_folder(goal.absolute().parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir(mode=0o700)


def _must_be_sound(folder: Path, sentence: str) -> None:
    damage: list[Finding] = [f for f in verify(folder) if f.severity == "damage"]
    if damage:
        raise DataProblem(f"{sentence}: {damage[0].sentence}")
