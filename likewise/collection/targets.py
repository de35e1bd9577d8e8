"""Target search in a collection: its items as holdings, its catalogue as the record of rounds."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.collection.lines import View
from likewise.session.holdings import Rounds, is_of
from likewise.session.kept import kept_metrics
from likewise.session.session import TargetSession
from likewise.session.settings import Settings
from likewise.types import FloatArray, IdArray, LikewiseError, NotFound, QueryRef

if TYPE_CHECKING:
    from likewise.collection.collection import Collection


class CollectionHoldings:
    """The findable items of a collection, as they are when they are asked for.

    Where other threads write meanwhile, :meth:`hold` keeps ids and vectors of one moment.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._read: tuple[View, IdArray, FloatArray] | None = None
        self._held = False

    def hold(self) -> None:
        """Take what is there now, and stay with it until this is called again."""
        self._held = False
        self._current()
        self._held = True

    def _current(self) -> tuple[View, IdArray, FloatArray]:
        if self._read is not None and self._held:
            return self._read
        view = self._collection.look.view().bare
        if self._read is None or self._read[0] is not view:
            self._read = (view, *(view.all_rows() if len(view) else (view.ids, np.zeros((0, 0)))))
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
        slices: Mapping[str, slice] = self._current()[0].plain.space.slices
        return slices

    @property
    def space(self) -> str:
        """Fingerprint of the space that the vectors are in: smoothed or not, it is the same."""
        view = self._current()[0]
        return str(view.plain.space.smoothed(None).fingerprint) if view.space else ""


def _ref(kind: Any, value: str, crop: Sequence[float] | None) -> QueryRef:
    return QueryRef(kind, value, crop and tuple(crop))  # type: ignore[arg-type]


class Targets:
    """Searches for one picture, by arranging others: begin, go on, let them teach."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self.records = collection.sessions

    def holdings(self) -> CollectionHoldings:
        """The findable items, for a session that is not written down."""
        return CollectionHoldings(self._collection)

    def start(
        self,
        *,
        picture: Any = None,
        text: str = "",
        first: Sequence[int] | None = None,
        random: bool = False,
        settings: Settings | None = None,
        person: str = "",
        seed: int = 0,
        origin: Mapping[str, Any] | None = None,
        holdings: CollectionHoldings | None = None,
        rounds: Rounds | None = None,
    ) -> TargetSession:
        """Begin a target search from representatives, pictures, words, or a random hundred.

        Several pictures make one query, their mean; ``first`` are ids to show first, for instance
        a list of results.  Kept sessions near the beginning lend their metric.  ``rounds`` is
        where it is written down, the collection's own record unless given.
        """
        collection = self._collection
        held = holdings or CollectionHoldings(collection)
        query, vector = None, None
        pictures = picture if isinstance(picture, list) else [] if picture is None else [picture]
        refs: list[QueryRef] = [collection.pictures.locate(one) for one in pictures]
        if len(refs) == 1 and refs[0].kind == "item" and refs[0].crop is None:
            query = collection.items.find(refs[0].value).id
        elif refs:
            vector = self._mean(refs)
            origin = {**(origin or {}), "pictures": [asdict(ref) for ref in refs]}
        elif text and first is None:
            shown = (settings or Settings()).shown
            first = collection.search(text=text, k=shown).ids.tolist()
            if not first:
                raise NotFound(
                    f"Nothing is found for {text!r}; begin with other words or a picture."
                )
        return TargetSession.start(
            held,
            rounds or self.records,
            settings,
            query=query,
            vector=vector,
            first=first,
            begin="random" if random else "representatives",
            kept=kept_metrics(self.records, held),
            person=person,
            seed=seed,
            origin=origin,
        )

    def resume(
        self,
        session: int,
        round: int | None = None,
        *,
        holdings: CollectionHoldings | None = None,
    ) -> TargetSession:
        """Go on with a session, from its latest round or from another one."""
        held = holdings or CollectionHoldings(self._collection)
        begun = self.records.get(session).payload
        began = begun.get("origin", {}).get("pictures", ()) if begun["vector"] else ()
        vector = None
        if began and not is_of(begun, held, "start"):
            with contextlib.suppress(LikewiseError, OSError):  # it may be gone: then without
                vector = self._mean([_ref(**ref) for ref in began])
        return TargetSession.resume(held, self.records, session, round=round, vector=vector)

    def _mean(self, refs: Sequence[QueryRef]) -> FloatArray:
        """The picture vector in the middle of query pictures."""
        look = self._collection.look
        view = look.view().bare
        mean: FloatArray = np.mean([look.query(ref, view) for ref in refs], axis=0)
        return mean

    def teach_others(self, search: TargetSession, *, person: str = "") -> int:
        """Write a kept session's orderings down as judgements; gives how many."""
        collection, written = self._collection, 0
        said = [(query, items) for query, items in search.orderings() if query is not None]
        named = {int(item) for query, items in said for item in (query, *items)}
        known = {item.id for item in collection.items.many(named)}  # some may be forgotten
        for query, listed in said:
            items = [item for item in listed if int(item) in known]
            if len(items) >= 2 and query in known:
                collection.order(
                    int(query), [int(i) for i in items], person=person,
                    source=f"session {search.id}",
                )  # fmt: skip
                written += 1
        return written
