"""The API's document as a page that a person can read, without any script."""

from __future__ import annotations

from html import escape
from typing import Any

from starlette.responses import HTMLResponse, Response


def api_page(document: dict[str, Any]) -> Response:
    """Every operation of an OpenAPI document: method, address, what it does and takes."""
    parts = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            parts.append(_operation(method.upper(), path, operation))
    info = document["info"]
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f"<title>{escape(info['title'])}: API</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="/static/icon.svg">'
        '<link rel="stylesheet" href="/static/style/base.css">'
        '<link rel="stylesheet" href="/static/style/api.css">'
        f"<main><h1>{escape(info['title'])} {escape(info['version'])}: API</h1>"
        '<p>The same as a document for machines: <a href="/api/v1/openapi.json">openapi.json</a>. '
        'Back to <a href="/">the pictures</a>.</p>' + "".join(parts) + "</main></html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    takes = [
        f"<li><code>{escape(p['name'])}</code> ({escape(p['in'])}) "
        f"{escape(p.get('description', ''))}</li>"
        for p in operation.get("parameters", [])
    ]
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        named = str(body["schema"].get("$ref", "bytes")).rpartition("/")[2]
        takes.append(f"<li>body: <code>{escape(named)}</code> ({escape(kind)})</li>")
    gives = ", ".join(sorted(operation["responses"]))
    return (
        f"<section><h2><span>{escape(method)}</span> <code>{escape(path)}</code></h2>"
        f"<p>{escape(operation.get('description', operation['summary']))}</p>"
        f"<ul>{''.join(takes)}<li>answers: {escape(gives)}</li></ul></section>"
    )
