"""MNIST: 70,000 handwritten digits of 28 x 28 grey pixels (LeCun, Cortes and Burges)."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
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
from experiments.sets.pictures import ArrayPictures
from likewise.types import DataProblem

SOURCE = Source(
    title="MNIST",
    file="mnist.npz",
    size=11_490_057,
    sha256="01863b6226888f68e8bf2eccbdd42166454b0db5081d68d1d83c7d79c2ee3dc6",
    home="http://yann.lecun.com/exdb/mnist/",
    also="the four original files, such as train-images-idx3-ubyte.gz",
)
_PARTS = (("train", False), ("t10k", True))


@dataclass(frozen=True, eq=False)
class Mnist(LabelledPictures):
    """MNIST; ``images`` holds the grey pixels themselves, n x 28 x 28."""

    images: NDArray[np.uint8]


def load_mnist(folder: str | Path | None = None) -> Mnist:
    """MNIST, training part first.

    Reads ``mnist.npz`` (arrays images, labels, is_test; or x_train, y_train, x_test, y_test, as
    Keras has them), else the four original idx files, gzipped or not, in the data folder or in
    ``mnist`` there.

    Parameters
    ----------
    folder
        The data folder; by default the one that ``LIKEWISE_DATA`` names.
    """
    place = data_folder(folder)
    path = place / SOURCE.file
    if path.is_file():
        images, labels, is_test = _from_arrays(path)
    else:
        images, labels, is_test = _from_idx(place)
    names = tuple(f"digit-{i:05d}" for i in range(len(images)))
    classes = tuple("0123456789")
    return Mnist(
        *("mnist", ArrayPictures(images), labels.astype(np.int64), classes, is_test, names), images
    )


def _from_arrays(
    path: Path,
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.bool_]]:
    arrays = read_arrays(path)
    if {"x_train", "y_train", "x_test", "y_test"} <= set(arrays):
        images = np.concatenate([arrays["x_train"], arrays["x_test"]])
        labels = np.concatenate([arrays["y_train"], arrays["y_test"]])
        is_test = np.arange(len(images)) >= len(arrays["x_train"])
    elif {"images", "labels", "is_test"} <= set(arrays):
        check_size(SOURCE, path)
        images, labels = arrays["images"], arrays["labels"]
        is_test = arrays["is_test"].astype(bool)
    else:
        raise DataProblem(f"{path} holds {sorted(arrays)}, not images, labels and is_test.")
    if images.ndim != 3 or images.dtype != np.uint8:
        raise DataProblem(f"The images in {path} are not n x height x width bytes.")
    return images, labels, is_test


def _from_idx(place: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.bool_]]:
    images, labels, is_test = [], [], []
    for part, test in _PARTS:
        images.append(_read_idx(place, f"{part}-images-idx3-ubyte", 3))
        labels.append(_read_idx(place, f"{part}-labels-idx1-ubyte", 1))
        is_test.append(np.full(len(images[-1]), test))
    return np.concatenate(images), np.concatenate(labels), np.concatenate(is_test)


def _read_idx(place: Path, name: str, axes: int) -> NDArray[np.uint8]:
    """One idx file: two zero bytes, type 8 (bytes), number of axes, big-endian sizes, bytes."""
    choices = [sub / f"{name}{end}" for sub in (place, place / "mnist") for end in (".gz", "")]
    path = next((choice for choice in choices if choice.is_file()), None)
    if path is None:
        raise missing(SOURCE, place)
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise damaged(path, error) from error
    head = 4 + 4 * axes
    shape = tuple(int(n) for n in np.frombuffer(data[4:head], dtype=">u4"))
    if data[:4] != bytes([0, 0, 8, axes]) or len(data) != head + int(np.prod(shape)):
        raise DataProblem(f"{path} is cut short or not an idx file; get a new copy of it.")
    return np.frombuffer(data, dtype=np.uint8, offset=head).reshape(shape)
