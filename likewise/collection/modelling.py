"""Models: learn from judgements, compare with plain, activate, roll back, serve."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise.collection.same_object import SameObject
from likewise.collection.searching import QueryPictures
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import NAME as WORDS
from likewise.learners import SIMILARITIES
from likewise.store import Activation, Model, Store
from likewise.types import (
    BadInput,
    DataProblem,
    Judgement,
    NotFound,
    Similarity,
    SpaceMismatch,
)

if TYPE_CHECKING:
    from likewise.evaluation import Comparison


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
        words: SameObject,
    ) -> None:
        self._store, self._snapshot, self._pictures = store, snapshot, pictures
        self._words = words
        self._lock = threading.Lock()
        self._loaded: dict[tuple[int, str], Similarity] = {}

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
        """Learn a model from all judgements about picture queries, measure it, guard it.

        Parameters
        ----------
        objective
            ``bilinear`` (query-dependent, around taught queries) or ``top-precision``.
        space
            ``words`` learns the table of same-object search instead.
        activate
            Make it the active model if the guard lets it pass.
        force
            Activate it even if the guard does not.
        settings
            Of the learner; chosen on held-out judgements where not given.

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
        from likewise.collection import learning

        if space == WORDS:
            return self._prepare_words(name or "word-table", seed, dict(settings or {}))
        if space:
            raise BadInput(f"The space is {WORDS}, or not given for the look; not {space!r}.")
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

    def _prepare_words(self, name: str, seed: int, settings: dict[str, Any]) -> Prepared:
        from likewise.collection import word_learning

        view = self._words.view()
        if view.space is None:
            raise NotFound("No picture has visual words yet; index some pictures first.")
        rivals: dict[str, Any] = {"plain": self._words.serving("plain", view)[0]}
        if self._store.models.active(WORDS) is not None:
            rivals["active"] = self._words.serving(None, view)[0]
        arrays, card = word_learning.learn(
            self._store, self._words, view, rivals, seed=seed, settings=settings
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
        from likewise.collection import learning
        from likewise.evaluation import compare

        snapshot = self._snapshot()
        if snapshot.plain is None:
            raise NotFound("No pictures are indexed yet; run: likewise index FOLDER")
        chosen = list(self._store.judgements if judgements is None else judgements)
        evidence = learning.gather(chosen, self._store, snapshot, self._pictures)
        labels, every = evidence.labels(), np.arange(len(evidence.queries))
        truth = learning.truth_of(labels, every)
        if not any(v > 0 for grades in truth.values() for v in grades.values()):
            raise BadInput("There are no labels to evaluate on; import some, or mark results.")
        runs = {"plain": learning.judged_run(snapshot.plain, evidence, every, labels)}
        for model in models:
            if model != "plain":
                number = self.number(model)
                similarity = self._load(number, snapshot)
                runs[self.title(number)] = learning.judged_run(similarity, evidence, every, labels)
        return compare(runs, truth, baseline="plain")

    # -- the registry ------------------------------------------------------------

    def all(self) -> list[Model]:
        """Every model, oldest first."""
        return self._store.models.all()

    def active(self, space: str = "") -> Model | None:
        """The active model (of ``words``: of same-object search), None for plain similarity."""
        return self._store.models.active(_slot(space))

    def activate(
        self, model: int | str, *, person: str = "", force: bool = False, space: str = ""
    ) -> Activation:
        """Make a model the active one (``"plain"``: none), if its guard let it pass.

        A word table becomes the one of same-object search; with ``space="words"`` plain
        means that search.
        """
        if model == "plain":
            return self._store.models.activate(None, slot=_slot(space), person=person)
        number = self.number(model)
        verdict = self._store.models.get(number).card.get("guard", {})
        if not verdict.get("passed", False) and not force:
            sentence = verdict.get("sentence", "It was never compared with plain similarity.")
            raise BadInput(
                f"Model {number} is not activated: {sentence} Use --force to do it anyway."
            )
        kind = self._store.models.get(number).card.get("kind")
        slot = _slot(WORDS if kind == "word-table" else "")
        reason = "force" if force else ""
        return self._store.models.activate(number, slot=slot, person=person, reason=reason)

    def rollback(self, *, person: str = "", space: str = "") -> Activation:
        """Go back to what was active before."""
        return self._store.models.rollback(slot=_slot(space), person=person)

    def write(self, model: int | str, target: Path) -> Path:
        """Export a model with its card."""
        return self._store.models.export(self.number(model), target)

    def read(self, source: Path) -> Model:
        """Import a model that was learned in the same space."""
        plain = self._snapshot().plain
        try:
            return self._store.models.import_(
                source, space=None if plain is None else plain.space.fingerprint
            )
        except SpaceMismatch:
            words = self._words.view().space if self._words.is_on else None
            if words is None:
                raise
            return self._store.models.import_(source, space=words.fingerprint)


def _slot(space: str) -> str:
    """Where the store keeps what is active for a kind of search."""
    if space not in ("", WORDS):
        raise BadInput(f"The space is {WORDS}, or not given for the look; not {space!r}.")
    return space or "default"
