"""CIFAR-10: 60,000 photographs of 32 x 32 pixels in ten classes (Krizhevsky)."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.sets.archive import (
    Source,
    check_size,
    damaged,
    data_folder,
    missing,
    read_arrays,
)
from experiments.sets.labelled import LabelledPictures
from experiments.sets.pictures import ArrayPictures, EncodedPictures, Pictures
from likewise.types import DataProblem

SOURCE = Source(
    title="CIFAR-10",
    file="cifar10.npz",
    size=18_386_204,
    sha256="5533dfd3ac66c700b950c3cfa357d15ed6bb210fb30431d03dc5a1de8fc8ca50",
    home="https://www.cs.toronto.edu/~kriz/cifar.html",
    also="the original binary version, cifar-10-binary.tar.gz",
)
CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)
_BATCHES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
_UNPACKED = "cifar-10-batches-bin"
_PACKED = "cifar-10-binary.tar.gz"
_RECORD = 1 + 3 * 32 * 32


def load_cifar10(folder: str | Path | None = None) -> LabelledPictures:
    """CIFAR-10, training part first.

    Reads ``cifar10.npz`` (pictures as JPEG), else the original binary version, packed
    (``cifar-10-binary.tar.gz``) or unpacked (``cifar-10-batches-bin``).

    Parameters
    ----------
    folder
        The data folder; by default the one that ``LIKEWISE_DATA`` names.
    """
    place = data_folder(folder)
    if (place / SOURCE.file).is_file():
        pictures, labels, is_test, classes = _from_arrays(place / SOURCE.file)
    else:
        pictures, labels, is_test = _from_batches(place)
        classes = CLASSES
    names = tuple(f"photo-{i:05d}" for i in range(len(labels)))
    return LabelledPictures("cifar10", pictures, labels, classes, is_test, names)


def _from_arrays(
    path: Path,
) -> tuple[Pictures, NDArray[np.int64], NDArray[np.bool_], tuple[str, ...]]:
    arrays = read_arrays(path)
    if not {"jpeg", "offsets", "labels", "is_test"} <= set(arrays):
        raise DataProblem(f"{path} holds {sorted(arrays)}, not jpeg, offsets, labels and is_test.")
    check_size(SOURCE, path)
    data, offsets = arrays["jpeg"], arrays["offsets"].astype(np.int64)
    if np.any(np.diff(offsets) < 0) or not len(offsets) or offsets[-1] != len(data):
        raise DataProblem(f"The offsets in {path} do not fit its pictures; get a new copy of it.")
    classes = tuple(str(name) for name in arrays.get("class_names", np.array(CLASSES)))
    labels, is_test = arrays["labels"].astype(np.int64), arrays["is_test"].astype(bool)
    return EncodedPictures(data, offsets), labels, is_test, classes


def _from_batches(place: Path) -> tuple[Pictures, NDArray[np.int64], NDArray[np.bool_]]:
    images, labels, is_test = [], [], []
    for name, data in _read_batches(place):
        if not data or len(data) % _RECORD:
            raise DataProblem(f"{name} of CIFAR-10 is cut short; get a new copy of it.")
        records = np.frombuffer(data, dtype=np.uint8).reshape(-1, _RECORD)
        labels.append(records[:, 0].astype(np.int64))
        # A record holds the red plane, then the green one, then the blue one.
        images.append(records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        is_test.append(np.full(len(records), name == _BATCHES[-1]))
    return (
        ArrayPictures(np.concatenate(images)),
        np.concatenate(labels),
        np.concatenate(is_test),
    )


def _read_batches(place: Path) -> Iterator[tuple[str, bytes]]:
    packed = place / _PACKED
    if (place / _UNPACKED).is_dir():
        for name in _BATCHES:
            path = place / _UNPACKED / name
            if not path.is_file():
                raise missing(SOURCE, path.parent)
            yield name, path.read_bytes()
    elif packed.is_file():
        try:
            with tarfile.open(packed, "r:gz") as tar:
                # In the order of the archive: going back and forth in a gzip file is slow.
                found = {}
                for member in tar:
                    file = tar.extractfile(member)
                    if file is not None and Path(member.name).name in _BATCHES:
                        found[Path(member.name).name] = file.read()
        except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
            raise damaged(packed, error) from error
        for name in _BATCHES:
            if name not in found:
                raise DataProblem(f"{packed} lacks {name}; get a new copy of it.")
            yield name, found[name]
    else:
        raise missing(SOURCE, place)
