"""Who may come in: a token that is printed, a cookie it is exchanged for, or a password.

The token lives as long as the server runs.  The cookie is signed with a secret that stays
in the data folder, so that an open page goes on after a restart; it ends after a month.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import os
import secrets
import socket
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from likewise.types import BadInput

SECRET_FILE = "server.secret"
MONTH = 30 * 24 * 3600
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
SHORTEST_PASSWORD = 8
TRIES_A_MINUTE = 10


@dataclass
class Access:
    """What the gate checks requests against.

    Parameters
    ----------
    secret
        Signs the cookies.
    port
        Where the server listens; part of the cookie's name, because cookies know no ports.
    hosts
        Host names that requests may ask for, without a port.
    password
        Demanded of those who come without the token; empty where only the token counts.
    token
        Printed by the server, valid while it runs.
    """

    secret: bytes
    port: int
    hosts: tuple[str, ...] = LOOPBACK
    password: str = ""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    _tries: deque[float] = field(default_factory=deque)

    @property
    def cookie_name(self) -> str:
        """One cookie a port: two collections may be open in one browser."""
        return f"likewise-{self.port}"

    def cookie(self, now: float | None = None) -> str:
        """A fresh signed cookie value."""
        ends = str(int((time.time() if now is None else now) + MONTH))
        return f"{ends}.{self._sign(ends)}"

    def _sign(self, text: str) -> str:
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()

    def cookie_is_good(self, value: str) -> bool:
        """Whether a cookie was made with our secret and has not ended."""
        ends, _, signature = value.partition(".")
        if not hmac.compare_digest(self._sign(ends).encode(), signature.encode("utf-8", "replace")):
            return False
        return ends.isdigit() and int(ends) > time.time()

    def token_is_good(self, value: str) -> bool:
        """Whether this is the token that was printed."""
        return hmac.compare_digest(value.encode("utf-8", "replace"), self.token.encode())

    def password_is_good(self, value: str) -> bool:
        """Whether this is the password; after too many wrong ones in a minute nothing is."""
        now = time.monotonic()
        while self._tries and now - self._tries[0] > 60:
            self._tries.popleft()
        if not self.password or len(self._tries) >= TRIES_A_MINUTE:
            return False
        good = hmac.compare_digest(value.encode("utf-8", "replace"), self.password.encode())
        if not good:
            self._tries.append(now)
        return good

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
    path = folder / SECRET_FILE
    with contextlib.suppress(FileNotFoundError):
        found = path.read_bytes()
        if len(found) == 32:
            return found
        path.unlink()
    fresh = secrets.token_bytes(32)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(fresh)
    return fresh
