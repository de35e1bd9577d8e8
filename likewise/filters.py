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


NO_FILTER = Filter()
Condition = tuple[str, str, Any]
"""A column of :data:`FACTS`, one of ``>= <= < in has lacks``, and a value."""

FACTS = ("path", "taken", "format", "pixels", "bytes", "tags")
"""What an engine may keep beside its codes; tags and formats in one case, -1 for no pixels."""


class Allowed:
    """The items that a filter lets through: a predicate, and their ids once somebody asks.

    An engine that keeps :data:`FACTS` beside its codes takes ``conditions``; to all others
    this is an array of ids, which ``find`` gives.  ``restated`` gives items whose facts changed
    since a position in the log of changes, and those of them that the filter lets through.
    """

    def __init__(
        self,
        filter: Filter,
        find: Callable[[Filter], NDArray[np.int64]],
        conditions: Callable[[Filter], list[Condition] | None] = lambda wanted: None,
        restated: Callable[[Filter, int], tuple[NDArray[np.int64], NDArray[np.int64]]]
        | None = None,
    ) -> None:
        self.filter, self._find, self._conditions = filter, find, conditions
        self._restated = restated

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the items, in order."""
        return self._find(self.filter)

    @property
    def conditions(self) -> list[Condition] | None:
        """All of these must hold; None where only ids can say it."""
        return self._conditions(self.filter)

    def restated(self, position: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Items whose facts changed since, and those of them that are let through."""
        assert self._restated is not None
        return self._restated(self.filter, position)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.ids, dtype=dtype, copy=copy)


Among = NDArray[np.int64] | Allowed
"""Which items an answer may hold: their ids, or a filter."""
