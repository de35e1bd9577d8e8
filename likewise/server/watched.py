"""A collection whose searches never wait: the next snapshot is made aside, then swapped in."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from likewise.collection import Collection
from likewise.collection.snapshot import Snapshot
from likewise.store import Store
from likewise.types import LikewiseError

log = logging.getLogger("likewise.server")

PAUSE = 1.0
"""Least seconds between two snapshots that were asked for in passing ..."""
SHARE = 4.0
"""... and at least this many times what the last one took to make."""


class Watched(Collection):
    """A collection that one process serves and writes.

    A plain collection looks at the catalogue before every search, because another process
    may have written.  Here nobody else can: whoever writes says so, and searches take the
    snapshot that is there.
    """

    def __init__(self, folder: Path, store: Store) -> None:
        super().__init__(folder, store)
        self._held: Snapshot | None = None
        self._making = threading.Lock()
        self._not_before = 0.0

    def snapshot(self, *, checked: bool = True) -> Snapshot:
        """The latest snapshot that is ready."""
        held = self._held
        if held is None or (held.check is not None and (checked or held.check.is_over)):
            return self.refresh(checked=checked)
        return held

    def refresh(self, *, checked: bool = False) -> Snapshot:
        """Make a snapshot of what is there now, and let searches use it."""
        started = time.monotonic()
        self._held = super().snapshot(checked=checked)
        now = time.monotonic()
        self._not_before = now + max(PAUSE, SHARE * (now - started))
        return self._held

    def refresh_soon(self) -> None:
        """The same in the background, unless it was done a moment ago or is being done."""
        if time.monotonic() < self._not_before or not self._making.acquire(blocking=False):
            return
        threading.Thread(target=self._refresh_aside, name="snapshot", daemon=True).start()

    def _refresh_aside(self) -> None:
        try:
            self.refresh()
        except LikewiseError:
            log.exception("No newer snapshot could be made; searches go on with the last one.")
        finally:
            self._making.release()

    def build(self) -> int:
        """Build the index anew where something changed; gives the generation's number."""
        self.refresh()
        number = super().build()
        self.refresh()
        return number
