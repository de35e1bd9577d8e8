"""likewise: image search that learns what you mean by similar.

import likewise

with likewise.open("Pictures", create=True) as collection:
    collection.index()
    found = collection.search("beach.jpg", k=10)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from likewise.collection import Collection

__version__ = "0.1.0"
__all__ = ["__version__", "open"]


def open(
    folder: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    write: bool = False,
    create: bool = False,
) -> Collection:
    """Open the collection of a folder of pictures.

    Parameters
    ----------
    folder
        The folder of pictures; it is only ever read, but for the data folder.
    data
        The data folder; ``.likewise`` inside ``folder`` where not given.
    write
        Whether to index, judge or learn: one process at a time may.
    create
        Start a new collection where there is none (implies ``write``).
    """
    from likewise.collection import Collection

    return Collection.open(folder, data=data, write=write, create=create)
