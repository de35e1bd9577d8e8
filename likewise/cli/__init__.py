"""The command line: one verb is one call of a collection."""

from __future__ import annotations

from typing import Annotated

import typer

import likewise
from likewise.cli import judging, labelling, modelling, pictures, serving, sessions, upkeep
from likewise.open_files import raise_limit

app = typer.Typer(
    name="likewise",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Image search that learns what you mean by similar.",
    epilog="Exit codes: 0 well, 1 some items failed, 2 wrong usage, 3 a data problem.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"likewise {likewise.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Image search that learns what you mean by similar."""


for command in (
    pictures.index,
    pictures.search,
    pictures.suggest,
    judging.mark,
    labelling.label,
    modelling.learn,
    modelling.methods,
    modelling.evaluate,
    pictures.problems,
    pictures.duplicates,
    pictures.neighbours,
    upkeep.add,
    upkeep.status,
    upkeep.forget,
    upkeep.verify,
    upkeep.backup,
    upkeep.restore,
    upkeep.doctor,
):
    app.command()(command)
app.command("open")(serving.open_)
app.command()(serving.serve)
app.command()(serving.demo)
judging.app.command("folders")(labelling.folders)
app.add_typer(judging.app, name="judgements")
app.add_typer(modelling.models_app, name="models")
app.add_typer(sessions.app, name="session")


def main() -> None:
    """Entry point of the command ``likewise``."""
    raise_limit()  # here, so that what a command starts inherits it: servers, workers
    app()
