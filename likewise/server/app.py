"""The application: routes, errors and the page, behind the gate."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

import likewise
from likewise.collection import Collection
from likewise.filters import Filter
from likewise.server import errors
from likewise.server.access import Access
from likewise.server.api_page import api_page
from likewise.server.gate import Gate, small_page
from likewise.server.routes import (
    comparing,
    items,
    jobs,
    judgements,
    keys,
    layouts,
    models,
    originals,
    search,
    sessions,
    uploads,
)
from likewise.server.served import Served
from likewise.server.static_files import StaticFiles
from likewise.types import LikewiseError

STATIC = Path(__file__).parent / "static"
SCREENS = ("/", "/results", "/target", "/teach", "/models", "/jobs")
"""Addresses of the page; each needs the module of its name."""


def make_app(
    collection: Collection,
    access: Access,
    *,
    started: Callable[[Served], None] | None = None,
    warm: bool = False,
) -> Gate:
    """The whole server for one collection (the caller closes it), as an ASGI application.

    ``started`` is called once it is up, for instance to begin indexing; ``warm``: search once in
    the background, so that the first person waits less.
    """
    served = Served(collection)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        if started is not None:
            await run_in_threadpool(started, served)
        warming = threading.Thread(target=_warm, args=(served.collection,), daemon=True)
        if warm:
            warming.start()
        yield
        await run_in_threadpool(served.close)
        if warm:
            await run_in_threadpool(warming.join, 30.0)

    app = FastAPI(
        title="likewise",
        version=likewise.__version__,
        description="Image search that learns what you mean by similar.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        redirect_slashes=False,
    )
    app.state.served, app.state.access = served, access
    files = StaticFiles(STATIC)
    app.add_route("/api/v1/search", search.search_at_once, ["POST"], include_in_schema=False)
    app.add_route("/static/{name:path}", files.send, include_in_schema=False)
    errors.install(app, files.nowhere)
    api = APIRouter(prefix="/api/v1")
    for part in (
        search, layouts, items, originals, uploads, judgements, comparing, models, jobs, sessions,
        keys,
    ):  # fmt: skip
        api.include_router(part.router)
    app.include_router(api)
    for address in SCREENS:
        app.add_route(address, files.page, include_in_schema=False)
    _pages(app, access, served)
    return Gate(app, access, served.collection.keys.find)


def _pages(app: FastAPI, access: Access, served: Served) -> None:
    @app.get("/login", include_in_schema=False)
    def signed_in_already() -> Response:
        return RedirectResponse("/", 303)

    @app.get("/sign-out", include_in_schema=False)
    def about_to_sign_out() -> Response:
        return small_page(
            "sign out",
            '<form method="post" action="/sign-out"><button>Sign out</button></form>'
            '<form method="post" action="/sign-out?everywhere=true"><button>Sign out in every '
            'browser</button></form><p><a href="/">Stay</a></p>',
        )

    @app.post("/sign-out", include_in_schema=False)
    def sign_out(everywhere: bool = False) -> Response:
        if everywhere:
            access.sign_out_everywhere()
            served.hub.hang_up()  # news that go to other browsers now
        answer = RedirectResponse("/", 303)
        answer.delete_cookie(access.cookie_name, httponly=True, samesite="strict")
        return answer

    @app.get("/api/v1/docs", include_in_schema=False)
    def documentation() -> Response:
        return api_page(app.openapi())


def _warm(collection: Collection) -> None:
    """Load the index, what lists are filtered by and the child that describes query pictures."""
    try:
        for wanted in (Filter(folder="-"), Filter(states=("problem",))):
            collection.items.count(wanted)
        view = collection.look.view()
        if len(view):
            item = int(view.ids[0])
            collection.search(item, k=5, fold=True)
            collection.search(item, crop=(0.0, 0.0, 1.0, 1.0), k=5)
    except (LikewiseError, StopIteration):
        return  # the first search will say what is wrong
