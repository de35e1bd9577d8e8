"""Is everything there that was acknowledged?  Every checksum and every reference, compared."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from likewise.files import sha256_of
from likewise.store.catalogue import Catalogue
from likewise.store.generations import Generations
from likewise.store.segment_file import read_footer
from likewise.store.segments import Segments
from likewise.types import LikewiseError


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be.

    ``damage`` lost something that a backup may bring back; ``cache`` is rebuilt by the next
    indexing and costs time only.
    """

    severity: Literal["damage", "cache"]
    what: str
    sentence: str


_damage = partial(Finding, "damage")
_CURE = "describe its pictures anew with likewise index --retry, or"


class Named(NamedTuple):
    """A file that the catalogue names; relative path and checksum (empty: none kept)."""

    path: str
    sha256: str
    what: str


def named_files(db: sqlite3.Connection) -> list[Named]:
    """Every file that is part of the record: what a backup holds and ``verify`` reads."""
    rows = []
    for file, sha256, number in db.execute("SELECT file, sha256, id FROM segments ORDER BY id"):
        rows.append(Named(f"segments/{file}", sha256, f"segment {number}"))
    for file, sha256, number in db.execute("SELECT file, sha256, id FROM models ORDER BY id"):
        rows.append(Named(f"models/{file}", sha256, f"model {number}"))
        card = str(Path(file).with_suffix(".json"))
        rows.append(Named(f"models/{card}", "", f"the card of model {number}"))
    for file, sha256, name in db.execute("SELECT file, sha256, fingerprint FROM spaces"):
        rows.append(Named(f"spaces/{file}", sha256, f"space {name[:12]}"))
    for (sha256,) in db.execute("SELECT sha256 FROM uploads"):
        rows.append(Named(f"uploads/{sha256}", sha256, f"the uploaded picture {sha256[:12]}"))
    return rows


def verify(folder: str | os.PathLike[str]) -> list[Finding]:
    """Check a data folder; an empty list means that all is well.

    It may run while a writer works: what seems wrong is looked at twice, so that a file
    that was replaced in between is not reported.
    """
    path = Path(folder)
    findings = _examine(path)
    if findings:
        again = set(_examine(path))
        findings = [finding for finding in findings if finding in again]
    return findings


def _examine(folder: Path) -> list[Finding]:
    try:
        catalogue = Catalogue(folder, write=False)
    except LikewiseError as error:
        return [_damage("catalogue", str(error))]
    try:
        with catalogue.reading() as db:
            return list(_structure(db)) or [
                *_files(db, folder), *_references(db), *_segments(catalogue, folder),
                *_caches(catalogue, folder)
            ]  # fmt: skip
    except LikewiseError as error:
        return [_damage("catalogue", str(error))]
    finally:
        catalogue.close()


def _structure(db: sqlite3.Connection) -> Iterator[Finding]:
    try:
        rows = db.execute("PRAGMA integrity_check(20)").fetchall()
    except sqlite3.DatabaseError as error:
        rows = [(str(error),)]
    for (line,) in rows:
        if line != "ok":
            yield _damage("catalogue", f"The catalogue is damaged ({line}); restore a backup.")


def _files(db: sqlite3.Connection, folder: Path) -> Iterator[Finding]:
    for named in named_files(db):
        path, flaw, cure = folder / named.path, "", "restore it from a backup"
        if not path.is_file():
            flaw = "is missing"
        elif named.sha256 and sha256_of(path) != named.sha256:
            flaw = "does not match its checksum"
        if named.what.startswith("segment"):
            cure = f"{_CURE} {cure}"
        if flaw:
            yield _damage(named.what, f"The file of {named.what} {flaw} ({named.path}); {cure}.")


def _references(db: sqlite3.Connection) -> Iterator[Finding]:
    for table, row, other, _ in db.execute("PRAGMA foreign_key_check").fetchall():
        yield _damage(table, f"Row {row} of {table} points at a row of {other} that is not there.")
    lost = db.execute(
        "SELECT COUNT(*) FROM judgements WHERE query_kind = 'upload' "
        "AND query_value NOT IN (SELECT sha256 FROM uploads)"
    ).fetchone()[0]
    if lost:
        yield _damage("uploads", f"{lost} judgements refer to uploads that are not kept.")


def _segments(catalogue: Catalogue, folder: Path) -> Iterator[Finding]:
    segments = Segments(catalogue, folder)
    holding: dict[int, set[int]] = {}
    for segment in segments.all():
        holding[segment.id] = set(segment.contents.tolist())
        what, path = f"segment {segment.id}", segments.folder / segment.file
        if not path.is_file():
            continue  # reported with the files
        try:
            footer = read_footer(path)
        except LikewiseError as error:
            yield _damage(what, str(error))
            continue
        blocks = {name: vars(place) for name, place in segment.blocks.items()}
        if footer.get("blocks") != blocks or footer.get("contents") != len(segment.contents):
            yield _damage(what, f"The footer of {what} and the catalogue disagree.")
        elif flaw := segments.flaw(segment):
            if not segment.sha256:
                told = f"The file of {what} {flaw} ({path.name}); {_CURE} restore it from a backup."
                yield _damage(what, told)
            elif sha256_of(path) == segment.sha256:
                told = f"The checksums of {what} in the catalogue are damaged, not the file; run "
                yield _damage(what, f"{told}likewise index --retry.")
    rows = catalogue.rows("SELECT id, segment FROM contents WHERE segment IS NOT NULL")
    lost = sum(content not in holding.get(segment, ()) for content, segment in rows)
    if lost:
        told = f"{lost} contents name a segment that does not hold their vectors."
        yield _damage("contents", told)


def _caches(catalogue: Catalogue, folder: Path) -> Iterator[Finding]:
    generations = Generations(catalogue, folder)
    for generation in generations.all():
        reason = generations.unusable(generation, generation.space, again=True)
        if reason:
            yield Finding("cache", f"generation {generation.number}", reason)
    words = catalogue.number("SELECT COUNT(*) FROM words_docsize")
    items = catalogue.number("SELECT COUNT(*) FROM items WHERE removed IS NULL")
    if words != items:
        told = f"Full-text search knows {words} items, the catalogue {items}."
        yield Finding("cache", "words", told)
