"""The models of a collection: learn, serve, compare, activate, roll back, out and in."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.collection.learn.methods import DEFAULT, METHODS, SLOTS
from likewise.collection.lines.building import FORMER
from likewise.collection.lines.line import Line, View
from likewise.later import sparse
from likewise.learners.settings import still_known
from likewise.store import Activation, Model, Store
from likewise.store.models import FILE
from likewise.types import (
    LOOK,
    OBJECTS,
    BadInput,
    DataProblem,
    Judgement,
    LikewiseError,
    NotFound,
    Similarity,
    SpaceMismatch,
)

if TYPE_CHECKING:
    from likewise.collection.learn.evidence import Marks
    from likewise.collection.learn.prepare import Prepared
    from likewise.collection.text import Reader
    from likewise.evaluation import Comparison, Run


def task_of(model: Model) -> str:
    """What a model can be active for: ``look``, ``objects`` or ``text``."""
    return METHODS.task(model.card)


def slot_of(task: str) -> str:
    """The slot that the store keeps the active model of a task in."""
    if task not in SLOTS:
        raise BadInput(f"A model is active for {', '.join(SLOTS)}; not for {task!r}.")
    return SLOTS[task]


class Modelling:
    """The models of a collection."""

    def __init__(self, store: Store, lines: Mapping[str, Line]) -> None:
        self._store, self.lines = store, lines
        self._lock = threading.Lock()
        self._loaded: dict[tuple[int, str], Similarity] = {}
        self._readers: dict[tuple[int, str], Reader] = {}
        self.learn_again: Callable[..., Prepared | None] = self.prepare

    # -- serving -----------------------------------------------------------------

    def serving(self, model: int | str | None, view: View) -> tuple[Any, str]:
        """The similarity that ranks a line, and its name.

        ``model`` is a number or name, ``"plain"``, or None for the active one.
        """
        plain = view.plain
        record = None
        if model != "plain":
            record = self.usable(view.line.name, view) if model is None else self.get(model)
        return (plain, "plain") if record is None else (self._load(record, view), title(record))

    def reader(self, model: int | str | None, view: View) -> Reader | None:
        """The model that reads a query's text; None for full text alone.

        ``model`` is the number of a model that reads text, ``"plain"`` for full text alone, or
        anything else for the active one.
        """
        if not view.space or model == "plain":
            return None
        record = None if model is None else self.get(model)
        if record is None or task_of(record) != "text":
            record = self.usable("text", view)
        if record is None:
            return None
        similarity: Any = self._load(record, view)
        from likewise.collection.text import Reader

        key = (record.id, view.space)
        with self._lock:
            if key not in self._readers:
                self._readers[key] = Reader(similarity, title(record))
            return self._readers[key]

    def usable(self, task: str, view: View) -> Model | None:
        """The active model of a task, if it is of this space and what made it is installed."""
        record = self.active(task)
        if record is None or record.space != view.space:
            return None  # learned in another space: it waits to be learned anew
        return record if METHODS.similarity(record.card) is not None else None

    def _load(self, record: Model, view: View) -> Similarity:
        with self._lock:
            key = (record.id, view.space)
            if key not in self._loaded:
                if record.space != view.space:
                    raise SpaceMismatch(
                        f"Model {record.id} ({record.name}) was learned in another space; learn it "
                        "anew here."
                    )
                arrays, card = self._store.models.load(record.id)
                self._loaded[key] = self._restored(view, arrays, card, f"Model {record.id}")
            return self._loaded[key]

    def _restored(
        self, view: View, arrays: Mapping[str, Any], card: Mapping[str, Any], what: str
    ) -> Similarity:
        kind = METHODS.similarity(card)
        if kind is None:
            raise DataProblem(
                f"{what} is of a kind that is not known here; install the package that made it."
            )
        similarity: Similarity = kind.from_arrays(view.plain.space, arrays, card["similarity"])
        return similarity

    # -- learning ----------------------------------------------------------------

    def prepare(
        self,
        method: str = DEFAULT,
        *,
        name: str = "",
        seed: int = 0,
        settings: Mapping[str, Any] | None = None,
    ) -> Prepared:
        """Learn and measure a model without storing it; see ``Collection.learn``."""
        from likewise.collection.learn.evidence import Sources
        from likewise.collection.learn.prepare import prepare

        way, log = METHODS[method], self.log
        chosen = way.read(settings)
        view = self.lines[way.line].view()
        record = self.usable(way.task, view)
        active = None if record is None else (record, self._load(record, view))
        ready = prepare(way, chosen, Sources(self._store, view, seed, active), name)
        return ready._replace(card={**ready.card, "log": log})

    def known(
        self,
        method: str = DEFAULT,
        *,
        name: str = "",
        seed: int = 0,
        settings: Mapping[str, Any] | None = None,
    ) -> Model | None:
        """What was learned in this way from the log as it is, to replace what serves now."""
        way = METHODS[method]
        if way.role != "ranks":  # captions teach too, and they are in no log
            return None
        view = self.lines[way.line].view()
        active = self.usable(way.task, view)
        given = json.loads(json.dumps(asdict(way.read(settings))))
        wanted = {"method": way.name, "settings": given, "seed": seed, "log": self.log}
        serving = None if active is None else active.id
        for model in reversed(self.all()):
            named = model.name == (name or way.name) and model.space == view.space
            same = all(model.card.get(key) == value for key, value in wanted.items())
            if named and same and serving in (model.id, model.card.get("against", 0)):
                return model
        return None

    @property
    def log(self) -> list[int]:
        """What is the same only while the log is: its newest record, and how many count."""
        return [self._store.judgements.newest(), len(self._store.judgements)]

    def has_news(self) -> bool:
        """Whether the log says something that the newest model by look has not heard."""
        space = self.lines[LOOK].view().space
        heard = [m.card.get("log") for m in self._store.models.all()
                 if task_of(m) == LOOK and m.space == space]  # fmt: skip
        return not heard or heard[-1] != self.log

    def newest(self, view: View) -> Similarity | None:
        """The newest model of a line that can rank there; None where there is none."""
        for model in reversed(self._store.models.all()):
            mine = task_of(model) == view.line.name and model.space == view.space
            if mine and METHODS.similarity(model.card) is not None:
                return self._load(model, view)
        return None

    def keep(
        self, ready: Prepared, *, activate: bool = True, force: bool = False, person: str = ""
    ) -> Model:
        """Store what :meth:`prepare` learned; activate it if the guard lets it pass."""
        card = {**ready.card, "activate": activate}
        verdict = card["guard"]
        sizes = [one.get("size", 0) for one in verdict.values() if isinstance(one, dict)]
        with self._store.transaction():
            model = self._store.models.add(ready.name, ready.arrays, card, space=ready.space)
            self._store.looks.draw(model.id, ready.drawn)
            if max(sizes, default=0):
                slot = slot_of(task_of(model))
                self._store.looks.look(slot, model.id, max(sizes), verdict)
        if (activate and verdict["passed"]) or force:
            self.activate(model.id, person=person, force=force)
        return model

    def renew(self) -> None:
        """Learn active models again from the log where another space serves now.

        Each is activated if the guard lets it pass, or if the one before was forced; what was
        checked in the other space says nothing of this one, where plain similarity is another.
        """
        former, done = self._store.settings.get(FORMER, []), set()
        for task in SLOTS if former else ():
            record = self.active(task)
            method = None if record is None else METHODS.of_card(record.card)
            if record is None or method is None or record.space not in former:
                continue
            if record.space == self.lines[method.line].refresh().space:
                continue  # it came back
            given = still_known(method.settings, record.card.get("settings", {}))
            given.pop("more", None)  # from the start
            try:
                ready = self.learn_again(method.name, settings=given, name=record.name)
            except LikewiseError:  # too little is left to learn from: plain similarity serves
                continue
            if ready is not None:
                forced = self._store.models.history(slot_of(task))[-1].reason == "force"
                self.keep(ready, force=forced)
                done.add(record.space)
        if done:
            self._store.settings.set(FORMER, [one for one in former if one not in done])

    # -- comparing ---------------------------------------------------------------

    def evaluate(
        self, models: Sequence[int | str], judgements: Iterable[Judgement] | None = None
    ) -> Comparison:
        """Compare models, and plain similarity, on judgements (all of the log by default)."""
        from likewise.evaluation import compare

        runs, truth, _ = self._judged(["plain", *models], judgements)
        return compare(runs, truth, baseline="plain")

    def contrast(
        self,
        model: int | str,
        against: int | str = "plain",
        judgements: Iterable[Judgement] | None = None,
    ) -> tuple[Comparison, dict[str, Any]]:
        """Compare two models on judgements (all of the log by default), query by query.

        Gives the comparison with ``against`` as its baseline, and the :func:`.changes.changes`.
        """
        from likewise.collection.learn.changes import changes
        from likewise.evaluation import compare

        runs, truth, evidence = self._judged([against, model], judgements)
        if len(runs) < 2:
            raise BadInput("Choose two different models to compare.")
        baseline, method = runs
        compared = compare(runs, truth, baseline=baseline)
        return compared, changes(compared, method, runs, truth, evidence)

    def _judged(
        self, models: Sequence[int | str], judgements: Iterable[Judgement] | None
    ) -> tuple[dict[str, Run], dict[str, dict[str, float]], Marks]:
        """What each model (or ``"plain"``) makes of the judged items, and the truth."""
        from likewise.collection.learn.evidence import Marks, Sources

        ranks = {task_of(self.get(model)) for model in models if model != "plain"}
        if len(ranks - {"text"}) > 1:
            raise BadInput("Compare models that search the same: by look, or for objects.")
        view = self.lines[OBJECTS if OBJECTS in ranks else LOOK].view()
        log = self._store.judgements if judgements is None else judgements
        evidence = Marks.gather(Sources(self._store, view), log)
        every = range(len(evidence.refs))
        truth = evidence.truth(every)
        if not any(v > 0 for grades in truth.values() for v in grades.values()):
            raise BadInput("There are no labels to evaluate on; import some, or mark results.")
        runs: dict[str, Run] = {}
        for model in models:
            similarity, name = self.serving(model, view)
            runs[name] = evidence.run(similarity, every)
        return runs, truth, evidence

    # -- the registry ------------------------------------------------------------

    def all(self) -> list[Model]:
        """Every model, oldest first, with the last word of the guard on its card."""
        said = self._store.looks.verdicts()
        return [_with(model, said.get(model.id)) for model in self._store.models.all()]

    def get(self, model: int | str) -> Model:
        """One model, by its number or (the newest of that) name."""
        try:
            found = self._store.models.get(int(model))
            return _with(found, self._store.looks.verdicts().get(found.id))
        except ValueError:
            named = [m for m in self.all() if m.name == model]
            if not named:
                raise BadInput(
                    f"There is no model {model!r}; name one by its number, or write plain."
                ) from None
            return named[-1]

    def active(self, task: str = "look") -> Model | None:
        """The active model of a task: None for plain similarity, or full text alone."""
        return self._store.models.active(slot_of(task))

    def all_active(self) -> dict[str, int]:
        """Number of the active model by task, where there is one."""
        found = {task: self.active(task) for task in SLOTS}
        return {task: model.id for task, model in found.items() if model is not None}

    def activate(
        self, model: int | str, *, person: str = "", force: bool = False, task: str = "look"
    ) -> Activation:
        """Make a model the active one of its task, if its guard let it pass.

        ``"plain"`` is none: for the task ``text`` full text alone, else plain similarity.
        """
        if model == "plain":
            return self._store.models.activate(None, slot=slot_of(task), person=person)
        found = self.get(model)
        verdict = found.card.get("guard", {})
        if not verdict.get("passed", False) and not force:
            sentence = verdict.get(
                "sentence", "it was never compared with plain similarity here (evaluate does)."
            )
            raise BadInput(
                f"Model {found.id} is not activated: {sentence} Use --force to do it anyway."
            )
        task = task_of(found)
        for view in self._present():  # of another space: it waits for that to come back
            if view.space != found.space:
                continue
            with np.errstate(all="ignore"):
                similarity = self._load(found, view)
            if not _is_finite(similarity, view, task):
                raise BadInput(
                    f"Model {found.id} is not activated: it makes infinite numbers of this "
                    "collection's pictures, so every search would fail; learn it anew."
                )
        return self._store.models.activate(
            found.id, slot=slot_of(task), person=person, reason="force" if force else ""
        )

    def rollback(self, *, person: str = "", task: str = "look") -> Activation:
        """Go back to what was active before for a task."""
        return self._store.models.rollback(slot=slot_of(task), person=person)

    # -- out and in --------------------------------------------------------------

    def write(self, model: int | str, target: Path) -> Path:
        """Export a model with its card."""
        return self._store.models.export(self.get(model).id, target)

    def packed(self, model: int | str) -> bytes:
        """A model with its card as the bytes of one file."""
        return self._store.models.packed(self.get(model).id)

    def read(self, source: Path) -> Model:
        """Import a model that was learned in the same space from what :meth:`write` wrote."""
        path = source / FILE if source.is_dir() else source
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise NotFound(f"There is no model in {source}; give what export wrote.") from None
        return self.take(data, str(source))

    def take(self, data: bytes, what: str = "this file") -> Model:
        """Add a model from such bytes, once it has been shown that it can rank here.

        What a guard said elsewhere, about other judgements, is left out.
        """
        views = self._present()
        if not views:
            raise NotFound(self.lines[LOOK].empty)
        try:
            arrays, envelope = self._store.models.unpacked(data, what)
        except DataProblem as error:
            raise BadInput(str(error)) from None
        name, card = envelope["name"], envelope["card"]
        view = next((one for one in views if one.space == envelope["space"]), None)
        if view is None:
            raise SpaceMismatch(f"The model in {what} was learned in another space; learn it here.")
        try:
            with np.errstate(all="ignore"):
                similarity = self._restored(view, arrays, card, "It")
            usable = _is_finite(similarity, view, METHODS.task(card))
        except (LikewiseError, LookupError, TypeError, ValueError, AttributeError):
            usable = False
        if not usable or not isinstance(name, str) or len(name) > 200:
            raise BadInput(f"The model in {what} cannot rank here; give what export wrote.")
        card = {key: value for key, value in card.items() if key != "guard"}
        return self._store.models.add(
            name, arrays, {**card, "imported": True}, space=envelope["space"]
        )

    def _present(self) -> list[View]:
        """Of the lines that hold something, look first."""
        return [view for line in self.lines.values() if len(view := line.view())]


@np.errstate(all="ignore")
def _is_finite(similarity: Any, view: View, task: str) -> bool:
    """Whether real queries become finite numbers, in the precision that indexes search with."""
    queries = view.some(5)
    if task == "text":
        from likewise.collection.text import Reader

        words = Reader(similarity).similarity.words
        queries.append(sparse.csr_array(np.ones((1, words))))
    for query in queries:
        made = similarity.surrogate(query)
        vector: Any = made.vector.data if made.is_sparse else made.vector
        numbers = np.append(vector, [made.offset, *made.side.values()]).astype(np.float32)
        if not np.isfinite(np.abs(numbers).sum()):
            return False
    return True


def _with(model: Model, verdict: Mapping[str, Any] | None) -> Model:
    return model if verdict is None else replace(model, card={**model.card, "guard": verdict})


def title(model: Model) -> str:
    """A model's number and name, as answers say it."""
    return f"{model.id} {model.name}"
