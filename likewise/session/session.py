"""A search for one picture: a board, what the person does to it, and the next board.

A round takes the board, a choice of query and an order of the pictures that were moved; learns a
metric; asks the target filter which items may be meant; and shows the best unseen ones.  Every
round is written down before it is shown, with all that it takes to go on from it: undo, a branch
from any round and resuming after a restart are all the same thing, going on from a record.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from likewise.layout.board import arrange, side_for
from likewise.session import learning, target_filter
from likewise.session.branch import Branch
from likewise.session.draft import chains, check_moves, ordered, ranks
from likewise.session.holdings import Holdings, Rounds, is_of, rows_of
from likewise.session.kept import Kept, inherited
from likewise.session.scan import best_unseen, nearness, random_hundred, representatives, unseen
from likewise.session.settings import Board, Place, Settings
from likewise.types import BadInput, FloatArray, IdArray, NotFound, Round, as_vector


class Clock:
    """Seconds of each step, by its name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, step: str) -> None:
        """The step that began at the last lap (or with the clock) is over."""
        now = time.perf_counter()
        self.seconds[step] = now - self._last
        self._last = now


class TargetSession:
    """A search for one picture.  Begin with :meth:`start` or :meth:`resume`.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.session import ArrayHoldings, MemoryRounds, Settings, TargetSession
    >>> x = np.random.default_rng(0).normal(size=(200, 6))
    >>> search = TargetSession.start(ArrayHoldings(x), MemoryRounds(), Settings(shown=8))
    >>> first = search.board
    >>> nearer, farther = first.shown[1], first.shown[2]
    >>> board = search.next(query=first.shown[0], moved=[nearer, farther])
    >>> len(board.shown), board.query == first.shown[0]
    (8, True)
    """

    def __init__(
        self,
        holdings: Holdings,
        rounds: Rounds,
        session: int,
        *,
        vector: Any = None,
        learn: learning.Learn | None = None,
    ) -> None:
        self._holdings, self._rounds, self.id = holdings, rounds, session
        begun = rounds.get(session).payload
        written = dict(begun["settings"])
        if written.get("learn_on") is not None:
            written["learn_on"] = tuple(written["learn_on"])
        self.settings = Settings(**written)
        lent, own = begun.get("kept"), begun["vector"] if vector is None else vector
        if is_of(begun, holdings, "start"):
            self._scale: FloatArray = np.asarray(begun["scale"], np.float64)
            self._start: FloatArray = np.asarray(begun["start"], np.float64)
        else:  # the space was fitted anew since: what was said is learned from again
            self._scale = learning.balanced(holdings)
            self._start = learning.only(self._scale, holdings.blocks, self.settings.learn_on)
            lent, own = None, vector
        self._space = holdings.space
        self._spread = learning.mean_spread(holdings.vectors)
        self._vector = None if own is None else np.asarray(own, np.float32)
        self._seed = int(begun["seed"])
        self._kept = None if lent is None else np.asarray(lent, np.float64)
        self._learn = learn or learning.metric_learner(
            self._scale, holdings.blocks, self.settings, self._kept
        )
        self._filter: tuple[Any, target_filter.TargetFilter] | None = None
        self._known: tuple[int, Branch | None] = (0, None)
        self.board: Board

    # -- beginning

    @classmethod
    def start(
        cls,
        holdings: Holdings,
        rounds: Rounds,
        settings: Settings | None = None,
        *,
        query: int | None = None,
        vector: Any = None,
        first: Sequence[int] | None = None,
        begin: Literal["representatives", "random"] = "representatives",
        weights: Any = None,
        kept: Sequence[Kept] = (),
        person: str = "",
        seed: int = 0,
        origin: Mapping[str, Any] | None = None,
        learn: learning.Learn | None = None,
    ) -> TargetSession:
        """Begin a session.

        From the item ``query``, from a picture ``vector`` (an own picture, or words turned into
        picture space), with the ids ``first`` on the first board (such as hits of a text search),
        or, without any of these, with ``representatives`` of all items or a ``random`` hundred.
        ``weights`` is the metric to begin with (every block has the same say unless given), or the
        nearest ``kept`` sessions make it, if it foretells their orders.  ``origin`` is written
        down for people to read; ``learn`` stands in for the metric learner in experiments.
        """
        chosen = settings or Settings()
        if begin not in ("representatives", "random"):
            raise BadInput(f"A session begins with 'representatives' or 'random', not {begin!r}.")
        if not len(holdings.ids):
            raise BadInput("There is nothing to search: the collection holds no items yet.")
        if query is not None and rows_of(holdings, [query])[0] < 0:
            raise NotFound(f"There is no item {query} to begin from.")
        if first is not None and not (rows_of(holdings, list(first)) >= 0).any():
            raise BadInput("None of the items to show first is in the collection.")
        dim = holdings.vectors.shape[1]
        own = None if vector is None else as_vector(vector, dim=dim, name="query")
        scale = learning.balanced(holdings)
        equal = learning.only(scale, holdings.blocks, chosen.learn_on)
        at = own if query is None else holdings.vectors[rows_of(holdings, [query])[0]]
        lent = inherited(kept, at, equal) if weights is None else None
        opening = equal if weights is None else as_vector(weights, dim=dim)
        opening = opening if lent is None else lent
        begun = rounds.start(
            "target",
            person=person,
            payload={
                "settings": asdict(chosen),
                "scale": scale.tolist(),
                "start": np.asarray(opening, np.float64).tolist(),
                "kept": None if lent is None else lent.tolist(),
                "vector": None if own is None else own.tolist(),
                "seed": seed,
                "space": holdings.space,
                "origin": dict(origin or {}),
            },
        )
        session = cls(holdings, rounds, begun.id, learn=learn)
        clock = Clock()
        session._begin(query, first, begin, clock)
        return session

    @classmethod
    def resume(
        cls,
        holdings: Holdings,
        rounds: Rounds,
        session: int,
        *,
        round: int | None = None,
        vector: Any = None,
    ) -> TargetSession:
        """Go on with a session from a round; from the latest one unless given.

        ``vector``: the picture it began from, where that is no item and the space has changed.
        """
        found = cls(holdings, rounds, session, vector=vector)
        if round is None:
            every = rounds.rounds(session)
            if not every:
                raise NotFound(f"Session {session} has no round to go on from; start a new one.")
            round = every[-1].id
        found.go_to(round)
        return found

    def _begin(
        self, query: int | None, first: Sequence[int] | None, begin: str, clock: Clock
    ) -> None:
        ids: IdArray
        notes: list[str] = []
        weights = self._start
        if first is not None:
            given = np.asarray(list(dict.fromkeys(int(item) for item in first)), np.int64)
            ids = given[rows_of(self._holdings, given) >= 0]
        elif query is not None or self._vector is not None:
            ids = self._nearest(query, weights, {query} if query is not None else set())
        elif begin == "random":
            ids = random_hundred(self._holdings, seed=self._seed)
        else:
            ids = representatives(self._holdings, weights, self.settings.shown, seed=self._seed)
        clock.lap("match")
        self._show(None, query, ids, (), weights, {}, {}, notes, clock)

    @property
    def is_current(self) -> bool:
        """Whether the space is still that of the metric; else :meth:`resume` learns it anew."""
        return self._space == self._holdings.space

    @property
    def has_vector(self) -> bool:
        """Whether it began from a picture that is no item."""
        return self._vector is not None

    # -- rounds

    def next(
        self,
        query: int | None = None,
        *,
        moved: Sequence[int] | Mapping[int, Place] = (),
        discarded: Sequence[int] = (),
        pinned: Sequence[int] = (),
        closer: Sequence[Sequence[int]] = (),
    ) -> Board:
        """Learn from what was done to the board, and show the next one.

        ``query`` is the picture closest to the target; the old one stays unless given.  ``moved``
        are the judged pictures from nearest to farthest, or where each was put around the query
        (those equally far have no order), ``discarded`` are farther than every moved one,
        ``pinned`` stay on the board, and ``closer`` are lists of pictures whose first is the
        closest to the target.
        """
        self._check_open()
        clock = Clock()
        board = self.board
        chosen = board.query if query is None else int(query)
        chain = [item for item in ordered(moved) if item != chosen]
        thrown = [int(item) for item in dict.fromkeys(discarded) if int(item) != chosen]
        pins = tuple(dict.fromkeys(int(item) for item in pinned))
        check_moves(self.board, chain, thrown, [*pins, *(i for items in closer for i in items)])
        self._check_query(chosen, bool(chain or thrown))
        asked = {
            "query": chosen,
            "chosen": query is not None,
            "candidates": [i for i in dict.fromkeys((board.query, *board.shown)) if i is not None],
            "moved": chain,
            "ranks": ranks(moved, chain),
            "discarded": thrown,
            "pinned": list(pins),
            "closer": [[int(item) for item in items] for items in closer],
        }
        notes: list[str] = []
        if len(chain) + len(thrown) == 1:
            notes.append("One picture alone makes no order; move at least two to teach the metric.")
        branch = self._branch(board.round)
        notes += branch.teach(asked, self._learn)
        weights = branch.weights
        clock.lap("learn")
        branch.seen.update(pins)
        views: dict[str, float] = {}
        if self.settings.use_filter and branch.choices:
            posterior = self._posterior(branch, weights)
            views = posterior.views
            ids = best_unseen(self._holdings, posterior.log, branch.seen, self._room(pins))
        else:
            ids = self._nearest(chosen, weights, branch.seen, self._room(pins))
        clock.lap("match")
        return self._show(
            board.round, chosen, ids, pins, weights, views, asked, notes, clock, branch
        )

    def another_hundred(self) -> Board:
        """A hundred other pictures at random: none of those shown was anything like it."""
        self._check_open()
        clock = Clock()
        branch = self._branch(self.board.round)
        ids = random_hundred(
            self._holdings, without=sorted(branch.seen), seed=self._seed + self.board.depth + 1
        )
        board = self.board
        return self._show(board.round, board.query, ids, (), board.weights, {}, {}, [], clock)

    def undo(self) -> Board:
        """Back to the board before; going on from there is a new branch."""
        before = self._rounds.round(self.board.round).parent
        if before is None:
            raise BadInput("This is the first board; there is nothing to undo.")
        return self.go_to(before)

    def go_to(self, round: int) -> Board:
        """Back (or forth) to any round of this session."""
        record = self._rounds.round(round)
        if record.session != self.id:
            raise BadInput(f"Round {round} belongs to another session.")
        self.board = self._read(record)
        return self.board

    # -- the end

    def found(self, item: int, *, keep: bool = False) -> None:
        """The target is found.  ``keep``: the owner agrees that others learn from the session."""
        if rows_of(self._holdings, [item])[0] < 0:
            raise NotFound(
                f"Item {item} is not in the collection (any more); give the search up instead."
            )
        self._finish(int(item), keep)

    def give_up(self, *, keep: bool = False) -> None:
        """The target was not found."""
        self._finish(None, keep)

    def _finish(self, item: int | None, keep: bool) -> None:
        outcome = {
            "found": item,
            "rounds": self.board.depth + 1,
            "kept": bool(keep),
            "query": item if item is not None else self.board.query,
            "round": self.board.round,
            "weights": self.board.weights.tolist(),
        }
        self._rounds.finish(self.id, outcome, abandoned=item is None)

    def orderings(self) -> list[tuple[int, tuple[int, ...]]]:
        """(query, items from nearest to farthest) of every order of this branch, as judgements.

        A discarded picture comes after the last moved one, in an order of its own: discards
        have no order among each other, and neither have pictures put equally far.
        """
        out: list[tuple[int, tuple[int, ...]]] = []
        for record in self._rounds.trail(self.board.round)[1:]:
            asked = record.payload["asked"]
            query = asked.get("query")
            if query is None:
                continue
            out += [(query, chain) for chain in chains(asked)]
            last = asked["moved"][-1:]
            out += [(query, (*last, item)) for item in asked["discarded"] if last]
        return out

    # -- parts of a round

    def _check_query(self, query: int | None, judged: bool) -> None:
        if query is not None and rows_of(self._holdings, [query])[0] < 0:
            raise NotFound(f"Item {query} is not in the collection (any more); choose another.")
        if judged and query is None and self._vector is None:
            raise BadInput("Pictures are ordered by nearness to a query; choose one first.")

    def _check_open(self) -> None:
        if self._rounds.get(self.id).state != "open":
            raise BadInput(f"Session {self.id} has ended; start a new one.")

    def _room(self, pins: tuple[int, ...]) -> int:
        return max(0, self.settings.shown - len(pins))

    def _branch(self, number: int) -> Branch:
        """What was said up to a round; the last one is remembered."""
        number_of_known, known = self._known
        if known is None or number_of_known != number or known.stale:
            trail = self._rounds.trail(number)
            known = Branch.of(trail, self._holdings, self._vector, self._start, self._learn)
            self._known = (number, known)
        return known.copy()

    def _posterior(self, branch: Branch, weights: FloatArray) -> target_filter.Posterior:
        x = self._holdings.vectors
        if self._filter is None or self._filter[0] is not x:
            told = self.settings
            views = (
                target_filter.views_of(self._scale, self._holdings.blocks, self._kept)
                if told.views
                else {}
            )
            powers = target_filter.POWERS if told.power is None else (told.power,)
            mistakes = target_filter.MISTAKES if told.mistake is None else (told.mistake,)
            self._filter = (
                x,
                target_filter.TargetFilter(x, views, powers=powers, mistakes=mistakes),
            )
        seen = rows_of(self._holdings, sorted(branch.seen))
        return self._filter[1].posterior(branch.choices, weights, seen[seen >= 0])

    def _nearest(
        self, query: int | None, weights: FloatArray, seen: set[int], count: int | None = None
    ) -> IdArray:
        x = self._holdings.vectors
        if query is not None:
            at: FloatArray | None = x[rows_of(self._holdings, [query])[0]]
        else:
            at = self._vector
        if at is None:
            raise BadInput("Choose a query: without one there is nothing to be near to.")
        wanted = self.settings.shown if count is None else count
        return best_unseen(self._holdings, nearness(x, at, weights), seen, wanted)

    def _show(
        self,
        parent: int | None,
        query: int | None,
        ids: IdArray,
        pins: tuple[int, ...],
        weights: FloatArray,
        views: Mapping[str, float],
        asked: Mapping[str, Any],
        notes: list[str],
        clock: Clock,
        branch: Branch | None = None,
    ) -> Board:
        shown = (*pins, *(int(item) for item in ids if int(item) not in pins))
        if not len(ids):
            notes.append("Every item has been shown; go back to an earlier round or give up.")
        elif len(shown) < self.settings.shown:
            notes.append(f"Only {len(ids)} items were left that had not been shown yet.")
        last = {} if parent is None else dict(zip(self.board.shown, self.board.positions))
        positions = self._positions(query, shown, weights, last)
        clock.lap("layout")
        payload = {
            "query": query,
            "shown": list(shown),
            "pinned": list(pins),
            "positions": [list(place) for place in positions],
            "weights": np.asarray(weights, np.float64).tolist(),
            "space": self._space,
            "views": dict(views),
            "asked": dict(asked),
            "notes": list(notes),
        }
        record = self._rounds.add_round(self.id, payload, parent=parent, seconds=clock.seconds)
        if branch is not None:
            branch.see(payload)
            self._known = (record.id, branch)
        self.board = self._read(record)
        return self.board

    def _positions(
        self,
        query: int | None,
        shown: Sequence[int],
        weights: FloatArray,
        last: Mapping[int, Place],
    ) -> tuple[Place, ...]:
        if self.settings.layout == "none" or not shown:
            return ()
        rows = rows_of(self._holdings, shown)
        x = self._holdings.vectors[np.maximum(rows, 0)] * np.sqrt(weights).astype(np.float32)
        centre = None
        if query is not None and (own := rows_of(self._holdings, [query])[0]) >= 0:
            centre = self._holdings.vectors[own] * np.sqrt(weights).astype(np.float32)
        elif query is None and self._vector is not None:
            centre = self._vector * np.sqrt(weights).astype(np.float32)
        start = np.array([last.get(item, (np.nan, np.nan)) for item in shown])
        places = arrange(
            x,
            query=centre,
            start=start,
            side=side_for(len(shown) + 1),
            grid=self.settings.layout == "grid",
        )
        return tuple((float(a), float(b)) for a, b in places)

    def _read(self, record: Round) -> Board:
        payload, branch = record.payload, self._branch(record.id)
        weights = branch.weights
        shares = learning.block_shares(weights, self._spread, self._holdings.blocks)
        held = rows_of(self._holdings, payload["shown"]) >= 0
        places = payload["positions"] or [None] * len(held)
        return Board(
            session=self.id,
            round=record.id,
            depth=record.depth,
            query=payload["query"],
            shown=tuple(i for i, here in zip(payload["shown"], held) if here),
            pinned=tuple(payload["pinned"]),
            positions=tuple((p[0], p[1]) for p, here in zip(places, held) if here and p),
            weights=weights,
            shares=shares,
            words=learning.in_words(shares),
            views=dict(payload["views"]),
            left=len(unseen(self._holdings, branch.seen)),
            notes=tuple(payload["notes"]),
        )
