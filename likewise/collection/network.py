"""Which network gives the deep features of a collection, and the change to another one.

Blocks carry their network in their names, so that vectors of two networks lie side by side: the
old space serves until every picture is described by the new one.  Marks are about items and stay;
a model is of one space, and is put aside or learned again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from likewise.collection.lines.defaults import FEATURES, NETWORK
from likewise.features import (
    BOTH,
    PLACES,
    block_of,
    feature_set,
    is_elsewhere,
    named,
    network_of,
)
from likewise.intake.ingest import IngestReport
from likewise.intake.rest import describe_rest
from likewise.intake.workers import Describer, Task
from likewise.store import Store
from likewise.types import BadInput

NEXT = "features_next"
"""Setting: blocks of the network that was chosen and has not yet described every picture."""


def features_of(store: Store) -> tuple[str, ...]:
    """Blocks of a collection: those that it has, or the default of a new one."""
    return tuple(store.settings.get("features") or given_by(FEATURES, NETWORK))


def chosen(store: Store) -> dict[str, str]:
    """Network and arithmetic that give the deep features, empty where nothing does."""
    return dict(zip(("network", "arithmetic"), network_of(features_of(store)) or ("", "")))


def given_by(blocks: Iterable[str], network: tuple[str, str] | None) -> tuple[str, ...]:
    """Blocks by name, those of a network by this one."""
    return tuple(
        named(block_of(name), *network) if network and block_of(name) in BOTH else name
        for name in blocks
    )


def settled(store: Store, wanted: Sequence[str] | None = None) -> tuple[str, ...]:
    """Blocks that pictures are described by from now on: those that were named, or as before.

    Plain names mean those of the network that a collection has.  A network that a person brings
    to pictures which are described already waits, as another one of ours does, for
    :func:`change`.
    """
    known, chosen = store.settings.get("features"), features_of(store)
    if wanted is not None:
        names = remember(store, wanted)
        chosen = given_by(names, network_of(tuple(known or names)))
        if known and tuple(known) != chosen and len(store.items.contents()):
            if not any(map(is_elsewhere, chosen)):
                raise BadInput(
                    f"This collection has the features {', '.join(known)}; to use others, start "
                    "another data folder with --data."
                )
            store.settings.set(NEXT, list(chosen))
            chosen = tuple(known)
    if tuple(known or ()) != chosen:
        store.settings.set("features", list(chosen))
    return chosen


def remember(store: Store, wanted: Sequence[str]) -> tuple[str, ...]:
    """Blocks by name; where a network's place was given (``clip:FOLDER``) it is kept.

    The files are hashed here and parsed only in children.
    """
    names = []
    for name in wanted:
        block, _, place = name.partition(":")
        if is_elsewhere(name) and place:
            place = os.path.abspath(place)
            (block,) = feature_set([f"{block}:{place}"]).names
            if block_of(block) == "clip" and block not in store.segments.blocks():
                _try(f"{block}:{place}")
            store.settings.set(PLACES, {**store.settings.get(PLACES, {}), block: place})
        names.append(block if is_elsewhere(name) and place else name)
    return tuple(names)


def _try(name: str) -> None:
    """Let a child read a text and a blank picture, before thousands of pictures are described."""
    child = Describer([name])
    try:
        problem = child(Task(1, text="a photo")).problem
    finally:
        child.close()
    if problem:
        raise BadInput(problem)


def choose(store: Store, network: str | None, arithmetic: str | None) -> None:
    """Remember another network: at once, where nothing is described yet."""
    if not (network or arithmetic):
        return
    known = features_of(store)
    now = network_of(known)
    if now is None:
        raise BadInput("This collection has no deep features to choose a network for.")
    blocks = list(given_by(known, (network or now[0], arithmetic or now[1])))
    store.settings.set(NEXT if len(store.items.contents()) else "features", blocks)


def change(store: Store, folder: Path, report: IngestReport, **how: Any) -> bool:
    """Describe every picture by the network that was chosen; false where it was stopped.

    What was paused goes on at the next index.
    """
    settings = store.settings
    wanted, known = settings.get(NEXT), settings.get("features")
    if not wanted or wanted == known:
        return True
    blocks = [name for name in wanted if name not in known]
    if blocks and not describe_rest(store, folder, blocks, **how):
        return False
    missing = {c for block in blocks for c in store.segments.missing(block).tolist()}
    lacking = missing & set(store.items.contents().values())
    if lacking:
        report.notes.append(
            f"{len(lacking):,} pictures could not be read for the other network; the one before "
            "serves until an index finds them all."
        )
        return True
    settings.set("features", wanted)
    settings.set(NEXT, None)
    learned = sum(model.space == settings.get("space") for model in store.models.all())
    if learned:
        report.notes.append(
            f"Models that were learned on the network before are put aside ({learned}); the active "
            "ones are learned again from the same marks."
        )
    return True
