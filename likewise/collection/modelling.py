"""Models: learn from judgements, compare with plain, activate, roll back, serve."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from likewise.collection.searching import QueryPictures
from likewise.collection.snapshot import Snapshot
from likewise.learners import SIMILARITIES
from likewise.store import Activation, Model, Store
from likewise.types import BadInput, DataProblem, Similarity, SpaceMismatch


class Modelling:
    """The models of a collection."""

    def __init__(
        self, store: Store, snapshot: Callable[[], Snapshot], pictures: QueryPictures
    ) -> None:
        self._store, self._snapshot, self._pictures = store, snapshot, pictures
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

    def all(self) -> list[Model]:
        """Every model, oldest first."""
        return self._store.models.all()

    def active(self) -> Model | None:
        """The active model, None for plain similarity."""
        return self._store.models.active()

    def activate(self, model: int | str, *, person: str = "", force: bool = False) -> Activation:
        """Make a model the active one (``"plain"``: none), if its guard let it pass."""
        if model == "plain":
            return self._store.models.activate(None, person=person)
        number = self.number(model)
        verdict = self._store.models.get(number).card.get("guard", {})
        if not verdict.get("passed", False) and not force:
            sentence = verdict.get("sentence", "It was never compared with plain similarity.")
            raise BadInput(
                f"Model {number} is not activated: {sentence} Use --force to do it anyway."
            )
        return self._store.models.activate(number, person=person, reason="force" if force else "")

    def rollback(self, *, person: str = "") -> Activation:
        """Go back to what was active before."""
        return self._store.models.rollback(person=person)

    def write(self, model: int | str, target: Path) -> Path:
        """Export a model with its card."""
        return self._store.models.export(self.number(model), target)

    def read(self, source: Path) -> Model:
        """Import a model that was learned in the same space."""
        plain = self._snapshot().plain
        return self._store.models.import_(
            source, space=None if plain is None else plain.space.fingerprint
        )
