"""The short check of a model: what is asked about which query, and the looks taken at answers.

Answers themselves are ordinary records of the log of judgements.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from likewise.store.catalogue import AMONG, Catalogue, id_list


@dataclass(frozen=True)
class Drawn:
    """What is asked about one query, an item; ``skipped`` where a person could not tell."""

    item: int
    asked: Mapping[str, Any]
    skipped: bool = False


class Looks:
    """Draws by model, and the looks of each slot since a model last became active there."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def draw(self, model: int, drawn: Sequence[Drawn]) -> None:
        """Keep what is to be asked for a model; queries that were skipped before stay so."""
        with self._catalogue.transaction() as db:
            db.executemany(
                "INSERT INTO draws SELECT ?, ?, ?, ?, "
                "EXISTS (SELECT 1 FROM draws WHERE item = ? AND skipped)",
                [(model, at, d.item, json.dumps(d.asked), d.item) for at, d in enumerate(drawn)],
            )

    def drawn(self, model: int) -> list[Drawn]:
        """What is asked for a model, in order; empty where nothing was drawn."""
        sql = "SELECT item, asked, skipped FROM draws WHERE model = ? ORDER BY position"
        rows = self._catalogue.rows(sql, (model,))
        return [Drawn(item, json.loads(asked), bool(off)) for item, asked, off in rows]

    def skip(self, model: int, item: int) -> None:
        """Leave a query out: nobody can tell what is right for it."""
        self._catalogue.write(
            "UPDATE draws SET skipped = 1 WHERE model = ? AND item = ?", (model, item)
        )

    def newest(self) -> int | None:
        """The newest model that something was drawn for."""
        found: int | None = self._catalogue.row("SELECT MAX(model) FROM draws")[0]
        return found

    def since(self, slot: str) -> int:
        """Number of the last activation of a slot (no rollback, not of plain); 0 for none."""
        sql = (
            "SELECT COALESCE(MAX(id), 0) FROM activations "
            "WHERE slot = ? AND model IS NOT NULL AND reason <> 'rollback'"
        )
        return int(self._catalogue.row(sql, (slot,))[0])

    def look(self, slot: str, model: int, size: int, verdict: Mapping[str, Any]) -> None:
        """Write down that evidence of this size was looked at, and what came of it."""
        with self._catalogue.transaction():
            self._catalogue.write(
                "INSERT INTO looks (slot, since, model, size, verdict, time) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (slot, self.since(slot), model, size, json.dumps(verdict), time.time()),
            )

    def taken(self, slot: str) -> list[tuple[int, dict[str, Any]]]:
        """Size and verdict of each look since the last activation, oldest first."""
        sql = "SELECT size, verdict FROM looks WHERE slot = ? AND since = ? ORDER BY id"
        with self._catalogue.reading():
            rows = self._catalogue.rows(sql, (slot, self.since(slot)))
        return [(int(size), json.loads(verdict)) for size, verdict in rows]

    def verdicts(self) -> dict[int, dict[str, Any]]:
        """The last verdict on each model that was looked at."""
        rows = self._catalogue.rows("SELECT model, verdict FROM looks ORDER BY id")
        return {int(model): json.loads(verdict) for model, verdict in rows}

    def forget(self, items: Sequence[int]) -> None:
        """Remove queries that are such items for good."""
        self._catalogue.write(f"DELETE FROM draws WHERE item {AMONG}", (id_list(items),))
