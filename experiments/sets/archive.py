"""Where the data sets are kept, what their files should be, and reading them safely.

The folder is the one that the environment variable ``LIKEWISE_DATA`` names, else
``likewise`` in the user's cache folder.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import sys
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.types import DataProblem, NotFound

VARIABLE = "LIKEWISE_DATA"
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, NotImplementedError)


class MissingData(NotFound, FileNotFoundError):
    """A data set is not in the data folder; the sentence says where to get it."""


class OtherVersion(UserWarning):
    """A data file loads, but is not the one that the published figures were measured with."""


@dataclass(frozen=True)
class Source:
    """A data file: its name, what we know of it, and where the public gets the original."""

    title: str
    file: str
    size: int
    sha256: str
    home: str
    also: str = ""
    """Original files that the loader reads as well, for the sentence of the error."""


def data_folder(folder: str | Path | None = None) -> Path:
    """The folder that data sets are looked for in."""
    if folder is not None:
        return Path(folder)
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "likewise"


def missing(source: Source, folder: Path) -> MissingData:
    """The error for a data set that is not there."""
    also = f" (or {source.also})" if source.also else ""
    return MissingData(
        f"{source.title} is not in {folder}: put {source.file}{also} there or set {VARIABLE} to "
        f"the folder that holds it; the original is at {source.home}, and docs/data.md says "
        "how the file is laid out."
    )


def check_size(source: Source, path: Path) -> None:
    """Warn if a file is not the one we know, judged by its size."""
    size = path.stat().st_size
    if size != source.size:
        warnings.warn(
            f"{path} has {size} bytes where the known {source.file} has {source.size}: it is "
            "another version, so figures may differ from the published ones.",
            OtherVersion,
            stacklevel=3,
        )


def is_known(source: Source, folder: str | Path | None = None) -> bool:
    """Whether the file of a source is, byte for byte, the one that figures were measured with."""
    path = data_folder(folder) / source.file
    if not path.is_file():
        raise missing(source, path.parent)
    if path.stat().st_size != source.size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == source.sha256


def damaged(path: Path, error: Exception) -> DataProblem:
    """The error for a file that is truncated or not what its name says."""
    return DataProblem(
        f"{path} is damaged or not the expected file ({error}); get a new copy of it."
    )


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an npz file (never pickled ones)."""
    try:
        # Opened here, because numpy leaves the file open when it finds it damaged.
        with path.open("rb") as file:
            arrays = np.load(file, allow_pickle=False)
            if not isinstance(arrays, np.lib.npyio.NpzFile):
                raise DataProblem(f"{path} holds no named arrays; an .npz file is expected.")
            return {name: arrays[name] for name in arrays.files}
    except _DAMAGED as error:
        raise damaged(path, error) from error


@dataclass(frozen=True, eq=False)
class Archive:
    """Members of a zip file, or the same files in a folder."""

    path: Path

    @cached_property
    def _zip(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except _DAMAGED as error:
            raise damaged(self.path, error) from error

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}  # an open zip file cannot go to another process

    def read(self, member: str) -> bytes:
        """The bytes of a member."""
        if self.path.is_dir():
            try:
                return (self.path / member).read_bytes()
            except OSError as error:
                raise DataProblem(f"{self.path} lacks {member} ({error.strerror}).") from error
        try:
            return self._zip.read(member)
        except KeyError as error:
            raise DataProblem(
                f"{self.path} lacks {member}; docs/data.md says what belongs in it."
            ) from error
        except _DAMAGED as error:
            raise damaged(self.path, error) from error

    def text(self, member: str) -> str:
        """A member as text."""
        try:
            return self.read(member).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise damaged(self.path / member, error) from error

    def table(self, member: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
        """Rows of a CSV member that has at least these columns."""
        rows = csv.DictReader(io.StringIO(self.text(member), newline=""))
        lacking = [column for column in columns if column not in (rows.fieldnames or ())]
        if lacking:
            raise DataProblem(f"{member} of {self.path} lacks the column {', '.join(lacking)}.")
        table = list(rows)
        for line, row in enumerate(table, start=2):
            if any(row[column] is None for column in columns):
                raise DataProblem(f"Row {line} of {member} in {self.path} is cut short.")
        if not table:
            raise DataProblem(f"{member} of {self.path} names no pictures.")
        return table


def open_archive(source: Source, folder: str | Path | None = None) -> Archive:
    """The archive of a source: its zip file, or a folder of the same name without ``.zip``."""
    place = data_folder(folder)
    path = place / source.file
    if path.is_file():
        check_size(source, path)
        return Archive(path)
    unpacked = place / Path(source.file).stem
    if (unpacked / "labels.csv").is_file():
        return Archive(unpacked)
    raise missing(source, place)
