"""An index on a server: what all such engines share.

The folder of the generation stays the record; the server holds codes, ids and facts for filters
that can be made again from it.  A server that is gone, late, or holds something else means exact
answers from the local codes, and ``trouble`` says so.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likewise.filters import Allowed
from likewise.index._files import SavedFolder, Writer
from likewise.index._probed import Found, Goal, ProbedIndex
from likewise.index._server import PATIENCE, Address, Gone, Server, T
from likewise.index.flat import FlatIndex, _longest
from likewise.types import FloatArray, Hits, IdArray, Surrogate, check_k

FEW = 50_000
"""Up to so many items that a filter leaves are sorted exactly."""
SMALL = 10_000
"""Up to so many codes a scan of a table is as fast as an index."""
NOTHING: tuple[Any, ...] = (b"", "", "", -1, -1, [])
"""Facts of an item of which none are known."""
FEWER = 4
"""A server is asked one in so many of the sample's queries."""
NAMED = 100_000
"""More ids than these are not sent to a server: the local codes are searched, as exactly."""


class Here(Exception):
    """A question that the local codes answer better."""


class Where(NamedTuple):
    """Which items are in question, as the engine says it, and how many, about."""

    said: str
    values: dict[str, Any]
    left: int


class RemoteIndex(ProbedIndex):
    """The parent of indexes on a server; made by :meth:`build`.

    Own settings: ``address``, where the server is, without a password; ``table`` and ``owner``, its
    name and whose it is; ``facts`` and ``position``, what :data:`likewise.filters.FACTS` names, a
    row an item, and the place in the log of changed facts that these are of (-1 without any).

    ``structure`` says how the server searches: ``scan``, or a kind of index; ``reach`` is the
    length of the longest code.
    """

    server_class: ClassVar[type[Server]]
    takes_weights = False

    def __init__(
        self, server: Any, table: str, structure: str, owner: str, position: int, reach: float,
        **probing: Any,
    ) -> None:  # fmt: skip
        self.server, self.table, self.structure = server, table, structure
        self.owner, self.position, self._reach_of_codes = owner, position, reach
        self._here, self._is_seen, self._counts = threading.local(), False, dict[str, int]()
        self._local: FlatIndex | None = None
        self._patience = PATIENCE
        super().__init__(**probing)

    # -- what an engine adds --------------------------------------------------

    @abstractmethod
    def _choose(self, n: int) -> str:
        """How so many codes are to be searched."""

    @abstractmethod
    def _load(self, codes: NDArray[np.float32], facts: Iterable[Sequence[Any]] | None) -> None:
        """Fill the table: all of it, or nothing is there."""

    @abstractmethod
    def _nearest(
        self, vector: NDArray[np.float32], k: int, where: Where | None, *, exact: bool
    ) -> tuple[IdArray, NDArray[np.float64]]:
        """Ids and scores of the best ``k``, or fewer where the engine finds fewer."""

    @abstractmethod
    def _said(self, allowed: Allowed, changed: IdArray, let: IdArray) -> tuple[str, dict[str, Any]]:
        """Conditions over facts; of the changed items those of ``let`` pass, and no others."""

    @abstractmethod
    def _ids_said(self, ids: IdArray, *, out: bool) -> tuple[str, dict[str, Any]]:
        """One of these ids, or none of them (``out``)."""

    @abstractmethod
    def _count(self, said: str, values: dict[str, Any]) -> int:
        """How many items a condition leaves; beyond ``FEW`` an estimate will do."""

    @abstractmethod
    def _smallest(self, k: int, where: Where) -> IdArray:
        """The ``k`` smallest ids of some items."""

    @abstractmethod
    def ids_there(self) -> IdArray:
        """Ids that the server holds, in order."""

    @abstractmethod
    def codes_there(self, ids: IdArray) -> NDArray[np.float32]:
        """Lifted codes that the server holds, of ids in the order given."""

    @abstractmethod
    def _mend(self, extra: IdArray, rows: IdArray, codes: FloatArray, facts: Any) -> None:
        """Take ids away and put rows (lifted codes and facts of each) in, all or nothing."""

    # -- building ---------------------------------------------------------------

    @classmethod
    def _filled(
        cls, codes: NDArray[np.float32], probing: Mapping[str, Any], seed: int, *,
        address: str = "", table: str = "likewise_table", owner: str = "",
        facts: Iterable[Sequence[Any]] | None = None, position: int = 0,
    ) -> Self:  # fmt: skip
        """Load codes into a new table."""
        server = cls.server_class.at(Address.of(address))
        position = -1 if facts is None else position
        index = cls(server, table, "scan", owner, position, _longest(codes), **probing)
        index.structure = index._choose(len(codes))
        server.close()  # who builds is not kept waiting by an earlier failure
        server.ask(lambda: server.check(owner), 10 * PATIENCE)
        with server.session():
            index._load(codes, facts)
        return index

    def _calibrate(self, goal: Goal, **how: Any) -> None:
        if self.structure != "scan":
            self._patience = 60.0
            super()._calibrate(goal, **how)
            self._patience = PATIENCE

    def keep(self, codes: FloatArray) -> None:
        """Answer exactly from these codes while the server does not."""
        none = np.zeros((len(self), 0))
        self._local = FlatIndex(
            codes, none, self._reach_of_codes, ids=self._ids, dim=self.dim, space=self.space
        )

    @property
    def trouble(self) -> str:
        """Why the last answer in this thread did not come from the server, said once; else empty.

        While the server is left alone, that is said to everybody.
        """
        said = str(self._here.__dict__.pop("trouble", "") or self.server.away)
        return f"{said} Answers are exact, from the local codes, meanwhile." if said else ""

    # -- searching --------------------------------------------------------------

    def search(self, surrogate: Surrogate, k: int, *, among: Any = None) -> Hits:
        """The ``k`` best items for one surrogate."""
        return self.search_many([surrogate], k, among=among)[0]

    def search_many(
        self, surrogates: Sequence[Surrogate], k: int, *, among: Any = None
    ) -> list[Hits]:
        """The same for several, asked of the server or, where it fails, of the local codes."""
        self._here.trouble = ""
        try:
            return super().search_many(surrogates, k, among=among)
        except Here:
            assert self._local is not None
        except Gone as gone:
            self._is_seen = False
            if self._local is None:
                raise
            self._here.trouble = str(gone)
        return self._local.search_many(surrogates, k, among=among)

    @property
    def _width(self) -> int:
        return self.dim + len(self.side_names)

    def _mark(self) -> dict[str, Any]:
        """What the table says of itself."""
        return {"owner": self.owner, "space": self.space, "items": len(self), "dim": self._width}

    def _check(self) -> None:
        """Raise :class:`Gone` where the table is not there or not what was loaded."""
        found = self.server.mark(self.table)
        if found is None or {name: found.get(name) for name in self._mark()} != self._mark():
            what = "is gone" if found is None else "holds other codes than this generation's"
            raise Gone(f"The table {self.table} {what}; run: likewise verify --engine.")

    def _ask(self, work: Callable[[], T], questions: int = 1) -> T:
        """Let the server work, once it was seen that it holds what it should."""

        def checked() -> T:
            if not self._is_seen:
                self._check()
                self._is_seen = True
            return work()

        answered: T = self.server.ask(checked, self._patience * max(1.0, questions / 20))
        return answered

    def _room(self, k: int, among: Any) -> tuple[int, Any]:
        if isinstance(among, Allowed) and self.position >= 0 and check_k(k) <= FEW:
            conditions = among.conditions
            if conditions is not None:
                changed, let = among.restated(self.position)
                said, values = self._said(among, changed, let)
                key = repr((conditions, changed.tobytes(), let.tobytes()))
                if key not in self._counts:
                    self._counts = dict([*self._counts.items()][-100:])
                    self._counts[key] = self._ask(lambda: self._count(said, values))
                count = self._counts[key]
                return min(k, count), Where(said, values, count)
        return super()._room(k, among)

    def _where(self, rows: Any) -> Where | None:
        """Rows as a condition; of many rows those are named that are left out."""
        if rows is None or isinstance(rows, Where):
            return rows
        if min(len(rows), len(self) - len(rows)) > NAMED and self._local is not None:
            raise Here
        if len(rows) <= len(self) // 2:
            return Where(*self._ids_said(self._ids[rows], out=False), len(rows))
        rest = np.delete(self._ids, rows)
        return Where(*self._ids_said(rest, out=True), len(rows)) if len(rest) else None

    def _look(self, vectors: NDArray[np.float32], k: int, rows: Any) -> Found:
        where = self._where(rows)
        exact = self.structure == "scan" or (where is not None and self._sorts(where.left))
        return self._places(vectors, k, where, exact=exact)

    def _sorts(self, count: int) -> bool:
        """Whether so few items that a filter leaves are sorted exactly."""
        return count <= FEW

    def _look_everywhere(self, vectors: NDArray[np.float32], k: int) -> Found:
        return self._places(vectors, k, None, exact=True)

    def _places(
        self, vectors: NDArray[np.float32], k: int, where: Where | None, *, exact: bool
    ) -> Found:
        places = np.empty((len(vectors), k), np.int64)
        scores = np.empty((len(vectors), k))

        def ask(vector: NDArray[np.float32]) -> tuple[IdArray, NDArray[np.float64]]:
            found = self._nearest(vector, k, where, exact=exact)
            if len(found[0]) < k and not exact:
                return self._nearest(vector, k, where, exact=True)
            return found

        answers = self._ask(lambda: [ask(vector) for vector in vectors], len(vectors))
        for q, (ids, found) in enumerate(answers):
            places[q] = self._rows_there(ids, k)
            scores[q] = found
        return places, scores

    def _rows_there(self, ids: IdArray, k: int) -> IdArray:
        """Rows of ids that the server gave: ``k`` that are known here."""
        at = np.minimum(np.searchsorted(self._rising_ids, ids), max(len(self) - 1, 0))
        if len(ids) != k or not (self._rising_ids[at] == ids).all():
            self._counts = {}
            raise Gone(
                f"{self.server.address.shown} does not hold the items that it should; run: "
                "likewise verify --engine."
            )
        return at if self._order is None else self._order[at]

    def _first(self, k: int, rows: Any) -> IdArray:
        if isinstance(rows, Where):
            return self._rows_there(self._ask(lambda: self._smallest(k, rows)), k)
        return super()._first(k, rows)

    # -- how many probes ----------------------------------------------------------

    def _reach(self, goal: Goal, groups: list[NDArray[np.float32]], true: list[Found]) -> None:
        self._set_probes(16)  # a server tells no ranks: try
        while self._measured(groups, true) < goal.recall and self._probes < self._most_probes:
            self._set_probes(2 * self._probes)
        enough = self._probes
        self._set_probes(max(1, 3 * enough // 4))
        if self._measured(groups, true) < goal.recall:
            self._set_probes(enough)

    def _halves(self, *given: Any) -> list[NDArray[np.float32]]:
        return [half[::FEWER] for half in super()._halves(*given)]

    def _ranks(self, vectors: NDArray[np.float32], rows: IdArray) -> IdArray:
        raise NotImplementedError

    def _items(self, rows: IdArray) -> NDArray[np.float32]:
        with self.server.session():
            return self.codes_there(self._ids[rows])

    # -- keeping it right -----------------------------------------------------------

    def differences(
        self, codes: FloatArray, sample: int = 1_000
    ) -> tuple[IdArray, IdArray, IdArray]:
        """Ids that the server lacks, ids that it should not have, and sampled ones that differ."""
        with self.server.session(fresh=True):
            self._check()
            there = self.ids_there()
            both = np.intersect1d(there, self._ids)
            some = np.random.default_rng(len(both)).permutation(both)[:sample]
            own = np.asarray(codes[np.searchsorted(self._rising_ids, some)])
            wrong = (self.codes_there(some) != own).any(axis=1)
        return np.setdiff1d(self._ids, there), np.setdiff1d(there, self._ids), some[wrong]

    def mend(self, missing: IdArray, extra: IdArray, codes: FloatArray, facts: Any) -> None:
        """Put in what the server lacks (with the facts of each), take away what is too much."""
        with self.server.session():
            at = np.searchsorted(self._rising_ids, missing)
            self._mend(extra, missing, np.asarray(codes[at]), facts)

    # -- files ------------------------------------------------------------------

    def _contents(self) -> tuple[dict[str, Any], dict[str, Writer]]:
        where = self.server.address
        return {
            "address": where.server, "name": where.name, "options": dict(where.options),
            "table": self.table, "structure": self.structure, "owner": self.owner,
            "position": self.position, "reach": self._reach_of_codes, **self._probing(),
        }, {}  # fmt: skip

    @classmethod
    def _restore(cls, saved: SavedFolder, common: Mapping[str, Any]) -> Self:
        s = saved.manifest["settings"]
        where = Address.of(s["address"])._replace(name=s["name"], options=s["options"])
        return cls(
            cls.server_class.at(where), s["table"], s["structure"], s["owner"], s["position"],
            s["reach"], **cls._of_probing(s), **common,
        )  # fmt: skip
