"""Target search in a collection: its items as holdings, its catalogue as the record of rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.collection import Collection
from likewise.session.kept import kept_metrics
from likewise.session.session import TargetSession
from likewise.session.settings import Settings
from likewise.types import FloatArray, IdArray, NotFound, QueryRef


class CollectionHoldings:
    """The findable items of a collection, as they are when they are asked for."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._read: tuple[object, IdArray, FloatArray] | None = None

    def _current(self) -> tuple[object, IdArray, FloatArray]:
        snapshot = self._collection.snapshot()
        if self._read is None or self._read[0] is not snapshot:
            self._read = (snapshot, *snapshot.all_codes())
        return self._read

    @property
    def ids(self) -> IdArray:
        """Ids of the items, ascending."""
        return self._current()[1]

    @property
    def vectors(self) -> FloatArray:
        """Picture vectors, one row an item."""
        return self._current()[2]

    @property
    def blocks(self) -> Mapping[str, slice]:
        """Columns of each block of features."""
        plain = self._collection.snapshot().plain
        if plain is None:
            raise NotFound("No pictures are indexed yet; run: likewise index FOLDER")
        return plain.space.slices


def start(
    collection: Collection,
    *,
    picture: Any = None,
    text: str = "",
    random: bool = False,
    settings: Settings | None = None,
    person: str = "",
    seed: int = 0,
) -> TargetSession:
    """Begin a target search from representatives, a picture, words, or a random hundred.

    Kept sessions near the beginning lend their metric.
    """
    holdings = CollectionHoldings(collection)
    query, vector, first = None, None, None
    if picture is not None:
        ref: QueryRef = collection.pictures.locate(picture)
        if ref.kind == "item" and ref.crop is None:
            query = collection.store.items.find(ref.value).id
        else:
            vector = collection.pictures.vector(ref, collection.snapshot())
    elif text:
        shown = (settings or Settings()).shown
        first = collection.search(text=text, k=shown).ids.tolist()
        if not first:
            raise NotFound(f"Nothing is found for {text!r}; begin with other words or a picture.")
    return TargetSession.start(
        holdings,
        collection.store.sessions,
        settings,
        query=query,
        vector=vector,
        first=first,
        begin="random" if random else "representatives",
        kept=kept_metrics(collection.store.sessions, holdings),
        person=person,
        seed=seed,
    )


def resume(collection: Collection, session: int, round: int | None = None) -> TargetSession:
    """Go on with a session, from its latest round or from another one."""
    return TargetSession.resume(
        CollectionHoldings(collection), collection.store.sessions, session, round=round
    )


def teach_others(collection: Collection, search: TargetSession, *, person: str = "") -> int:
    """Write a kept session's orderings down as judgements; gives how many."""
    written = 0
    for query, items in search.orderings():
        if len(items) >= 2 and query is not None:
            collection.teaching.order(
                collection.query(int(query)), [int(i) for i in items], person=person,
                source=f"session {search.number}",
            )  # fmt: skip
            written += 1
    return written
