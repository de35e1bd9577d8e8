"""Is an index what was published?  Every file against its checksum, large ones in the background.

What has been compared once is remembered for as long as the process lives, by the identity,
size and times of the file: whoever writes to it changes one of them (its time of change cannot be
put back), so it is compared again.  Decay under a process that has read the file is beyond that;
the next process finds it.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from likewise.files import Spans, sha256_of

MANIFEST = "manifest.json"

AT_ONCE = 512 << 20
"""Bytes that are compared before anything is served, which takes less than a second.  What is
left of a larger index is compared in the background."""

_REMEMBERED = 4096
_compared: dict[Path, tuple[str, tuple[int, ...], bool]] = {}
_running: dict[Path, Check] = {}
_lock = threading.Lock()


class Check:
    """A comparison that may still be going on; ``reason`` says why not to serve the index."""

    def __init__(self) -> None:
        self.reason = ""
        self._over = threading.Event()

    @property
    def is_over(self) -> bool:
        """Whether every file has been compared, or one was found that differs."""
        return self._over.is_set()

    def wait(self) -> str:
        """The reason, once it is known."""
        self._over.wait()
        return self.reason

    def end(self, reason: str) -> Check:
        """Let everybody know."""
        self.reason = reason
        self._over.set()
        return self


class _File(NamedTuple):
    path: Path
    name: str
    size: int
    sha256: str
    blank: Spans = ()

    def mark(self) -> tuple[int, ...]:
        now = self.path.stat()
        return now.st_size, now.st_dev, now.st_ino, now.st_mtime_ns, now.st_ctime_ns

    def remembered(self) -> bool | None:
        """What an earlier comparison found, None where there was none."""
        known = _compared.get(self.path)
        return known[2] if known is not None and known[:2] == (self.sha256, self.mark()) else None

    def remember(self, mark: tuple[int, ...], whole: bool) -> None:
        with _lock:
            _compared[self.path] = (self.sha256, mark, whole)
            while len(_compared) > _REMEMBERED:
                _compared.pop(next(iter(_compared)))

    def is_whole(self, *, again: bool) -> bool:
        known = None if again else self.remembered()
        if known is None:
            mark = self.mark()
            known = mark[0] == self.size and sha256_of(self.path) == self.sha256
            if self.blank and not known:  # its zeros may not all be written yet
                known = mark[0] == self.size and sha256_of(self.path, self.blank) == self.sha256
            self.remember(mark, known)
        return known


def remember(folder: Path, files: Mapping[str, Any]) -> None:
    """Spare this process a comparison of files whose checksums it has just made."""
    for name, facts in files.items():
        file = _File(folder / name, name, *facts)
        file.remember(file.mark(), True)


def check(folder: Path, number: int, manifest: str, *, again: bool = False) -> Check:
    """Compare a generation's manifest with its checksum, and its files with those it lists.

    The smallest files come first, up to ``AT_ONCE`` bytes; what is left is compared in the
    background, once for all who ask.  With ``again`` every byte is read before this returns.
    """
    made, what = Check(), f"index generation {number}"
    try:
        text = (folder / MANIFEST).read_bytes()
        if hashlib.sha256(text).hexdigest() != manifest:
            return made.end(f"The manifest of {what} is damaged.")
        listed = [
            _File(folder / name, name, *facts) for name, facts in json.loads(text)["files"].items()
        ]
        present = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir()}
        other = sorted({MANIFEST, *(file.name for file in listed)} ^ present)
        if other:
            return made.end(f"One file of {what} is missing, or too many: {other[0]}.")
        now: list[_File] = []
        later: list[_File] = []
        room = AT_ONCE
        for file in sorted(listed, key=lambda file: file.size):
            cost = 0 if again or file.remembered() is not None else file.size
            (now if cost <= room else later).append(file)
            room -= cost
    except OSError as error:
        name = Path(str(error.filename)).name
        return made.end(f"File {name} of {what} is missing or cannot be read.")
    reason = _compare(now, what, again=again)
    if reason or not later:
        return made.end(reason)
    with _lock:
        if folder not in _running:
            _running[folder] = made
            threading.Thread(
                target=_go_on, args=(made, folder, later, what), name="check", daemon=True
            ).start()
        return _running[folder]


def _go_on(made: Check, folder: Path, files: list[_File], what: str) -> None:
    reason = f"The files of {what} could not be compared with their checksums."
    try:
        reason = _compare(files, what, again=False)
    finally:
        with _lock:
            del _running[folder]
        made.end(reason)


def _compare(files: Iterable[_File], what: str, *, again: bool) -> str:
    """The first file that is missing or differs, in a sentence."""
    for file in files:
        try:
            if not file.is_whole(again=again):
                return f"File {file.name} of {what} is damaged."
        except OSError:
            return f"File {file.name} of {what} is missing or cannot be read."
    return ""
