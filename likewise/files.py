"""Files that are there after a power cut: write, sync, rename, sync the folder.

Every file of the data folder is written once, so a reader sees either all of it or nothing, and a
checksum made while writing stays true.  Only what is forgotten is overwritten with zeros in place;
checksums are those of the file with these zeros, so they hold before, while and after that is done.
"""

from __future__ import annotations

import bisect
import contextlib
import errno
import hashlib
import itertools
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from likewise.open_files import TOO_MANY, spare, too_many
from likewise.types import Busy, DataProblem

TEMPORARY = ".tmp-"
"""How the name of a file or folder begins that is not finished; swept away on opening."""

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_PERMISSION = {errno.EACCES, errno.EPERM, errno.EROFS}


def sync_file(descriptor: int) -> None:
    """Wait until the bytes of an open file are on the disk, not only in its cache."""
    try:
        import fcntl

        full = getattr(fcntl, "F_FULLFSYNC", None)  # macOS: fsync alone stops at the drive's cache
        if full is not None:
            fcntl.fcntl(descriptor, full)
            return
    except (ImportError, OSError):
        pass
    os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder (or the bytes of a file) are on the disk."""
    if os.name == "nt":  # a folder cannot be opened there, and NTFS journals its names
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(
    path: Path, chunks: Iterable[Any], *, durable: bool = True, private: bool = False
) -> tuple[str, int]:
    """Write chunks of bytes aside, sync them, and give the file its name in one step.

    Its folder is made where it is missing.  Unless ``durable`` (for caches) it is whole or absent,
    but not synced; if ``private``, only the owner may read it.  Gives SHA-256 in hex and the size.
    """
    make_folder(path.parent, durable=durable)
    aside = path.parent / (TEMPORARY + secrets.token_hex(8))
    digest, size = hashlib.sha256(), 0
    try:
        mode = 0o600 if private else 0o666
        with open(aside, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            for chunk in chunks:
                view = memoryview(chunk).cast("B")
                digest.update(view)
                size += file.write(view)
            file.flush()
            if durable:
                sync_file(file.fileno())
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise
    if durable:
        sync_folder(path.parent)
    return digest.hexdigest(), size


def make_folder(folder: Path, *, durable: bool = True) -> None:
    """Make a folder and those above it that are missing, and sync their names."""
    if folder.is_dir():
        return
    make_folder(folder.parent, durable=durable)
    folder.mkdir(exist_ok=True)
    if durable:
        sync_folder(folder.parent)


Spans = Sequence[Sequence[int]]
"""Parts of a file, each as its first byte and the one after its last; in order, and apart."""


def sha256_of(path: Path, blank: Spans = ()) -> str:
    """SHA-256 of a file's bytes, in hex; with zeros where it is to be blank."""
    with open(path, "rb", buffering=0) as file:
        if not blank:
            return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha256()
        while chunk := file.read(1 << 20):
            digest.update(blanked(chunk, file.tell() - len(chunk), blank))
        return digest.hexdigest()


def blanked(data: bytes, at: int, blank: Spans) -> bytearray:
    """What a file holds from a byte on, with zeros where it is to be blank."""
    out, end = bytearray(data), at + len(data)
    first = bisect.bisect_right(blank, at, key=lambda span: span[1])
    for start, stop in itertools.takewhile(lambda span: span[0] < end, blank[first:]):
        low, high = max(start, at) - at, min(stop, end) - at
        out[low:high] = bytes(high - low)
    return out


def overwrite(path: Path, blank: Spans, folder: Path) -> None:
    """Write zeros into parts of a file, on the disk when this returns.

    Where the file has another name too (a backup of links), that one keeps its bytes: a copy, made
    in ``folder``, takes its place here.
    """
    target = path
    if path.stat().st_nlink > 1:
        target = folder / (TEMPORARY + secrets.token_hex(8))
        copy_file(path, target)
    with open(target, "rb+") as file:
        for start, stop in blank:
            file.seek(start)
            file.write(bytes(stop - start))
        file.flush()
        sync_file(file.fileno())
    if target != path:
        os.replace(target, path)
        sync_folder(path.parent)


def copy_file(source: Path, target: Path, *, link: bool = False) -> None:
    """Copy a file, synced, or ``link`` it where that can be."""
    import shutil

    if link:
        with contextlib.suppress(PermissionError, NotImplementedError):
            try:
                os.link(source, target)
                return
            except OSError as error:
                if isinstance(error, FileNotFoundError):
                    raise
    try:
        shutil.copyfile(source, target)
        source.stat()  # what loses its name meanwhile may be overwritten: it is not there any more
    except BaseException:
        remove_file(target)  # half a file must not count as copied
        raise
    with open(target, "rb+") as file:
        sync_file(file.fileno())


def read_checked(path: Path, sha256: str, what: str) -> bytes:
    """All bytes of a small file, once its checksum has been found right."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DataProblem(
            f"The file of {what} is missing ({path.name}); restore it from a backup."
        ) from None
    if hashlib.sha256(data).hexdigest() != sha256:
        raise DataProblem(
            f"The file of {what} is damaged ({path.name} does not match its checksum); "
            "restore it from a backup."
        )
    return data


_SEAL = b"likewise sha256\0"


def sealed(data: bytes) -> list[bytes]:
    """A file of a cache and its checksum behind it, in chunks to be written."""
    return [data, _SEAL, hashlib.sha256(data).digest()]


def unsealed(data: bytes, *, older: bool = False) -> bytes | None:
    """What :func:`sealed` was given, None where it is damaged; ``older`` takes files without."""
    end = len(data) - 32
    if data[end - len(_SEAL) : end] != _SEAL:
        return data if older else None
    kept = data[: end - len(_SEAL)]
    return kept if hashlib.sha256(kept).digest() == data[end:] else None


def remove_file(path: Path) -> None:
    """Remove a file that may be gone already."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def sweep(folder: Path, named: set[str]) -> list[str]:
    """Remove the files and folders of ``folder`` that nothing names; gives what was removed."""
    import shutil

    removed = []
    if folder.is_dir():
        for entry in sorted(folder.iterdir()):
            if entry.name in named:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                remove_file(entry)
            removed.append(entry.name)
    return removed


@contextlib.contextmanager
def plain_errors(folder: Path) -> Iterator[None]:
    """Say in one sentence what the system or SQLite said in a code."""
    try:
        yield
    except sqlite3.Error as error:
        raise _of_sqlite(error, folder) from error
    except OSError as error:
        named = _of_system(error, folder)
        if named is None:
            raise
        raise named from error


def _of_system(error: OSError, folder: Path) -> DataProblem | None:
    if error.errno in TOO_MANY:
        return too_many()
    if error.errno in _NO_ROOM:
        return _full(folder)
    if error.errno in _NO_PERMISSION:
        return _read_only(folder)
    if error.errno == errno.EIO:
        return DataProblem(
            f"The disk that holds {folder} reports errors; copy the data folder to a sound disk."
        )
    return None


def _of_sqlite(error: sqlite3.Error, folder: Path) -> DataProblem | Busy:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC")):
        return _full(folder)
    if name.startswith("SQLITE_CANTOPEN"):
        try:
            spare(3)  # the file, its log, their shared memory
        except OSError as no_more:
            return _of_system(no_more, folder) or _read_only(folder)
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return _read_only(folder)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Busy(
            f"Another process keeps the catalogue in {folder} locked; wait for it, then try again."
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return DataProblem(
            f"The catalogue in {folder} is damaged ({error}); restore it from a backup."
        )
    return DataProblem(f"The catalogue in {folder} could not be used: {error}.")


def _full(folder: Path) -> DataProblem:
    return DataProblem(
        f"The disk that holds {folder} has no room left; free some space and start again: "
        "what was acknowledged before is kept."
    )


def _read_only(folder: Path) -> DataProblem:
    return DataProblem(
        f"The data folder {folder} cannot be written; change its permissions or choose another "
        "data folder (reading and searching still work)."
    )
