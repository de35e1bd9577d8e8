"""Work in a process of its own, so that searches keep theirs to themselves."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from likewise.collection import Collection
from likewise.collection.learn.prepare import Prepared
from likewise.collection.whole.layouts import CollectionMap
from likewise.intake.workers import start_child
from likewise.types import DataProblem, LikewiseError

LOOK = 0.1
"""Seconds between two looks at whether somebody asked to stop."""


def learn_apart(
    collection: Collection,
    method: str,
    settings: Mapping[str, Any],
    name: str = "",
    should_stop: Callable[[], bool] = lambda: False,
) -> Prepared | None:
    """What a child process learned from the judgements; None where it was stopped."""
    found: Prepared | None = _apart(collection, _learn, (method, dict(settings), name), should_stop)
    return found


def map_apart(collection: Collection, should_stop: Callable[[], bool]) -> CollectionMap | None:
    """The map that a child process drew; None where it was stopped."""
    found: CollectionMap | None = _apart(collection, _draw_map, (), should_stop)
    return found


def _learn(collection: Collection, method: str, settings: dict[str, Any], name: str) -> Prepared:
    return collection.models.prepare(method, settings=settings, name=name)


def _draw_map(collection: Collection) -> CollectionMap:
    return collection.layouts.prepare_map()


def _apart(
    collection: Collection,
    work: Callable[..., Any],
    given: tuple[Any, ...],
    should_stop: Callable[[], bool],
) -> Any:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(
        target=_in_child, args=(collection.folder, collection.data, work, given, theirs)
    )
    start_child(child)
    theirs.close()
    try:
        while not ours.poll(LOOK):
            if should_stop():
                return None
        try:
            found = ours.recv()
        except EOFError:
            raise DataProblem("The process that worked ended before it was done.") from None
    finally:
        ours.close()
        child.terminate()
        child.join()
    if isinstance(found, LikewiseError):
        raise found
    return found


def _in_child(
    folder: Path, data: Path, work: Callable[..., Any], given: tuple[Any, ...], pipe: Connection
) -> None:
    """In the child: read the collection, work, send; nothing is written here."""
    import os
    import signal

    if hasattr(os, "nice"):
        os.nice(10)  # searches come first
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    try:
        with Collection.open(folder, data=data) as collection:
            pipe.send(work(collection, *given))
    except LikewiseError as error:
        pipe.send(error)
    finally:
        pipe.close()
