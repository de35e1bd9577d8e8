"""Blocks that contents lack which came in without them: local features, another network."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from likewise.features import PLACES, with_places
from likewise.intake.ingest import COMMIT_EVERY, kept_as
from likewise.intake.workers import Task, describe
from likewise.store import Store
from likewise.types import Progress


def describe_rest(
    store: Store,
    folder: str | os.PathLike[str],
    blocks: Sequence[str],
    *,
    processes: int | None = None,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Give blocks to the pictures that lack them; false where it was stopped."""
    missing = {content for block in blocks for content in store.segments.missing(block).tolist()}
    live = store.items.contents()
    item_of = {content: item for item, content in live.items() if content in missing}
    if not item_of:
        return True
    paths = store.items.paths(list(item_of.values()))
    digests = store.contents.sha256(item_of)
    top = os.fsencode(folder)
    tasks = (Task(c, os.path.join(top, paths[i])) for c, i in item_of.items() if i in paths)
    batch: dict[int, Mapping[str, Any]] = {}

    def commit() -> None:
        if batch:
            rows = {name: np.stack([one[name] for one in batch.values()]) for name in blocks}
            store.segments.append(list(batch), rows, dtype=kept_as(rows))
            batch.clear()

    outcomes = describe(tasks, with_places(blocks, store.settings.get(PLACES)), processes=processes)
    finished = True
    try:
        for done, outcome in enumerate(outcomes, start=1):
            if outcome.picture is not None and outcome.sha256.hex() == digests.get(outcome.key):
                batch[outcome.key] = outcome.features
            if len(batch) >= COMMIT_EVERY:
                commit()
            if progress is not None:
                progress(done, len(item_of))
            if should_stop():
                finished = False
                break
    except KeyboardInterrupt:
        finished = False
    finally:
        outcomes.close()  # type: ignore[attr-defined]
        commit()
    return finished
