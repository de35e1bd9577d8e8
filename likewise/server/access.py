"""Who may come in: a token that is printed, a cookie it is exchanged for, or a password.

The token lives as long as the server runs.  The cookie is signed with a secret that stays
in the data folder, so that an open page goes on after a restart, and with the password.  It ends
after a month, with another password, and when somebody signs out everywhere: then the secret is
made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import secrets
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from likewise.files import write_file
from likewise.types import BadInput

SECRET_FILE = "server.secret"
MONTH = 30 * 24 * 3600
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
SHORTEST_PASSWORD = 8
FREE_TRIES = 3
"""Wrong passwords from one address before it has to pause: a second, then twice as long."""
LONGEST_PAUSE = 900.0
ADDRESSES = 1024
"""Addresses whose wrong passwords are remembered; the one that tried longest ago is forgotten."""


@dataclass
class Access:
    """What the gate checks requests against.

    The ``secret`` signs cookies, and ``renew`` makes another and keeps it; the ``token`` is
    printed, and the ``password`` (where there is one) asked of those who come without it.  The
    ``hosts`` that requests may ask for have no port.
    """

    secret: bytes
    port: int
    hosts: tuple[str, ...] = LOOPBACK
    password: str = ""
    renew: Callable[[], bytes] = lambda: secrets.token_bytes(32)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    clock: Callable[[], float] = time.monotonic
    _wrong: OrderedDict[str, tuple[int, float]] = field(default_factory=OrderedDict)

    @property
    def cookie_name(self) -> str:
        """One cookie a port: two collections may be open in one browser."""
        return f"likewise-{self.port}"

    def cookie(self, now: float | None = None) -> str:
        """A fresh signed cookie value."""
        ends = str(int((time.time() if now is None else now) + MONTH))
        return f"{ends}.{self._sign(ends)}"

    def _sign(self, text: str) -> str:
        key = self.secret + self.password.encode()
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()

    def sign_out_everywhere(self) -> None:
        """Make every cookie worthless that was given out so far."""
        self.secret = self.renew()

    def cookie_is_good(self, value: str) -> bool:
        """Whether a cookie was made with our secret and has not ended."""
        ends, _, signature = value.partition(".")
        if not hmac.compare_digest(self._sign(ends).encode(), signature.encode("utf-8", "replace")):
            return False
        return ends.isdigit() and int(ends) > time.time()

    def token_is_good(self, value: str) -> bool:
        """Whether this is the token that was printed."""
        return hmac.compare_digest(value.encode("utf-8", "replace"), self.token.encode())

    def password_is_good(self, value: str, address: str = "") -> bool:
        """Whether this is the password; while an address has to pause, nothing is."""
        if not self.password or self.pause(address):
            return False
        source = _network(address)
        wrong, _ = self._wrong.pop(source, (0, 0.0))
        if hmac.compare_digest(value.encode("utf-8", "replace"), self.password.encode()):
            return True
        doubled = min(wrong + 1 - FREE_TRIES, 30)
        pause = min(2.0**doubled, LONGEST_PAUSE) if doubled >= 0 else 0.0
        self._wrong[source] = wrong + 1, self.clock() + pause
        while len(self._wrong) > ADDRESSES:
            self._wrong.popitem(last=False)
        return False

    def pause(self, address: str) -> float:
        """Seconds until an address may try a password again."""
        _, until = self._wrong.get(_network(address), (0, 0.0))
        return max(0.0, until - self.clock())

    def host_is_good(self, host: str) -> bool:
        """Whether a Host header names this server: its own names with its port, or none.

        A name that a person allowed may come with any port, since a proxy in front has its own.
        """
        name, port = split_host(host)
        if name in LOOPBACK:
            return port == str(self.port)
        return name in self.hosts

    def origin_is_good(self, origin: str, host: str) -> bool:
        """Whether an Origin header is the page that this server served at ``host``."""
        scheme, _, rest = origin.partition("://")
        return scheme in ("http", "https") and rest.lower() == host.lower()


def _network(address: str) -> str:
    """Whose tries count together: an address, of IPv6 the network, since everybody has many."""
    if ":" not in address:
        return address
    return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))


def split_host(host: str) -> tuple[str, str]:
    """Name and port of a Host header, in lower case; addresses of IPv6 keep their brackets."""
    name, colon, port = host.lower().rpartition(":")
    if not colon or port.endswith("]"):
        return host.lower(), ""
    return name, port


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, password: str) -> None:
    """Refuse to serve other machines without a password of some length."""
    if is_loopback(host):
        return
    if len(password) < SHORTEST_PASSWORD:
        raise BadInput(
            f"Serving {host} lets other machines in, so it needs a password of at least "
            f"{SHORTEST_PASSWORD} characters: put one into LIKEWISE_PASSWORD and start again. "
            "The connection is not encrypted: put a proxy with TLS in front."
        )


def names_of(host: str, allowed: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Host names under which a server bound to ``host`` may be asked for."""
    names = {*LOOPBACK, *(name.lower() for name in allowed)}
    if not is_loopback(host):
        if host not in ("0.0.0.0", "::"):
            names.add(f"[{host}]" if ":" in host else host.lower())
        else:
            names.add(socket.gethostname().lower())
            with contextlib.suppress(OSError):
                for *_, address in socket.getaddrinfo(socket.gethostname(), None):
                    own = str(address[0])
                    names.add(f"[{own}]" if ":" in own else own)
    return tuple(sorted(names))


def stored_secret(folder: Path) -> bytes:
    """The secret of a data folder, made on first use and readable by its owner only."""
    with contextlib.suppress(FileNotFoundError):
        found = (folder / SECRET_FILE).read_bytes()
        if len(found) == 32 and any(found):  # a power cut may leave a file short, or of zeros
            return found
    return new_secret(folder)


def new_secret(folder: Path) -> bytes:
    """Another secret of a data folder, in place of the one before."""
    fresh = secrets.token_bytes(32)
    write_file(folder / SECRET_FILE, [fresh], private=True)
    return fresh
