"""The short check of a learned model: which of these pictures are right?

Answers are ordinary marks, so they teach too, and a check that was left goes on where it was: what
was answered is read from the log.  A look is taken when enough queries in a row are answered; the
model that passes serves at once, and a rollback takes it back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from likewise.collection.learn.guard import finite
from likewise.collection.learn.models import Modelling, slot_of, task_of
from likewise.collection.lines.line import View
from likewise.collection.options import Example, Query
from likewise.collection.teach import Teaching
from likewise.evaluation.guard import Draw, depth, judge, next_look
from likewise.store import Drawn, Model, Store
from likewise.types import LOOK, OBJECTS, BadInput, NotFound, QueryRef

if TYPE_CHECKING:
    from likewise.collection.learn.prepare import Prepared

SOURCE = "check"
"""Source of judgements that answer a check."""


@dataclass(frozen=True)
class Check:
    """How far the check of a model is, and what it asks next.

    ``done`` searches are answered of ``size`` that must be before the next look.  ``item`` is
    searched for next, ``items`` are to judge for it; None and empty where there is nothing to
    ask.  ``taught`` marks were given freely and ``asked`` in checks until the last look; 0 before
    the first.
    """

    model: int
    done: int
    size: int
    item: int | None
    items: tuple[int, ...]
    passed: bool
    active: bool
    sentence: str
    taught: int
    asked: int


class Checking:
    """Asks what the guard must know, and activates what passes."""

    def __init__(self, store: Store, models: Modelling, teaching: Teaching) -> None:
        self._store, self._models, self._teaching = store, models, teaching

    def keep(
        self,
        made: Prepared | Model,
        *,
        activate: bool = True,
        force: bool = False,
        person: str = "",
    ) -> Model:
        """Store what was learned and what its check asks; activate it if the guard agrees.

        A model that is known already stays the same one.
        """
        if isinstance(made, Model):
            wanted = force or (activate and made.card["guard"]["passed"])
            if wanted and made.id not in self._models.all_active().values():
                self._models.activate(made.id, person=person, force=force)
            return made
        model = self._models.keep(made, activate=activate, force=force, person=person)
        self._look(model, person)
        return self._models.get(model.id)

    def check(
        self,
        model: int | str | None = None,
        *,
        item: int | None = None,
        right: Sequence[int] = (),
        skip: bool = False,
        person: str = "",
    ) -> Check:
        """Where the check of a model is; with ``item`` an answer is taken first.

        Parameters
        ----------
        model
            Its number or name; the newest that has a check where not given.
        item
            The picture that was searched for.
        right
            Those of the asked pictures that are right; all others are wrong.
        skip
            Leave this search out: nobody can tell what is right.
        person
            Who says so.
        """
        found = self._model(model)
        if item is None:
            return self._told(found)
        asked = next((d for d in self._store.looks.drawn(found.id) if d.item == item), None)
        if asked is None:
            raise NotFound(f"The check of model {found.id} does not ask about picture {item}.")
        if skip:
            self._store.looks.skip(found.id, item)
        else:
            self._mark(found, asked, right, person)
        self._look(found, person)
        return self._told(self._models.get(found.id))

    def _look(self, model: Model, person: str) -> None:
        """Look at the answers if a look is due, and let the model serve that passes."""
        if self._trouble(model):
            return
        view, slot = self._view(model), slot_of(task_of(model))
        _, changes = self._answered(model, view)
        taken = self._store.looks.taken(slot)
        last = [verdict.get("forecast") for _, verdict in taken]
        verdict = judge(
            [d for d, _ in changes],
            [f for _, f in changes],
            pictures=len(view),
            spent=max((size for size, _ in taken), default=0),
            before=last[-1][1] if last and last[-1] else None,
            k=depth(len(view)),
        )
        if not verdict.size:
            return
        taught, asked = self._marks()
        told = finite(asdict(verdict)) | {"by": "check", "taught": taught, "asked": asked}
        if verdict.passed:
            told["sentence"] += f" It took {taught:,} marks and {asked:,} answers."
        with self._store.transaction():
            self._store.looks.look(slot, model.id, verdict.size, told)
            if verdict.passed and model.card.get("activate", True):
                self._models.activate(model.id, person=person)

    def _marks(self) -> tuple[int, int]:
        """Marks of the log that were given freely, and in checks."""
        counts = {True: 0, False: 0}
        for record in self._store.judgements.records(kind="label"):
            counts[record.judgement.source == SOURCE] += len(record.judgement.items)
        return counts[False], counts[True]

    # -- parts -------------------------------------------------------------------

    def _model(self, model: int | str | None) -> Model:
        if model is None:
            model = self._store.looks.newest()
            if model is None:
                raise NotFound("There is no model to check; learn one first.")
        return self._models.get(model)

    def _view(self, model: Model) -> View:
        return self._models.lines[OBJECTS if task_of(model) == OBJECTS else LOOK].view()

    def _trouble(self, model: Model) -> str:
        """Why this model cannot be checked; empty where it can."""
        active = self._models.usable(task_of(model), self._view(model))
        if active is not None and active.id == model.id:
            return "It is in use."
        if (None if active is None else active.id) != model.card.get("against"):
            return "Something else is in use now than when it was learned; learn again."
        if model.space != self._view(model).space:
            return "The photos are described in another way now; learn again."
        return ""

    def _query(self, model: Model, item: int) -> Query:
        line = OBJECTS if task_of(model) == OBJECTS else LOOK
        ref = QueryRef("item", self._store.items.get(item).file)
        return Query((Example(ref),), line=line)

    def _said(self, model: Model, item: int) -> dict[int, bool]:
        """What is known to be right or wrong for a query, by item."""
        marks = self._teaching.marks(self._query(model, item))
        return {one: value > 0 for one, value in marks.items()}

    def _answered(
        self, model: Model, view: View
    ) -> tuple[tuple[int, list[int]] | None, list[tuple[float, float]]]:
        """The first query with something to ask, and the changes of those before it.

        Only those before it: later queries that need no answer would count too early.
        """
        changes: list[tuple[float, float]] = []
        for drawn in self._store.looks.drawn(model.id):
            if drawn.skipped or not view.holds(drawn.item):
                continue
            told = drawn.asked
            whole = Draw(
                tuple(told["new"]), tuple(told["old"]), tuple(told["first"]), told["share"]
            )
            left = whole.without([i for i in whole.items if not view.holds(i)])
            if left is None:
                continue
            said = self._said(model, drawn.item) if left.items else {}
            open_ = [i for i in left.items if i not in said]
            if open_:
                return (drawn.item, open_), changes
            changes.append(left.change(said))
        return None, changes

    def _mark(self, model: Model, drawn: Drawn, right: Sequence[int], person: str) -> None:
        """Mark what nobody has judged yet; what is judged keeps its answer."""
        strange = set(right) - set(drawn.asked["items"])
        if strange:
            raise BadInput(
                f"The check of model {model.id} does not ask about picture {min(strange)} for "
                f"picture {drawn.item}; take what it asks next."
            )
        said, view = self._said(model, drawn.item), self._view(model)
        for relevant in (True, False):
            items = [
                i
                for i in drawn.asked["items"]
                if (i in right) == relevant and i not in said and view.holds(i)
            ]
            if items:
                query = self._query(model, drawn.item)
                self._teaching.mark(query, items, relevant, person=person, source=SOURCE)

    def _told(self, model: Model) -> Check:
        verdict: Mapping[str, Any] = model.card.get("guard", {})
        slot, trouble = slot_of(task_of(model)), self._trouble(model)
        following, changes = (None, []) if trouble else self._answered(model, self._view(model))
        item, items = following or (None, [])
        sentence = verdict.get("sentence", "")
        if trouble and not verdict.get("passed"):
            sentence = trouble
        elif item is None and not trouble and self._store.looks.drawn(model.id):
            sentence += " There is nothing more to ask about it: learn again."
        spent = max((size for size, _ in self._store.looks.taken(slot)), default=0)
        return Check(
            model.id, len(changes), next_look(spent), item, tuple(items),
            bool(verdict.get("passed")), model.id in self._models.all_active().values(), sentence,
            verdict.get("taught", 0), verdict.get("asked", 0),
        )  # fmt: skip
