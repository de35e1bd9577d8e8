"""A collection whose searches never wait: the next views are made aside, then swapped in."""

from __future__ import annotations

import logging
import threading
import time
from functools import partial
from typing import Any

from likewise.collection import Collection
from likewise.server.apart import learn_apart
from likewise.types import LikewiseError

log = logging.getLogger("likewise.server")

PAUSE = 1.0
"""Least seconds between two views that were asked for in passing ..."""
SHARE = 4.0
"""... and at least this many times what the last ones took to make."""


class Watched(Collection):
    """A collection that one process serves and writes.

    A plain collection looks at the catalogue before every search, because another process
    may have written.  Here nobody else can: whoever writes says so, and searches take the
    views that are there.
    """

    def __init__(self, *opened: Any) -> None:
        super().__init__(*opened)
        self._making = threading.Lock()
        self._not_before = 0.0
        self.models.learn_again = partial(learn_apart, self)
        for line in self.lines.values():
            line.is_held = True

    def refresh(self) -> None:
        """Make views of what is there now, and let searches use them."""
        started = time.monotonic()
        for line in self.lines.values():
            line.refresh()
        now = time.monotonic()
        self._not_before = now + max(PAUSE, SHARE * (now - started))

    def refresh_soon(self) -> None:
        """The same in the background, unless it was done a moment ago or is being done."""
        if time.monotonic() < self._not_before or not self._making.acquire(blocking=False):
            return
        threading.Thread(target=self._refresh_aside, name="views", daemon=True).start()

    def _refresh_aside(self) -> None:
        try:
            self.refresh()
        except LikewiseError:
            log.exception("No newer view could be made; searches go on with the last one.")
        finally:
            self._making.release()

    def build(self, *, early: bool = False) -> int:
        """Build the indexes anew where something changed; gives the look's generation."""
        self.refresh()
        number = super().build(early=early)
        self.refresh()
        return number
