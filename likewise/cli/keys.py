"""Keys of programs from the command line."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from likewise.cli.common import AsJson, Data, Where, emit, opened, plain_errors, table

app = typer.Typer(no_args_is_help=True, help="Make, list and remove keys of programs.")


@app.command("add")
@plain_errors
def add(
    name: Annotated[str, typer.Argument(help="The program that is to have it.")],
    scope: Annotated[
        str, typer.Option(help="search, click, teach or administer; each includes those before.")
    ] = "search",
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Make a key, which is shown this once; a program sends it as a bearer token.

    Example: likewise key add shop --scope click
    """
    with opened(where, data, write=True) as collection:
        key, text = collection.keys.add(name, scope)
    if as_json:
        emit({**key._asdict(), "key": text})
    else:
        typer.echo(f"{text}\nKeep it: it is not shown again.")


@app.command("list")
@plain_errors
def list_(where: Where = None, data: Data = None, as_json: AsJson = False) -> None:
    """List keys with their scopes.

    Example: likewise key list
    """
    with opened(where, data) as collection:
        keys = collection.keys.all()
    if as_json:
        emit([key._asdict() for key in keys])
        return
    rows = [[k.name, k.scope, time.strftime("%Y-%m-%d", time.localtime(k.made))] for k in keys]
    table("", ["name", "scope", "made"], rows)


@app.command("remove")
@plain_errors
def remove(
    name: Annotated[str, typer.Argument(help="Its name.")],
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Let a key open nothing any more.

    Example: likewise key remove shop
    """
    with opened(where, data, write=True) as collection:
        collection.keys.remove(name)
    if as_json:
        emit({"removed": name})
    else:
        typer.echo(f"The key {name} opens nothing any more.")
