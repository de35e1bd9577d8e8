"""Sessions, their rounds and the steps of each as records: added, never changed.

Rounds may branch; steps are what a person did to the board of a round, one by one.

What a round holds is the session room's affair (JSON); it should name items by id, which is
never used twice, so that forgetting an item leaves nothing of it here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from likewise.store.arrays import to_json
from likewise.store.catalogue import Catalogue
from likewise.types import BadInput, NotFound, Round, Session, Step


class Sessions:
    """Start, add rounds, go back to any round and branch, finish."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def start(
        self, kind: str = "target", *, person: str = "", payload: Mapping[str, Any] | None = None
    ) -> Session:
        """Begin a session."""
        number = self._catalogue.insert(
            "INSERT INTO sessions (kind, person, state, payload, started) "
            "VALUES (?, ?, 'open', ?, ?)",
            (kind, person, to_json(payload or {}), time.time()),
        )
        return self.get(number)

    def add_round(
        self, session: int, payload: Mapping[str, Any], *, parent: int | None = None,
        seconds: Mapping[str, float] | None = None
    ) -> Round:  # fmt: skip
        """Add a round after ``parent``; without one it is a first round.

        Two rounds with the same parent are two branches.
        """
        with self._catalogue.transaction():
            before = self._open_at(session, parent)
            depth = before.depth + 1 if before else 0
            number = self._catalogue.insert(
                "INSERT INTO rounds (session, parent, depth, payload, seconds, made) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (session, parent, depth, to_json(payload), to_json(seconds or {}), time.time()),
            )
            return self.round(number)

    def _open_at(self, session: int, round: int | None) -> Round | None:
        """A round of a session that has not ended."""
        if self.get(session).state != "open":
            raise BadInput(f"Session {session} has ended; start a new one.")
        found = None if round is None else self.round(round)
        if found is not None and found.session != session:
            raise BadInput(f"Round {round} belongs to another session.")
        return found

    def finish(
        self, session: int, outcome: Mapping[str, Any] | None = None, *, abandoned: bool = False
    ) -> Session:
        """End a session with what came of it; it takes no further rounds."""
        with self._catalogue.transaction() as db:
            if self.get(session).state != "open":
                raise BadInput(f"Session {session} has ended already.")
            state = "abandoned" if abandoned else "finished"
            db.execute(
                "UPDATE sessions SET state = ?, outcome = ?, ended = ? WHERE id = ?",
                (state, to_json(outcome or {}), time.time(), session),
            )
            return self.get(session)

    def add_step(
        self, session: int, round: int, kind: str, payload: Mapping[str, Any] | None = None, *,
        seconds: float | None = None, key: str | None = None
    ) -> Step:  # fmt: skip
        """Write down what was done to a round; the same key again gives the same step."""
        find = self._catalogue.row
        with self._catalogue.transaction():
            row = None if key is None else find("SELECT * FROM steps WHERE key = ?", (key,))
            if row is None:
                self._open_at(session, round)
                number = self._catalogue.insert(
                    "INSERT INTO steps (session, round, kind, payload, seconds, made, key) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (session, round, kind, to_json(payload or {}), seconds, time.time(), key),
                )
                row = find("SELECT * FROM steps WHERE id = ?", (number,))
        return _step(row)

    def steps(self, session: int, round: int | None = None) -> list[Step]:
        """What was done in a session, or in one of its rounds, in the order done."""
        where, given = ("", ()) if round is None else (" AND round = ?", (round,))
        sql = f"SELECT * FROM steps WHERE session = ?{where} ORDER BY id"
        return [_step(row) for row in self._catalogue.rows(sql, (session, *given))]

    def get(self, session: int) -> Session:
        """One session."""
        row = self._catalogue.row("SELECT * FROM sessions WHERE id = ?", (session,))
        if row is None:
            raise NotFound(
                f"There is no session {session}; list the sessions to see which there are."
            )
        return Session(*_parsed(row))

    def all(self, *, state: str | None = None, limit: int = 100) -> list[Session]:
        """The latest sessions, newest first."""
        where, given = ("", ()) if state is None else ("WHERE state = ?", (state,))
        sql = f"SELECT * FROM sessions {where} ORDER BY id DESC LIMIT ?"
        return [Session(*_parsed(row)) for row in self._catalogue.rows(sql, (*given, limit))]

    def round(self, number: int) -> Round:
        """One round."""
        row = self._catalogue.row("SELECT * FROM rounds WHERE id = ?", (number,))
        if row is None:
            raise NotFound(f"There is no round {number}.")
        return Round(*_parsed(row))

    def rounds(self, session: int) -> list[Round]:
        """Every round of a session in the order made, all branches."""
        sql = "SELECT * FROM rounds WHERE session = ? ORDER BY id"
        return [Round(*_parsed(row)) for row in self._catalogue.rows(sql, (session,))]

    def trail(self, number: int) -> list[Round]:
        """The rounds that led to one, first to last: its branch."""
        with self._catalogue.reading():
            found = [self.round(number)]
            while found[-1].parent is not None:
                found.append(self.round(found[-1].parent))
        return found[::-1]


def _step(row: tuple[Any, ...]) -> Step:
    values = list(row)
    values[4] = json.loads(row[4])
    return Step(*values)


def _parsed(row: tuple[Any, ...]) -> list[Any]:
    # In both tables the JSON texts are the fifth and sixth columns.
    values = list(row)
    values[4:6] = json.loads(row[4]), json.loads(row[5])
    return values
