"""Every route is documented, and every address of the page is one of the server's."""

from __future__ import annotations

import re
import socket
from pathlib import Path

from likewise.server.app import SCREENS, STATIC
from likewise.server.serving import _bind

ROOT = Path(__file__).resolve().parent.parent.parent


def test_every_route_is_in_the_docs(server):
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for path, operations in server.document["paths"].items():
        for method in operations:
            assert f"{method.upper()} {path.removeprefix('/api/v1')}" in page


def test_the_page_and_the_server_name_the_same_screens():
    main = (STATIC / "main.js").read_text(encoding="utf-8")
    named = re.findall(r'^  "(/\w*)": \[', main, re.M)
    assert tuple(named) == SCREENS


def test_modules_of_the_page_import_only_what_is_there():
    for file in STATIC.rglob("*.js"):
        for target in re.findall(r'from "([^"]+)"', file.read_text(encoding="utf-8")):
            assert target.startswith("/static/"), (file.name, target)
            assert (STATIC / target.removeprefix("/static/")).is_file(), (file.name, target)


def test_the_page_speaks_to_nobody_else():
    for file in STATIC.rglob("*"):
        if file.suffix in (".js", ".css", ".html") and "vendor" not in file.parts:
            text = file.read_text(encoding="utf-8")
            assert not re.search(r"(https?:)?//[a-z0-9-]+\.[a-z]", text), file.name
            assert "innerHTML" not in text, file.name


def test_answers_do_not_wait_for_acknowledgements():
    with _bind("127.0.0.1", 0) as listening:
        assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
