"""The folders of a collection: its own, and others that were added, on any drive.

Files of the collection's own folder are named relative to it, those of the others by their whole
path, so that every name says where its file is and opens it.  A folder that is away keeps its
pictures; one that comes back elsewhere and is added again is known by its contents.
"""

from __future__ import annotations

import os
from pathlib import Path

from likewise.intake import UNREACHABLE
from likewise.store import Store
from likewise.types import BadInput, NotFound

SETTING = "roots"


def other_roots(store: Store) -> list[bytes]:
    """Folders beside the collection's own."""
    return [os.fsencode(root) for root in store.settings.get(SETTING, [])]


def add_root(store: Store, folder: Path, more: Path) -> None:
    """Make a folder part of a collection from the next scan on.

    Refused is one that is there already, inside another or around it: its pictures would be in
    the collection twice.
    """
    added = Path(os.path.realpath(more))
    if not added.is_dir():
        raise NotFound(f"There is no folder {more}; name a folder that holds pictures.")
    for root in (folder, *map(Path, store.settings.get(SETTING, []))):
        real = Path(os.path.realpath(root))
        if added == real:
            raise BadInput(f"{more} is in this collection already; index looks for what is new.")
        if added.is_relative_to(real):
            raise BadInput(f"{more} is inside {root}, so its pictures are in this collection.")
        if real.is_relative_to(added):
            raise BadInput(
                f"{more} holds {root}, which is in this collection; its pictures would be in it "
                "twice. Start a collection of the larger folder instead."
            )
    store.settings.set(SETTING, [*store.settings.get(SETTING, []), str(added)])


def remove_root(store: Store, folder: Path, more: Path) -> int:
    """Leave an added folder; gives how many pictures leave search.  What was said of them stays."""
    every = store.settings.get(SETTING, [])
    root = next((r for r in every if r in (str(more), os.path.realpath(more))), None)
    if root is None:
        raise NotFound(
            f"{more} was not added to the collection of {folder}; "
            + (f"these were: {', '.join(every)}." if every else "no folder was.")
        )
    present = store.items.paths(store.items.compare(()).missing)
    below = os.fsencode(root) + b"/"
    gone = [item for item, path in present.items() if path.startswith(below)]
    away = store.settings.get(UNREACHABLE, {"items": 0, "folders": []})
    reasons = [line for line in away["folders"] if not line.startswith((f"{root}: ", f"{root}/"))]
    with store.transaction():
        drop_roots(store, {os.fsencode(root)})
        store.items.remove(gone)
        if reasons != away["folders"]:  # else all of its pictures were there
            left = max(0, away["items"] - len(gone)) if reasons else 0
            store.settings.set(UNREACHABLE, {"items": left, "folders": reasons})
    return len(gone)


def drop_roots(store: Store, gone: set[bytes]) -> None:
    """Leave out folders that no picture is in any more."""
    kept = [root for root in store.settings.get(SETTING, []) if os.fsencode(root) not in gone]
    store.settings.set(SETTING, kept)


def root_of(path: bytes, folder: bytes, others: list[bytes]) -> bytes:
    """The folder that a file's name belongs to."""
    return next((root for root in others if path.startswith(root + b"/")), folder)
