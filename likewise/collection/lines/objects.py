"""The objects that pictures show: visual words, an inverted file, and geometry on request.

Queries become histograms of words and then surrogates, as everywhere; the inverted file
answers.  On request the first results are looked at closer: how many places of the two
pictures agree on one view change.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.collection.lines import visual_words
from likewise.collection.lines.line import Line, View
from likewise.collection.lines.parts import Part
from likewise.collection.options import Query, Result
from likewise.index import REGISTRY
from likewise.intake import LOCAL
from likewise.later import sparse
from likewise.store import Generation
from likewise.types import (
    OBJECTS,
    BadInput,
    Damaged,
    DataProblem,
    IdArray,
    QueryRef,
    Similarity,
    SpaceMismatch,
    Surrogate,
)

if TYPE_CHECKING:
    from likewise.index.inverted import InvertedIndex
    from likewise.learners.word_table import WordTable

MOST_CHECKED = 200
CHANCE = 10
"""From so many places on that agree, it is no chance."""
SHOWN = 8
"""Visual words that an explanation names; the others are added up."""


class Objects(Line):
    """Pictures that show the same object."""

    name = OBJECTS
    stored = visual_words.NAME
    found_by = "same object"
    may_be_empty = True

    _vocabulary: Any = None

    @property
    def is_on(self) -> bool:
        """Whether the collection is indexed for same-object search."""
        return bool(self._store.settings.get("same_object"))

    @property
    def empty(self) -> str:
        """What to do where nothing can be found."""
        if self.is_on:
            return "No picture of this collection has local features, or none is indexed yet."
        return (
            "This collection was not indexed for same-object search; run: likewise index FOLDER "
            "--features words"
        )

    def switch_on(self) -> None:
        """From now on pictures are indexed for same-object search too."""
        if not self.is_on:
            self._store.settings.set("same_object", True)

    def plain(self) -> WordTable | None:
        """By words in both and the roots of their counts; None where no picture has words yet."""
        space = visual_words.space_of(self._store)
        if space is None:
            return None
        from likewise.learners.word_table import WordTable  # heavy: most searches ask for the look

        return WordTable.by_counts(space)

    def check(self, query: Query) -> None:
        """Refuse words and vectors, and a collection that has no visual words."""
        if not query.examples or query.text or query.vector is not None:
            raise BadInput(
                "Same-object search takes pictures only; leave out words and vectors, or search "
                "by look."
            )
        if not self.is_on:
            raise BadInput(self.empty)

    def query(self, ref: QueryRef, view: View) -> sparse.csr_array:
        """Histogram of the words of one query picture."""
        if ref.kind == "item" and ref.crop is None:
            item = self._store.items.find(ref.value).id
            if view.holds(item):
                own: sparse.csr_array = view.rows([item])
                return own
        name = view.plain.space.vocabulary
        with self._lock:
            if self._vocabulary is None or self._vocabulary.fingerprint != name:
                self._vocabulary = visual_words.vocabulary_of(self._store)
            vocabulary = self._vocabulary
        if vocabulary.fingerprint != name:
            raise SpaceMismatch("The vocabulary has just changed; search again.")
        counts: sparse.csr_array = vocabulary.histograms([self._local(ref)])
        return counts

    def _local(self, ref: QueryRef) -> Any:
        """Local features of a query picture: an item's from the store, others decoded anew."""
        from likewise.features.local import unpack  # heavy room: only where it is needed

        if ref.kind == "item" and ref.crop is None:
            with self._store.snapshot(), contextlib.suppress(Damaged):  # then it is described anew
                item = self._store.items.find(ref.value).id
                content = list(self._store.items.contents([item]).values())
                if content:
                    return unpack(self._store.segments.read(LOCAL, content)[0])
        return unpack(self._pictures.features(ref, (LOCAL,))[LOCAL])

    def notes(self, query: Query, view: View) -> list[str]:
        """Say where a query picture has nothing that could be found again."""
        if not view.space:
            return [self.empty]
        if all(self.query(e.ref, view).nnz for e in query.examples):
            return []
        return [
            "The query has no local feature (it is flat, tiny or blurred), so every picture is as "
            "good as another."
        ]

    def marked(
        self,
        view: View,
        similarity: Similarity,
        surrogate: Surrogate | None,
        marks: Mapping[int, float],
        own: Sequence[int],
    ) -> Surrogate:
        """The surrogates of relevant pictures added, half of those of others taken away."""
        assert surrogate is not None
        from likewise.learners.marks import added

        return added(similarity, surrogate, [(view.rows([i]), sign) for i, sign in marks.items()])

    def contributions(self, surrogate: Surrogate, code: Any, view: View) -> dict[str, float]:
        """What each visual word adds, the strongest by name and the others together."""
        product = sparse.coo_array(code.multiply(surrogate.vector))
        words = product.coords[1] // view.plain.space.levels
        share = np.bincount(words, product.data, minlength=1)
        first = np.argsort(-np.abs(share), kind="stable")[:SHOWN]
        out = {f"visual word {word}": float(share[word]) for word in first if share[word]}
        rest = float(share.sum() - share[first].sum())
        return out | ({"other visual words": rest} if np.count_nonzero(share) > SHOWN else {})

    def checked(self, query: Query, results: list[Result], count: int) -> list[Result]:
        """The first results by the number of places that agree on one view change, then the rest.

        Fewer than `CHANCE` say nothing: those stay in order, behind.
        """
        from likewise.features.geometry import inliers
        from likewise.features.local import unpack

        if not 0 <= count <= MOST_CHECKED:
            raise BadInput(f"Between 0 and {MOST_CHECKED} results can be checked, not {count}.")
        wanted = next((e.ref for e in query.examples if e.weight > 0), query.examples[0].ref)
        asked = self._local(wanted)
        with self._store.snapshot():
            content = self._store.items.contents([r.item for r in results[:count]])
            sound, rows = self._store.segments.sound(
                np.array(list(content.values()), np.int64),
                lambda some: self._store.segments.read(LOCAL, some),
            )
        there = np.array(list(content), np.int64)[sound].tolist()
        agree = {item: inliers(asked, unpack(row)) for item, row in zip(there, rows)}
        found = [r._replace(inliers=agree.get(r.item)) for r in results]
        return [*sorted(found[:count], key=lambda r: -_said(r.inliers)), *found[count:]]

    # -- indexing ------------------------------------------------------------------

    def build(self) -> int:
        """Vocabulary, words and inverted file up to date; gives the generation's number."""
        space = visual_words.ensure_words(self._store) if self.is_on else None
        if space is None:
            return 0
        view = self._to_publish()
        if view.is_complete:
            return view.generation
        segment = self._store.segments.last()
        index: Any = None if view.old is None else view.old.index
        if index is not None and len(view.gone):
            index = index.without(view.gone)
        if view.fresh is not None:
            codes = space.encode(view.fresh.rows)
            index = view.fresh.index if not index else index.added(codes, view.fresh.ids)
        if index is None:  # all of it is damaged
            return 0
        content = dict(zip(view.ids.tolist(), view.contents.tolist()))
        with self._store.generations.build() as aside:
            index.save(aside / "index")
            contents = np.array([content[item] for item in index.ids.tolist()], dtype=np.int64)
            np.save(aside / "contents.npy", contents)
            published = self._store.generations.publish(
                aside, space=space.fingerprint, kind=index.kind, segment=segment,
                items=len(index), line=self.stored,
            )  # fmt: skip
        return published.number

    def _live(self, items: IdArray | None = None) -> tuple[IdArray, IdArray]:
        ids, contents = self._store.items.described()
        known = np.isin(contents, self._store.segments.contents(visual_words.NAME))
        return ids[known], contents[known]

    def _rows(self, contents: IdArray, plain: WordTable) -> sparse.csr_array:
        counts = visual_words.counts_of(self._store, contents, plain.space.words)
        counts.sum_duplicates()
        counts.data = np.minimum(counts.data, plain.space.levels)
        return counts

    def _load(
        self, generation: Generation, plain: WordTable, *, checked: bool
    ) -> tuple[Part, IdArray]:
        index = REGISTRY["inverted"].load(generation.folder / "index", compared=True)
        contents = np.load(generation.folder / "contents.npy", allow_pickle=False)
        if len(contents) != len(index):
            raise DataProblem(f"Index generation {generation.number} does not fit together.")
        order = np.argsort(index.ids, kind="stable")
        part = Part(index.ids[order], lambda: index, lambda: _levels(index, plain.space)[order])
        return part, contents[order]

    def _part(self, ids: IdArray, rows: sparse.csr_array, plain: WordTable) -> Part:
        space = plain.space
        build = REGISTRY["inverted"].build
        return Part(
            ids,
            lambda: build(space.encode(rows), ids, space=space.fingerprint, levels=space.levels),
            lambda: rows,
        )


def _said(inliers: int | None) -> int:
    return inliers if inliers is not None and inliers >= CHANCE else 0


def _levels(index: InvertedIndex, space: Any) -> sparse.csr_array:
    """Truncated counts of every row, which is all that a table looks at."""
    codes = index.codes()
    values = (codes.indices % space.levels + 1).astype(np.float32)
    rows = sparse.csr_array(
        (values, codes.indices // space.levels, codes.indptr), shape=(len(index), space.words)
    )
    rows.sort_indices()
    return rows
