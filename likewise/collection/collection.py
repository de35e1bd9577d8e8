"""A collection: a folder of pictures plus its data folder, with one method a verb."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from likewise.collection import duplicates as duplicates_
from likewise.collection import exporting, own_vectors, sidecars
from likewise.collection.answers import Answer
from likewise.collection.building import build_generation, ensure_space
from likewise.collection.defaults import FEATURES
from likewise.collection.ingest import LOCAL, UNREACHABLE, IngestReport, ingest
from likewise.collection.layouts import Layouts
from likewise.collection.modelling import WORDS, Modelling
from likewise.collection.queries import Crop, Query, make_query
from likewise.collection.same_object import SameObject
from likewise.collection.searching import QueryPictures, answer, picture_surrogate
from likewise.collection.snapshot import Snapshot
from likewise.collection.teaching import Teaching
from likewise.collection.wording import suggestions
from likewise.collection.words import NAME as VISUAL_WORDS
from likewise.store import Filter, Forgotten, Item, Store
from likewise.types import BadInput, NotFound, Progress, QueryRef, check_k

DATA_FOLDER = ".likewise"
FIRST_SPACE = 500
"""Pictures after which a first search is possible while the rest still comes in."""


class Collection:
    """A folder of pictures that can be searched and taught.

    Made by :func:`likewise.open`; close it, or use it in a ``with`` block.

    Attributes
    ----------
    folder
        Where the pictures are; they are only ever read.
    store
        The data folder: the record of all that is known.
    teaching
        Judgements: mark, click, order, undo, import, export.
    models
        Learn, compare, activate, roll back.
    layouts
        Pictures laid out for the eye: a sorted grid of some, a map of all.
    same_object
        Visual words: same-object search.
    """

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder, self.store = folder, store
        self._snapshot: Snapshot | None = None
        self._lock = threading.Lock()
        self.pictures = QueryPictures(store, os.fsencode(folder))
        self.same_object = SameObject(store, os.fsencode(folder), self.pictures)
        self.models = Modelling(store, self.snapshot, self.pictures, self.same_object)
        self.teaching = Teaching(store, self.snapshot, self.pictures)
        self.layouts = Layouts(store, self.snapshot, self.thumbnail)

    # -- opening -----------------------------------------------------------------

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        data: str | os.PathLike[str] | None = None,
        write: bool = False,
        create: bool = False,
    ) -> Collection:
        """Open the collection of a folder.

        Parameters
        ----------
        folder
            The folder of pictures.
        data
            The data folder; ``.likewise`` inside ``folder`` where not given.
        write
            Whether to index, judge or learn: one process at a time may.
        create
            Start a new collection where there is none.
        """
        root = Path(os.path.abspath(folder))
        place = Path(data) if data is not None else root / DATA_FOLDER
        if create and not root.is_dir():
            raise NotFound(f"There is no folder {root}; name the folder that holds your pictures.")
        if not create and not place.is_dir():
            raise NotFound(f"{root} is not indexed yet; run: likewise index {root}")
        store = Store.open(place, write=write or create, create=create)
        return cls(root, store)

    def close(self) -> None:
        """Let the next writer in."""
        self.pictures.close()
        self.store.close()

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Pictures that can be found."""
        return len(self.snapshot())

    # -- pictures in -------------------------------------------------------------

    def index(
        self,
        *,
        features: Sequence[str] | None = None,
        processes: int | None = None,
        gps: bool = False,
        accept_missing: bool = False,
        retry: bool = False,
        vectors: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> IngestReport:
        """Bring the collection up to date with its folder, then build the index.

        Only new and changed files are read.  Ctrl-C pauses; what is done stays done.

        Parameters
        ----------
        features
            Blocks to compute; those of the collection where not given.  ``words`` among them
            adds same-object search, at any time.
        gps
            Whether to keep the place where a picture was taken.
        accept_missing
            Believe a scan that finds far fewer files than before, and that a disk which is
            away is gone for good.
        retry
            Try unreadable files again, and describe anew what is damaged.
        vectors
            A ``.npy`` or Parquet file of own vectors instead of features.
        """
        if features is not None and VISUAL_WORDS in features:
            self.same_object.switch_on()
            features = [name for name in features if name != VISUAL_WORDS] or None
        chosen = self._features((own_vectors.BLOCK,) if vectors is not None else features)
        if retry:
            self.store.contents.retry()
            self.store.segments.mend()

        def committed(embedded: int) -> None:
            if embedded >= FIRST_SPACE and self.store.settings.get("space") is None:
                self.store.segments.without_damage(lambda: ensure_space(self.store, chosen))

        report = ingest(
            self.store,
            os.fsencode(self.folder),
            [name for name in chosen if name != own_vectors.BLOCK]
            + [LOCAL] * self.same_object.is_on,
            processes=processes,
            gps=gps,
            accept_missing=accept_missing,
            progress=progress,
            should_stop=should_stop,
            committed=committed,
        )
        if vectors is not None:
            own_vectors.add_vectors(self.store, Path(vectors))
        if report.finished and self.same_object.is_on:
            report.finished = self.same_object.index(
                processes=processes, progress=progress, should_stop=should_stop
            )
        if report.finished:
            sidecars.read_beside(self.store, self.folder)
            self.build()
        return report

    def _features(self, wanted: Sequence[str] | None) -> tuple[str, ...]:
        known = self.store.settings.get("features")
        if wanted is None:
            chosen = tuple(known or FEATURES)
        else:
            chosen = tuple(wanted)
            if known and tuple(known) != chosen and len(self.store.items.contents()):
                raise BadInput(
                    f"This collection has the features {', '.join(known)}; to use others, start "
                    "another data folder with --data."
                )
        if tuple(known or ()) != chosen:
            self.store.settings.set("features", list(chosen))
        return chosen

    def build(self) -> int:
        """Build the index anew where something changed; gives the generation's number."""
        return self.store.segments.without_damage(self._build)

    def _build(self) -> int:
        self.store.segments.merge()
        plain = ensure_space(self.store, self._features(None))
        self.same_object.build()
        if plain is None:
            return 0
        now = self.snapshot()
        if now.is_complete:
            return now.generation
        return build_generation(self.store, plain)

    # -- search ------------------------------------------------------------------

    def snapshot(self, *, checked: bool = True) -> Snapshot:
        """The newest consistent view of the collection.

        Parameters
        ----------
        checked
            Wait until the index has been compared with its checksums; otherwise the view may
            answer from what is not compared yet, and says so (``degraded``).
        """
        made = self._newest()
        if checked and made.check is not None:
            made.check.wait()
            made = self._newest()
        return made

    def _newest(self) -> Snapshot:
        with self._lock:
            if self._snapshot is None or not self._snapshot.is_newest(self.store):
                self._snapshot = Snapshot.newest(self.store)
            return self._snapshot

    def query(
        self,
        pictures: Any = (),
        text: str = "",
        *,
        unwanted: Any = (),
        weights: Sequence[float] | None = None,
        crop: Crop | None = None,
        vector: Any | None = None,
    ) -> Query:
        """A query from what people write; see :meth:`search`."""
        return make_query(
            pictures,
            text,
            unwanted=unwanted,
            weights=weights,
            crop=crop,
            vector=vector,
            locate=self.pictures.locate,
        )

    def search(
        self,
        pictures: Any = (),
        text: str = "",
        *,
        k: int = 20,
        unwanted: Any = (),
        weights: Sequence[float] | None = None,
        crop: Crop | None = None,
        vector: Any | None = None,
        filter: Filter | None = None,
        model: int | str | None = None,
        use_marks: bool = True,
        pin_query: bool = False,
        collapse: bool = False,
        compact: bool = False,
        same_object: bool = False,
        check: int = 0,
    ) -> Answer:
        """Search by pictures, words, or both.

        Parameters
        ----------
        pictures, unwanted
            One or several: an item's path or number, a picture file, or bytes of one.
        text
            Words.
        k
            How many results.
        weights
            One for each of ``pictures``.
        crop
            Part of the first picture: left, top, right, bottom as shares.
        filter
            Folder, tags, dates, sizes, kinds.
        model
            A model's number, ``"plain"``, or None for the active one.  Words are read by it
            if it was learned from clicks, by the active words model otherwise; with
            ``"plain"``, only full text is searched.
        use_marks
            Whether marks on this very query shape the answer.
        pin_query
            Whether items that are the query come first; else they are left out.
        collapse
            Whether near-duplicates are folded into the best of them.
        compact
            Whether words alone are searched over a small index of the words model's own,
            which is kept in memory; the scores are the same.
        same_object
            Find pictures that show the same object, not those that look alike; the
            collection must be indexed with the features ``words``.
        check
            How many of the first results of a same-object search get a geometric check:
            the number of places that agree on one view change (``inliers``).
        """
        query = self.query(
            pictures, text, unwanted=unwanted, weights=weights, crop=crop, vector=vector
        )
        return self.ask(
            query, k=k, filter=filter, model=model, use_marks=use_marks, pin_query=pin_query,
            collapse=collapse, compact=compact, same_object=same_object, check=check,
        )  # fmt: skip

    def ask(
        self,
        query: Query,
        *,
        k: int = 20,
        filter: Filter | None = None,
        model: int | str | None = None,
        use_marks: bool = True,
        pin_query: bool = False,
        collapse: bool = False,
        compact: bool = False,
        same_object: bool = False,
        check: int = 0,
    ) -> Answer:
        """Answer a query that :meth:`query` made; see :meth:`search`."""
        if same_object:
            chosen = model if model in (None, "plain") else self.models.number(model)
            return self.same_object.answer(
                query, k=k, filter=filter, model=chosen, check=check, pin_query=pin_query
            )
        if check:
            raise BadInput("Only a same-object search has a geometric check; ask for one.")
        snapshot = self.snapshot(checked=False)
        similarity, name = self.models.serving(model, snapshot)
        words = self.models.words(model, snapshot) if query.text else None
        surrogate, marks = None, 0
        if similarity is None and (query.examples or query.vector is not None):
            raise NotFound(f"No pictures are indexed yet; run: likewise index {self.folder}")
        if similarity is not None:
            surrogate = picture_surrogate(query, snapshot, self.pictures, similarity)
        if use_marks and similarity is not None:
            taught = self.teaching.refit(query, surrogate, snapshot, similarity)
            if taught is not None:
                surrogate, marks = taught
        found = answer(
            query,
            k=k * 4 if collapse else k,
            store=self.store,
            snapshot=snapshot,
            surrogate=surrogate,
            read=None if words is None else words.read(query.text, snapshot if compact else None),
            wanted=filter,
            model=name,
            marks=marks,
            pin_query=pin_query,
        )
        return duplicates_.collapse(found, snapshot, k) if collapse else found

    def suggest(self, text: str, k: int = 8) -> list[tuple[str, float]]:
        """Queries near this one: what else was asked, or is a tag, for alike pictures.

        Gives texts with the cosine of what the words model makes of both; none where it
        knows no word of the text, or where none is active.
        """
        words = self.models.words(None, self.snapshot())
        return [] if words is None else suggestions(self.store, words, text, check_k(k))

    def why(self, query: Query, item: int, *, model: int | str | None = None) -> dict[str, Any]:
        """Why an item scores as it does: share of each block, words that match, marks."""
        return exporting.explain(self, query, item, model)

    # -- items -------------------------------------------------------------------

    def item(self, which: int | str) -> Item:
        """One item by number or path."""
        if isinstance(which, int):
            return self.store.items.get(which)
        ref = self.pictures.locate(which)
        if ref.kind != "item":
            raise NotFound(f"{which} is not in this collection; index it first.")
        return self.store.items.find(ref.value)

    def status(self) -> dict[str, Any]:
        """How many items are in each state, and what answers searches."""
        snapshot = self.snapshot(checked=False)
        active, words = self.models.active(), self.models.active(WORDS)
        away = self.store.settings.get(UNREACHABLE, {"items": 0, "folders": []})
        return {
            "folder": str(self.folder),
            "items": self.store.items.counts(),
            "findable": len(snapshot),
            "generation": snapshot.generation,
            "degraded": snapshot.degraded,
            "judgements": len(self.store.judgements),
            "model": "plain" if active is None else f"{active.id} {active.name}",
            "words_model": "" if words is None else f"{words.id} {words.name}",
            "waiting": self.store.contents.waiting(),
            "unreachable": away["items"],
            "unreachable_folders": away["folders"],
            "same_object": self.same_object.is_on,
        }

    def problems(self) -> list[Item]:
        """Files that could not be read, each with one reason."""
        return self.store.items.problems()

    def duplicates(self, threshold: float | None = None) -> list[list[int]]:
        """Groups of near-duplicate items, largest group first."""
        return duplicates_.groups(self.snapshot(), threshold)

    def neighbours(self, path: str | os.PathLike[str], k: int = 10) -> int:
        """Write the ``k`` nearest of every item as Parquet; gives the number of rows."""
        return exporting.write_neighbours(self, Path(path), k)

    def describe(self, file: str | os.PathLike[str]) -> sidecars.SidecarReport:
        """Read tags and captions of items from a CSV, JSONL or Parquet file."""
        return sidecars.read_sidecar(self.store, self.folder, Path(file))

    def forget(self, items: Iterable[int | str]) -> Forgotten:
        """Remove items' vectors, thumbnails and judgements for good (not the files)."""
        ids = [self.item(which).id for which in items]
        forgotten = self.store.forget(ids)
        self.layouts.forget_map()
        self.build()
        return forgotten

    def thumbnail(self, item: int) -> bytes:
        """A small JPEG of an item, without metadata; made anew where the cache lost it."""
        return exporting.thumbnail(self, item)

    def file(self, item: int) -> Path:
        """Where an item's original file is."""
        return self.folder / self.store.items.get(item).file

    def representatives(self, count: int = 24) -> list[int]:
        """Items that stand for the whole collection: the medoids of as many clusters."""
        return exporting.representatives(self.snapshot(), count)

    def ref(self, which: int | str) -> QueryRef:
        """The name under which judgements about an item's query are kept."""
        return self.pictures.locate(which)
