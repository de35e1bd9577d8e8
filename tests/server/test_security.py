"""The access matrix: whatever the route, a stranger is refused and nothing happens."""

from __future__ import annotations

import hashlib
import re
import socket
import time

import pytest

from likewise.server import Access, serve
from likewise.server.access import check_exposure, is_loopback, names_of, split_host, stored_secret
from likewise.types import BadInput
from tests.server.conftest import Server, ids

API = "/api/v1"
PAGES = (
    "/",
    "/results",
    "/target",
    "/teach",
    "/jobs",
    "/static/main.js",
    f"{API}/openapi.json",
    f"{API}/docs",
)


def routes(server) -> list[tuple[str, str]]:
    """(method, address) of every route, ids filled in."""
    found = [("GET", page) for page in PAGES]
    for path, operations in server.document["paths"].items():
        address = re.sub(r"{sha256}", "0" * 64, path)
        address = re.sub(r"{action}", "cancel", address)
        address = re.sub(r"{\w+}", "1", address)
        found += [(method.upper(), address) for method in operations]
    return found


def state(collection) -> tuple:
    """All that a request could have changed."""
    store = collection.store
    with store.snapshot() as db:
        tables = (
            *("judgements", "jobs", "uploads", "texts", "activations", "models", "items"),
            *("sessions", "rounds", "steps"),
        )
        counts = tuple(db.execute(f"SELECT COUNT(*) FROM {t}").fetchone()[0] for t in tables)
    thumbnails = sorted(str(p) for p in (store.folder / "thumbnails").rglob("*"))
    return counts, hashlib.sha256("".join(thumbnails).encode()).hexdigest()


BODY = {"kind": "index", "items": [1], "text": "x", "query": {"text": "x"}, "add": ["t"]}


def refusals(server) -> dict[str, tuple[dict[str, str], set[int]]]:
    """What each column of the matrix sends, and how it may be refused."""
    good = {"Authorization": f"Bearer {server.access.token}"}
    cookie = {"Cookie": f"{server.access.cookie_name}={server.access.cookie()}"}
    same = {"Origin": server.base, "Sec-Fetch-Site": "same-origin"}
    old = server.access.cookie(now=time.time() - 40 * 24 * 3600)
    other = Access(b"o" * 32, server.port).cookie()
    return {
        "no token": ({}, {401}),
        "bad token": ({"Authorization": "Bearer wrong"}, {401}),
        "another scheme": ({"Authorization": f"Basic {server.access.token}"}, {401}),
        "forged cookie": ({"Cookie": f"{server.access.cookie_name}=1.2", **same}, {401}),
        "expired cookie": ({"Cookie": f"{server.access.cookie_name}={old}", **same}, {401}),
        "cookie of another": ({"Cookie": f"{server.access.cookie_name}={other}", **same}, {401}),
        "foreign host": ({**good, "Host": "evil.example"}, {403}),
        "another port": ({**good, "Host": "127.0.0.1:1"}, {403}),
        "rebound name": ({**cookie, **same, "Host": f"evil.example:{server.port}"}, {403}),
        "foreign origin": ({**cookie, "Origin": "http://evil.example"}, {403}),
        "null origin": ({**cookie, "Origin": "null"}, {403}),
        "other local port": ({**cookie, "Origin": "http://127.0.0.1:1"}, {403}),
        "cross-site": ({**cookie, "Sec-Fetch-Site": "cross-site"}, {403}),
        "same-site": ({**cookie, "Sec-Fetch-Site": "same-site"}, {403}),
        "cross-site picture": (
            {**cookie, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
            {403},
        ),
    }


def test_every_route_refuses_every_stranger_without_effect(server, collection):
    before = state(collection)
    with server.client() as client:
        for column, (headers, statuses) in refusals(server).items():
            for method, address in routes(server):
                body = BODY if method == "POST" else None
                answer = client.request(method, address, headers=headers, json=body)
                assert answer.status_code in statuses, (column, method, address, answer.text)
                assert "set-cookie" not in answer.headers
    assert state(collection) == before


def test_wrong_methods_are_refused_without_effect(server, client, collection):
    before = state(collection)
    allowed = {address: set() for _, address in routes(server)}
    for method, address in routes(server):
        allowed[address].add(method)
    for address, methods in allowed.items():
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - methods:
            if address.endswith("/events") or (method == "GET" and address == "/login"):
                continue
            answer = client.request(method, address)
            assert answer.status_code in (404, 405, 422), (method, address, answer.text)
            assert "access-control-allow-origin" not in answer.headers
    assert state(collection) == before


def test_a_cookie_cannot_write_without_saying_which_page_it_comes_from(server, collection):
    cookie = {"Cookie": f"{server.access.cookie_name}={server.access.cookie()}"}
    before = state(collection)
    with server.client() as client:
        for method, address in routes(server):
            if method == "POST":
                answer = client.post(address, headers=cookie, json=BODY)
                assert answer.status_code == 403, address
    assert state(collection) == before


def test_the_printed_address_is_exchanged_for_a_cookie(server):
    with server.client() as client:
        answer = client.get("/results", params={"like": "3", "token": server.access.token})
        assert answer.status_code == 303
        assert answer.headers["location"] == "/results?like=3"
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert server.access.token not in cookie
        assert client.get(f"{API}/status").status_code == 200  # the client kept the cookie
        own = {"Origin": server.base, "Sec-Fetch-Site": "same-origin"}
        found = client.post(f"{API}/search", json={"text": "swatch"}, headers=own)
        assert found.status_code == 200
        again = client.get("/", params={"token": "an-old-token"})
        assert (again.status_code, again.headers["location"]) == (303, "/")


def test_an_expired_address_shows_a_page_that_says_what_to_do(server):
    with server.client(Accept="text/html") as client:
        answer = client.get("/", params={"token": "an-old-token"})
        assert answer.status_code == 401
        assert "changes at every start" in answer.text
        assert "set-cookie" not in answer.headers
        assert client.get("/static/style/sign-in.css").status_code == 200


def test_no_open_redirect(server):
    with server.client() as client:
        raw = f"{server.base}//evil.example/x?token={server.access.token}"
        answer = client.get(raw)
        if answer.status_code == 303:
            assert re.match(r"/[^/\\]", answer.headers["location"])


def test_a_link_from_elsewhere_shows_the_page_only(server):
    cookie = {"Cookie": f"{server.access.cookie_name}={server.access.cookie()}"}
    followed = {
        "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document",
    }  # fmt: skip
    with server.client() as client:
        assert client.get("/teach", headers={**cookie, **followed}).status_code == 200
        assert client.get(f"{API}/status", headers={**cookie, **followed}).status_code == 403
        framed = {**followed, "Sec-Fetch-Dest": "iframe"}
        assert client.get("/teach", headers={**cookie, **framed}).status_code == 403


def test_every_answer_has_the_headers(server, client):
    some = [
        client.get("/"), client.get(f"{API}/status"), client.get(f"{API}/items/99999"),
        client.get("/static/main.js"), client.get(f"{API}/status", headers={"Host": "evil"}),
    ]  # fmt: skip
    for answer in some:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers or "uvicorn" in answer.headers["server"]
    assert some[1].headers["cache-control"] == "no-store"


def test_the_page_has_no_inline_script_or_style(client):
    text = client.get("/").text
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert "<style" not in text
    assert not re.search(r"\s(style|on\w+)=", text)
    assert "//" not in re.sub(r"<!--.*?-->", "", text).replace("</", "")  # nothing from elsewhere


def test_static_files_only(client):
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fgate.py",
        "/static//etc/passwd",
    ):
        assert client.get(path).status_code in (404, 405), path


def raw(server, head: str, body: bytes = b"", wait: float = 60.0) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as wire:
        wire.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
        wire.shutdown(socket.SHUT_WR)
        out = b""
        while chunk := wire.recv(65536):
            out += chunk
        return out


def head(server, path: str, *more: str) -> str:
    lines = [
        f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}",
        f"Authorization: Bearer {server.access.token}", "Connection: close", *more,
    ]  # fmt: skip
    return "\n".join(lines)


def test_sizes_are_checked_before_anything_is_read(server, collection):
    before = state(collection)
    for path, size in ((f"{API}/uploads", 50 << 20), (f"{API}/search", 2 << 20)):
        # The body is never sent: the refusal must not wait for it.
        answer = raw(server, head(server, path, f"Content-Length: {size}"))
        assert answer.startswith(b"HTTP/1.1 413"), answer[:200]
    for length in ("-5", "nonsense", "5, 6"):
        answer = raw(server, head(server, f"{API}/uploads", f"Content-Length: {length}"))
        assert answer.startswith(b"HTTP/1.1 400"), answer[:200]
    assert state(collection) == before


def test_a_body_that_outgrows_the_limit_without_saying_so_is_cut_off(server, client, collection):
    before = state(collection)

    def stream():
        for _ in range(40):
            yield b"x" * (1 << 20)

    answer = client.post(f"{API}/uploads", content=stream())
    assert answer.status_code == 413
    answer = client.post(f"{API}/search", content=(b" " * 65536 for _ in range(40)))
    assert answer.status_code == 413
    assert state(collection) == before


def test_a_body_shorter_than_it_claims_changes_nothing(server, collection):
    before = state(collection)
    answer = raw(server, head(server, f"{API}/uploads", "Content-Length: 5000"), b"x" * 100)
    assert not answer or not answer.startswith(b"HTTP/1.1 2")
    assert state(collection) == before


def test_two_host_headers_are_refused(server):
    twice = head(server, f"{API}/search", "Host: evil.example", "Content-Length: 0")
    assert raw(server, twice).startswith((b"HTTP/1.1 400", b"HTTP/1.1 403"))


# -- other machines ------------------------------------------------------------------


def test_other_machines_need_a_password():
    for host in ("0.0.0.0", "192.0.2.1", "::", "example.org"):
        with pytest.raises(BadInput, match="TLS"):
            check_exposure(host, "short")
        check_exposure(host, "long enough to be one")
    for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8"):
        assert is_loopback(host)
        check_exposure(host, "")


def test_serving_other_machines_without_a_password_never_listens(collection):
    with pytest.raises(BadInput, match="LIKEWISE_PASSWORD"):
        serve(collection, host="0.0.0.0", port=0)


def test_the_password_is_exchanged_for_a_cookie_and_guessing_is_slowed(collection):
    names = names_of("192.0.2.1", ("photos.example",))
    with Server(collection, password="correct horse battery", hosts=names).running() as server:
        host = {"Host": "photos.example", "Origin": "https://photos.example"}
        with server.client(Accept="text/html", **host) as client:
            page = client.get("/")
            assert page.status_code == 401
            assert 'type="password"' in page.text
            wrong = client.post("/login", data={"password": "guess"})
            assert wrong.status_code == 401
            assert "set-cookie" not in wrong.headers
            right = client.post("/login", data={"password": "correct horse battery"})
            assert right.status_code == 303
            cookie = right.headers["set-cookie"].partition(";")[0]
            good = client.get(f"{API}/status", headers={"Cookie": cookie})
            assert good.status_code == 200
            elsewhere = {"Origin": "https://evil.example"}
            assert (
                client.post("/login", data={"password": "x"}, headers=elsewhere).status_code == 403
            )
            assert client.post("/login", content=b"x" * 9999).status_code == 413
            while (slowed := client.post("/login", data={"password": "guess"})).status_code == 401:
                pass
            assert slowed.status_code == 429
            assert int(slowed.headers["retry-after"]) >= 1
            assert "127.0.0.1; wait" in slowed.text
            # Who has the cookie or the token is not slowed, and other addresses are not either.
            assert client.get(f"{API}/status", headers={"Cookie": cookie}).status_code == 200
            token = {"token": server.access.token}
            assert client.get("/", params=token).status_code == 303
            assert server.access.password_is_good("correct horse battery", "192.0.2.9")


def test_pauses_grow_by_address_and_few_addresses_are_remembered():
    now = [1000.0]
    access = Access(b"x" * 32, 1, password="right and long", clock=lambda: now[0])
    pauses = []
    for _ in range(1100):
        assert not access.password_is_good("wrong", "192.0.2.1")
        pauses.append(access.pause("192.0.2.1"))
        if pauses[-1]:
            assert not access.password_is_good("right and long", "192.0.2.1")
            assert access.pause("192.0.2.1") == pauses[-1]  # a try during the pause is no try
        now[0] += pauses[-1]
    assert pauses[:7] == [0, 0, 1, 2, 4, 8, 16]
    assert max(pauses) == 900
    assert access.password_is_good("right and long", "192.0.2.1")
    assert access.pause("192.0.2.1") == 0
    for one in range(4):  # one network of IPv6 counts as one
        access.password_is_good("wrong", f"2001:db8::{one}")
    assert access.pause("2001:db8::99")
    for one in range(3000):
        access.password_is_good("wrong", f"10.0.{one >> 8}.{one & 255}")
    assert len(access._wrong) == 1024


def test_a_header_does_not_make_another_address(collection):
    with (
        Server(collection, password="correct horse battery").running() as server,
        server.client(Origin=server.base) as client,
    ):
        for one in range(9):
            headers = {"X-Forwarded-For": f"192.0.2.{one}"}
            answer = client.post("/login", data={"password": "guess"}, headers=headers)
        assert answer.status_code == 429


def test_another_password_and_signing_out_everywhere_end_every_cookie(server):
    good = server.access.cookie()
    assert server.access.cookie_is_good(good)
    server.access.password = "another password"
    assert not server.access.cookie_is_good(good)
    server.access.password = ""
    with server.client() as client, server.client() as other:
        for browser in (client, other):
            browser.get("/", params={"token": server.access.token})
            assert browser.get(f"{API}/status").status_code == 200
        assert "Sign out in every" in client.get("/sign-out").text
        assert client.post("/sign-out").status_code == 403  # does not say which page it comes from
        own = {"Origin": server.base}
        assert client.post("/sign-out", headers=own).headers["location"] == "/"
        assert client.get(f"{API}/status").status_code == 401
        with other.stream("GET", f"{API}/events") as news:
            lines = news.iter_lines()
            assert next(lines) == "retry: 1000"
            with server.client(Authorization=f"Bearer {server.access.token}") as program:
                program.post("/sign-out", params={"everywhere": "true"})
            for _ in lines:
                pass  # the stream ends
        assert other.get(f"{API}/status").status_code == 401
        assert not server.access.cookie_is_good(good)


def test_a_link_from_elsewhere_with_the_token_signs_in(server):
    """A browser that came from a file keeps a strict cookie back during redirects."""
    followed = {
        "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document",
    }  # fmt: skip
    with server.client(**followed) as client:
        answer = client.get("/results", params={"like": '"><b>', "token": server.access.token})
        assert answer.status_code == 200
        assert "set-cookie" in answer.headers
        assert server.access.token not in answer.text
        assert 'content="0;url=/results?like=%22%3E%3Cb%3E"' in answer.text


def test_without_a_password_there_is_no_login(server):
    with server.client(Accept="text/html", Origin=server.base) as client:
        assert client.post("/login", data={"password": ""}).status_code == 401
        assert 'type="password"' not in client.get("/").text


def test_hosts_and_origins():
    access = Access(b"x" * 32, 8420, names_of("192.0.2.7", ("Photos.Example",)))
    for host in (
        "127.0.0.1:8420",
        "localhost:8420",
        "[::1]:8420",
        "photos.example",
        "192.0.2.7:8420",
    ):
        assert access.host_is_good(host), host
    for host in ("127.0.0.1", "127.0.0.1:1", "evil.example", "", "localhost:8420.evil.example"):
        assert not access.host_is_good(host), host
    assert access.origin_is_good("http://127.0.0.1:8420", "127.0.0.1:8420")
    for origin in ("http://127.0.0.1:1", "null", "", "file://127.0.0.1:8420", "http://evil"):
        assert not access.origin_is_good(origin, "127.0.0.1:8420")
    assert split_host("[::1]:80") == ("[::1]", "80")
    assert split_host("[::1]") == ("[::1]", "")


def test_the_secret_stays_and_is_private(tmp_path):
    first = stored_secret(tmp_path)
    assert stored_secret(tmp_path) == first
    file = tmp_path / "server.secret"
    assert file.stat().st_mode & 0o077 == 0
    for damaged in (b"cut", b"", bytes(32)):
        file.write_bytes(damaged)
        made = stored_secret(tmp_path)
        assert len(set(made)) > 1
        assert stored_secret(tmp_path) == made != first
        assert file.stat().st_mode & 0o077 == 0


def test_the_secret_is_on_the_disk_before_it_is_used(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("likewise.files.sync_file", lambda descriptor: synced.append("file"))
    monkeypatch.setattr("likewise.files.sync_folder", lambda folder: synced.append(folder))
    stored_secret(tmp_path)
    assert synced == ["file", tmp_path]


def test_tokens_differ_from_start_to_start():
    tokens = {Access(b"x" * 32, 1).token for _ in range(20)}
    assert len(tokens) == 20
    assert min(len(t) for t in tokens) >= 32


def test_ids_only_no_route_takes_a_path(client, collection):
    item = ids(collection)[0]
    for value in ("../../etc/passwd", "/etc/passwd", "swatch-0001.jpg", "%2e%2e%2f"):
        assert client.get(f"{API}/items/{value}").status_code in (404, 422)
        assert client.get(f"{API}/thumbnails/{value}").status_code in (404, 422)
        asked = {"examples": [{"item": value}]}
        assert client.post(f"{API}/search", json=asked).status_code == 422
    assert client.get(f"{API}/items/{item}").status_code == 200
