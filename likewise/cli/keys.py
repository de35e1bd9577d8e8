"""Keys of programs from the command line."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.common import Said, table, verb

if TYPE_CHECKING:
    from likewise.collection import Collection

app = typer.Typer(no_args_is_help=True, help="Make, list and remove keys of programs.")


@app.command("add")
@verb(write=True)
def add(
    collection: Collection,
    name: Annotated[str, typer.Argument(help="The program that is to have it.")],
    scope: Annotated[
        str, typer.Option(help="search, click, teach or administer; each includes those before.")
    ] = "search",
) -> Said:
    """Make a key, which is shown this once; a program sends it as a bearer token.

    Example: likewise key add shop --scope click
    """
    key, text = collection.keys.add(name, scope)
    return Said({**key._asdict(), "key": text}, f"{text}\nKeep it: it is not shown again.")


@app.command("list")
@verb()
def list_(collection: Collection) -> Said:
    """List keys with their scopes.

    Example: likewise key list
    """
    keys = collection.keys.all()
    rows = [[k.name, k.scope, time.strftime("%Y-%m-%d", time.localtime(k.made))] for k in keys]
    return Said([key._asdict() for key in keys], table(["name", "scope", "made"], rows))


@app.command("remove")
@verb(write=True)
def remove(collection: Collection, name: Annotated[str, typer.Argument(help="Its name.")]) -> Said:
    """Let a key open nothing any more.

    Example: likewise key remove shop
    """
    collection.keys.remove(name)
    return Said({"removed": name}, f"The key {name} opens nothing any more.")
