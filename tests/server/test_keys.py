"""Keys of programs over HTTP: what each scope may do, and who taught what by them."""

from __future__ import annotations

import contextlib

import pytest

from likewise.server.scopes import needed
from tests.server.conftest import ids


@contextlib.contextmanager
def program(server, client, scope):
    made = client.post("/api/v1/keys", json={"name": f"a {scope}er", "scope": scope})
    assert made.status_code == 201
    with server.client(Authorization=f"Bearer {made.json()['key']}") as opened:
        yield opened


def judgement(collection, kind="label"):
    item = ids(collection)[0]
    return {"query": {"examples": [{"item": item}]}, "items": ids(collection)[1:3], "kind": kind}


def test_scopes_bind_programs_and_the_refusal_names_what_is_missing(server, client, collection):
    asks = {
        "search": ("POST", "/api/v1/search", {"examples": [{"item": ids(collection)[0]}], "k": 3}),
        "click": ("POST", "/api/v1/judgements", judgement(collection, "click")),
        "teach": ("POST", "/api/v1/judgements", judgement(collection)),
        "administer": ("GET", "/api/v1/keys", None),
    }
    for reach, scope in enumerate(asks):
        with program(server, client, scope) as asker:
            for level, (wanted, (method, path, body)) in enumerate(asks.items()):
                answer = asker.request(method, path, json=body)
                if level <= reach:
                    assert answer.status_code in (200, 201), answer.text
                else:
                    assert answer.status_code == 403
                    said = answer.json()["detail"]
                    assert f"needs the scope {wanted};" in said
                    assert f"--scope {wanted}" in said
    said = {(r.judgement.kind, r.judgement.source) for r in collection.log.records()}
    assert said == {  # what was refused wrote nothing
        ("click", "a clicker"), ("click", "a teacher"), ("click", "a administerer"),
        ("label", "a teacher"), ("label", "a administerer"),
    }  # fmt: skip


def test_a_removed_key_opens_nothing_at_once(server, client):
    with program(server, client, "search") as asker:
        assert asker.get("/api/v1/status").status_code == 200
        left = client.delete("/api/v1/keys/a searcher")
        assert left.json() == []
        assert asker.get("/api/v1/status").status_code == 401
        assert client.delete("/api/v1/keys/a searcher").status_code == 404
    twice = [client.post("/api/v1/keys", json={"name": "shop"}).status_code for _ in "ab"]
    assert twice == [201, 422]
    listed = client.get("/api/v1/keys").json()
    assert [set(key) for key in listed] == [{"name", "scope", "made"}]  # nothing that opens


def test_what_a_program_taught_is_listed_and_undone(server, client, collection):
    with program(server, client, "teach") as asker:
        body = judgement(collection)
        assert asker.post("/api/v1/judgements", json={**body, "person": "ann"}).status_code == 201
        assert client.post("/api/v1/judgements", json={**body, "person": "ann"}).status_code == 201
        listed = client.get("/api/v1/judgements", params={"source": "a teacher"}).json()["records"]
        assert [(r["person"], r["source"]) for r in listed] == [("ann", "a teacher")] * 2
        by = {"by": "ann", "source": "web"}
        assert len(client.get("/api/v1/judgements", params=by).json()["records"]) == 2
        undone = client.post("/api/v1/judgements/undo", json={"by": "ann", "of": "a teacher"})
        assert len(undone.json()["records"]) == 2
        left = client.get("/api/v1/judgements").json()["records"]
        assert {r["source"] for r in left} == {"web"}
        assert client.post("/api/v1/judgements/undo", json={}).status_code == 422


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "/api/v1/items", "search"),
        ("GET", "/api/v1/judgements", "teach"),
        ("POST", "/api/v1/judgements/undo", "teach"),
        ("POST", "/api/v1/models/learn", "administer"),
        ("POST", "/api/v1/jobs", "administer"),
        ("POST", "/api/v1/search/", "administer"),
        ("DELETE", "/api/v1/keys/shop", "administer"),
        ("POST", "/sign-out", "administer"),
    ],
)
def test_what_is_not_named_administers(method, path, scope):
    assert needed(method, path) == scope


def test_every_route_has_a_scope_that_fits_its_method(server):
    """A new route that changes something is open to administrators only until it is named."""
    named = {
        f"{method} {path.removeprefix('/api/v1')}": needed(method.upper(), path)
        for path, ways in server.document["paths"].items()
        for method in ways
    }
    changes = {n for n, s in named.items() if s == "search" and not n.startswith("get ")}
    assert changes == {
        "post /search", "post /why", "post /layouts/sorted", "post /items/list",
        "post /selections/export", "post /filters/count", "post /uploads", "post /teach/candidates",
        "post /models/compare", "post /judgements",
    }  # fmt: skip
