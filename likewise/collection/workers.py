"""Child processes that decode and describe pictures, each within a time and memory limit.

A file can crash, hang or bloat only the child that reads it: the parent notices,
gives that one file a reason, starts another child and goes on with the rest.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.collection.decoding import Picture, Unreadable, crop_pixels, decode
from likewise.types import BadInput

SECONDS = 10.0
"""Longest that one file may take to decode."""

MEMORY = 1 << 30
"""Most memory that decoding one file may add to a child."""

MAX_FILE = 1 << 30
"""Files larger than this are not read."""

CHUNK = 8
"""Pictures that go through the features together."""


@dataclass(frozen=True)
class Task:
    """One picture to describe: the caller's key, and a file or the bytes of one.

    ``crop`` is (left, top, right, bottom) as shares of width and height.
    """

    key: int
    path: bytes = b""
    data: bytes | None = None
    crop: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of one file: a picture with its features, or the one reason why not."""

    key: int
    picture: Picture | None = None
    features: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    problem: str = ""


Decoder = Callable[[Task, bool], Picture]
"""Turns a task into a picture; the second argument says whether to read the place."""


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

    Parameters
    ----------
    tasks
        Read lazily, a few chunks ahead of the children.
    features
        Names of the feature blocks.
    processes
        Number of children; one a core where not given.
    seconds
        Limit for decoding one file.
    decoder
        What a child decodes with; :func:`decode_task` where not given.

    Notes
    -----
    Closing the iterator (or Ctrl-C) ends the children at once.
    """
    count = processes or available_cores()
    if count < 1:
        raise BadInput(f"At least one process is needed, not {processes}.")
    settings = (tuple(features), gps, decoder or decode_task, True)
    with _Pool(count, settings, seconds) as pool:
        yield from pool.run(iter(tasks))


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

    Safe to call from several threads; calls wait for each other.
    """

    def __init__(
        self,
        features: Sequence[str],
        *,
        seconds: float = SECONDS,
        decoder: Decoder | None = None,
    ) -> None:
        self._features, self._seconds = tuple(features), seconds
        self._decoder = decoder or decode_task
        self._lock = threading.Lock()
        self._pool: _Pool | None = None

    def __call__(self, task: Task) -> Outcome:
        """Describe one picture."""
        with self._lock:
            if self._pool is None:
                settings = (self._features, False, self._decoder, False)
                self._pool = _Pool(1, settings, self._seconds)
            (outcome,) = self._pool.run(iter([task]))
        return outcome

    def close(self) -> None:
        """End the child."""
        with self._lock:
            if self._pool is not None:
                self._pool.__exit__()
                self._pool = None


def available_cores() -> int:
    """Cores this process may use."""
    with contextlib.suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Child:
    """One child process, its pipe, what it was given and when it began the file at hand."""

    def __init__(self, settings: tuple[Any, ...]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, *settings), daemon=True)
        start_child(self.process)
        theirs.close()
        self.given: deque[list[Task]] = deque()
        self.current: int | None = None
        self.since = time.monotonic()

    def give(self, chunk: list[Task]) -> None:
        self.given.append(chunk)
        with contextlib.suppress(BrokenPipeError, OSError):
            self.pipe.send(chunk)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class _Pool:
    def __init__(self, count: int, settings: tuple[Any, ...], seconds: float) -> None:
        self.settings = settings
        self.seconds = seconds
        self.children = [_Child(self.settings) for _ in range(count)]

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self.children:
            child.end()

    def run(self, tasks: Iterator[Task]) -> Iterator[Outcome]:
        again: deque[list[Task]] = deque()
        exhausted = False

        def next_chunk() -> list[Task]:
            nonlocal exhausted
            if again:
                return again.popleft()
            chunk: list[Task] = []
            while not exhausted and len(chunk) < CHUNK:
                task = next(tasks, None)
                if task is None:
                    exhausted = True
                else:
                    chunk.append(task)
            return chunk

        while True:
            for child in self.children:
                # One chunk in hand and one waiting: a child is never idle while we commit.
                while len(child.given) < 2:
                    chunk = next_chunk()
                    if not chunk:
                        break
                    if not child.given:
                        child.since = time.monotonic()
                    child.give(chunk)
            busy = [child for child in self.children if child.given]
            if not busy:
                return
            ready = wait([child.pipe for child in busy], timeout=0.25)
            for child in busy:
                if child.pipe in ready:
                    yield from self._receive(child, again)
                elif child.current is not None and (time.monotonic() - child.since > self.seconds):
                    reason = f"Decoding took longer than {self.seconds:g} seconds."
                    yield from self._bury(child, again, reason)

    def _receive(self, child: _Child, again: deque[list[Task]]) -> Iterator[Outcome]:
        try:
            message = child.pipe.recv()
        except (EOFError, OSError):
            yield from self._bury(child, again, "The decoder crashed on this file.")
            return
        if isinstance(message, int):  # "I begin with the file of this key", or -1: none
            child.current = None if message < 0 else message
            child.since = time.monotonic()
        elif isinstance(message, BaseException):
            raise message
        else:
            child.given.popleft()
            child.current = None
            child.since = time.monotonic()
            yield from message

    def _bury(self, child: _Child, again: deque[list[Task]], reason: str) -> Iterator[Outcome]:
        """A child died or hung: name the file it was at, hand out the rest again."""
        chunks = list(child.given)
        culprit = child.current
        child.end()
        self.children[self.children.index(child)] = _Child(self.settings)
        if culprit is None and chunks and len(chunks[0]) == 1:
            # It died outside decoding with one file in hand: that file is the cause.
            culprit = chunks[0][0].key
        if culprit is not None:
            yield Outcome(culprit, problem=reason)
        for position, chunk in enumerate(chunks):
            rest = [task for task in chunk if task.key != culprit]
            if culprit is None and position == 0:
                again.extend([task] for task in rest)  # one by one, to find the culprit
            elif rest:
                again.append(rest)


# --------------------------------------------------------------------------
# In the child


def _work(
    pipe: Connection, features: tuple[str, ...], gps: bool, decoder: Decoder, bulk: bool
) -> None:
    import signal

    from likewise.features import feature_set

    if bulk and hasattr(os, "nice"):
        os.nice(10)  # searches, and whatever else the computer is used for, come first
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    try:
        compute = feature_set(features) if features else None
        if compute is not None:
            compute([np.zeros((32, 32, 3), np.uint8)])  # load weights before limits bite
    except Exception as error:
        pipe.send(RuntimeError(f"The features could not be set up: {error}"))
        return
    with contextlib.suppress(EOFError, BrokenPipeError, OSError):
        while True:
            chunk: list[Task] = pipe.recv()
            pipe.send(_describe_chunk(chunk, compute, lambda task: decoder(task, gps), pipe))


def _describe_chunk(
    chunk: list[Task], compute: Any, decoder: Callable[[Task], Picture], pipe: Connection
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    good: list[tuple[int, Picture]] = []
    with _memory_limit(MEMORY):
        for task in chunk:
            pipe.send(task.key)
            try:
                good.append((task.key, decoder(task)))
            except Unreadable as error:
                outcomes.append(Outcome(task.key, problem=str(error)))
            except MemoryError:
                reason = "Decoding needs more memory than one picture may take."
                outcomes.append(Outcome(task.key, problem=reason))
        pipe.send(-1)
    if not good:
        return outcomes
    blocks = compute([picture.pixels for _, picture in good]) if compute is not None else {}
    for row, (key, picture) in enumerate(good):
        vectors = {name: matrix[row] for name, matrix in blocks.items()}
        bad = [name for name, vector in vectors.items() if not np.isfinite(vector).all()]
        if bad:
            reason = f"The {bad[0]} features of this picture are not finite."
            outcomes.append(Outcome(key, problem=reason))
            continue
        light = replace(picture, pixels=np.empty((0, 0, 3), np.uint8))  # pixels stay here
        outcomes.append(Outcome(key, light, vectors))
    return outcomes


def decode_task(task: Task, gps: bool) -> Picture:
    """The picture of a task, cropped where the task says so."""
    data = read_file(task.path) if task.data is None else task.data
    picture = decode(data, gps=gps)
    if task.crop is None:
        return picture
    return replace(picture, pixels=crop_pixels(picture.pixels, task.crop))


def read_file(path: bytes) -> bytes:
    """The bytes of a regular file, or one reason why not."""
    import stat

    try:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(path, flags)
    except OSError as error:
        raise Unreadable(f"The file cannot be opened ({error.strerror}).") from None
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise Unreadable("This is not a regular file.")
        if facts.st_size > MAX_FILE:
            raise Unreadable(f"The file is larger than {MAX_FILE >> 30} GiB.")
        try:
            return file.read(facts.st_size)  # a larger number would be set aside at once
        except OSError as error:
            raise Unreadable(f"The file cannot be read ({error.strerror}).") from None


@contextlib.contextmanager
def _memory_limit(extra: int) -> Iterator[None]:
    """Let this process grow by ``extra`` bytes at most while decoding (where the system can)."""
    try:
        import resource

        with open("/proc/self/statm", "rb") as file:
            pages = int(file.read().split()[5])  # data + stack, what RLIMIT_DATA counts
        now = pages * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (now + extra, hard))
    except (ImportError, OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
