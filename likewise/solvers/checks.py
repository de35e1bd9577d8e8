"""What every solver asks of its arrays, and the sentence when it does not get it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def shaped(name: str, array: NDArray[np.generic]) -> None:
    """Refuse what is not a matrix of finite numbers with at least one column."""
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(
            f"{name} must be a matrix with one row an item, not of shape {array.shape}."
        )
    finite(name, array)


def finite(name: str, array: NDArray[np.generic]) -> None:
    """Refuse NaN and infinity."""
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers only; it has NaN or infinity.")


def matrix(name: str, values: ArrayLike) -> Floats:
    """A contiguous float64 matrix of finite numbers with at least one column."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    shaped(name, array)
    return array


def vector(name: str, values: ArrayLike | None, length: int, default: float) -> Floats:
    """A fresh float64 vector of finite numbers, or ``default`` throughout."""
    array = np.full(length, default) if values is None else np.array(values, dtype=np.float64)
    if array.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), not {array.shape}.")
    finite(name, array)
    return array


def numbers(name: str, values: ArrayLike, below: int) -> Ints:
    """Row numbers from 0 up to, but without, ``below``."""
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a flat list of whole row numbers.")
    if array.size and not (array.min() >= 0 and array.max() < below):
        raise ValueError(
            f"{name} must hold row numbers from 0 to {below - 1}; it has {array.min()} to "
            f"{array.max()}."
        )
    return np.ascontiguousarray(array, dtype=np.int64)
