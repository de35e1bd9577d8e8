"""A server that holds codes: its address, its connections, and how long it is waited for."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Self, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from likewise.types import BadInput, DataProblem

SCHEMES = {"postgresql": "postgres", "postgres": "postgres", "milvus": "milvus"}
OWN = ("name", "index", "half", "partitions", "replicas", "tls")
"""What an address may say to us; the rest goes to the driver."""
PATIENCE = 1.0
"""Seconds that a search waits for a server before it is answered exactly from local codes."""
LONGEST_PAUSE = 30.0
"""Seconds between tries of a server that does not answer: a second at first, then twice as long."""
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,39}")
T = TypeVar("T")


class Gone(DataProblem):
    """A server does not answer, or not as it should; ``lost`` where the line is broken."""

    def __init__(self, sentence: str, *, lost: bool = False) -> None:
        super().__init__(sentence)
        self.lost = lost


class Address(NamedTuple):
    """Where an engine is: ``server`` goes to the driver, ``shown`` to people; no secret in any."""

    kind: str
    server: str
    shown: str
    name: str
    options: Mapping[str, str]

    @classmethod
    def of(cls, address: str) -> Self:
        """An address that a person wrote, or one sentence about what is wrong with it."""
        try:
            parts = urlsplit(address)
            secret, _ = parts.password, parts.port
        except ValueError:
            raise BadInput(
                "The engine's address cannot be read; write scheme://user@host:port/name."
            ) from None
        given = dict(parse_qsl(parts.query, keep_blank_values=True))
        if secret or "password" in given:
            raise BadInput(
                "An engine's address holds no password, since it would stand in lists of processes "
                "and in the catalogue: put it into PGPASSWORD or ~/.pgpass (PostgreSQL) or "
                "LIKEWISE_ENGINE_PASSWORD (Milvus)."
            )
        if parts.scheme not in SCHEMES:
            known = " or ".join(f"{scheme}://" for scheme in SCHEMES)
            raise BadInput(f"An engine's address begins with {known}.")
        kind, own = SCHEMES[parts.scheme], {k: given.pop(k) for k in OWN if k in given}
        path = unquote(parts.path).strip("/")
        name = own.pop("name", path if kind == "milvus" else "") or "likewise"
        if not _NAME.fullmatch(name):
            raise BadInput(
                "What an engine keeps is named by small letters, digits and _, at most 40 of them: "
                f"not {name!r}."
            )
        where = parts.netloc.replace(":@", "@")
        server = urlunsplit((parts.scheme, where, parts.path, urlencode(given), ""))
        shown = f"{parts.scheme}://{where}{parts.path}"
        return cls(kind, server, shown, name, own)


class Server(ABC):
    """A server that holds codes: its connections, and how long it is waited for."""

    _known: ClassVar[dict[tuple[type, Address], Any]] = {}

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[Any] = []
        self._lock, self._here = threading.Lock(), threading.local()
        self._failed, self._until, self._reason = 0, 0.0, ""

    @classmethod
    def at(cls, address: Address) -> Self:
        """The one of this process."""
        key = (cls, Address(*address[:4], tuple(sorted(address.options.items()))))  # type: ignore[arg-type]
        return cls._known.setdefault(key, cls(address))  # type: ignore[no-any-return]

    @abstractmethod
    def _connect(self) -> Any:
        """Another connection."""

    @abstractmethod
    def _close(self, db: Any) -> None:
        """End a connection, whatever state it is in."""

    @abstractmethod
    def _said(self, error: BaseException) -> Gone | None:
        """What an error of the driver means in one sentence; None for errors of others."""

    @abstractmethod
    def check(self, owner: str) -> None:
        """Refuse, in a sentence, a server that cannot serve or a name that others took."""

    @abstractmethod
    def mark(self, table: str) -> dict[str, Any] | None:
        """What a table says of itself, empty where it is none of ours; None where there is none."""

    def taken(self) -> BadInput:
        """The sentence for a name that others took."""
        return BadInput(
            f"{self.address.shown} has something else of the name {self.address.name!r}, which is "
            "left alone; choose another: ?name=NAME at the end of the address."
        )

    @abstractmethod
    def publish(self, table: str | None, owner: str) -> None:
        """Let the name stand for this table, in one step; None takes the name away."""

    @abstractmethod
    def drop(self, tables: Iterable[str], owner: str) -> None:
        """Remove tables, if they are there, are this owner's, and the name does not mean them."""

    @property
    def away(self) -> str:
        """Why the server is left alone for a while; empty where it is asked."""
        return self._reason if time.monotonic() < self._until else ""

    @property
    def db(self) -> Any:
        """The connection of this thread, inside :meth:`session`."""
        return self._here.db

    @property
    def left(self) -> float | None:
        """Seconds that this thread still waits, inside :meth:`ask`; None: as long as it takes."""
        until = getattr(self._here, "until", None)
        return None if until is None else max(1e-3, until - time.monotonic())

    @contextlib.contextmanager
    def session(self, *, fresh: bool = False) -> Iterator[Any]:
        """A connection for this thread; ``fresh`` where those at hand may be dead."""
        with self._lock:
            old = self._idle if fresh else []
            db = None if fresh or not self._idle else self._idle.pop()
            self._idle = [] if fresh else self._idle
        for dead in old:
            self._close(dead)
        try:
            db = db or _within(self.left, self._connect, self._late)
            self._here.db = db
            yield db
        except BaseException as error:
            if db is not None:
                self._close(db)
            said = self._said(error)
            if said is None:
                raise
            raise said from None
        else:
            with self._lock:
                self._idle.append(db)
        finally:
            self._here.db = None

    def ask(self, work: Callable[[], T], patience: float = PATIENCE) -> T:
        """Do a short piece of work; :class:`Gone` after at most ``patience`` seconds.

        No driver may wait longer than :attr:`left` in it.
        """
        if self.away:
            raise Gone(self._reason)
        self._here.until = until = time.monotonic() + patience
        try:
            for fresh in (False, True):
                try:
                    with self.session(fresh=fresh):
                        found = work()
                    break
                except Gone as gone:
                    if fresh or not gone.lost or time.monotonic() >= until:
                        raise
        except Gone as gone:
            if gone.lost:
                pause = min(LONGEST_PAUSE, 2.0**self._failed)
                self._failed, self._reason = self._failed + 1, str(gone)
                self._until = time.monotonic() + pause
            raise
        finally:
            self._here.until = None
        self._failed = 0
        return found

    @property
    def _late(self) -> str:
        return f"{self.address.shown} did not answer in time."

    def close(self) -> None:
        """End the connections that nobody uses."""
        with self._lock:
            idle, self._idle, self._until = self._idle, [], 0.0
        for db in idle:
            self._close(db)


def _within(seconds: float | None, work: Callable[[], T], late: str) -> T:
    """What a piece of work gives; a thread that is late is left to itself."""
    if seconds is None:
        return work()
    done, found = threading.Event(), list[Any]()

    def run() -> None:
        try:
            found.append((work(), None))
        except BaseException as error:
            found.append((None, error))
        done.set()

    threading.Thread(target=run, daemon=True).start()
    if not done.wait(seconds):
        raise Gone(late, lost=True)
    value, error = found[0]
    if error is not None:
        raise error
    return value  # type: ignore[no-any-return]
