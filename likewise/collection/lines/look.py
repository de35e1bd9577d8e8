"""The look of pictures: blocks of features in one dense space, a scan or an index over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from likewise.collection import engines
from likewise.collection.lines import building
from likewise.collection.lines.line import Line, View
from likewise.collection.lines.meanings import Meanings, of_view
from likewise.collection.lines.parts import Part
from likewise.collection.lines.smoothing import AT_ONCE, Rescored, smoothed_by
from likewise.collection.query_pictures import QueryPictures
from likewise.features import block_of
from likewise.index.flat import FlatIndex
from likewise.intake.own_vectors import BLOCK as OWN
from likewise.learners.plain import Plain
from likewise.store import Generation, Store
from likewise.types import (
    LOOK,
    BadInput,
    DataProblem,
    FloatArray,
    IdArray,
    Index,
    QueryRef,
    Similarity,
    Surrogate,
    as_vector,
)


class Look(Line):
    """Pictures that look alike."""

    name = LOOK
    stored = "main"
    found_by = "picture"
    empty = "No pictures are indexed yet; run: likewise index FOLDER"
    answers_unchecked = True
    goes_on = True

    def __init__(self, store: Store, pictures: QueryPictures) -> None:
        super().__init__(store, pictures)
        self._meanings: dict[tuple[str, int, int], Meanings | None] = {}

    def plain(self) -> Plain | None:
        """The fitted space with its plain weights; None where nothing was fitted yet."""
        return building.current_space(self._store)

    def query(self, ref: QueryRef, view: View) -> FloatArray:
        """The picture vector of one query picture."""
        space = view.plain.space
        if ref.kind == "item" and ref.crop is None:
            own: FloatArray = view.rows([self._store.items.find(ref.value).id])[0]
            return own
        if OWN in space.names:
            raise BadInput(
                "This collection has own vectors, so other pictures and crops cannot be described; "
                "search by an item, by words, or by a vector."
            )
        features = self._pictures.features(ref, space.names)
        rows = {name: vector[None] for name, vector in features.items()}
        return self.vector(space.transform(rows)[0], view)

    def vector(self, vector: Any, view: View) -> FloatArray:
        """A picture vector from elsewhere, smoothed by its neighbours here where items are."""
        own = as_vector(vector, dim=view.plain.space.dim, name="query vector")
        x = own.astype(np.float32)
        return x if view.bare is view else smoothed_by(view.bare, x[None])[0]

    def marked(
        self,
        view: View,
        similarity: Similarity,
        surrogate: Surrogate | None,
        marks: Mapping[int, float],
        own: Sequence[int],
    ) -> Surrogate:
        """The surrogate refitted from marks; for text alone the relevant pictures make one.

        Marked pictures speak as they are, also over smoothed ones.
        """
        from likewise.learners.marks import SMOOTHED, Background, MarkedQuery

        ids = np.array(sorted(marks), dtype=np.int64)
        grades = np.array([marks[i] for i in ids.tolist()])
        bare, settings = view.bare, None if view.bare is view else SMOOTHED
        rows = bare.rows(ids)
        if surrogate is None:
            first, *more = (similarity.surrogate(x) for x in rows[grades > 0])
            surrogate = sum(more, first)
        background = view.once(
            "background", lambda: Background.of(bare.all_rows()[1], view.plain.w0)
        )
        return MarkedQuery(similarity, background, settings).graded(
            surrogate, rows, grades, index=view, codes=view.rows,
            marked_ids=np.array([*ids.tolist(), *own], dtype=np.int64),
        )  # fmt: skip

    def meanings(self, view: View) -> Meanings | None:
        """What words mean in this view; None where its features tell nothing of words."""
        key = (view.space, view.generation, 0 if view.generation else len(view))
        if key not in self._meanings:
            self._meanings = {key: of_view(self._store, view)}
        return self._meanings[key]

    def read(self, text: str, view: View) -> Surrogate | None:
        """A text as the collection's own network reads it; None where it has none that reads."""
        space = view.plain.space
        block = next((name for name in space.names if block_of(name) == "clip"), None)
        meanings = None if block is None else self.meanings(view)
        if block is None or meanings is None:
            return None
        vector = np.zeros(space.dim)
        basis = space.to_arrays()[0][f"{block}.basis"]
        vector[space.slices[block]] = self._pictures.read(text, block) @ basis
        return meanings.scaled(Surrogate(vector, space=view.space))

    def contributions(self, surrogate: Surrogate, code: Any, view: View) -> dict[str, float]:
        """What each block of features adds."""
        added: dict[str, float] = view.plain.space.contributions(surrogate, code)
        return added

    def build(self, *, early: bool = False) -> int:
        """Fit the space where it is needed; publish an index where something changed.

        ``early`` says that pictures are still coming in.
        """
        now, store = self._to_publish(), self._store
        fitted = building.ensure_space(store, early=early)
        if fitted is None:
            return 0
        fitted = building.ensure_smoothing(store, fitted, early=early)
        found = store.generations.current(self.stored)
        same = engines.serves(store, found, len(now), early=early)
        if same and now.is_complete and not fitted.pictures:
            return now.generation
        return building.build_generation(store, fitted, early=early)

    def _live(self, items: IdArray | None = None) -> tuple[IdArray, IdArray]:
        return self._store.items.described(items)

    def _rows(self, contents: IdArray, plain: Plain) -> FloatArray:
        rows, at = np.empty((len(contents), plain.space.dim), np.float32), 0
        for part in building.encode_items(self._store, plain.space, contents, tiled=True):
            rows[at : at + len(part)] = part
            at += len(part)
        return rows

    def _made(self) -> View:
        view = super()._made()
        fresh = view.fresh
        if fresh is None or view.plain.space.smoothing is None:
            return view
        if len(fresh.ids) * len(view) > AT_ONCE:
            view.degraded = (
                f"{view.degraded} {len(fresh.ids):,} pictures are ranked without their neighbours "
                "until the index is built."
            ).strip()
            return view
        bare = view.bare
        part = self._scanned(
            fresh.ids, lambda: smoothed_by(bare, fresh.rows, fresh.ids), view.plain, fresh
        )
        return view.of_parts(view.old, part)

    def _load(self, generation: Generation, plain: Plain, *, checked: bool) -> tuple[Part, IdArray]:
        folder, kind, last = generation.folder, generation.kind, self._view
        if kind == FlatIndex.kind and last and last.old and last.generation == generation.number:
            return last.old, last.old.contents  # mapped once, also where it is only now compared
        ids, contents = np.load(folder / "ids.npy"), np.load(folder / "contents.npy")

        def read(name: str) -> Any:
            codes: Any = np.asarray(np.load(folder / name, mmap_mode="r"))
            if codes.dtype != np.float32 or codes.shape != (len(ids), plain.space.dim):
                raise DataProblem(
                    f"File {name} of index generation {generation.number} is damaged."
                )
            return codes

        codes = read("codes.npy")
        bare = None if plain.space.smoothing is None else read("bare.npy")
        if kind == FlatIndex.kind or not checked:
            whole = None if bare is None else self._part(ids, bare, plain)
            return self._scanned(ids, lambda: codes, plain, whole), contents
        index, whole = engines.load(folder, kind, codes), None
        if bare is not None:
            whole = Part(ids, lambda: Rescored(index, ids, bare), lambda: bare)
        return Part(ids, lambda: index, lambda: codes, whole), contents

    def _part(self, ids: IdArray, rows: FloatArray, plain: Plain) -> Part:
        return self._scanned(ids, lambda: rows, plain)

    def _scanned(
        self, ids: IdArray, rows: Callable[[], FloatArray], plain: Plain, bare: Part | None = None
    ) -> Part:
        rows = cache(rows)  # not through the part: what holds itself would keep its memory

        def scan() -> Index:
            try:
                return FlatIndex.build(rows(), ids, space=plain.space.fingerprint)
            except BadInput as error:
                raise DataProblem(f"The index is damaged: {error} Search again.") from None

        return Part(ids, scan, rows, bare)
