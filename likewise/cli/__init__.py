"""The command line: one verb is one call of a collection.

A command is built when it is asked for: to read the settings of all of them takes longer than
most of them run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partialmethod
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

import likewise
from likewise.open_files import raise_limit

PLACES = {
    "index": "likewise.cli.pictures:index",
    "search": "likewise.cli.pictures:search",
    "suggest": "likewise.cli.pictures:suggest",
    "mark": "likewise.cli.judging:mark",
    "label": "likewise.cli.judging:label",
    "learn": "likewise.cli.modelling:learn",
    "methods": "likewise.cli.modelling:methods",
    "evaluate": "likewise.cli.modelling:evaluate",
    "problems": "likewise.cli.pictures:problems",
    "duplicates": "likewise.cli.pictures:duplicates",
    "neighbours": "likewise.cli.pictures:neighbours",
    "add": "likewise.cli.upkeep:add",
    "remove": "likewise.cli.upkeep:remove",
    "status": "likewise.cli.upkeep:status",
    "forget": "likewise.cli.upkeep:forget",
    "verify": "likewise.cli.upkeep:verify",
    "backup": "likewise.cli.upkeep:backup",
    "restore": "likewise.cli.upkeep:restore",
    "doctor": "likewise.cli.upkeep:doctor",
    "open": "likewise.cli.serving:open_",
    "serve": "likewise.cli.serving:serve",
    "demo": "likewise.cli.serving:demo",
    "judgements": "likewise.cli.judging:app",
    "models": "likewise.cli.modelling:models_app",
    "session": "likewise.cli.sessions:app",
    "key": "likewise.cli.keys:app",
}


def found(name: str) -> Any:
    """The function of a command, or the group of commands, of this name."""
    module, _, attribute = PLACES[name].partition(":")
    return getattr(import_module(module), attribute)


class AsTyped(NamedTuple):
    """Takes what was typed as it is where that will do; the ``usual`` way imports pydantic."""

    param: Any
    usual: Callable[[Any], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of a parameter."""
        kind, many = param.type_descriptor.annotation, param.multiple or param.nargs == -1
        if value is None:
            return () if many else None
        if kind == list[str] and isinstance(value, (list, tuple)):
            return list(value)
        as_it_is = type(value) is kind and not param.type_descriptor.is_ranged
        if as_it_is or (kind is Path and os.access(value, os.R_OK)):
            return kind(value)
        return self.usual(self.param).coerce(value, param=param, ctx=ctx)


class Commands(Mapping[str, Any]):
    """Every command by name, built when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        verb = found(name)
        if not isinstance(verb, typer.Typer):
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(name)(verb)
            verb = alone
        verb.rich_markup_mode, verb._add_completion = None, False
        built = typer.main.get_command(verb)
        built.name = name
        return built

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


class Verbs(TyperGroup):
    """The commands of likewise; its help says the first sentence of each."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": None})
        self.commands: Any = Commands()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Names and first sentences, without building what is not run."""
        rows = []
        for name in PLACES:
            verb = found(name)
            text = verb.info.help if isinstance(verb, typer.Typer) else verb.__doc__
            rows.append((name, " ".join(str(text).partition("\n\n")[0].split())))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


app = typer.Typer(
    name="likewise",
    cls=Verbs,
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


def main() -> None:
    """Entry point of the command ``likewise``."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else every package is looked at
    raise_limit()  # here, so that what a command starts inherits it: servers, workers
    if (typers := getattr(typer.core, "_TyperParameter", None)) is not None:  # not in every typer
        typers.get_runtime_param = partialmethod(AsTyped, typers.get_runtime_param)
    app()
