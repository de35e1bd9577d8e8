"""A collection: a folder of pictures plus its data folder, with one method a verb."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from likewise.collection import engines
from likewise.collection import network as networks
from likewise.collection.engines import LARGE
from likewise.collection.learn.methods import DEFAULT
from likewise.collection.learn.models import Modelling
from likewise.collection.lines import Line, Look, Objects, visual_words
from likewise.collection.lines.building import FIRST, ask_smoothing
from likewise.collection.options import Answer, Crop, Options, Query, make_query
from likewise.collection.query_pictures import QueryPictures
from likewise.collection.search import Search
from likewise.collection.teach import Teaching
from likewise.collection.text import suggestions
from likewise.collection.whole import duplicates as duplicates_
from likewise.collection.whole import exporting
from likewise.intake import LOCAL, UNREACHABLE, own_vectors, roots, scanning, sidecars
from likewise.store import Described, Finding, Forgotten, Item, Model, Store, printable
from likewise.types import DATA_FOLDER, LOOK, NotFound, Progress, QueryRef, check_k

if TYPE_CHECKING:
    from likewise.collection.learn.check import Check, Checking
    from likewise.collection.targets import Targets
    from likewise.collection.whole.layouts import Layouts
    from likewise.intake.forecast import Forecast
    from likewise.intake.ingest import IngestReport


class Collection:
    """A folder of pictures that can be searched and taught.

    Made by :func:`likewise.open`; close it, or use it in a ``with`` block.

    Attributes
    ----------
    folder, data
        Where the pictures are, which are only ever read; and the data folder.
    items, texts, log, jobs, sessions, uploads, thumbnails, keys
        Parts of the record: items; tags and captions; judgements; long work; target searches;
        query pictures; small pictures; keys of programs.
    teaching
        Judgements: what was said of a query; import and export.
    models
        List, compare, activate, roll back, export, import.
    look, objects
        What is searched: how pictures look, and which objects they show; by name in ``lines``.
    """

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder, self.store, self.data = folder, store, store.folder
        self.items, self.texts, self.log = store.items, store.texts, store.judgements
        self.jobs, self.sessions, self.keys = store.jobs, store.sessions, store.keys
        self.uploads, self.thumbnails = store.uploads, store.thumbnails
        self.pictures = QueryPictures(store, os.fsencode(folder))
        self.look, self.objects = Look(store, self.pictures), Objects(store, self.pictures)
        self.lines: dict[str, Line] = {line.name: line for line in (self.look, self.objects)}
        self.models = Modelling(store, self.lines)
        self.teaching = Teaching(store, self.pictures)
        self._search = Search(store, self.lines, self.models, self.teaching)
        self.one_state = self._search.one_state

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
        """Open the collection of a folder; see :func:`likewise.open`."""
        root = Path(os.path.abspath(folder))
        place = Path(data) if data is not None else root / DATA_FOLDER
        if create and not root.is_dir():
            raise NotFound(f"There is no folder {root}; name the folder that holds your pictures.")
        if not create and not place.is_dir():
            raise NotFound(f"{root} is not indexed yet; run: likewise index {root}")
        store = Store.open(place, write=write or create, create=create)
        return cls(root, store)

    @classmethod
    def of(cls, opened: Collection) -> Self:
        """The collection that another one has opened, as one of this class."""
        return cls(opened.folder, opened.store)

    def transaction(self) -> contextlib.AbstractContextManager[Any]:
        """All or nothing: what is written in this block is on the disk when it has been left."""
        return self.store.transaction()

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
        return len(self.look.view())

    # -- pictures in -------------------------------------------------------------

    def add(self, folder: str | os.PathLike[str]) -> None:
        """Make another folder, on any drive, part of the collection; :meth:`index` reads it."""
        roots.add_root(self.store, self.folder, Path(os.path.abspath(folder)))

    def remove(self, folder: str | os.PathLike[str]) -> int:
        """Leave a folder that was added; gives how many pictures left, whose marks stay."""
        gone = roots.remove_root(self.store, self.folder, Path(os.path.abspath(folder)))
        self.build()
        return gone

    def index(
        self,
        *,
        features: Sequence[str] | None = None,
        processes: int | None = None,
        gps: bool = False,
        accept_missing: bool = False,
        retry: bool = False,
        vectors: str | os.PathLike[str] | None = None,
        engine: str | None = None,
        smoothing: str | None = None,
        network: str | None = None,
        arithmetic: str | None = None,
        quiet: bool = False,
        progress: Progress | None = None,
        foreseen: Callable[[Forecast], None] = lambda forecast: None,
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
        engine
            What serves the look from now on: ``flat`` (an exact scan), ``faiss``, ``tree``,
            ``auto`` (the scan below 100,000 pictures, then faiss), or a server's address.
        smoothing
            Whether codes take in their nearest neighbours from now on: ``on``, ``off``, or
            ``auto``, where a check shows no harm.
        network, arithmetic
            What gives the deep features from now on: ``lite0``, ``lite1`` or ``lite2``, in
            ``float32`` or ``int8``.  Another choice than before reads every picture once more.
        quiet
            Keep one core busy, and not all of them; children have a low priority anyway.
        foreseen
            Told, from the hundredth file on, how long the rest will take and how much room.
        """
        from likewise.intake import ingest, rest  # heavy: not for an ordinary search

        if engine is not None:
            engines.choose(self.store, engine)
        if smoothing is not None:
            ask_smoothing(self.store, smoothing)
        if features is not None and visual_words.NAME in features:
            self.objects.switch_on()
            features = [name for name in features if name != visual_words.NAME] or None
        networks.choose(self.store, network, arithmetic)
        own = (own_vectors.BLOCK,)
        chosen = networks.settled(self.store, own if vectors is not None else features)
        if retry:
            self.store.contents.retry()
            self.store.segments.mend()
        how: Any = {"processes": 1 if quiet else processes, "progress": progress}
        how["should_stop"] = should_stop
        before = len(self.store.items.contents())
        now = self.store.generations.current()
        due = max(FIRST, 2 * (now.items if now else 0))

        def committed(embedded: int) -> None:
            """A first index after a few pictures, then one whenever they have doubled."""
            nonlocal due
            if embedded and due <= before + embedded < LARGE:
                due = 2 * (before + embedded)
                self.build(early=True)

        report = ingest.ingest(
            self.store, os.fsencode(self.folder),
            [name for name in chosen if name != own_vectors.BLOCK] + [LOCAL] * self.objects.is_on,
            gps=gps, accept_missing=accept_missing, committed=committed, foreseen=foreseen, **how,
        )  # fmt: skip
        if vectors is not None:
            own_vectors.add_vectors(self.store, Path(vectors))
        if report.finished and self.objects.is_on:
            report.finished = rest.describe_rest(self.store, self.folder, [LOCAL], **how)
        if report.finished:
            report.finished = networks.change(self.store, self.folder, report, **how)
        if report.finished:
            sidecars.read_beside(self.store, self.folder)
            self.build()
        return report

    def build(self, *, early: bool = False) -> int:
        """Build the indexes anew where something changed; gives the look's generation.

        ``early`` says that pictures are still coming in: then only the look is built.  Models
        whose space was fitted anew are learned again from what people said.
        """
        networks.settled(self.store)
        number, lines = 0, (self.store.segments.merge, self.objects.build)
        for work in (*(() if early else lines), partial(self.look.build, early=early)):
            number = self.store.segments.without_damage(work)
        self.models.renew()
        self.store.finish_forgetting(rewrite=not early)
        return number

    # -- search ------------------------------------------------------------------

    def query(
        self, pictures: Any = (), text: str = "", *, without: Any = (),
        weights: Sequence[float] | None = None, crop: Crop | None = None,
        vector: Any | None = None, line: str = LOOK,
    ) -> Query:  # fmt: skip
        """A query from what people write; see :meth:`search`."""
        return make_query(
            pictures, text, without=without, weights=weights, crop=crop, vector=vector,
            line=line, locate=self.pictures.locate,
        )  # fmt: skip

    def search(
        self, pictures: Any = (), text: str = "", *, without: Any = (),
        weights: Sequence[float] | None = None, crop: Crop | None = None,
        vector: Any | None = None, line: str = LOOK, **options: Any,
    ) -> Answer:  # fmt: skip
        """Search by pictures, words, or both.

        Parameters
        ----------
        pictures, without
            One or several that are meant, or not: an item's path or number, a picture file,
            or bytes of one.
        text
            Words.
        weights
            One for each of ``pictures``.
        crop
            Part of the first picture: left, top, right, bottom as shares.
        line
            ``look``, or ``objects`` for pictures that show the same object; for that the
            collection must be indexed with the features ``words``.
        options
            Fields of :class:`~likewise.collection.Options`: ``k``, ``filter``, ``model``,
            ``marks``, ``use``, ``pin``, ``fold``, ``compact``, ``check``.
        """
        asked: Any = {"without": without, "weights": weights, "crop": crop, "vector": vector}
        with self.one_state(line):
            query = self.query(pictures, text, line=line, **asked)
            return self.ask(query, Options.of(**options))

    def ask(self, query: Query, options: Options | None = None, **given: Any) -> Answer:
        """Answer a query that :meth:`query` made; options as one value or by name."""
        return self._search.answer(query, options or Options.of(**given))

    def why(
        self, query: Query, item: int, options: Options | None = None, **given: Any
    ) -> dict[str, Any]:
        """Why an item scores as it does: by block, by evidence, by list; words and clicks."""
        return self._search.why(query, item, options or Options.of(**given))

    def candidates(self, query: Query, count: int = 20) -> list[int]:
        """Items worth judging for a query, none judged yet: near and disputed ones in turn."""
        return self._search.candidates(query, count)

    def suggest(self, text: str, k: int = 8) -> list[tuple[str, float]]:
        """Queries near this one: what else was asked, or is a tag, for alike pictures.

        Gives texts with the cosine of what the words model makes of both; none where it
        knows no word of the text, or where none is active.
        """
        reader = self.models.reader(None, self.look.view())
        return [] if reader is None else suggestions(self.store, reader, text, check_k(k))

    # -- teaching ------------------------------------------------------------------

    def mark(
        self,
        query: Any,
        items: Sequence[int | str],
        relevant: bool = True,
        *,
        text: str = "",
        line: str = LOOK,
        **how: Any,
    ) -> list[int]:
        """Say that items are, or are not, what a query wants; gives the records' numbers.

        Parameters
        ----------
        query
            What :meth:`query` made, or the pictures that :meth:`search` takes.
        text, line
            As in :meth:`search`, where ``query`` is pictures.
        how
            ``person``, ``source``, ``keys`` (one per item: what was sent twice counts once)
            and ``positions`` (places among the results, from 1).
        """
        return self.teaching.mark(self._asked(query, text, line), items, relevant, **how)

    def click(
        self, query: Any, item: int | str, *, text: str = "", line: str = LOOK, **how: Any
    ) -> int:
        """Say that an item was chosen for a query; see :meth:`mark`."""
        return self.teaching.click(self._asked(query, text, line), item, **how)

    def order(
        self, query: Any, items: Sequence[int | str], *, text: str = "", line: str = LOOK,
        **how: Any,
    ) -> int:  # fmt: skip
        """Say that items are, in this order, nearer to what a query wants; see :meth:`mark`."""
        return self.teaching.order(self._asked(query, text, line), items, **how)

    def undo(self, record: int | None = None, **who: Any) -> int:
        """Take a judgement back: of this number, or the last one; ``log.undo_all`` takes more."""
        return self.teaching.undo(record, **who)

    def _asked(self, query: Any, text: str, line: str) -> Query:
        return query if isinstance(query, Query) else self.query(query, text, line=line)

    def tag(
        self, items: Iterable[int | str], *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> None:
        """Give tags to items, or take them away."""
        ids = [self.item(which).id for which in items]
        with self.transaction():
            if add:
                self.texts.describe([Described(item, tags=list(add)) for item in ids])
            if remove:
                self.texts.untag(ids, list(remove))

    @cached_property
    def targets(self) -> Targets:
        """Searches for one picture by arranging others: start, resume, let them teach."""
        from likewise.collection.targets import Targets  # heavy, as above

        return Targets(self)

    @cached_property
    def layouts(self) -> Layouts:
        """Pictures laid out for the eye: a sorted grid of some, a map of all."""
        from likewise.collection.whole.layouts import Layouts

        return Layouts(self.store, self.look, self.thumbnail)

    # -- learning ----------------------------------------------------------------

    def learn(
        self, method: str = DEFAULT, *, activate: bool = True, force: bool = False,
        person: str = "", **how: Any,
    ) -> Model:  # fmt: skip
        """Learn a model from what people said and measure it; :meth:`check` decides on it.

        Its card has data, settings, measures, verdict.  The same log gives the same model once.

        Parameters
        ----------
        method
            A name of :data:`likewise.collection.learn.methods.METHODS`.
        activate, force
            Make it the active model of its task if the guard lets it pass; even if not.
        how
            ``name``, ``seed`` (of every random choice) and ``settings`` of the method.
        """
        made = self.models.known(method, **how) or self.models.prepare(method, **how)
        return self.checking.keep(made, activate=activate, force=force, person=person)

    def check(self, model: int | str | None = None, **answer: Any) -> Check:
        """The short check of a model: which pictures are right?  See ``Checking.check``."""
        return self.checking.check(model, **answer)

    @cached_property
    def checking(self) -> Checking:
        """Keeps what was learned, asks what the guard must know, activates what passes."""
        from likewise.collection.learn.check import Checking  # heavy, as above

        return Checking(self.store, self.models, self.teaching)

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
        view = self.look.view(checked=False)
        active, words = self.models.active(), self.models.active("text")
        away = self.store.settings.get(UNREACHABLE, {"items": 0, "folders": []})
        return {
            "folder": str(self.folder),
            "roots": [str(self.folder), *self.store.settings.get(roots.SETTING, [])],
            "items": self.store.items.counts(),
            "findable": len(view),
            "generation": view.generation,
            "degraded": view.degraded,
            "judgements": len(self.store.judgements),
            "model": "plain" if active is None else f"{active.id} {active.name}",
            "reader": "" if words is None else f"{words.id} {words.name}",
            "waiting": self.store.contents.waiting(),
            "same_object": self.objects.is_on,
            "smoothing": "on" if view.space and view.plain.space.smoothing else "off",
            **networks.chosen(self.store),
            "unreachable": int(away["items"]),
            "unreachable_folders": list(away["folders"]),
        }

    def problems(self) -> list[Item]:
        """Files that could not be read, each with one reason."""
        return self.store.items.problems()

    def duplicates(self, threshold: float | None = None) -> list[list[int]]:
        """Groups of near-duplicate items, largest group first."""
        return duplicates_.groups(self.look.view().bare, threshold)

    def neighbours(self, path: str | os.PathLike[str], k: int = 10) -> int:
        """Write the ``k`` nearest of every item as Parquet; gives the number of rows."""
        return exporting.write_neighbours(self, Path(path), k)

    def describe(self, file: str | os.PathLike[str]) -> sidecars.SidecarReport:
        """Read tags and captions of items from a CSV, JSONL or Parquet file."""
        return sidecars.read_sidecar(self.store, self.folder, Path(file))

    def forget(self, items: Iterable[int | str]) -> Forgotten:
        """Remove items' vectors, thumbnails and judgements for good (not the files).

        Nothing is built: what is left is scanned exactly, and answers say so, until :meth:`build`.
        """
        forgotten = self.store.forget([self.item(which).id for which in items])
        self.teaching.taught.forget()
        self.layouts.forget_map()
        engines.follow(self.store)
        return forgotten

    def verify_engine(self) -> list[Finding]:
        """Compare the server that holds the codes with the catalogue, and repair it."""
        findings = engines.verify(self.store)
        self.build()
        return findings

    def thumbnail(self, item: int) -> bytes:
        """A small JPEG of an item, without metadata; made anew where the cache lost it."""
        return exporting.thumbnail(self, item)

    def file(self, item: int) -> Path:
        """Where an item's original file is."""
        return self.folder / self.store.items.get(item).file

    def companions(self, item: int) -> list[str]:
        """Names of files of the same shot beside an item's own: its RAW file, its film."""
        return [printable(name) for name in scanning.companions(os.fsencode(self.file(item)))]

    def representatives(self, count: int = 24) -> list[int]:
        """Items that stand for the whole collection: the medoids of as many clusters."""
        return exporting.representatives(self.look.view().bare, count)

    def ref(self, which: int | str) -> QueryRef:
        """The name under which judgements about an item's query are kept."""
        return self.pictures.locate(which)
