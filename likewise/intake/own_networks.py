"""Networks that a person brought: where each lies, by the block that it gives.

A block's name carries a hash of its network's files, so the folder may move: naming its new place
is enough.  The files are hashed here and parsed only in children.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from likewise.features import block_of, feature_set, is_elsewhere
from likewise.store import Store
from likewise.types import BadInput

PLACES = "network_places"
"""Setting: file or folder of the network of a block."""


def remember(store: Store, wanted: Sequence[str]) -> tuple[str, ...]:
    """Blocks by name; where a network's place was given (``clip:FOLDER``) it is kept."""
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
    from likewise.intake.workers import Describer, Task  # heavy: not for an ordinary search

    child = Describer([name])
    try:
        problem = child(Task(1, text="a photo")).problem
    finally:
        child.close()
    if problem:
        raise BadInput(problem)


def with_places(store: Store, names: Sequence[str]) -> list[str]:
    """Blocks as children take them: with the places of their networks."""
    places = store.settings.get(PLACES, {})
    return [f"{name}:{places[name]}" if name in places else name for name in names]
