"""The file behind an item: its path, the file itself, and its folder on the own screen."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from likewise.collection import printable
from likewise.server.access import LOOPBACK, Access, is_loopback, split_host
from likewise.server.errors import refusals
from likewise.server.routes.items import Id
from likewise.server.served import Here
from likewise.types import BadInput, NotFound

router = APIRouter(tags=["items"], responses=refusals())
FILE: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": {}}}}
HANDED_ON = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
"""What a proxy writes into the requests of others: then the near address is the proxy's."""


def on_own_machine(request: Request) -> bool:
    """Whether whoever asks sits at this machine.

    The request came from the loopback address and asked for it, nobody handed it on, and the
    server has no password: then only the printed token lets people in.
    """
    access: Access = request.app.state.access
    client = request.client
    name, _ = split_host(request.headers.get("host", ""))
    return (
        client is not None
        and is_loopback(client.host)
        and name in LOOPBACK
        and not access.password
        and not any(header in request.headers for header in HANDED_ON)
    )


Own = Annotated[bool, Depends(on_own_machine)]


class Place(BaseModel):
    """Where the file of an item lies."""

    path: str = Field(description="the whole path on this machine, else the one in the collection")
    own_machine: bool = Field(description="whether its folder can be shown")


@router.get("/items/{item}/place", response_model=Place)
def place(item: Id, here: Here, own: Own) -> dict[str, Any]:
    """Where the file of an item lies."""
    found = here.collection.items.get(item)
    path = _whole(here, found.path) if own else found.path
    return {"path": printable(path), "own_machine": own}


@router.get("/items/{item}/file", response_class=Response, responses=FILE)
def original(item: Id, here: Here) -> Response:
    """The original file of an item, to be saved and never shown by a browser."""
    found = here.collection.items.get(item)
    name = printable(found.path).rpartition("/")[2]
    return FileResponse(
        _present(here, found.path), filename=name, media_type="application/octet-stream"
    )


class Shown(BaseModel):
    """Whether the folder is being opened."""

    shown: bool


@router.post("/items/{item}/folder", response_model=Shown)
def show_in_folder(item: Id, here: Here, own: Own) -> dict[str, Any]:
    """Show an item's file in its folder, on the screen of the machine that serves."""
    if not own:
        raise HTTPException(
            403, "A folder is shown only on the machine that serves, and without a password."
        )
    path = _present(here, here.collection.items.get(item).path)
    opening = subprocess.Popen(
        _file_manager(path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    threading.Thread(target=opening.wait, daemon=True).start()  # nobody else does
    return {"shown": True}


def _file_manager(path: str) -> list[str]:
    """The command that shows a file in its folder; the path is one argument, and whole."""
    if sys.platform == "darwin":
        return ["open", "-R", path]
    if sys.platform == "win32":
        return ["explorer", f"/select,{path}"]
    opener = shutil.which("xdg-open")
    if opener is None:
        raise BadInput("There is no file manager to show the folder with; copy the path instead.")
    return [opener, os.path.dirname(path)]


def _whole(here: Here, path: bytes) -> bytes:
    return os.path.join(os.fsencode(here.collection.folder), path)


def _present(here: Here, path: bytes) -> str:
    whole = os.fsdecode(_whole(here, path))
    try:
        regular = stat.S_ISREG(os.stat(whole).st_mode)
    except OSError:
        regular = False
    if not regular:
        raise NotFound("The file is not where it was; look for new pictures, or mount its disk.")
    return whole
