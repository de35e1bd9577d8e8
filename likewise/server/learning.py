"""Learning from the judgements through the collection, as the page asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from likewise.collection import Collection
from likewise.store import Model
from likewise.types import MissingExtra


def learn(
    collection: Collection, payload: dict[str, Any], should_stop: Callable[[], bool]
) -> Model:
    """A model learned from all labels, compared with plain similarity by the guard.

    The model is stored but not active; its card's ``guard`` says whether it passed.
    """
    method = getattr(collection.models, "learn", None)
    if method is None:
        raise MissingExtra("This version of likewise cannot learn models yet.")
    learned = method(str(payload.get("method", "labels")))
    model: Model = learned if isinstance(learned, Model) else collection.store.models.all()[-1]
    return model
