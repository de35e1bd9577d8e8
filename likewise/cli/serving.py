"""The web page: serve a collection, or open a folder in one step."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import likewise
from likewise.cli.common import AsJson, Data, Quiet, Where, emit, opened, plain_errors
from likewise.files import remove_file, write_file

if TYPE_CHECKING:
    from likewise.collection import Collection

Host = Annotated[str, typer.Option(help="Where to listen; other machines need a password.")]
Port = Annotated[
    int | None,
    typer.Option(help="Which port; 8420, or a free one.", show_default=False, min=0, max=65535),
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow-host", metavar="NAME", help="A name that a proxy in front uses."),
]

PASSWORD = "LIKEWISE_PASSWORD"
"""Environment variable that holds the password; on the command line others could read it."""


Browser = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
]
Features = Annotated[
    str, typer.Option(help="Blocks to compute, with commas; the usual ones if none.")
]


@plain_errors
def serve(
    where: Where = None,
    data: Data = None,
    host: Host = "127.0.0.1",
    port: Port = None,
    allow_host: Allow = None,
    as_json: AsJson = False,
) -> None:
    """Serve an indexed collection: the web page and the HTTP API.

    Example: likewise serve --collection ~/Pictures --port 8420
    """
    with opened(where, data, write=True) as collection:
        run(collection, as_json, False, host=host, port=port, allow=allow_host or ())


@plain_errors
def open_(
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER...", help="Folders; the first holds the data.")
    ],
    data: Data = None,
    features: Features = "",
    quiet: Quiet = False,
    host: Host = "127.0.0.1",
    port: Port = None,
    allow_host: Allow = None,
    browser: Browser = True,
    as_json: AsJson = False,
) -> None:
    """Open folders of pictures in the browser: index what is new, serve, print the address.

    Example: likewise open ~/Pictures /media/drive/photos
    """
    where = {"host": host, "port": port, "allow": allow_host or ()}
    payload = {**_blocks(features), "quiet": quiet}
    with likewise.open(folders[0], data=data, create=True) as collection:
        for more in folders[1:]:
            if os.path.realpath(more) not in collection.status()["roots"]:
                collection.add(more)
        run(collection, as_json, browser, job="index", payload=payload, **where)


@plain_errors
def demo(
    folder: Annotated[Path, typer.Argument(help="A new folder, or the demo's own.")] = Path("demo"),
    swatches: Annotated[bool, typer.Option("--swatches", help="Draw patterns instead.")] = False,
    count: Annotated[
        int | None, typer.Option(help="How many pictures; all, or 2,000 drawn ones.", min=1)
    ] = None,
    features: Features = "",
    port: Port = None,
    browser: Browser = True,
    as_json: AsJson = False,
) -> None:
    """Open the page on 385 photographs, or where this is no source checkout on drawn patterns.

    Example: likewise demo
    """
    from likewise.datasets import photographs

    folder.mkdir(parents=True, exist_ok=True)
    drawn = swatches or not photographs.are_here() or any(folder.glob("swatch-*"))
    payload = {"swatches": drawn, "count": count, **_blocks(features)}
    with likewise.open(folder, create=True) as collection:
        run(collection, as_json, browser, job="demo", payload=payload, port=port)


def _blocks(features: str) -> dict[str, Any]:
    names = [name.strip() for name in features.split(",") if name.strip()]
    return {"features": names} if names else {}


def run(collection: Collection, as_json: bool, browser: bool, **settings: Any) -> None:
    """Serve until somebody stops it; print the address, and open it where that was asked."""
    from likewise.server import serve as serving  # the web framework is needed here only

    door = collection.data / "open.html"

    def ready(address: str) -> None:
        if as_json:
            emit({"address": address, "folder": str(collection.folder)})
        else:
            typer.echo(f"Open  {address}\nCtrl-C stops the server; nothing is lost.")
        sys.stdout.flush()
        if browser and _has_screen() and _leads_to(door, address):
            threading.Thread(target=webbrowser.open, args=(door.as_uri(),), daemon=True).start()

    try:
        serving(collection, password=os.environ.get(PASSWORD, ""), ready=ready, **settings)
    finally:
        remove_file(door)


def _leads_to(door: Path, address: str) -> bool:
    """Write a page that leads on to the address; False where others could read it.

    The browser is given this file, because every user of the machine can read a command line, and
    the address has the token.
    """
    page = f'<!doctype html><meta http-equiv="refresh" content="0;url={address}"><title>likewise'
    write_file(door, [page.encode()], durable=False, private=True)
    return os.name == "nt" or not door.stat().st_mode & 0o077


def _has_screen() -> bool:
    """Whether a browser could show anything: a text browser would take the terminal over."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
