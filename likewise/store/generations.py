"""Index generations: numbered caches, built aside, checksummed, published in one step.

A generation is a folder of files that an index wrote, and a manifest with the checksum of
each.  It becomes visible by a rename and one transaction.  Before an index parses a byte
of it, every checksum is compared (:mod:`likewise.store.checks`); a generation that does not
match is reported with its reason and never served.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likewise import files
from likewise.files import TEMPORARY, Spans, plain_errors, sync_folder
from likewise.store.catalogue import Catalogue
from likewise.store.checks import MANIFEST, Check, check, remember
from likewise.store.settings import Settings
from likewise.types import BadInput, IdArray

FOLDER = "generations"
THINNED = "thinned"
"""Setting of a generation that was copied without what was forgotten, and waits for a build."""
CHANGE = "change"
"""Setting of a generation: the counter of changes when the items that it holds were listed."""
OF_ROWS = ("contents.npy", "ids.npy", "codes.npy", "bare.npy")
"""Files of a generation that have a row an item."""
_BLANK = "generations.blank"
KEEP = 2
"""A reader that has just looked up the newest may still be opening its files when the next
appears, so the one before stays."""


@dataclass(frozen=True)
class Generation:
    """One published index: where it lies and what it was made from."""

    number: int
    line: str
    kind: str
    space: str
    segment: int
    items: int
    manifest: str
    settings: Mapping[str, Any]
    made: float
    folder: Path


class Generations:
    """Published indexes by line: ``main``, or another where a model needs its own codes."""

    def __init__(self, catalogue: Catalogue, folder: Path) -> None:
        self._catalogue, self.folder = catalogue, folder / FOLDER
        self._settings, self._listed = Settings(catalogue), (0, dict[str, Any]())

    @contextlib.contextmanager
    def build(self) -> Iterator[Path]:
        """An empty folder aside for an index to write its files into.

        What is not published inside the block is removed when it is left.
        """
        with plain_errors(self._catalogue.folder):
            files.make_folder(self.folder)
            aside = self.folder / (TEMPORARY + secrets.token_hex(8))
            aside.mkdir()
            try:
                yield aside
            finally:
                shutil.rmtree(aside, ignore_errors=True)

    def publish(
        self, aside: Path, *, space: str, kind: str, segment: int, items: int, line: str = "main",
        settings: Mapping[str, Any] | None = None, blank: Mapping[str, Spans] | None = None
    ) -> Generation:  # fmt: skip
        """Make a folder of :meth:`build` the newest generation of its line.

        ``space`` is the fingerprint of the space its codes came from, ``segment`` the newest that
        it covers (:meth:`Segments.last` when its reading began).  ``blank`` says by file where
        zeros count as written.
        """
        with plain_errors(self._catalogue.folder):
            listed, manifest = _write_manifest(aside, space, kind, blank or {})
            with self._catalogue.transaction() as db:
                number = self._next()
                target = self.folder / f"{number:06d}"
                self._catalogue.on_rollback(lambda: shutil.rmtree(target, ignore_errors=True))
                aside.rename(target)
                sync_folder(self.folder)
                remember(target, listed)
                self._listed = number, listed
                db.execute(
                    "INSERT INTO generations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (number, line, kind, space, segment, items, manifest,
                     json.dumps(dict(settings or {})), time.time()),
                )  # fmt: skip
                old = [g for g in self.all() if g.line == line][:-KEEP]
                for generation in old:
                    self._withdraw(generation)
        found = self.current(line)
        assert found is not None
        return found

    def current(self, line: str = "main") -> Generation | None:
        """The newest generation of a line, unchecked; None where there is none."""
        found = [g for g in self.all() if g.line == line]
        return found[-1] if found else None

    def check(self, generation: Generation, space: str, *, again: bool = False) -> Check:
        """Compare a generation with its checksums; see :func:`likewise.store.checks.check`."""
        if generation.space != space:
            other = f"Index generation {generation.number} was built for another space."
            return Check().end(other)
        return check(generation.folder, generation.number, generation.manifest, again=again)

    def unusable(self, generation: Generation, space: str, *, again: bool = False) -> str:
        """Why a generation must not be served, as a sentence; empty where it may be.

        With ``again`` every file is read, also those that this process has compared before.
        """
        return self.check(generation, space, again=again).wait()

    def thin(self, contents: Iterable[int]) -> None:
        """Let no generation hold codes of these contents any more.

        The newest one becomes one of zeros in their rows (:meth:`blank` writes them), for a scan of
        what is left; all others go, and it too where its folder is no sound table of codes.
        """
        now, kept = self.current(), 0
        if now and (now.folder / OF_ROWS[0]).is_file() and not self.unusable(now, now.space):
            kept = self._without(now, np.fromiter(contents, np.int64)).number
        for generation in self.all():
            if generation.number != kept:
                self._withdraw(generation)

    def _without(self, of: Generation, gone: IdArray) -> Generation:
        rows = np.flatnonzero(np.isin(np.load(of.folder / OF_ROWS[0]), gone)).tolist()
        known = json.loads((of.folder / MANIFEST).read_text())["files"]
        blank: dict[str, list[Any]] = {}
        with self.build() as aside:
            for path in of.folder.glob("*.npy"):
                files.copy_file(path, aside / path.name, link=True)
                if path.name in OF_ROWS[2:]:
                    codes = np.load(path, mmap_mode="r")
                    at, width = codes.offset, codes.strides[0]
                    before = {tuple(span) for spans in known[path.name][2:] for span in spans}
                    new = {(at + row * width, at + row * width + width) for row in rows}
                    blank[path.name] = sorted(before | new)
            # Nothing is left to do where a scan serves anyway, and no code took in another.
            whole = of.kind == "flat" and not (of.folder / OF_ROWS[-1]).is_file()
            told = {CHANGE: of.settings[CHANGE]} if CHANGE in of.settings else {}
            made = self.publish(
                aside, space=of.space, kind="flat", segment=of.segment, items=of.items - len(rows),
                line=of.line, settings=told if whole else {**told, THINNED: True}, blank=blank,
            )  # fmt: skip
        self._settings.set(_BLANK, made.number)
        return made

    def blank(self) -> None:
        """Write zeros over what was thinned, where that was not done yet."""
        if number := self._settings.get(_BLANK):
            with self._catalogue.transaction():
                for folder in [g.folder for g in self.all() if g.number == number]:
                    listed = json.loads((folder / MANIFEST).read_text())["files"]
                    for name, (_, _, *spans) in listed.items():
                        if spans:
                            files.overwrite(folder / name, spans[0], self.folder)
                    if self._listed[0] == number:
                        remember(folder, self._listed[1])
                self._settings.remove(_BLANK)

    def withdraw(self, line: str | None = None) -> None:
        """Take back every generation (of one line), so that answers are exact until a rebuild."""
        with self._catalogue.transaction():
            for generation in self.all():
                if line in (None, generation.line):
                    self._withdraw(generation)

    def all(self) -> list[Generation]:
        """Every published generation, oldest first."""
        rows = self._catalogue.rows("SELECT * FROM generations ORDER BY number")
        return [
            Generation(*(*r[:7], json.loads(r[7]), r[8], self.folder / f"{r[0]:06d}")) for r in rows
        ]

    def sweep(self) -> list[str]:
        """Remove folders that were never published or were withdrawn."""
        return files.sweep(self.folder, {generation.folder.name for generation in self.all()})

    def _withdraw(self, generation: Generation) -> None:
        with self._catalogue.transaction() as db:
            db.execute("DELETE FROM generations WHERE number = ?", (generation.number,))
            self._catalogue.after_commit(
                lambda: shutil.rmtree(generation.folder, ignore_errors=True)
            )

    def _next(self) -> int:
        # Numbers are never used twice, also not those of withdrawn generations.
        with self._catalogue.transaction() as db:
            db.execute(
                "INSERT INTO settings VALUES ('generations.number', '1') ON CONFLICT (name) "
                "DO UPDATE SET value = CAST(value AS INTEGER) + 1"
            )
            row = db.execute("SELECT value FROM settings WHERE name = 'generations.number'")
            return int(row.fetchone()[0])


def _write_manifest(
    aside: Path, space: str, kind: str, blank: Mapping[str, Spans]
) -> tuple[dict[str, Any], str]:
    listed: dict[str, Any] = {}
    for path in sorted(p for p in aside.rglob("*") if p.is_symlink() or not p.is_dir()):
        name = path.relative_to(aside).as_posix()
        if path.is_symlink() or name == MANIFEST:
            raise BadInput(f"An index generation is a folder of plain files; {name} is not one.")
        with open(path, "rb+") as file:
            files.sync_file(file.fileno())
        own = (blank[name],) if name in blank else ()
        listed[name] = (path.stat().st_size, files.sha256_of(path, *own), *own)
    for folder in sorted({aside / Path(name).parent for name in listed}):
        sync_folder(folder)
    if not listed:
        raise BadInput("An index generation needs at least one file; let the index save itself.")
    text = json.dumps({"format": 1, "space": space, "kind": kind, "files": listed}, indent=1)
    return listed, files.write_file(aside / MANIFEST, [text.encode()])[0]
