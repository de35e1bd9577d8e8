"""Pictures that are decoded when they are asked for: sequences of height x width x 3 arrays."""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from experiments.sets.archive import Archive
from likewise.types import DataProblem

Picture = NDArray[np.uint8]


class Pictures(Sequence[Picture]):
    """A sequence of pictures, each sRGB, uint8, made anew at every access."""

    @abstractmethod
    def load(self, number: int) -> Picture:
        """The picture with this number, from 0 on."""

    @overload
    def __getitem__(self, key: int) -> Picture: ...
    @overload
    def __getitem__(self, key: slice) -> list[Picture]: ...
    def __getitem__(self, key: int | slice) -> Picture | list[Picture]:
        if isinstance(key, slice):
            return [self.load(i) for i in range(*key.indices(len(self)))]
        number = int(key) + (len(self) if key < 0 else 0)
        if not 0 <= number < len(self):
            raise IndexError(f"There are {len(self)} pictures; number {key} is not among them.")
        return self.load(number)


@dataclass(frozen=True, eq=False)
class ArrayPictures(Pictures):
    """Pictures out of one array: n x height x width (grey) or n x height x width x 3."""

    array: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.array)

    def load(self, number: int) -> Picture:
        """The picture with this number."""
        picture = self.array[number]
        return np.stack([picture] * 3, axis=-1) if picture.ndim == 2 else picture.copy()


@dataclass(frozen=True, eq=False)
class EncodedPictures(Pictures):
    """Encoded pictures one after the other: number i is ``data[offsets[i]:offsets[i + 1]]``."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def load(self, number: int) -> Picture:
        """The picture with this number."""
        piece = self.data[self.offsets[number] : self.offsets[number + 1]]
        return decode(piece.tobytes(), f"Picture {number}")


@dataclass(frozen=True, eq=False)
class ArchivePictures(Pictures):
    """Members of a zip archive (or files of a folder that was unpacked from it)."""

    archive: Archive
    members: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.members)

    def load(self, number: int) -> Picture:
        """The picture with this number."""
        member = self.members[number]
        return decode(self.archive.read(member), f"{member} in {self.archive.path}")


@dataclass(frozen=True, eq=False)
class FilePictures(Pictures):
    """Picture files."""

    paths: tuple[Path, ...]

    def __len__(self) -> int:
        return len(self.paths)

    def load(self, number: int) -> Picture:
        """The picture with this number."""
        path = self.paths[number]
        try:
            data = path.read_bytes()
        except OSError as error:
            raise DataProblem(f"{path} cannot be read any more ({error.strerror}).") from error
        return decode(data, str(path))


def decode(data: bytes, name: str) -> Picture:
    """An encoded picture as sRGB array, upright; ``name`` is what an error calls it."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            return np.array(ImageOps.exif_transpose(image).convert("RGB"), dtype=np.uint8)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataProblem(
            f"{name} is not a whole picture ({error}); get a new copy of it."
        ) from error
