"""Anything that fits the document, and much that does not: never a 5xx, never off the document."""

from __future__ import annotations

import os

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
EXAMPLES = int(os.environ.get("LIKEWISE_EXAMPLES", "5"))
"""Examples an operation; scripts/bench asks for more."""


def test_every_operation_keeps_to_its_document(server):
    schema = schemathesis.openapi.from_dict(server.document)
    headers = {"Authorization": f"Bearer {server.access.token}"}
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.endswith(("/events", "{item}/folder")):
            continue  # it never ends, and it opens windows; they have tests of their own
        run(operation, server.base, headers)
        tried += 1
    assert tried >= 25


def run(operation, base: str, headers: dict[str, str]) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def check(case):
        answer = case.call(base_url=base, headers=headers, timeout=60)
        case.validate_response(answer, checks=CHECKS)

    check()


def test_nonsense_is_refused_not_crashed_on(client):
    for body in (
        b"",
        b"[]",
        b"null",
        b"1e999",
        b'{"text": "\\ud800"}',
        b"[" * 100_000,
        b"\xff\xfe",
    ):
        for path in ("/search", "/judgements", "/tags", "/why", "/teach/candidates"):
            answer = client.post(f"/api/v1{path}", content=body)
            assert 400 <= answer.status_code < 500, (path, body[:20], answer.text)
