"""What a session needs of the world: the items' vectors, and a place for its rounds.

A collection has both; plain arrays and a list in memory serve experiments and tests.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from likewise.types import BadInput, FloatArray, IdArray, NotFound, Round, Session, as_matrix


class Holdings(Protocol):
    """The items that can be found, as they are now.

    A session asks anew in every round, so items may come and go between rounds.
    """

    @property
    def ids(self) -> IdArray:
        """Ids of the items, ascending."""

    @property
    def vectors(self) -> FloatArray:
        """Picture vectors, one row an item, in the order of the ids."""

    @property
    def blocks(self) -> Mapping[str, slice]:
        """Columns of each block of features."""

    @property
    def space(self) -> str:
        """What is the same only while the columns mean the same."""


class Rounds(Protocol):
    """Where sessions and rounds are written down: the store's ``sessions``, or a list."""

    def start(
        self, kind: str = ..., *, person: str = ..., payload: Mapping[str, Any] | None = ...
    ) -> Session:
        """Begin a session."""

    def add_round(
        self,
        session: int,
        payload: Mapping[str, Any],
        *,
        parent: int | None = ...,
        seconds: Mapping[str, float] | None = ...,
    ) -> Round:
        """Write a round down."""

    def finish(
        self, session: int, outcome: Mapping[str, Any] | None = ..., *, abandoned: bool = ...
    ) -> Session:
        """End a session."""

    def get(self, session: int) -> Session:
        """One session."""

    def all(self, *, state: str | None = ..., limit: int = ...) -> Sequence[Session]:
        """The latest sessions, newest first."""

    def round(self, number: int) -> Round:
        """One round."""

    def rounds(self, session: int) -> Sequence[Round]:
        """Every round of a session in the order made."""

    def trail(self, number: int) -> Sequence[Round]:
        """The rounds that led to one, first to last."""


class ArrayHoldings:
    """Plain arrays as holdings: one row of ``vectors`` an item, columns by block, ascending ids.

    All columns are one block, and ids are row numbers, unless given.
    """

    def __init__(
        self, vectors: Any, blocks: Mapping[str, slice] | None = None, ids: Any = None
    ) -> None:
        self.vectors = as_matrix(vectors, name="picture vectors").astype(np.float32, copy=False)
        self.blocks = dict(blocks) if blocks else {"features": slice(0, self.vectors.shape[1])}
        self.ids = np.arange(len(self.vectors)) if ids is None else np.asarray(ids, np.int64)
        self.space = ""
        if len(self.ids) != len(self.vectors) or (np.diff(self.ids) <= 0).any():
            raise BadInput("There must be one id for each vector, ascending, none twice.")


def rows_of(holdings: Holdings, ids: Any) -> IdArray:
    """Row of each id, -1 for an item that is not (or no longer) there."""
    wanted = np.asarray(ids, dtype=np.int64).ravel()
    held = holdings.ids
    if not len(held):
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(held, wanted), len(held) - 1)
    return np.where(held[at] == wanted, at, -1)


def is_of(payload: Mapping[str, Any], holdings: Holdings, metric: str) -> bool:
    """Whether a metric that was written down is one of the space that the items are in now."""
    same = bool(payload.get("space", holdings.space) == holdings.space)
    return same and len(payload[metric]) == holdings.vectors.shape[1]


class MemoryRounds:
    """Sessions and rounds in memory, with the manners of the store's ``sessions``."""

    def __init__(self) -> None:
        self._sessions: list[Session] = []
        self._rounds: list[Round] = []

    def start(
        self, kind: str = "target", *, person: str = "", payload: Mapping[str, Any] | None = None
    ) -> Session:
        """Begin a session."""
        number, told = len(self._sessions) + 1, dict(payload or {})
        begun = Session(number, kind, person, "open", told, {}, time.time(), None)
        self._sessions.append(begun)
        return begun

    def add_round(
        self,
        session: int,
        payload: Mapping[str, Any],
        *,
        parent: int | None = None,
        seconds: Mapping[str, float] | None = None,
    ) -> Round:
        """Write a round down."""
        if self.get(session).state != "open":
            raise BadInput(f"Session {session} has ended; start a new one.")
        depth = 0 if parent is None else self.round(parent).depth + 1
        number = len(self._rounds) + 1
        self._rounds.append(
            Round(number, session, parent, depth, dict(payload), dict(seconds or {}), time.time())
        )
        return self._rounds[-1]

    def finish(
        self, session: int, outcome: Mapping[str, Any] | None = None, *, abandoned: bool = False
    ) -> Session:
        """End a session."""
        now = self.get(session)
        if now.state != "open":
            raise BadInput(f"Session {session} has ended already.")
        state = "abandoned" if abandoned else "finished"
        self._sessions[session - 1] = replace(now, state=state, outcome=dict(outcome or {}))
        return self._sessions[session - 1]

    def get(self, session: int) -> Session:
        """One session."""
        if not 1 <= session <= len(self._sessions):
            raise NotFound(f"There is no session {session}.")
        return self._sessions[session - 1]

    def all(self, *, state: str | None = None, limit: int = 100) -> list[Session]:
        """The latest sessions, newest first."""
        return [s for s in self._sessions[::-1] if state in (None, s.state)][:limit]

    def round(self, number: int) -> Round:
        """One round."""
        if not 1 <= number <= len(self._rounds):
            raise NotFound(f"There is no round {number}.")
        return self._rounds[number - 1]

    def rounds(self, session: int) -> list[Round]:
        """Every round of a session in the order made."""
        return [r for r in self._rounds if r.session == session]

    def trail(self, number: int) -> list[Round]:
        """The rounds that led to one, first to last."""
        found = [self.round(number)]
        while (before := found[-1].parent) is not None:
            found.append(self.round(before))
        return found[::-1]
