"""The web page: serve a collection, or open a folder in one step."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

import likewise
from likewise.cli.common import AsJson, Data, Where, emit, opened, plain_errors
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
        _serve(collection, host, port, allow_host, as_json, browser=False, index=False)


@plain_errors
def open_(
    folder: Annotated[Path, typer.Argument(help="The folder of pictures.")],
    data: Data = None,
    features: Annotated[
        str, typer.Option(help="Blocks to compute, with commas; the usual ones if none.")
    ] = "",
    host: Host = "127.0.0.1",
    port: Port = None,
    allow_host: Allow = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Open a folder of pictures in the browser: index what is new, serve, print the address.

    Example: likewise open ~/Pictures
    """
    wanted = [name.strip() for name in features.split(",") if name.strip()]
    with likewise.open(folder, data=data, create=True) as collection:
        _serve(collection, host, port, allow_host, as_json, browser, True, wanted)


def _serve(
    collection: Collection,
    host: str,
    port: int | None,
    allow_host: list[str] | None,
    as_json: bool,
    browser: bool,
    index: bool,
    features: list[str] | None = None,
) -> None:
    from likewise.server import serve as run  # the web framework is needed here only

    def ready(address: str) -> None:
        if as_json:
            emit({"address": address, "folder": str(collection.folder)})
        else:
            typer.echo(f"Open  {address}\nCtrl-C stops the server; nothing is lost.")
        sys.stdout.flush()
        if browser and _has_screen():
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    run(
        collection,
        host=host,
        port=port,
        password=os.environ.get(PASSWORD, ""),
        allow=allow_host or (),
        index=index,
        features=features,
        ready=ready,
    )


def _has_screen() -> bool:
    """Whether a browser could show anything: a text browser would take the terminal over."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
