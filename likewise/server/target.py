"""Searches for a target as the server keeps them: sessions at hand, drafts, boards as JSON.

One lock for all sessions: a round takes milliseconds, and items and vectors must be of one moment.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from likewise.collection import Collection, Round, Session, Step
from likewise.layout.board import side_for
from likewise.server.schemas import item_out
from likewise.session import Board, MemoryRounds, Settings, TargetSession
from likewise.session.draft import Draft, closest_first, fold, standing
from likewise.types import BadInput, QueryRef

AT_HAND = 16
"""Sessions that are kept ready between two requests."""


class Searches:
    """The target searches of a served collection."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._records = collection.sessions
        self._holdings = collection.targets.holdings()
        self._lock = threading.RLock()
        self._at_hand: OrderedDict[int, TargetSession] = OrderedDict()

    def begin(
        self,
        pictures: Sequence[QueryRef],
        text: str,
        first: Sequence[int],
        choose: int | None,
        settings: Settings,
        *,
        random: bool = False,
        person: str = "",
        seed: int = 0,
        origin: Mapping[str, Any] | None = None,
        try_out: bool = False,
    ) -> TargetSession:
        """Start a session (or only try it out, written down nowhere)."""
        if choose is not None and choose not in first:
            raise BadInput("The chosen picture must be one of those that were shown first.")
        with self._lock:
            self._holdings.hold()
            search = self._collection.targets.start(
                picture=list(pictures) or None,
                text=text,
                first=list(first) or None,
                random=random,
                settings=settings,
                person=person,
                seed=seed,
                origin=origin,
                holdings=self._holdings,
                rounds=MemoryRounds() if try_out else None,
            )
            if choose is not None:
                search.next(choose)
            if not try_out:
                self._keep(search)
            return search

    @contextmanager
    def at(self, session: int, round: int | None = None) -> Iterator[TargetSession]:
        """A session at one of its rounds; at the one last touched unless given."""
        with self._lock:
            self._holdings.hold()
            search = self._at_hand.get(session)
            wanted = self.last_touched(session) if round is None else round
            if search is None or not search.is_current:
                search = self._collection.targets.resume(session, wanted, holdings=self._holdings)
            else:
                search.go_to(wanted)
            self._keep(search)
            yield search

    def last_touched(self, session: int) -> int:
        """The round that was made, or that something was done to, last."""
        self._records.get(session)
        rounds, steps = self._records.rounds(session), self._records.steps(session)
        if not rounds:
            raise BadInput(f"Session {session} has no round to go on from; start a new one.")
        if steps and steps[-1].made >= rounds[-1].made:
            return int(steps[-1].payload.get("made", steps[-1].round))
        return rounds[-1].id

    def draft(self, search: TargetSession) -> Draft:
        """What was done to the board at hand and still stands."""
        steps = self._records.steps(search.id, search.board.round)
        return fold(steps, search.board.pinned).within(on_board(search.board))

    def can_take_back(self, search: TargetSession) -> bool:
        """Whether a step of the board at hand still stands."""
        return bool(standing(self._records.steps(search.id, search.board.round)))

    def _keep(self, search: TargetSession) -> None:
        self._at_hand[search.id] = search
        self._at_hand.move_to_end(search.id)
        while len(self._at_hand) > AT_HAND:
            self._at_hand.popitem(last=False)


def on_board(board: Board) -> set[int]:
    """Every picture that something can be done to: those shown, and the query."""
    return {*board.shown, *(() if board.query is None else (board.query,))}


def next_round(search: TargetSession, draft: Draft) -> Board:
    """Go on from the board as the draft left it."""
    board = search.board
    chosen = board.query if draft.query is None else draft.query
    return search.next(
        draft.query,
        moved=dict(draft.moved),
        discarded=draft.discarded,
        pinned=draft.pinned,
        closer=closest_first(
            draft.close,
            [
                item
                for item in (*board.shown, board.query)
                if item is not None and item != chosen and item not in draft.aside
            ],
        ),
    )


# -- as JSON -----------------------------------------------------------------------------


def board_out(
    collection: Collection,
    search: TargetSession,
    session: Session | None,
    draft: Draft | None = None,
) -> dict[str, Any]:
    """A round as JSON values: the board, what was done to it, and the rounds around it."""
    board = search.board
    rounds = [] if session is None else collection.sessions.rounds(session.id)
    asked_for = {*board.shown, board.query, *(r.payload["query"] for r in rounds)} - {None}
    facts = {i.id: item_out(i) for i in collection.items.many(asked_for)}
    places = board.positions or [(0.5, 0.5)] * len(board.shown)
    pictures = [
        {**facts[item], "x": x, "y": y}
        for item, (x, y) in zip(board.shown, places)
        if item in facts
    ]
    here = next((r for r in rounds if r.id == board.round), None)
    was_shown = len(here.payload["shown"]) if here else len(pictures)
    return {
        "session": 0 if session is None else session.id,
        "state": "open" if session is None else session.state,
        "outcome": {} if session is None else _outcome(session),
        "origin": {} if session is None else dict(session.payload.get("origin", {})),
        "round": 0 if session is None else board.round,
        "depth": board.depth,
        "query": facts.get(board.query) if board.query is not None else None,
        "has_centre": board.query is not None or search.has_vector,
        "pictures": pictures,
        "gone": was_shown - len(pictures),
        "side": side_for(len(board.shown) + 1),
        "shares": {name: float(share) for name, share in board.shares.items()},
        "words": board.words,
        "left": board.left,
        "notes": list(board.notes),
        "draft": draft_out(draft or Draft(pinned=board.pinned)),
        "rounds": [_round_out(r, facts) for r in rounds],
    }


def draft_out(draft: Draft) -> dict[str, Any]:
    """A draft as JSON values."""
    return {
        "moved": {str(item): list(place) for item, place in draft.moved.items()},
        "discarded": list(draft.discarded),
        "aside": list(draft.aside),
        "pinned": list(draft.pinned),
        "query": draft.query,
        "close": list(draft.close),
        "ending": draft.ending,
        "target": draft.target,
    }


def session_out(collection: Collection, session: Session) -> dict[str, Any]:
    """A session in a list."""
    rounds = collection.sessions.rounds(session.id)
    return {
        "session": session.id,
        "state": session.state,
        "person": session.person,
        "started": session.started,
        "ended": session.ended,
        "rounds": len(rounds),
        "outcome": _outcome(session),
        "origin": dict(session.payload.get("origin", {})),
    }


def _outcome(session: Session) -> dict[str, Any]:
    wanted = ("found", "rounds", "kept")
    return {name: session.outcome[name] for name in wanted if name in session.outcome}


def _round_out(record: Round, facts: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    query = record.payload["query"]
    return {
        "round": record.id,
        "parent": record.parent,
        "depth": record.depth,
        "query": query,
        "thumbnail": facts[query]["thumbnail"] if query in facts else None,
        "shown": len(record.payload["shown"]),
        "made": record.made,
    }


# -- times -------------------------------------------------------------------------------

COLUMNS = (
    "session", "person", "way", "looked_for", "found", "step", "round", "depth", "kind", "items",
    "seconds", "learn", "match", "layout", "time",
)  # fmt: skip


def timed(session: Session, rounds: Sequence[Round], steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Steps and boards of a session in the order of time, one row each.

    A step has the seconds that the person took, a board those of each part of making it.
    """
    depth = {r.id: r.depth for r in rounds}
    rows: list[tuple[float, int, dict[str, Any]]] = []
    for r in rounds:
        rows.append((r.made, 0, {
            "round": r.id, "kind": "board", "items": len(r.payload["shown"]),
            "seconds": round(sum(r.seconds.values()), 4),
            **{name: round(s, 4) for name, s in r.seconds.items()},
        }))  # fmt: skip
    for s in steps:
        touched = len(s.payload.get("items", ())) + len(s.payload.get("places", ()))
        rows.append((s.made, 1, {
            "step": s.id, "round": s.round, "kind": s.kind, "items": touched,
            "seconds": s.seconds,
        }))  # fmt: skip
    rows.sort(key=lambda row: row[:2])
    return [
        {
            "session": session.id,
            "person": session.person,
            "way": "ours"
            if session.payload.get("settings", {}).get("use_filter", True)
            else "paper",
            "looked_for": session.payload.get("origin", {}).get("looked_for") or "",
            "found": _outcome(session).get("found") or "",
            "depth": depth[row["round"]],
            "time": made,
            **row,
        }
        for made, _, row in rows
    ]
