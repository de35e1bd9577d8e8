"""What a program's key must be allowed to do for a request."""

from __future__ import annotations

import re

from likewise.collection import ProgramKey

API = "/api/v1"
_READS = {"administer": r"/keys|/roots|/models/[^/]+/file", "teach": r"/judgements.*|/steps\.csv"}
_WRITES = {
    "search": r"/search|/why|/layouts/sorted|/items/list|/selections/export|/filters/count|/uploads"
    r"|/teach/candidates|/models/compare|/judgements",  # the route asks more: it knows the kind
    "teach": r"/judgements/.*|/offers|/sessions.*|/boards|/tags|/models/[^/]+/check",
}


def needed(method: str, path: str) -> str:
    """The scope that a request needs; what is not listed reads, or administers."""
    reads = method in ("GET", "HEAD", "OPTIONS")
    inner = path.removeprefix(API)
    for scope, pattern in (_READS if reads else _WRITES).items():
        if re.fullmatch(pattern, inner):
            return scope
    return "search" if reads else "administer"


def lacking(key: ProgramKey, scope: str) -> str:
    """One sentence for a key that may not."""
    return (
        f"The key {key.name!r} has the scope {key.scope}, and this needs the scope {scope}; make "
        f"another key with: likewise key add NAME --scope {scope}"
    )
