"""What a child process does: read files, decode them, compute their features, and say so.

While it decodes it may take a little memory only; before it touches anything that came from
elsewhere it gives up writing and the network, see :mod:`likewise.intake.confine`.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.intake.confine import confine
from likewise.intake.reading.decoding import Picture, Unreadable, crop_pixels, decode
from likewise.types import LikewiseError

MEMORY = 1 << 30
"""Most memory that decoding one file may add to a child."""

MAX_FILE = 1 << 30
"""Files larger than this are not read."""

STARTS, WAITS, COMPUTES, DIED = -1, -2, -3, -4
"""What a child does where it does not decode the file of a key (0 or more)."""


@dataclass(frozen=True)
class Task:
    """One picture to describe: the caller's key, and a file or the bytes of one; or a text.

    ``crop`` is (left, top, right, bottom) as shares of width and height.  A file whose digest
    begins like one of ``known`` (:func:`short`) is read and not described.
    """

    key: int
    path: bytes = b""
    data: bytes | None = None
    crop: tuple[float, float, float, float] | None = None
    known: frozenset[bytes] = frozenset()
    text: str | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of one file: a picture with its features, or the one reason why not.

    ``sha256`` is of the very bytes that were decoded, empty where none could be read; neither a
    picture nor a problem means that the task knew them.
    """

    key: int
    picture: Picture | None = None
    features: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    problem: str = ""
    sha256: bytes = b""


Decoder = Callable[[Task, bool], Picture]
"""Turns a task into a picture; the second argument says whether to read the place."""


_PLAIN = {
    "likewise.intake.child.Outcome",
    "likewise.intake.reading.decoding.Picture",
    "likewise.intake.reading.metadata.Metadata",
    "numpy.ndarray",
    "numpy.dtype",
    "numpy._core.multiarray._reconstruct",
    "numpy._core.numeric._frombuffer",
}


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}".replace("numpy.core.", "numpy._core.") not in _PLAIN:
            raise pickle.UnpicklingError(f"A child may not send {module}.{name}.")
        return super().find_class(module, name)


def plain(message: bytes) -> Any:
    """What a child said: numbers, text, arrays and outcomes, and nothing that could be run."""
    return _Plain(io.BytesIO(message)).load()


def work(
    pipe: Connection, features: tuple[str, ...], gps: bool, decoder: Decoder | None, bulk: bool
) -> None:
    """Describe chunks of tasks that come through the pipe, until it is closed.

    Without a decoder there will be no pictures, only texts.
    """
    from likewise.features import feature_set, is_elsewhere

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    ours = [name for name in features if not is_elsewhere(name)]
    blank = [np.zeros((32, 32, 3), np.uint8)]
    try:
        if decoder is not None:
            importlib.import_module("likewise.intake.reading.eighth")  # to keep its code, too
            importlib.import_module("cv2").setNumThreads(1)  # every core has a child
        compute = feature_set(ours) if ours else None
        if compute is not None:
            compute(blank)  # load weights, and keep what was made of them, before limits bite
        confine()
        if len(ours) < len(features):  # a network from elsewhere is parsed in confinement
            compute = feature_set(features)
            compute(blank) if decoder is not None else compute.read("")
    except Exception as error:
        pipe.send(f"The features could not be set up: {error}")
        return
    if bulk and hasattr(os, "nice"):
        os.nice(10)  # searches, and whatever else the computer is used for, come first
    with contextlib.suppress(EOFError, OSError):
        pipe.send(WAITS)
        while True:
            chunk: list[Task] = pipe.recv()
            if decoder is None or chunk[0].text is not None:
                pipe.send(_read_chunk(chunk, compute, pipe))
            else:
                pipe.send(_describe_chunk(chunk, compute, decoder, gps, pipe))


def _read_chunk(chunk: list[Task], compute: Any, pipe: Connection) -> list[Outcome]:
    outcomes = []
    pipe.send(COMPUTES)
    for task in chunk:
        try:
            outcomes.append(Outcome(task.key, features=compute.read(task.text or "")))
        except LikewiseError as error:
            outcomes.append(Outcome(task.key, problem=str(error)))
    return outcomes


def _describe_chunk(
    chunk: list[Task], compute: Any, decoder: Decoder, gps: bool, pipe: Connection
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    good: list[tuple[int, bytes, Picture]] = []
    with _memory_limit(MEMORY):
        for task in chunk:
            pipe.send(task.key)
            digest = b""
            try:
                data = read_file(task.path) if task.data is None else task.data
                digest = hashlib.sha256(data).digest()
                if short(digest) in task.known:
                    outcomes.append(Outcome(task.key, sha256=digest))
                else:
                    good.append((task.key, digest, decoder(replace(task, data=data), gps)))
            except Unreadable as error:
                outcomes.append(Outcome(task.key, problem=str(error), sha256=digest))
            except MemoryError:
                reason = "Decoding needs more memory than one picture may take."
                outcomes.append(Outcome(task.key, problem=reason, sha256=digest))
        pipe.send(COMPUTES)
    if not good:
        return outcomes
    blocks = compute([picture.pixels for *_, picture in good]) if compute is not None else {}
    for row, (key, digest, picture) in enumerate(good):
        vectors = {name: matrix[row] for name, matrix in blocks.items()}
        bad = [name for name, vector in vectors.items() if not np.isfinite(vector).all()]
        if bad:
            reason = f"The {bad[0]} features of this picture are not finite."
            outcomes.append(Outcome(key, problem=reason, sha256=digest))
            continue
        light = replace(picture, pixels=np.empty((0, 0, 3), np.uint8))  # pixels stay here
        outcomes.append(Outcome(key, light, vectors, sha256=digest))
    return outcomes


def short(digest: bytes) -> bytes:
    """The part of a digest by which a child knows a content."""
    return digest[:8]


def decode_task(task: Task, gps: bool) -> Picture:
    """The picture of a task, cropped where the task says so."""
    data = read_file(task.path) if task.data is None else task.data
    picture = decode(data, gps=gps)
    if task.crop is None:
        return picture
    return replace(picture, pixels=crop_pixels(picture.pixels, task.crop))


def read_file(path: bytes) -> bytes:
    """The bytes of a regular file, or one reason why not."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        return file.read(size)  # a larger number would be set aside at once


def digest_of(path: bytes) -> bytes:
    """SHA-256 of a regular file, however large; or one reason why not."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").digest()


@contextlib.contextmanager
def open_file(path: bytes) -> Iterator[io.BufferedReader]:
    """A regular file to read; whatever is wrong with it is one reason."""
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
            yield file
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
