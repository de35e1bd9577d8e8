"""Which items an answer may hold: a predicate over what is known of every picture."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

AnyPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]


@dataclass(frozen=True)
class Filter:
    """Which items a search may give; everything not set lets all through.

    Parameters
    ----------
    folder
        Only below this folder of the collection.
    tags, without_tags
        All of these tags, none of those (case does not matter).
    since, until
        Dates as ``2020``, ``2020-05``, ``2020-05-01`` or with a time; both inclusive.
    formats
        Kinds of file, for instance ``("JPEG", "PNG")``.
    min_pixels, max_pixels, min_bytes, max_bytes
        Size of the picture (width times height) and of the file.
    states
        Only items in these states; by default all but removed ones.
    """

    folder: AnyPath | None = None
    tags: tuple[str, ...] = ()
    without_tags: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    formats: tuple[str, ...] = ()
    min_pixels: int | None = None
    max_pixels: int | None = None
    min_bytes: int | None = None
    max_bytes: int | None = None
    states: tuple[str, ...] = ()


class Allowed:
    """The items that a filter lets through: a predicate, and their ids once somebody asks.

    An engine that keeps the columns of a filter beside its codes takes ``filter``; to all others
    this is an array of ids.

    Parameters
    ----------
    filter
        The predicate.
    find
        Gives the ids, in order.
    """

    def __init__(self, filter: Filter, find: Callable[[Filter], NDArray[np.int64]]) -> None:
        self.filter, self._find = filter, find

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the items, in order."""
        return self._find(self.filter)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.ids, dtype=dtype, copy=copy)


Among = NDArray[np.int64] | Allowed
"""Which items an answer may hold: their ids, or a filter."""
