"""The registry of models: versioned files with a card; activate and roll back are one record.

A model is a safetensors file that carries its own card, so exporting is copying.  Which one
is active is the newest record of ``activations``; a rollback is a further record that
goes to what was active before, so history is never rewritten.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likewise.files import plain_errors, read_checked, remove_file, sweep, write_file
from likewise.store.arrays import Arrays, pack, to_json, unpack
from likewise.store.catalogue import Catalogue
from likewise.types import BadInput, DataProblem, NotFound

FOLDER = "models"
FILE, CARD = "model.safetensors", "card.json"
_ENVELOPE = ("name", "space", "card")


@dataclass(frozen=True)
class Model:
    """A stored model: its number is its version, its card says how it was made."""

    id: int
    name: str
    space: str
    file: str
    sha256: str
    card: Mapping[str, Any]
    made: float


@dataclass(frozen=True)
class Activation:
    """One record of the history of a slot; ``model`` None means plain similarity."""

    id: int
    slot: str
    model: int | None
    previous: int | None
    person: str
    reason: str
    time: float


class Models:
    """Models by number, and which of them is active in each slot."""

    def __init__(self, catalogue: Catalogue, folder: Path) -> None:
        self._catalogue, self.folder = catalogue, folder / FOLDER

    def add(
        self, name: str, arrays: Mapping[str, Any], card: Mapping[str, Any], *, space: str
    ) -> Model:
        """Store a model (inactive); it is on the disk when this returns."""
        if not name.strip():
            raise BadInput("A model needs a name.")
        data = pack(arrays, {"name": name, "space": space, "card": card})
        with self._catalogue.transaction() as db:
            number = _next(db)
            slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "model"
            file = f"{number:06d}-{slug}.safetensors"
            path = self.folder / file
            self._catalogue.on_rollback(lambda: remove_file(path))
            self._catalogue.on_rollback(lambda: remove_file(path.with_suffix(".json")))
            sha256, _ = write_file(path, [data])
            write_file(path.with_suffix(".json"), [_card_text(name, space, card)])
            db.execute(
                "INSERT INTO models VALUES (?, ?, ?, ?, ?, ?, ?)",
                (number, name, space, file, sha256, to_json(card), time.time()),
            )
        return self.get(number)

    def get(self, model: int) -> Model:
        """The record of one model."""
        row = self._catalogue.row("SELECT * FROM models WHERE id = ?", (model,))
        if row is None:
            raise NotFound(f"There is no model {model}; list the models to see which there are.")
        return _model(row)

    def all(self) -> list[Model]:
        """Every model, oldest first."""
        return [_model(row) for row in self._catalogue.rows("SELECT * FROM models ORDER BY id")]

    def load(self, model: int) -> tuple[Arrays, Mapping[str, Any]]:
        """Arrays and card, checked."""
        return unpack(self.packed(model), f"model {model}")[0], self.get(model).card

    # -- active or not -----------------------------------------------------------

    def activate(
        self, model: int | None, *, slot: str = "default", person: str = "", reason: str = ""
    ) -> Activation:
        """Make a model the active one of a slot (None: plain similarity), in one step."""
        if model is not None:
            self.load(model)  # a damaged file must not become active
        with self._catalogue.transaction():
            now = self._newest(slot)
            return self._record(slot, model, now.id if now else None, person, reason)

    def rollback(self, *, slot: str = "default", person: str = "", reason: str = "") -> Activation:
        """Go back to what was active before; again, and it goes back further."""
        with self._catalogue.transaction():
            now = self._newest(slot)
            if now is None:
                raise NotFound(
                    "Nothing was ever activated here, so there is nothing to go back to."
                )
            before = self._activation(now.previous) if now.previous else None
            to = (before.model, before.previous) if before else (None, None)
            return self._record(slot, *to, person, reason or "rollback")

    def active(self, slot: str = "default") -> Model | None:
        """The active model of a slot, None for plain similarity."""
        with self._catalogue.reading():
            now = self._newest(slot) if self._catalogue.newest().activation else None
            return None if now is None or now.model is None else self.get(now.model)

    def history(self, slot: str = "default") -> list[Activation]:
        """Every activation and rollback of a slot, oldest first."""
        sql = "SELECT * FROM activations WHERE slot = ? ORDER BY id"
        return [Activation(*row) for row in self._catalogue.rows(sql, (slot,))]

    def _newest(self, slot: str) -> Activation | None:
        row = self._catalogue.row(
            "SELECT * FROM activations WHERE slot = ? ORDER BY id DESC LIMIT 1", (slot,)
        )
        return Activation(*row) if row else None

    def _activation(self, number: int) -> Activation:
        return Activation(*self._catalogue.row("SELECT * FROM activations WHERE id = ?", (number,)))

    def _record(
        self, slot: str, model: int | None, previous: int | None, person: str, reason: str
    ) -> Activation:
        number = self._catalogue.insert(
            "INSERT INTO activations (slot, model, previous, person, reason, time) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (slot, model, previous, person, reason, time.time()),
        )
        return self._activation(number)

    # -- out and in --------------------------------------------------------------

    def packed(self, model: int) -> bytes:
        """The bytes of a model's file, checked: what another collection can take in."""
        found = self.get(model)
        return read_checked(self.folder / found.file, found.sha256, f"model {model}")

    def export(self, model: int, target: Path) -> Path:
        """Write a model as one ``.safetensors`` file, or as a folder with its card beside it."""
        found, data = self.get(model), self.packed(model)
        if target.exists():
            raise BadInput(f"{target} is there already; choose another name.")
        with plain_errors(target.parent):
            if target.suffix == ".safetensors":
                write_file(target, [data])
            else:
                write_file(target / FILE, [data])
                write_file(target / CARD, [_card_text(found.name, found.space, found.card)])
        return target

    def unpacked(self, data: bytes, what: str) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and envelope (name, space, card) of exported bytes; nothing is added."""
        arrays, envelope = unpack(data, what)
        if not all(key in envelope for key in _ENVELOPE):
            raise DataProblem(f"{what} carries no card of likewise; give what export wrote.")
        return arrays, envelope

    def sweep(self) -> list[str]:
        """Remove files that no row names."""
        files = {model.file for model in self.all()}
        return sweep(self.folder, files | {str(Path(f).with_suffix(".json")) for f in files})


def _next(db: Any) -> int:
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'models'").fetchone()
    return int(row[0]) + 1 if row else 1


def _model(row: tuple[Any, ...]) -> Model:
    return Model(*(*row[:5], json.loads(row[5]), row[6]))


def _card_text(name: str, space: str, card: Mapping[str, Any]) -> bytes:
    plain = json.loads(to_json({"name": name, "space": space, "card": card}))
    return (json.dumps(plain, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")
