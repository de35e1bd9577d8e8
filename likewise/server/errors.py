"""Errors as problem documents (RFC 9457): one sentence that says what to do, never a trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from likewise.types import (
    BadInput,
    Busy,
    DataProblem,
    LikewiseError,
    MissingExtra,
    NotFound,
    SpaceMismatch,
)

STATUS: dict[type[LikewiseError], int] = {
    NotFound: 404,
    Busy: 409,
    SpaceMismatch: 409,
    BadInput: 422,
    MissingExtra: 409,
    DataProblem: 503,
}


class Problem(BaseModel):
    """What went wrong, as ``application/problem+json``."""

    type: str = "about:blank"
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no item 7 in this collection."])


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """A problem document."""
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    # ASCII only, so that half a surrogate pair in what a client sent cannot spoil the answer.
    text = json.dumps(body, ensure_ascii=True)
    return Response(text, status, headers, media_type="application/problem+json")


def refusals(*more: int) -> dict[int | str, dict[str, Any]]:
    """The refusals that the document of the API lists for a route: those all share, and more."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": HTTPStatus(status).phrase, "model": Problem, "content": content}
        for status in sorted({400, 401, 403, 404, 409, 413, 422, 503, *more})
    }


def status_of(error: LikewiseError) -> int:
    """The HTTP status of an error that likewise raised on purpose."""
    return next((s for kind, s in STATUS.items() if isinstance(error, kind)), 500)


def install(app: FastAPI, page: Callable[[int], Response]) -> None:
    """Make every error of an app a problem document, but for a person at a mistyped address.

    To a browser there the page itself is sent, which says that there is nothing and leads home.
    """

    @app.exception_handler(LikewiseError)
    def on_purpose(_: Request, error: LikewiseError) -> Response:
        return problem(status_of(error), str(error))

    @app.exception_handler(HTTPException)
    def by_framework(request: Request, error: HTTPException) -> Response:
        if error.status_code == 404 and _asked_by_person(request):
            return page(404)
        return problem(error.status_code, _sentence(error), dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    def wrong_shape(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body") or "The request"
        more = len(error.errors()) - 1
        rest = f" ({more} more like this.)" if more else ""
        return problem(422, f"{where}: {first['msg']}.{rest}")

    @app.exception_handler(Exception)
    def by_accident(_: Request, error: Exception) -> Response:
        return problem(
            500,
            f"Something unforeseen happened ({type(error).__name__}); the server's terminal says "
            "more. Nothing was lost; try again.",
        )


def _asked_by_person(request: Request) -> bool:
    """Whether somebody typed this address into a browser, or followed a link to it."""
    program = request.url.path.startswith(("/api/", "/static/"))
    return not program and "text/html" in request.headers.get("accept", "")


def _sentence(error: HTTPException) -> str:
    if error.status_code == 404 and error.detail == "Not Found":
        return "There is nothing at this address; GET /api/v1/openapi.json lists what there is."
    if error.status_code == 405:
        return "This address does not take that method."
    return str(error.detail)
