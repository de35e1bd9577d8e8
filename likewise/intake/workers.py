"""Child processes that decode and describe pictures, each within a time and memory limit.

A file can crash, hang or bloat only the child that reads it: the parent notices, starts
another child and goes on with the rest.  The file at hand is tried once more, when everything
else is done, alone in a fresh child; only if that fails too does it get a reason.  A child that
the system killed, or kept from computing, says nothing about its file, so that file is given up
only after several such ends alone.  A child that was stopped is told to go on.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from multiprocessing.process import BaseProcess
from queue import Empty, SimpleQueue
from types import ModuleType
from typing import Any

from likewise.intake.child import (
    COMPUTES,
    DIED,
    STARTS,
    WAITS,
    Decoder,
    Outcome,
    Task,
    decode_task,
    digest_of,
    plain,
    read_file,
    short,
    work,
)
from likewise.types import BadInput, DataProblem

__all__ = [
    "Decoder", "Describer", "Outcome", "Task", "decode_task", "describe", "digest_of", "read_file",
    "short",
]  # fmt: skip

SECONDS = 10.0
"""Longest that a child may compute to decode one file ..."""

FEATURE_SECONDS = 30.0
"""... to compute the features of one picture ..."""

START_SECONDS = 120.0
"""... and to start."""

PATIENCE = 3
"""By the clock, each may take so many times longer: a crowded machine is no fault of a file."""

DEATHS = 3
"""Ends of a child by others, alone with a file, after which that file is given up."""

FRUITLESS = 10
"""Ends of children in a row before any file was touched, after which we give up."""

LOOK = 0.25
"""Seconds between two looks at the children."""

GRACE = 5.0
"""Seconds to wait for a child that was killed."""

CHUNK = 8
"""Most pictures that go through the features together."""

BY_OTHERS = (-9, -15, -1)
"""Exit codes of SIGKILL, SIGTERM and SIGHUP: a decoder does not die of these by itself."""

KILLED = (
    f"The system ended the process that read this file {DEATHS} times, perhaps for want of memory; "
    "try it again with index --retry."
)


def describe(
    tasks: Iterable[Task],
    features: Sequence[str],
    *,
    processes: int | None = None,
    gps: bool = False,
    seconds: float = SECONDS,
    decoder: Decoder | None = None,
) -> Iterator[Outcome]:
    """Decode files and compute their features in child processes; outcomes come as they finish.

    Tasks are read lazily, a few chunks ahead of the children: one a core unless ``processes`` says.
    ``seconds`` of computing is the limit for a file.  Closing the iterator (or Ctrl-C) ends the
    children at once.
    """
    count = processes or available_cores()
    if count < 1:
        raise BadInput(f"At least one process is needed, not {processes}.")
    settings = (tuple(features), gps, decoder or decode_task, True)
    waiting = iter(tasks)
    first = list(islice(waiting, 1))
    if first:  # else no child is needed
        with _Pool(count, settings, seconds) as pool:
            yield from pool.run(chain(first, waiting))


_starting = threading.Lock()


def start_child(process: BaseProcess) -> None:
    """Start a child that does not run the caller's script once more.

    Children import the main module of their parent, so a script without a guard would index
    again in each of them; nothing that they do here needs it.
    """
    with _starting:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            process.start()
        finally:
            sys.modules["__main__"] = main


class Describer:
    """One child kept for query pictures, so that only the first one waits for its start.

    With ``pictures=False`` it is told texts only, for features that read them.  Safe to call from
    several threads; calls wait for each other.
    """

    def __init__(
        self,
        features: Sequence[str],
        *,
        seconds: float = SECONDS,
        decoder: Decoder | None = None,
        pictures: bool = True,
    ) -> None:
        self._features, self._seconds = tuple(features), seconds
        self._decoder = (decoder or decode_task) if pictures else None
        self._lock = threading.Lock()
        self._pool: _Pool | None = None

    def __call__(self, task: Task) -> Outcome:
        """Describe one picture."""
        with self._lock:
            if self._pool is None:
                settings = (self._features, False, self._decoder, False)
                self._pool = _Pool(1, settings, self._seconds)
            try:
                (outcome,) = self._pool.run(iter([task]))
            except BaseException:
                self._end()  # what it still has in hand is not for the next caller
                raise
        return outcome

    def close(self) -> None:
        """End the child."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._pool is not None:
            self._pool.__exit__()
            self._pool = None


def available_cores() -> int:
    """Cores this process may use."""
    with contextlib.suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Child:
    """One child process: what it was given, what it does, and since when."""

    def __init__(self, settings: tuple[Any, ...], news: SimpleQueue[tuple[_Child, Any]]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, *settings), daemon=True)
        start_child(self.process)
        theirs.close()
        self.given: deque[list[Task]] = deque()
        self.alone = False
        self.is_fresh = True
        # The pipe is used in threads, because a child that was stopped holds up whoever uses it.
        self.chunks: SimpleQueue[list[Task]] = SimpleQueue()
        self.threads = [
            threading.Thread(target=self._speak, daemon=True),
            threading.Thread(target=self._listen, args=(news,), daemon=True),
        ]
        for thread in self.threads:
            thread.start()
        self.turn(STARTS)

    def _speak(self) -> None:
        with contextlib.suppress(OSError):
            while chunk := self.chunks.get():
                self.pipe.send(chunk)

    def _listen(self, news: SimpleQueue[tuple[_Child, Any]]) -> None:
        with contextlib.suppress(Exception):  # the end of the pipe, or nonsense
            while True:
                news.put((self, plain(self.pipe.recv_bytes())))
        news.put((self, DIED))

    def turn(self, doing: int) -> None:
        """It begins something else: its clocks start anew."""
        self.doing, self.since = doing, time.monotonic()
        self.cpu = self.look()[1]

    def look(self) -> tuple[str, float]:
        """State and seconds of CPU so far (endless where the system does not tell)."""
        try:
            with open(f"/proc/{self.process.pid}/stat", "rb") as file:
                facts = file.read().rpartition(b")")[2].split()
        except OSError:
            return "", time.monotonic()  # as if it had computed all the time
        return facts[0].decode(), (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK")

    def give(self, chunk: list[Task], *, alone: bool = False) -> None:
        if self.doing == WAITS:
            self.turn(WAITS)
        self.alone = alone
        self.given.append(chunk)
        self.chunks.put(chunk)

    def end(self) -> None:
        self.process.kill()
        self.process.join(GRACE)
        self.chunks.put([])
        for thread in self.threads:
            thread.join(GRACE)
        self.pipe.close()


class _Pool:
    def __init__(self, count: int, settings: tuple[Any, ...], seconds: float) -> None:
        self.settings, self.seconds = settings, seconds
        self.news: SimpleQueue[tuple[_Child, Any]] = SimpleQueue()
        self.children = [_Child(settings, self.news) for _ in range(count)]
        self.looked = time.monotonic()
        self.fruitless = 0

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self.children:
            child.end()

    def run(self, tasks: Iterator[Task]) -> Iterator[Outcome]:
        self.again: deque[list[Task]] = deque()
        self.suspects: deque[Task] = deque()
        self.deaths: Counter[int] = Counter()
        dealt = 0
        while True:
            for child in self.children:
                # One chunk in hand and one waiting: a child is never idle while we commit.
                while len(child.given) < 2 and not child.alone:
                    # The first ones are small: somebody may wait for the first picture.
                    most = min(CHUNK, 1 << dealt // len(self.children))
                    chunk = self.again.popleft() if self.again else list(islice(tasks, most))
                    if not chunk:
                        break
                    child.give(chunk)
                    dealt += 1
            if not any(child.given for child in self.children):
                if not self.suspects:
                    return
                # Nobody else is at work: neither for the memory nor for the blame.
                self.children[0].give([self.suspects.popleft()], alone=True)
            with contextlib.suppress(Empty):
                yield from self._hear(*self.news.get(timeout=LOOK))
            if self.news.empty() and time.monotonic() - self.looked > LOOK:
                for child in [child for child in self.children if child.given]:
                    yield from self._watch(child)
                self.looked = time.monotonic()

    def _hear(self, child: _Child, message: Any) -> Iterator[Outcome]:
        if child not in self.children:
            return  # buried already
        if isinstance(message, str):
            raise DataProblem(message)
        if message == DIED:
            child.process.join(GRACE)
            if child.process.exitcode in BY_OTHERS:
                yield from self._bury(child, KILLED, blame=False)
            else:
                what = "Computing its features" if child.doing == COMPUTES else "The decoder"
                yield from self._bury(child, f"{what} crashed on this file.", blame=True)
        elif isinstance(message, int):
            child.turn(message)
            self.fruitless = self.fruitless if message == WAITS else 0
        else:
            child.given.popleft()
            child.alone = child.is_fresh = False
            child.turn(WAITS)
            yield from message

    def _watch(self, child: _Child) -> Iterator[Outcome]:
        """Let a child that was stopped go on; end one that takes too long."""
        state, cpu = child.look()
        if state == "T":
            child.turn(child.doing)
            os.kill(child.process.pid or 0, signal.SIGCONT)
            return
        what, limit = "Decoding", self.seconds
        if child.doing == COMPUTES:
            what, limit = "Computing its features", FEATURE_SECONDS * len(child.given[0])
        elif child.doing < 0:
            limit = START_SECONDS
        elapsed = time.monotonic() - child.since
        reason = f"{what} took longer than {limit:g} seconds."
        if elapsed > limit and cpu - child.cpu >= limit:
            yield from self._bury(child, reason, blame=True)
        elif elapsed > PATIENCE * limit:
            yield from self._bury(child, reason, blame=False)

    def _bury(self, child: _Child, reason: str, *, blame: bool) -> Iterator[Outcome]:
        """A child died or hung: find out whether a file is to blame, hand out the rest again."""
        child.end()
        self.children[self.children.index(child)] = _Child(self.settings, self.news)
        if child.doing in (STARTS, WAITS):  # no file was touched
            self.again.extend(child.given)
            self.fruitless += 1
            if self.fruitless >= FRUITLESS:
                raise DataProblem(
                    f"The processes that read pictures ended {FRUITLESS} times before they read "
                    "one; is there enough memory, and are the features in order?"
                )
            return
        first = child.given.popleft()
        self.again.extend(child.given)
        if child.doing == COMPUTES and len(first) > 1:
            self.again.extend([task] for task in first)  # one by one, to find the culprit
            return
        suspect = next(task for task in first if child.doing in (task.key, COMPUTES))
        if len(first) > 1:
            self.again.append([task for task in first if task is not suspect])
        self.deaths[suspect.key] += child.alone and not blame
        if (child.alone and child.is_fresh and blame) or self.deaths[suspect.key] >= DEATHS:
            yield Outcome(suspect.key, problem=reason)
        elif child.alone and blame:
            self.suspects.appendleft(suspect)  # at once, in the fresh child
        else:
            self.suspects.append(suspect)
