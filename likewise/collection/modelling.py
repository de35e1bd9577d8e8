"""Models: learn from judgements, compare with plain, activate, roll back, serve."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from likewise.collection.descents import States
from likewise.collection.same_object import SLOT, SameObject
from likewise.collection.searching import QueryPictures
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import NAME as VISUAL_WORDS
from likewise.learners import SIMILARITIES
from likewise.store import Activation, Model, Store
from likewise.store.models import FILE
from likewise.types import (
    BadInput,
    DataProblem,
    Judgement,
    LikewiseError,
    NotFound,
    Similarity,
    SpaceMismatch,
)

if TYPE_CHECKING:
    from likewise.collection.learning import Evidence, Run
    from likewise.collection.wording import WordsModel
    from likewise.evaluation import Comparison

DEFAULT, WORDS, OBJECTS = "default", "words", SLOT
"""Slots: which model ranks pictures, which one reads words, which one finds the same object."""
WORD_KINDS = ("clicks", "clicks-compact")
"""Kinds of models that read words."""


def slot_of(model: Model) -> str:
    """The slot that a model is activated in."""
    if model.card.get("kind") == "word-table":
        return OBJECTS
    return WORDS if model.card.get("kind") in WORD_KINDS else DEFAULT


class Prepared(NamedTuple):
    """A learned model that is not stored yet."""

    name: str
    arrays: dict[str, Any]
    card: dict[str, Any]
    space: str


class Modelling:
    """The models of a collection."""

    def __init__(
        self,
        store: Store,
        snapshot: Callable[[], Snapshot],
        pictures: QueryPictures,
        same_object: SameObject,
    ) -> None:
        self._store, self._snapshot, self._pictures = store, snapshot, pictures
        self._same_object = same_object
        self._lock = threading.Lock()
        self._loaded: dict[tuple[int, str], Similarity] = {}
        self._words: dict[tuple[int, str], WordsModel] = {}

    def serving(self, model: int | str | None, snapshot: Snapshot) -> tuple[Similarity | None, str]:
        """The similarity that ranks, and its name; None while nothing is indexed.

        ``model`` is a number, ``"plain"``, or None for the active one.
        """
        if snapshot.plain is None or model == "plain":
            return snapshot.plain, "plain"
        if model is None:
            active = self._store.models.active()
            if active is None or active.space != snapshot.plain.space.fingerprint:
                return snapshot.plain, "plain"
            number = active.id
        else:
            number = self.number(model)
        return self._load(number, snapshot), self.title(number)

    def words(self, model: int | str | None, snapshot: Snapshot) -> WordsModel | None:
        """The words model that reads a query's text; None for full text alone.

        ``model`` is the number of a words model, ``"plain"`` for full text alone, or anything
        else for the active one.
        """
        if snapshot.plain is None or model == "plain":
            return None
        fingerprint = snapshot.plain.space.fingerprint
        chosen = None if model is None else self._store.models.get(self.number(model))
        if chosen is None or slot_of(chosen) != WORDS:
            chosen = self._store.models.active(WORDS)
            if chosen is None or chosen.space != fingerprint:
                return None
        similarity = self._load(chosen.id, snapshot)
        from likewise.collection.wording import WordsModel

        key = (chosen.id, fingerprint)
        with self._lock:
            if key not in self._words:
                self._words[key] = WordsModel(similarity, f"{chosen.id} {chosen.name}")  # type: ignore[arg-type]
            return self._words[key]

    def number(self, model: int | str) -> int:
        """A model's number, from what a person wrote."""
        try:
            return self._store.models.get(int(model)).id
        except ValueError:
            named = [m.id for m in self._store.models.all() if m.name == model]
            if not named:
                raise BadInput(
                    f"There is no model {model!r}; name one by its number, or write plain."
                ) from None
            return named[-1]

    def title(self, number: int) -> str:
        """A model's number and name, as answers say it."""
        return f"{number} {self._store.models.get(number).name}"

    def _load(self, number: int, snapshot: Snapshot) -> Similarity:
        assert snapshot.plain is not None
        space = snapshot.plain.space
        with self._lock:
            key = (number, space.fingerprint)
            if key not in self._loaded:
                record = self._store.models.get(number)
                if record.space != space.fingerprint:
                    raise SpaceMismatch(
                        f"Model {number} ({record.name}) was learned in another space; learn it "
                        "anew here."
                    )
                arrays, card = self._store.models.load(number)
                if card.get("kind") not in SIMILARITIES:
                    raise DataProblem(f"Model {number} is of a kind this version does not know.")
                self._loaded[key] = SIMILARITIES[card["kind"]].from_arrays(
                    space, arrays, card["similarity"]
                )
            return self._loaded[key]

    # -- learning ----------------------------------------------------------------

    def learn(
        self,
        objective: str = "bilinear",
        *,
        name: str = "",
        activate: bool = True,
        force: bool = False,
        person: str = "",
        seed: int = 0,
        settings: Mapping[str, Any] | None = None,
        space: str = "",
    ) -> Model:
        """Learn a model from the judgements, measure it, guard it.

        Parameters
        ----------
        objective
            ``bilinear`` (query-dependent, around taught queries) or ``top-precision``, from
            judgements about picture queries; or ``clicks``, from clicks after words and from
            captions.
        space
            ``words`` learns the table of same-object search instead.
        activate
            Make it the active model if the guard lets it pass.
        force
            Activate it even if the guard does not.
        settings
            Of the learner; chosen on held-out judgements where not given.  For ``clicks``:
            ``propensity``, ``captions``, ``dim``, ``threads``, and ``more`` to go on from the
            active words model with what came since.

        Returns
        -------
        Model
            Its card has the data used, settings, held-out measures and the guard's verdict.
        """
        ready = self.prepare(objective, name=name, seed=seed, settings=settings, space=space)
        return self.keep(ready, activate=activate, force=force, person=person)

    def prepare(
        self,
        objective: str = "bilinear",
        *,
        name: str = "",
        seed: int = 0,
        settings: Mapping[str, Any] | None = None,
        space: str = "",
    ) -> Prepared:
        """Learn and measure a model without writing anything, so that a child process may."""
        if space == VISUAL_WORDS:
            return self._prepare_table(name or "word-table", seed, dict(settings or {}))
        if space:
            raise BadInput(
                f"The space is {VISUAL_WORDS}, or not given for the look; not {space!r}."
            )
        if objective == "clicks":
            return self._prepare_clicks(name, seed, dict(settings or {}))
        from likewise.collection import learning

        started = time.perf_counter()
        if objective not in learning.OBJECTIVES:
            known = ", ".join(learning.OBJECTIVES)
            raise BadInput(f"The objective is one of {known}, not {objective!r}.")
        snapshot = self._snapshot()
        if snapshot.plain is None:
            raise NotFound("No pictures are indexed yet; run: likewise index FOLDER")
        evidence = learning.gather(
            list(self._store.judgements), self._store, snapshot, self._pictures
        )
        if not len(evidence.queries):
            raise BadInput(
                "There are no judgements about picture queries to learn from; mark some results "
                "first (likewise mark, or the relevant and not buttons)."
            )
        learner = learning.make_learner(objective, snapshot.plain, dict(settings or {}))
        rivals: dict[str, Similarity] = {"plain": snapshot.plain}
        active = self._store.models.active()
        if active is not None and active.space == snapshot.plain.space.fingerprint:
            rivals["active"] = self._load(active.id, snapshot)
        held = learning.hold_out(learner, objective, evidence, rivals, seed)
        learned = learning.fit(learner, objective, evidence, None, seed)
        arrays, written = learned.similarity_.to_arrays()
        card = learning.card(learned, objective, evidence, held, time.perf_counter() - started)
        card |= {"kind": learned.similarity_.kind, "similarity": written}
        return Prepared(name or objective, arrays, card, snapshot.plain.space.fingerprint)

    def _prepare_clicks(self, name: str, seed: int, settings: dict[str, Any]) -> Prepared:
        from likewise.collection import click_learning as clicks

        snapshot = self._snapshot()
        if snapshot.plain is None:
            raise NotFound("No pictures are indexed yet; run: likewise index FOLDER")
        more = bool(settings.pop("more", False))
        try:
            how = clicks.How(**settings, seed=seed)
        except TypeError:
            known = ", ".join(f.name for f in fields(clicks.How) if f.name != "seed")
            raise BadInput(f"Settings for clicks are {known} and more.") from None
        active, seen, since = self.words(None, snapshot), None, (0, 0)
        record = self._store.models.active(WORDS)
        if active is not None and record is not None:
            seen = self._store.models.load(record.id)[0].get("seen")
            since = record.card.get("newest", 0), record.card.get("newest_item", 0)
        if more and active is None:
            raise BadInput("No words model is active to go on from; learn one without --more.")
        records = [(r.id, r.judgement) for r in self._store.judgements.records()]
        after = {"after": since[0], "captions_after": since[1]} if more else {}
        evidence = clicks.gather(records, self._store, snapshot, how, **after)
        states = States(self._store)
        fitting = clicks.Fitting(
            snapshot, how, active.similarity if more and active else None, states.load, states.save
        )
        arrays, card = clicks.prepare(fitting, evidence, self._store, active, seen)
        states.clear()
        card["settings"]["more"] = more
        return Prepared(name or "clicks", arrays, card, snapshot.plain.space.fingerprint)

    def _prepare_table(self, name: str, seed: int, settings: dict[str, Any]) -> Prepared:
        from likewise.collection import word_learning

        view = self._same_object.view()
        if view.space is None:
            raise NotFound("No picture has visual words yet; index some pictures first.")
        rivals: dict[str, Any] = {"plain": self._same_object.serving("plain", view)[0]}
        if self._store.models.active(OBJECTS) is not None:
            rivals["active"] = self._same_object.serving(None, view)[0]
        arrays, card = word_learning.learn(
            self._store, self._same_object, view, rivals, seed=seed, settings=settings
        )
        return Prepared(name, arrays, card, view.space.fingerprint)

    def keep(
        self, ready: Prepared, *, activate: bool = True, force: bool = False, person: str = ""
    ) -> Model:
        """Store what :meth:`prepare` learned; activate it if the guard lets it pass."""
        model = self._store.models.add(ready.name, ready.arrays, ready.card, space=ready.space)
        if (activate and ready.card["guard"]["passed"]) or force:
            self.activate(model.id, person=person, force=force)
        return model

    def evaluate(
        self, models: Sequence[int | str], judgements: Sequence[Judgement] | None = None
    ) -> Comparison:
        """Compare models, and plain similarity, on judgements (all of the log by default)."""
        from likewise.evaluation import compare

        runs, truth, _ = self._judged(["plain", *models], judgements)
        return compare(runs, truth, baseline="plain")

    def contrast(
        self,
        model: int | str,
        against: int | str = "plain",
        judgements: Sequence[Judgement] | None = None,
    ) -> tuple[Comparison, dict[str, Any]]:
        """Compare two models on judgements (all of the log by default), query by query.

        Returns
        -------
        tuple
            The comparison with ``against`` as its baseline, and the queries that lost and won
            most (see :func:`likewise.collection.changes.changes`).
        """
        from likewise.collection.changes import changes
        from likewise.evaluation import compare

        runs, truth, evidence = self._judged([against, model], judgements)
        if len(runs) < 2:
            raise BadInput("Choose two different models to compare.")
        baseline, method = runs
        compared = compare(runs, truth, baseline=baseline)
        return compared, changes(compared, method, runs, truth, evidence)

    def _judged(
        self, models: Sequence[int | str], judgements: Sequence[Judgement] | None
    ) -> tuple[dict[str, Run], dict[str, dict[str, float]], Evidence]:
        """What each model (or ``"plain"``) makes of the judged items, and the truth."""
        from likewise.collection import learning

        snapshot = self._snapshot()
        if snapshot.plain is None:
            raise NotFound("No pictures are indexed yet; run: likewise index FOLDER")
        chosen = list(self._store.judgements if judgements is None else judgements)
        evidence = learning.gather(chosen, self._store, snapshot, self._pictures)
        labels, every = evidence.labels(), np.arange(len(evidence.queries))
        truth = learning.truth_of(labels, every)
        if not any(v > 0 for grades in truth.values() for v in grades.values()):
            raise BadInput("There are no labels to evaluate on; import some, or mark results.")
        runs: dict[str, Run] = {}
        for model in models:
            similarity: Similarity = snapshot.plain
            name = "plain"
            if model != "plain":
                number = self.number(model)
                if slot_of(self._store.models.get(number)) == OBJECTS:
                    raise BadInput(
                        f"Model {number} is for same-object search; its card says how well. "
                        "Compare models that rank pictures."
                    )
                name, similarity = self.title(number), self._load(number, snapshot)
            runs[name] = learning.judged_run(similarity, evidence, every, labels)
        return runs, truth, evidence

    # -- the registry ------------------------------------------------------------

    def all(self) -> list[Model]:
        """Every model, oldest first."""
        return self._store.models.all()

    def active(self, slot: str = DEFAULT) -> Model | None:
        """The active model of a slot: None for plain similarity, or full text for words."""
        return self._store.models.active(slot)

    def all_active(self) -> dict[str, int]:
        """Number of the active model by slot, where there is one."""
        found = {slot: self.active(slot) for slot in (DEFAULT, WORDS, OBJECTS)}
        return {slot: model.id for slot, model in found.items() if model is not None}

    def activate(
        self, model: int | str, *, person: str = "", force: bool = False, slot: str = DEFAULT
    ) -> Activation:
        """Make a model the active one of its slot, if its guard let it pass.

        ``"plain"`` is none: plain similarity, or for the slot ``words`` full text alone, or for
        the slot ``same-object`` binary idf.
        """
        if model == "plain":
            return self._store.models.activate(None, slot=slot, person=person)
        number = self.number(model)
        found = self._store.models.get(number)
        verdict = found.card.get("guard", {})
        if not verdict.get("passed", False) and not force:
            sentence = verdict.get(
                "sentence", "it was never compared with plain similarity here (evaluate does)."
            )
            raise BadInput(
                f"Model {number} is not activated: {sentence} Use --force to do it anyway."
            )
        slot = slot_of(found)
        if not self._ranks_here(found, slot):
            raise BadInput(
                f"Model {number} is not activated: it makes infinite numbers of this collection's "
                "pictures, so every search would fail; learn it anew."
            )
        return self._store.models.activate(
            number, slot=slot, person=person, reason="force" if force else ""
        )

    def rollback(self, *, person: str = "", slot: str = DEFAULT) -> Activation:
        """Go back to what was active before in a slot."""
        return self._store.models.rollback(slot=slot, person=person)

    def write(self, model: int | str, target: Path) -> Path:
        """Export a model with its card."""
        return self._store.models.export(self.number(model), target)

    def read(self, source: Path) -> Model:
        """Import a model that was learned in the same space from what :meth:`write` wrote."""
        path = source / FILE if source.is_dir() else source
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise NotFound(f"There is no model in {source}; give what export wrote.") from None
        return self.take(data, str(source))

    def packed(self, model: int | str) -> bytes:
        """A model with its card as the bytes of one file."""
        return self._store.models.packed(self.number(model))

    def take(self, data: bytes, what: str = "this file") -> Model:
        """Add a model from such bytes, once it has been shown that it can rank here.

        What a guard said elsewhere, about other judgements, is left out.
        """
        plain = self._snapshot().plain
        if plain is None:
            raise NotFound("No pictures are indexed yet; run: likewise index FOLDER")
        spaces: list[Any] = [plain.space]
        if self._same_object.is_on:
            spaces.append(self._same_object.view().space)
        try:
            arrays, envelope = self._store.models.unpacked(data, what)
        except DataProblem as error:
            raise BadInput(str(error)) from None
        name, card = envelope["name"], envelope["card"]
        own = [s for s in spaces if s is not None and s.fingerprint == envelope["space"]]
        if not own:
            raise SpaceMismatch(f"The model in {what} was learned in another space; learn it here.")
        try:
            with np.errstate(all="ignore"):
                similarity = SIMILARITIES[card["kind"]].from_arrays(
                    own[0], arrays, card["similarity"]
                )
            usable = self._ranks(similarity)
        except (LikewiseError, LookupError, TypeError, ValueError, AttributeError):
            usable = False
        if not usable or not isinstance(name, str) or len(name) > 200:
            raise BadInput(f"The model in {what} cannot rank here; give what export wrote.")
        card = {key: value for key, value in card.items() if key != "guard"}
        return self._store.models.add(
            name, arrays, {**card, "imported": True}, space=envelope["space"]
        )

    @np.errstate(all="ignore")
    def _ranks_here(self, model: Model, slot: str) -> bool:
        """Whether a stored model can rank, or waits for its space to come back."""
        if slot == OBJECTS:
            view = self._same_object.view() if self._same_object.is_on else None
            if view is None or view.space is None or view.space.fingerprint != model.space:
                return True
            return self._ranks(self._same_object.serving(model.id, view)[0])
        snapshot = self._snapshot()
        if snapshot.plain is None or snapshot.plain.space.fingerprint != model.space:
            return True
        return self._ranks(self._load(model.id, snapshot))

    @np.errstate(all="ignore")
    def _ranks(self, similarity: Similarity) -> bool:
        """Whether real queries become finite numbers, in the precision that indexes search with."""
        queries: list[Any]
        if similarity.kind == "word-table":
            view = self._same_object.view()
            queries = [view.counts(int(item)) for item in view.ids[:5]]
        else:
            snapshot = self._snapshot()
            queries = list(snapshot.codes([i for i in snapshot.ids[:50] if snapshot.holds(i)][:5]))
        if similarity.kind in WORD_KINDS:
            queries.append(sparse.csr_array(np.ones((1, similarity.words))))  # type: ignore[attr-defined]
        for query in queries:
            made = similarity.surrogate(query)
            vector: Any = made.vector.data if made.is_sparse else made.vector
            numbers = np.append(vector, [made.offset, *made.side.values()]).astype(np.float32)
            if not np.isfinite(np.abs(numbers).sum()):
                return False
        return True
