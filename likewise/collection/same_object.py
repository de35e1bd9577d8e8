"""Same-object search: the pictures that show what the query shows, by visual words.

Queries become histograms of words and then surrogates, as everywhere; the inverted file
answers.  On request the first results are checked by geometry: how many places of the two
pictures agree on one view change.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from likewise.collection.answers import Answer
from likewise.collection.ingest import LOCAL
from likewise.collection.queries import Query
from likewise.collection.searching import (
    QueryPictures,
    results_of,
    store_filter,
    sum_of,
    without,
)
from likewise.collection.words import (
    WordsView,
    describe_rest,
    is_wanted,
    vocabulary_of,
)
from likewise.collection.words import build as build_words
from likewise.learners.word_table import WordTable
from likewise.store import Filter, Store
from likewise.types import BadInput, Damaged, Hits, Progress, QueryRef, SpaceMismatch, check_k

SLOT = "same-object"
"""Slot of the store for the table that ranks."""

MOST_CHECKED = 200
_KEPT = 256


class SameObject:
    """Visual words of a collection: indexing, queries, answers."""

    def __init__(self, store: Store, folder: bytes, pictures: QueryPictures) -> None:
        self._store, self._folder, self._pictures = store, folder, pictures
        self._lock = threading.Lock()
        self._view: WordsView | None = None
        self._vocabulary: Any = None
        self._described: dict[tuple[QueryRef, int | None], Any] = {}
        self._models: dict[tuple[int, str], WordTable] = {}

    @property
    def is_on(self) -> bool:
        """Whether the collection is indexed for same-object search."""
        return is_wanted(self._store)

    # -- indexing ----------------------------------------------------------------

    def switch_on(self) -> None:
        """From now on pictures are indexed for same-object search too."""
        if not self.is_on:
            self._store.settings.set("same_object", True)

    def index(
        self,
        *,
        processes: int | None = None,
        progress: Progress | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Local features of pictures that lack them; false where it was stopped."""
        return describe_rest(
            self._store, self._folder, processes=processes, progress=progress,
            should_stop=should_stop,
        )  # fmt: skip

    def build(self) -> int:
        """Vocabulary, words and inverted file up to date; gives the generation's number."""
        return build_words(self._store) if self.is_on else 0

    # -- looking -----------------------------------------------------------------

    def view(self) -> WordsView:
        """The newest consistent view."""
        if not self.is_on:
            raise BadInput(
                "This collection was not indexed for same-object search; run: likewise index "
                "FOLDER --features words"
            )
        with self._lock:
            if self._view is None or not self._view.is_newest(self._store):
                self._view = WordsView.newest(self._store)
            return self._view

    def histogram(self, ref: QueryRef, view: WordsView) -> sparse.csr_array:
        """Words of one query picture."""
        if ref.kind == "item" and ref.crop is None:
            item = self._store.items.find(ref.value).id
            if view.holds(item):
                return view.counts(item)
        assert view.space is not None
        vocabulary = self._words()
        if vocabulary.fingerprint != view.space.vocabulary:
            raise SpaceMismatch("The vocabulary has just changed; search again.")
        counts: sparse.csr_array = vocabulary.histograms([self._local(ref)])
        return counts

    def _words(self) -> Any:
        name = self._store.settings.get("vocabulary")
        with self._lock:
            if self._vocabulary is None or self._vocabulary.fingerprint != name:
                self._vocabulary = vocabulary_of(self._store)
            return self._vocabulary

    def _local(self, ref: QueryRef) -> Any:
        """Local features of a query picture: an item's from the store, others decoded anew."""
        from likewise.features.local import unpack  # heavy room: only where it is needed

        content = None
        if ref.kind == "item":
            with self._store.snapshot(), contextlib.suppress(Damaged):  # then it is described anew
                item = self._store.items.find(ref.value)
                content = item.content
                if ref.crop is None and item.id in self._store.items.contents([item.id]):
                    return unpack(self._store.segments.read(LOCAL, [content])[0])
        key = ref, content  # another picture may have the name now
        found = self._described.get(key)
        if found is None:
            found = unpack(self._pictures.features(ref, (LOCAL,))[LOCAL])
            with self._lock:
                self._described[key] = found
                while len(self._described) > _KEPT:
                    self._described.pop(next(iter(self._described)))
        return found

    def serving(self, model: int | str | None, view: WordsView) -> tuple[WordTable, str]:
        """The table that ranks, and its name."""
        assert view.space is not None
        active = self._store.models.active(SLOT) if model is None else None
        if model == "plain" or (model is None and active is None):
            return self._plain(view), "plain"
        number = active.id if active is not None else int(model)  # type: ignore[arg-type]
        record = self._store.models.get(number)
        if record.space != view.space.fingerprint:
            if model is None:  # learned with another vocabulary: it waits to be learned anew
                return self._plain(view), "plain"
            raise SpaceMismatch(
                f"Model {number} ({record.name}) was learned in another space; learn it anew with: "
                "likewise learn labels --space words"
            )
        key = number, record.space
        if key not in self._models:
            arrays, card = self._store.models.load(number)
            self._models[key] = WordTable.from_arrays(view.space, arrays, card["similarity"])
        return self._models[key], f"{number} {record.name}"

    def _plain(self, view: WordsView) -> WordTable:
        assert view.space is not None
        key = 0, view.space.fingerprint
        if key not in self._models:
            self._models[key] = WordTable.binary_idf(view.space)
        return self._models[key]

    def answer(
        self,
        query: Query,
        *,
        k: int = 20,
        filter: Filter | None = None,
        model: int | str | None = None,
        check: int = 0,
        pin_query: bool = False,
    ) -> Answer:
        """Pictures that show what the query's pictures show; see ``Collection.search``."""
        started = time.perf_counter()
        check_k(k)
        if not query.examples or query.text or query.vector is not None:
            raise BadInput(
                "Same-object search takes pictures only; leave out words and vectors, or search "
                "by look."
            )
        if not 0 <= check <= MOST_CHECKED:
            raise BadInput(f"Between 0 and {MOST_CHECKED} results can be checked, not {check}.")
        view = self.view()
        if view.space is None or not len(view):
            note = "No picture of this collection has local features, or none is indexed yet."
            seconds = time.perf_counter() - started
            return Answer([], notes=(note,), seconds=seconds, degraded=view.degraded)
        table, name = self.serving(model, view)
        parts, notes = [], []
        for example in query.examples:
            counts = self.histogram(example.ref, view)
            if not counts.nnz:
                notes.append(
                    "The query has no local feature (it is flat, tiny or blurred), so every "
                    "picture is as good as another."
                )
            parts.append(table.surrogate(counts) * example.weight)
        own = {self._store.items.find(path).id for path in query.own_items}
        among = store_filter(self._store, filter)
        hits = without(view.search(table, sum_of(parts), k + len(own), among), own)
        hits = Hits(hits.ids[:k], hits.scores[:k])
        if notes and not np.ptp(hits.scores) and len(query.examples) == 1:
            hits = Hits(hits.ids[:0], hits.scores[:0])
        found_by: dict[int, tuple[str, ...]] = dict.fromkeys(hits.ids.tolist(), ("same object",))
        results = results_of(self._store, hits, found_by)
        if pin_query and own:
            zero = Hits(np.array(sorted(own)), np.zeros(len(own)))
            shown: dict[int, tuple[str, ...]] = dict.fromkeys(own, ("query",))
            pinned = results_of(self._store, zero, shown)
            results = [*pinned, *results][:k]
        if check:
            results = self._checked(query, results, check)
        return Answer(
            results, model=name, generation=view.generation, degraded=view.degraded,
            seconds=time.perf_counter() - started, notes=tuple(notes),
        )  # fmt: skip

    def _checked(self, query: Query, results: list[Any], check: int) -> list[Any]:
        """The first results with their inliers."""
        from likewise.features.geometry import inliers
        from likewise.features.local import unpack

        wanted = next((e.ref for e in query.examples if e.weight > 0), query.examples[0].ref)
        asked = self._local(wanted)
        with self._store.snapshot():
            live = self._store.items.contents([r.item for r in results[:check]])
            first = [r for r in results[:check] if r.item in live]
            sound, rows = self._store.segments.sound(
                np.array([live[r.item] for r in first], np.int64),
                lambda contents: self._store.segments.read(LOCAL, contents),
            )
        there = [r for r, well in zip(first, sound) if well]
        count = {r.item: inliers(asked, unpack(row)) for r, row in zip(there, rows)}
        return [replace(r, inliers=count.get(r.item)) for r in results]
