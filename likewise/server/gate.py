"""The gate in front of every route: Host, origin, sign-in, size, and headers of the answer.

It is the outermost layer, so a route cannot be reached around it, and what it refuses
has no effect.  The order matters: whose page is asking is settled before who is asking.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise.collection import ProgramKey
from likewise.server.access import MONTH, Access
from likewise.server.errors import problem
from likewise.server.scopes import lacking, needed

MAX_BODY = 1 << 20
"""Bytes of a request that is not an upload."""
MAX_UPLOAD = 32 << 20
"""Bytes of an uploaded picture or model."""
UPLOADS = ("/api/v1/uploads", "/api/v1/models/import")
LOGIN = "/login"
OPEN_TO_ALL = ("/static/style/sign-in.css", "/static/icon.svg")
"""What the page for signing in needs; it holds nothing of the collection."""

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    b"content-security-policy": CSP.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"same-origin",  # with none, forms of our own pages come from Origin: null
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
}
SAFE = ("GET", "HEAD", "OPTIONS")


class Gate:
    """ASGI layer that lets through what may come in."""

    def __init__(
        self, app: ASGIApp, access: Access, key: Callable[[str], ProgramKey | None]
    ) -> None:
        self.app, self.access, self._key = app, access, key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal, or hand the request on with a limit on its size."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError("This server speaks HTTP only.")
        headers, guarded = Headers(scope=scope), _with_headers(scope, send)
        if scope["path"] == LOGIN and scope["method"] == "POST":
            answer: Response | None = self._strange(scope, headers) or await self._login(
                scope, headers, receive
            )
        else:
            answer = self.refusal(scope, headers)
        if answer is not None:
            await answer(scope, receive, guarded)
            return
        limit = MAX_UPLOAD if scope["path"] in UPLOADS else MAX_BODY
        await self.app(scope, _limited(receive, limit), guarded)

    def refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Why a request may not pass, or None; exchanges a good token for a cookie."""
        strange = self._strange(scope, headers)
        if strange is not None:
            return strange
        if scope["path"] in OPEN_TO_ALL and scope["method"] in SAFE:
            return None
        how = self._signed_in(headers)
        key = None if how else self._key(_bearer(headers))
        if key is not None:
            _not_a_stranger(scope)
            scope["key"], wanted = key, needed(scope["method"], scope["path"])
            if not key.may(wanted):
                return problem(403, lacking(key, wanted))
            return _too_large(scope, headers)
        if not how:
            return self._exchange(scope) or self._stranger(scope, headers)
        _not_a_stranger(scope)
        if how == "cookie" and scope["method"] not in SAFE and not _names_its_page(headers):
            return problem(403, "The request does not say which page it comes from; use a token.")
        if _asks_with_token(scope):  # signed in already: the token leaves the address bar
            return self._exchange(scope) or RedirectResponse(_without_token(scope), 303)
        return _too_large(scope, headers)

    # -- whose page is asking ------------------------------------------------------

    def _strange(self, scope: Scope, headers: Headers) -> Response | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.access.host_is_good(hosts[0]):
            return problem(
                403, "This server does not answer to that Host; use the address it printed."
            )
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and not self.access.origin_is_good(origin, hosts[0]):
            return problem(403, "Requests from other sites' pages are refused.")
        if site in (None, "same-origin") or (site == "none" and scope["method"] in SAFE):
            return None
        followed = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
        if (
            followed == ("navigate", "document")
            and scope["method"] == "GET"
            and not _is_data(scope)
        ):
            return None  # a link that was followed: it shows our page, and tells nobody
        return problem(403, "Requests from other sites' pages are refused.")

    # -- who is asking ---------------------------------------------------------------

    def _signed_in(self, headers: Headers) -> str:
        if self.access.token_is_good(_bearer(headers)):
            return "token"
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return ""
        mine = cookies.get(self.access.cookie_name)
        return "cookie" if mine is not None and self.access.cookie_is_good(mine.value) else ""

    def _exchange(self, scope: Scope) -> Response | None:
        token = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")
        if scope["method"] != "GET" or _is_data(scope) or token is None:
            return None
        if not self.access.token_is_good(token):
            return None
        return self._welcome(scope, _without_token(scope))

    def _welcome(self, scope: Scope, where: str) -> Response:
        _not_a_stranger(scope)
        answer: Response = RedirectResponse(where, 303)
        if Headers(scope=scope).get("sec-fetch-site") == "cross-site":
            # After a redirect the browser would keep the cookie back, since another page (the file
            # that opens us, a mail) began; our own page may lead on.
            there = escape(where)
            answer = small_page(
                "opening",
                f'<meta http-equiv="refresh" content="0;url={there}"><a href="{there}">Go on</a>',
            )
        answer.set_cookie(
            self.access.cookie_name,
            self.access.cookie(),
            max_age=MONTH,
            httponly=True,
            samesite="strict",
            path="/",
        )
        return answer

    async def _login(self, scope: Scope, headers: Headers, receive: Receive) -> Response:
        if not _names_its_page(headers):
            return problem(403, "The request does not say which page it comes from.")
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > 4096 or message["type"] == "http.disconnect":
                return problem(413, "That is too long for a password.")
            if not message.get("more_body"):
                break
        form, address = parse_qs(body.decode("utf-8", "replace")), (scope["client"] or [""])[0]
        pause = math.ceil(self.access.pause(address))
        if pause:
            said = f"There were too many wrong passwords from {address}; wait {pause} s, or open"
            answer = _sign_in_page(True, f"{said} the address that the server printed.", 429)
            answer.headers["Retry-After"] = str(pause)
            return answer
        if self.access.password_is_good(form.get("password", [""])[0], address):
            return self._welcome(scope, "/")
        return _sign_in_page(bool(self.access.password), "That is not the password.")

    def _stranger(self, scope: Scope, headers: Headers) -> Response:
        detail = (
            "Sign in first: open the address that the server printed when it started (its "
            "token changes at every start), or send it as a bearer token."
        )
        if _is_data(scope) or "text/html" not in headers.get("accept", ""):
            return problem(401, detail, {"WWW-Authenticate": "Bearer"})
        return _sign_in_page(bool(self.access.password), "")


def _bearer(headers: Headers) -> str:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else ""


def _not_a_stranger(scope: Scope) -> None:
    """Let the connection know that whoever asks is signed in, where it cares."""
    scope.get("signed_in", bool)()


def _is_data(scope: Scope) -> bool:
    return bool(scope["path"].startswith(("/api/", "/static/")))


def _asks_with_token(scope: Scope) -> bool:
    return not _is_data(scope) and b"token=" in scope["query_string"]


def _without_token(scope: Scope) -> str:
    rest = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    kept = urlencode([(name, value) for name, value in rest if name != "token"])
    path = "/" + str(scope["path"]).lstrip("/\\")  # never //elsewhere
    return path + (f"?{kept}" if kept else "")


def _names_its_page(headers: Headers) -> bool:
    """Every browser says on a write where it comes from; ``_strange`` has checked what it says."""
    return "origin" in headers or "sec-fetch-site" in headers


def _too_large(scope: Scope, headers: Headers) -> Response | None:
    limit = MAX_UPLOAD if scope["path"] in UPLOADS else MAX_BODY
    length = headers.get("content-length", "0")
    if not length.isdigit():
        return problem(400, "The Content-Length is not a number.")
    if int(length) > limit:
        return problem(413, _limit_sentence(limit), {"Connection": "close"})
    return None


def _limit_sentence(limit: int) -> str:
    return f"That is larger than {limit >> 20} MiB, the most that is taken here; send less."


def _limited(receive: Receive, limit: int) -> Receive:
    """Count what really arrives, whatever the headers said."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise HTTPException(413, _limit_sentence(limit), {"Connection": "close"})
        return message

    return counted


def _with_headers(scope: Scope, send: Send) -> Send:
    keep = b"no-cache" if scope["path"].startswith("/static/") else b"no-store"

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [pair for pair in message["headers"] if pair[0] not in HEADERS]
            if not any(name == b"cache-control" for name, _ in own):
                own.append((b"cache-control", keep))
            message = {**message, "headers": [*own, *HEADERS.items()]}
        await send(message)

    return sending


def _sign_in_page(with_password: bool, said: str, status: int = 401) -> Response:
    form = (
        f'<form method="post" action="{LOGIN}"><label>Password '
        '<input type="password" name="password" autocomplete="current-password" required '
        "autofocus></label><button>Sign in</button></form>"
        if with_password
        else "<p>Open the address that <code>likewise</code> printed when it started. Its token "
        "changes at every start, so an old address no longer works.</p>"
    )
    note = f'<p role="alert">{escape(said)}</p>' if said else ""
    return small_page("sign in", note + form, status)


def small_page(title: str, inner: str, status: int = 200) -> Response:
    """A page without scripts: title and content as HTML."""
    return HTMLResponse(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>likewise: {title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="/static/icon.svg">'
        '<link rel="stylesheet" href="/static/style/sign-in.css">'
        f"<main><h1>likewise</h1>{inner}</main></html>",
        status,
    )
