"""Settings of a collection: names and JSON values in the catalogue."""

from __future__ import annotations

import json
from typing import Any

from likewise.store.catalogue import Catalogue


class Settings:
    """A small dictionary that is on the disk when :meth:`set` returns."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a setting, or the default."""
        row = self._catalogue.row("SELECT value FROM settings WHERE name = ?", (name,))
        return default if row is None else json.loads(row[0])

    def set(self, name: str, value: Any) -> None:
        """Set a value (anything that JSON knows)."""
        self._catalogue.write(
            "INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) "
            "DO UPDATE SET value = excluded.value",
            (name, json.dumps(value)),
        )

    def remove(self, name: str) -> None:
        """Forget a setting; harmless where it is not set."""
        self._catalogue.write("DELETE FROM settings WHERE name = ?", (name,))
