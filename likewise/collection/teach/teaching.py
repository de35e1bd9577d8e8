"""What people say: mark, click, order, undo; and what was said of a query before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.collection.options import Query
from likewise.collection.query_pictures import QueryPictures
from likewise.collection.teach.offers import Offers
from likewise.collection.teach.taught import Taught
from likewise.store import Store, as_file, query_name
from likewise.types import BadInput, Judgement, JudgementKind, NotFound, Similarity

if TYPE_CHECKING:
    from likewise.collection.lines.line import View


class Teaching:
    """The log of judgements of a collection; ``taught`` is what it says by query."""

    def __init__(self, store: Store, pictures: QueryPictures) -> None:
        self._store, self._pictures = store, pictures
        self.taught = Taught(store)
        self.offers = Offers(store, self.taught)

    # -- writing -----------------------------------------------------------------

    def mark(
        self,
        query: Query,
        items: Sequence[int | str],
        relevant: bool = True,
        *,
        person: str = "",
        source: str = "api",
        keys: Sequence[str | None] | None = None,
        positions: Sequence[int] | None = None,
    ) -> list[int]:
        """Say that items are, or are not, what this query wants; gives the records' numbers.

        ``positions`` are the places where they stood among the results, from 1.
        """
        value = 1.0 if relevant else 0.0
        groups = [(i,) for i in items]
        return self._add(query, groups, "label", value, person, source, keys, positions)

    def click(
        self, query: Query, item: int | str, *, person: str = "", source: str = "api",
        key: str | None = None, position: int = 0,
    ) -> int:  # fmt: skip
        """Say that an item was chosen for this query, at this place among the results (from 1)."""
        groups = [(item,)]
        return self._add(query, groups, "click", 1.0, person, source, [key], [position])[0]

    def order(
        self, query: Query, items: Sequence[int | str], *, person: str = "", source: str = "api",
        key: str | None = None,
    ) -> int:  # fmt: skip
        """Say that items are, in this order, nearer to what this query wants."""
        if len(items) < 2:
            raise BadInput("An ordering needs at least two items.")
        return self._add(query, [tuple(items)], "ordering", 1.0, person, source, [key])[0]

    def _add(
        self,
        query: Query,
        groups: Sequence[tuple[int | str, ...]],
        kind: JudgementKind,
        value: float,
        person: str,
        source: str,
        keys: Sequence[str | None] | None,
        positions: Sequence[int] | None = None,
    ) -> list[int]:
        ref = query.ref
        self._pictures.keep(ref)
        places = [0] * len(groups) if positions is None else list(positions)
        if len(places) != len(groups):
            raise BadInput("Give one position for each item, or none at all.")
        said = partial(Judgement, ref, kind=kind, value=value, person=person, source=source)
        judgements = [
            said(tuple(map(self._path, group)), position=place, line=query.line)
            for group, place in zip(groups, places)
        ]
        return self._store.judgements.add(judgements, keys)

    def _path(self, item: int | str) -> str:
        if isinstance(item, (int, np.integer)):
            return self._store.items.get(int(item)).file
        ref = self._pictures.locate(item)
        if ref.kind != "item":
            raise NotFound(f"{item} is not in this collection; index it first.")
        return ref.value

    def undo(self, record: int | None = None, *, person: str = "", source: str = "api") -> int:
        """Take a judgement back: the one of this number, or the last that counts."""
        if record is None:
            record = self._store.judgements.last()
            if not record:
                raise NotFound("There is no judgement to undo.")
        self._store.judgements.undo(record, person=person, source=source)
        return record

    def reply(self, query: Query, offer: str, taken: bool | None = False, **how: Any) -> int:
        """Say that an offer (by its name) was taken or refused, or take that word back (None).

        What is refused for a query is not offered to it again, and must come nearer elsewhere.
        ``how``: ``person``, and the ``likeness`` of the offer, from which the threshold learns.
        """
        return self.offers.reply(query.line, self.name(query), offer, taken, **how)

    # -- files -------------------------------------------------------------------

    def read(self, path: Path, **options: Any) -> tuple[int, list[str]]:
        """Import judgements from a file; gives how many, and the rows that could not be used."""
        from likewise.judgements import read_judgements

        result = read_judgements(path, **options)
        problems = [f"{p.file}, line {p.line}: {p.reason}" for p in result.problems]
        good: list[Judgement] = []
        known = self._known(result.judgements)
        for judgement in result.judgements:
            if judgement.kind == "click" and not judgement.value:  # shown: some may have gone since
                shown = tuple(i for i in dict.fromkeys(judgement.items) if i in known)
                judgement = replace(judgement, items=shown or judgement.items)
            lost = [i for i in self._names(judgement) if i not in known]
            if lost:
                problems.append(f"{path.name}: {lost[0]!r} is not an item of this collection.")
            else:
                good.append(judgement)
        self._store.judgements.add(good)
        return len(good), problems

    def _names(self, judgement: Judgement) -> list[str]:
        own = [judgement.query.value] if judgement.query.kind == "item" else []
        return [*judgement.items, *own]

    def _known(self, judgements: Any) -> set[str]:
        names = {name for j in judgements for name in self._names(j)}
        found = self._store.items.ids([name.encode("utf-8", "surrogateescape") for name in names])
        return {as_file(key) for key in found}

    def write(self, path: Path, *, kinds: Sequence[JudgementKind] = (), **options: Any) -> int:
        """Export every judgement that counts, or those of some kinds."""
        from likewise.judgements import Judgements, write_judgements

        log = Judgements.of(self._store.judgements)
        if kinds:
            log = log.of_kind(*kinds)
        write_judgements(log, path, **options)
        return len(log)

    def clicks(self, query: Query, item: int) -> int:
        """How often an item was chosen for this query."""
        try:
            return int(self._store.judgements.chosen(query.ref, item))
        except BadInput:  # nothing that judgements could be about
            return 0

    # -- marks at work -----------------------------------------------------------

    def name(self, query: Query) -> str:
        """The name under which marks of a query are kept; see :class:`likewise.store.Said`."""
        ref = query.ref
        value = self._store.items.find(ref.value).id if ref.kind == "item" else ref.value
        return query_name(ref.kind, value, ref.crop)

    def marks(self, query: Query) -> dict[int, float]:
        """What was said of items for this query: item to value, the latest word counting."""
        return self.taught.marks(query.line, self.name(query)) if query.can_be_judged else {}

    def in_common(self, query: Query, used: Sequence[str], view: View) -> Similarity:
        """What other taught queries have in common, for one that uses some of them."""
        own = self.name(query) if query.can_be_judged else ""
        return self.offers.in_common(own, used, view)

    def records(self, query: Query) -> dict[int, list[int]]:
        """By item that was marked for this query the records that say so: undo takes it back."""
        return self.taught.records(query.line, self.name(query)) if query.can_be_judged else {}
