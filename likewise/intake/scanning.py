"""Which picture files a folder holds: names, sizes and times, without opening them."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from likewise.intake import HEIF_BRANDS
from likewise.store import Seen
from likewise.types import DataProblem

RAW = frozenset(
    b".3fr .arw .cr2 .cr3 .crw .dcr .dng .erf .iiq .kdc .mef .mos .mrw .nef .nrw .orf .pef .raf "
    b".rw2 .rwl .sr2 .srf .srw .x3f".split()
)
DEVELOPED = frozenset(b".jpg .jpeg .jpe .heic .heif .hif".split())
"""What a camera writes beside a RAW file of the same shot ..."""
FILMS = frozenset(b".mov .mp4".split())
"""... and a phone beside a picture, as the film of a Live Photo."""
EXTENSIONS = RAW | DEVELOPED | set(b".jfif .png .gif .webp .avif .bmp .dib .tif .tiff .jxl".split())
_BRANDS = (*HEIF_BRANDS, b"avif", b"avis", b"crx ")
_MAGIC = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"RIFF", b"BM", b"II*\x00", b"MM\x00*")

STRETCH = 200
"""Files between two rests."""

REST = 0.002
"""Seconds that a walk through a folder leaves to other threads, to searches for instance."""


@dataclass
class Scan:
    """What a walk over the folder found."""

    files: list[Seen] = field(default_factory=list)
    unreachable: dict[bytes, str] = field(default_factory=dict)
    """Folders that are there but cannot be listed or looked into, with the reason."""
    dead_links: dict[bytes, str] = field(default_factory=dict)
    """Links that lead nowhere now."""
    disks: dict[bytes, int] = field(default_factory=dict)
    """Folders on another device than the folder that holds them, with its number."""


def scan(folder: bytes, leave_out: bytes | None = None, others: Sequence[bytes] = ()) -> Scan:
    """Walk a folder recursively, and ``others`` (whose files are named by their whole path).

    Hidden files and folders, and the data folder (``leave_out``), are passed over, and so is a RAW
    file beside a JPEG or HEIC of the same stem: both are one shot.  Links are followed, each real
    folder once, so that loops end.  Another folder that cannot be reached, or goes away meanwhile,
    is unreachable.
    """
    result, visited = Scan(), set[tuple[int, int]]()
    skip = _identity(leave_out) if leave_out else None

    def take(start: bytes, root: os.stat_result) -> None:
        for seen in _walk(folder, start, root, skip, result, visited):
            result.files.append(seen)
            if len(result.files) % STRETCH == 0 and threading.active_count() > 1:
                time.sleep(REST)

    for other in others:
        try:
            facts = os.stat(other)
            result.disks[other] = facts.st_dev
            take(other, facts)
            os.stat(other)  # a drive that was pulled out meanwhile was not read to its end
        except OSError as error:
            result.unreachable[other] = _reason(error)
    try:
        take(b"", os.stat(folder))
    except OSError as error:
        raise DataProblem(
            f"The folder {os.fsdecode(folder)} cannot be reached ({error.strerror}); nothing was "
            "changed. Mount or restore it and run this again."
        ) from None
    return result


def _walk(
    top: bytes,
    start: bytes,
    root: os.stat_result,
    skip: tuple[int, int] | None,
    result: Scan,
    visited: set[tuple[int, int]],
) -> Iterator[Seen]:
    """Files below ``start``, a folder named relative to ``top``, or by its whole path."""
    visited.add((root.st_dev, root.st_ino))
    waiting = [(start, root.st_dev)]
    while waiting:
        here, device = waiting.pop()
        where = os.path.join(top, here) if here else top
        try:
            with os.scandir(where) as listing:
                entries = sorted(listing, key=lambda e: e.name)
        except OSError as error:
            if here == start:
                raise
            if not isinstance(error, FileNotFoundError):  # else deleted since its parent was listed
                result.unreachable[here] = _reason(error)
            continue
        folders = []
        developed = {stem for stem, ending in map(_parts, entries) if ending in DEVELOPED}
        for entry in entries:
            stem, ending = _parts(entry)
            if entry.name.startswith(b".") or (ending in RAW and stem in developed):
                continue
            path = os.path.join(here, entry.name) if here else entry.name
            try:
                facts = entry.stat()
            except OSError as error:
                if entry.is_symlink():
                    result.dead_links[path] = _reason(error)
                elif not isinstance(error, FileNotFoundError):
                    result.unreachable[here] = _reason(error)
                continue  # else it is gone since the folder was listed
            if stat.S_ISDIR(facts.st_mode):
                identity = (facts.st_dev, facts.st_ino)
                if facts.st_dev != device:
                    result.disks[path] = facts.st_dev
                if identity != skip and identity not in visited:
                    visited.add(identity)
                    folders.append((path, facts.st_dev))
            elif stat.S_ISREG(facts.st_mode) and _may_be_picture(entry, facts.st_size):
                yield Seen(path, facts.st_size, facts.st_mtime_ns)
        waiting.extend(reversed(folders))


def companions(path: bytes) -> list[bytes]:
    """Files of the same shot beside a picture, which are no items: its RAW file, its film."""
    folder, name = os.path.split(path)
    stem, own = os.path.splitext(name.lower())
    shot = {(stem, ending) for ending in RAW | FILMS} if own in DEVELOPED else set()
    try:
        return sorted(x for x in os.listdir(folder) if os.path.splitext(x.lower()) in shot)
    except OSError:
        return []


def _parts(entry: os.DirEntry[bytes]) -> tuple[bytes, bytes]:
    """Stem and ending of a name, in small letters: cameras and computers disagree on case."""
    return os.path.splitext(entry.name.lower())


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _may_be_picture(entry: os.DirEntry[bytes], size: int) -> bool:
    extension = _parts(entry)[1]
    if extension in EXTENSIONS:
        return True
    if extension or size < 12:
        return False
    try:  # no extension at all: look at the first bytes
        with open(entry.path, "rb") as file:
            head = file.read(12)
    except OSError:
        return False
    return head.startswith(_MAGIC) or (head[4:8] == b"ftyp" and head[8:12] in _BRANDS)


def _identity(path: bytes) -> tuple[int, int] | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino
