"""News for open pages: published by any thread, read as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool

WAITING = 64
"""News that a slow reader may have waiting; then the oldest is dropped."""
CHANGES = ("collection", "judgements", "model")
"""News after which what a page shows may be old."""
BEAT = 15.0
"""Seconds after which a silent stream says that it is alive."""


class Hub:
    """Hands every piece of news to every reader."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._readers: set[asyncio.Queue[str | None]] = set()
        self._closed = False
        self._began = time.monotonic()
        self._last: dict[str, float] = {}

    def publish(self, kind: str, news: dict[str, Any]) -> None:
        """Tell all readers; safe from any thread, and nothing happens where nobody reads."""
        self._last[kind] = time.monotonic()
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        text = f"event: {kind}\ndata: {json.dumps(news, ensure_ascii=True)}\n\n"
        with contextlib.suppress(RuntimeError):  # the loop ended in between
            loop.call_soon_threadsafe(self._hand_out, text)

    def quiet(self) -> dict[str, float]:
        """Seconds since the last news of each kind; since the beginning where there was none.

        A reader that began to look before that must look again, for nobody told it.
        """
        now = time.monotonic()
        return {kind: round(now - self._last.get(kind, self._began), 3) for kind in CHANGES}

    def close(self) -> None:
        """End every stream, so that the server can stop."""
        self._closed = True
        self.hang_up()

    def hang_up(self) -> None:
        """End the streams that are open now; who may will come again."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._hand_out, None)

    def _hand_out(self, text: str | None) -> None:
        for queue in self._readers:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(text)

    async def stream(
        self, first: Callable[[], list[tuple[str, dict[str, Any]]]]
    ) -> AsyncIterator[str]:
        """Events for one reader: what it should know at once, then what comes.

        ``first`` is asked once the reader is known, so that nothing is lost in between.
        """
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str | None] = asyncio.Queue(WAITING)
        self._readers.add(queue)
        try:
            yield "retry: 1000\n\n"
            for kind, news in await run_in_threadpool(first):
                yield f"event: {kind}\ndata: {json.dumps(news, ensure_ascii=True)}\n\n"
            while not self._closed:
                try:
                    text = await asyncio.wait_for(queue.get(), BEAT)
                except TimeoutError:
                    text = ": still here\n\n"
                if text is None:
                    return
                yield text
        finally:
            self._readers.discard(queue)
