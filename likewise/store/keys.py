"""Keys of programs: each has a name and a scope, and only its hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from typing import NamedTuple

from likewise.store.catalogue import Catalogue
from likewise.types import BadInput, NotFound

SCOPES = ("search", "click", "teach", "administer")
"""What a key may do; each scope includes those before it."""
PREFIX = "likewise-key-"
_NAME = re.compile(r"[\w.-][\w. -]{0,62}[\w.-]|[\w.-]")


class ProgramKey(NamedTuple):
    """A program's key, without what opens."""

    id: int
    name: str
    scope: str
    made: float

    def may(self, scope: str) -> bool:
        """Whether it reaches this scope."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


class Keys:
    """Keys that outlive a restart of the server, until they are removed."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def add(self, name: str, scope: str = "search") -> tuple[ProgramKey, str]:
        """A new key and its text, which is never shown again."""
        if not _NAME.fullmatch(name):
            raise BadInput("A key's name has 1 to 64 letters, digits, spaces, dots or dashes.")
        if scope not in SCOPES:
            raise BadInput(f"A key's scope is one of {', '.join(SCOPES)}, not {scope!r}.")
        secret, now = secrets.token_urlsafe(32), time.time()
        with self._catalogue.transaction() as db:
            if db.execute("SELECT 1 FROM keys WHERE name = ?", (name,)).fetchone():
                raise BadInput(f"There is a key named {name!r}; remove it first.")
            number = self._catalogue.insert(
                "INSERT INTO keys (name, scope, hash, made) VALUES (?, ?, ?, ?)",
                (name, scope, _hash(secret), now),
            )
        return ProgramKey(number, name, scope, now), f"{PREFIX}{number}-{secret}"

    def all(self) -> list[ProgramKey]:
        """Every key, oldest first."""
        rows = self._catalogue.rows("SELECT id, name, scope, made FROM keys")
        return [ProgramKey(*row) for row in rows]

    def remove(self, name: str) -> None:
        """Let a key open nothing any more, from the next request on."""
        if not self._catalogue.write("DELETE FROM keys WHERE name = ?", (name,)):
            raise NotFound(f"There is no key named {name!r}.")

    def find(self, text: str) -> ProgramKey | None:
        """The key of this text; None where it opens nothing."""
        number, _, secret = text.removeprefix(PREFIX).partition("-")
        if not text.startswith(PREFIX) or not re.fullmatch("[0-9]{1,18}", number):
            return None
        row = self._catalogue.row(
            "SELECT id, name, scope, made, hash FROM keys WHERE id = ?", (int(number),)
        )
        right = hmac.compare_digest(_hash(secret), row[4] if row else b"")
        return ProgramKey(*row[:4]) if right else None


def _hash(secret: str) -> bytes:
    # Drawn at random and long, so that no slow hash is needed.
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
