"""Backup while a writer works, and restore: the record, and of the caches the look's index.

The catalogue is copied through SQLite's own backup, which sees one state; the files that
this state names never change under these names, so copying them afterwards cannot mix two states.
Other indexes and thumbnails are rebuilt.
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

from likewise import files
from likewise.files import make_folder, plain_errors, remove_file, sync_folder
from likewise.store import catalogue as _catalogue
from likewise.store.catalogue import Catalogue
from likewise.store.generations import FOLDER
from likewise.store.verify import Finding, named_files, verify
from likewise.types import BadInput, Busy, DataProblem, NotFound

NOTE = "backup.json"
_TRIES = 50


@dataclass(frozen=True)
class Copied:
    """What a backup or restore wrote."""

    folder: Path
    files: int
    bytes: int


def backup(
    folder: str | os.PathLike[str], target: str | os.PathLike[str], *, link: bool = False
) -> Copied:
    """Copy a data folder to a new or empty folder, checked; a writer may go on meanwhile.

    With ``link`` files of the same disk are hard links: at once and without room, but no help
    against a broken disk.
    """
    source, goal = Path(folder), Path(target)
    with plain_errors(goal), _aside(goal) as aside:
        for _ in range(_TRIES):
            try:
                copied = _copy_state(source, aside, link=link)
                break
            except FileNotFoundError as error:
                # A file of the copied state was purged before its turn came: take a newer
                # state.  What has been copied stays, so each try has less to do.
                _must_be_purged(source, Path(str(error.filename)))
        else:
            raise Busy(f"Files of {source} change too fast to be backed up; try again later.")
        note = {"made": time.time(), "source": str(source.absolute()), "format": 1}
        text = json.dumps(note, indent=1).encode("utf-8", "replace")
        files.write_file(aside / NOTE, [text])
        _must_be_sound(aside, "The backup would be damaged, because the data folder is")
    return Copied(goal, *copied)


def restore(source: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Copied:
    """Make a data folder from a backup; nothing that exists is overwritten."""
    origin, goal = Path(source), Path(folder)
    if not (origin / NOTE).is_file():
        raise NotFound(f"{origin} is not a backup of likewise (it has no {NOTE}).")
    with plain_errors(goal), _aside(goal) as aside:
        try:
            copied = _copy_state(origin, aside, link=False)
        except FileNotFoundError as error:
            raise DataProblem(
                f"The backup is damaged, so nothing was restored: {error.filename} is missing."
            ) from None
        _must_be_sound(aside, "The backup is damaged, so nothing was restored")
    return Copied(goal, *copied)


def _copy_state(source: Path, aside: Path, *, link: bool) -> tuple[int, int]:
    """Copy one state of the catalogue and the files it names; gives their number and bytes."""
    copy = aside / _catalogue.NAME
    remove_file(copy)
    reader = Catalogue(source, write=False)
    target = sqlite3.connect(copy, isolation_level=None)
    try:
        with reader.reading() as db:
            db.backup(target)
        target.execute("PRAGMA journal_mode = WAL")
        named = named_files(target)
        _copy_index(source, aside, reader, target, link=link)
    finally:
        target.close()
        reader.close()
    with open(copy, "rb+") as file:
        files.sync_file(file.fileno())
    for one in named:
        path = aside / one.path
        if not path.exists():
            make_folder(path.parent)
            files.copy_file(source / one.path, path, link=link)
    paths = [copy, *(aside / one.path for one in named)]
    paths += [path for path in (aside / FOLDER).rglob("*") if path.is_file()]
    for path in {p for p in aside.glob("*/*") if p.is_file()}.difference(paths):
        remove_file(path)  # an earlier try copied it, and the final state does not name it
    for inner in {path.parent for path in paths}:
        sync_folder(inner)
    return len(paths), sum(path.stat().st_size for path in paths)


def _copy_index(
    source: Path, aside: Path, reader: Catalogue, target: sqlite3.Connection, *, link: bool
) -> None:
    """Copy the newest index of the look, unless a server's, so that a copy serves at once."""
    shutil.rmtree(aside / FOLDER, ignore_errors=True)
    newest = "SELECT MAX(number) FROM generations WHERE line = 'main'"
    remote = "json_extract(settings, '$.table') IS NOT NULL"
    target.execute(f"DELETE FROM generations WHERE number IS NOT ({newest}) OR {remote}")
    for (number,) in target.execute("SELECT number FROM generations").fetchall():
        place = Path(FOLDER, f"{number:06d}")
        with contextlib.suppress(FileNotFoundError):
            for path in [path for path in (source / place).rglob("*") if path.is_file()]:
                copy = aside / path.relative_to(source)
                make_folder(copy.parent)
                files.copy_file(path, copy, link=link)
            if reader.rows("SELECT 1 FROM generations WHERE number = ?", (number,)):
                return
        target.execute("DELETE FROM generations")  # it went meanwhile: a cache, so do without
        shutil.rmtree(aside / FOLDER, ignore_errors=True)


def _must_be_purged(source: Path, lost: Path) -> None:
    reader = Catalogue(source, write=False)
    try:
        with reader.reading() as db:
            named = {source / entry.path for entry in named_files(db)}
    finally:
        reader.close()
    if lost in named and not lost.exists():
        raise DataProblem(f"{lost} is missing, so there is nothing whole to back up; run verify.")


@contextlib.contextmanager
def _aside(goal: Path) -> Iterator[Path]:
    """A folder beside the goal that becomes the goal when all went well."""
    if goal.exists() and (not goal.is_dir() or any(goal.iterdir())):
        raise BadInput(f"{goal} is there already and not empty; choose another folder.")
    make_folder(goal.absolute().parent)
    aside = goal.absolute().parent / (files.TEMPORARY + secrets.token_hex(8))
    aside.mkdir(mode=0o700)
    try:
        yield aside
        if goal.exists():
            goal.rmdir()
        aside.rename(goal)
        sync_folder(goal.absolute().parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _must_be_sound(folder: Path, sentence: str) -> None:
    damage: list[Finding] = [f for f in verify(folder) if f.severity == "damage"]
    if damage:
        raise DataProblem(f"{sentence}: {damage[0].sentence}")
