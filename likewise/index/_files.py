"""An index on disk: a folder of plain files and a manifest with a SHA-256 for each.

The folder is written aside and renamed into place, so that a reader sees all of it or
nothing.  On the way back every checksum is compared before any byte is interpreted:
the engines' own readers are not made for damaged files.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.files import sha256_of, sync_folder
from likewise.types import BadInput, DataProblem

MANIFEST = "manifest.json"
FORMAT = 1
# Below this size a memory map saves nothing (and numpy cannot map an empty array).
_SMALL = 1 << 16

Writer = Callable[[Path], None]


def array_writer(array: NDArray[Any]) -> Writer:
    """What writes one array as a ``.npy`` file."""

    def write(path: Path) -> None:
        with open(path, "wb") as file:
            np.lib.format.write_array(file, array, allow_pickle=False)

    return write


def write_folder(folder: Path, manifest: Mapping[str, Any], writers: Mapping[str, Writer]) -> None:
    """Write all files and the manifest aside, then rename the whole into place."""
    folder = Path(folder)
    if folder.exists() and not _replaceable(folder):
        raise BadInput(
            f"{folder} exists and is not an index; name a new folder, so that nothing is lost."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = folder.parent / f".{folder.name}.{uuid.uuid4().hex[:8]}.new"
    aside.mkdir()
    try:
        files = {}
        for name, write in writers.items():
            write(aside / name)
            sync_folder(aside / name)
            files[name] = sha256_of(aside / name)
        entry = {"format": FORMAT, **manifest, "files": files}
        text = json.dumps({**entry, "sha256": _digest(entry)}, indent=1)
        (aside / MANIFEST).write_text(text, encoding="utf-8")
        sync_folder(aside / MANIFEST)
        sync_folder(aside)
        _publish(aside, folder)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a saved index, if it is whole."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise DataProblem(f"There is no index in {folder}: build it, and save it there.") from None
    except ValueError:
        raise _damaged(path) from None
    if not isinstance(manifest, dict) or manifest.pop("sha256", None) != _digest(manifest):
        raise _damaged(path)
    if manifest.get("format") != FORMAT:
        raise DataProblem(
            f"The index in {folder} has format {manifest.get('format')!r}, and this version reads "
            f"{FORMAT}; build the index anew or use the version of likewise that wrote it."
        )
    return manifest


class SavedFolder:
    """A saved index of a kind whose checksums all agree: manifest, arrays and paths.

    ``mmap`` leaves large arrays on disk; ``compared``: the caller has compared the checksums.
    """

    def __init__(
        self, folder: str | Path, kind: str, *, mmap: bool, compared: bool = False
    ) -> None:
        self.folder, self.mmap = Path(folder), mmap
        self.manifest = read_manifest(self.folder)
        if (found := self.manifest.get("kind")) != kind:
            raise DataProblem(
                f"The index in {folder} is of the kind {found!r}, not {kind!r}; load it "
                "with likewise.index.load."
            )
        for name, expected in () if compared else self.manifest["files"].items():
            try:
                digest = sha256_of(self.folder / name)
            except OSError:
                raise DataProblem(
                    f"The file {name} of the index in {folder} is missing; build the index anew."
                ) from None
            if digest != expected:
                raise _damaged(self.folder / name)

    def __contains__(self, name: str) -> bool:
        return name in self.manifest["files"]

    def path(self, name: str) -> Path:
        """Where a file lies that the manifest lists (and the checksum vouches for)."""
        if name not in self:
            raise DataProblem(
                f"The index in {self.folder} has no file {name}; build the index anew."
            )
        return self.folder / name

    def array(self, name: str) -> NDArray[Any]:
        """An array, mapped from disk when it is large and mapping was asked for."""
        path = self.path(name)
        mapped = self.mmap and path.stat().st_size >= _SMALL
        try:
            array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        except (ValueError, OSError):
            raise _damaged(path) from None
        # The base class, because a memmap pays for its bookkeeping with every slice.
        return np.asarray(array)


def _replaceable(folder: Path) -> bool:
    return folder.is_dir() and ((folder / MANIFEST).is_file() or not any(folder.iterdir()))


def _publish(aside: Path, folder: Path) -> None:
    old = None
    if folder.exists():
        old = folder.parent / f".{folder.name}.{uuid.uuid4().hex[:8]}.old"
        os.rename(folder, old)
    os.rename(aside, folder)
    sync_folder(folder.parent)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def _digest(entry: Mapping[str, Any]) -> str:
    text = json.dumps(entry, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _damaged(path: Path) -> DataProblem:
    return DataProblem(f"{path} is damaged (its checksum does not agree); build the index anew.")
