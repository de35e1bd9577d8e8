"""What every command shares: finding the collection, errors as one sentence, progress, JSON."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_type_hints

import typer

import likewise
from likewise.open_files import TOO_MANY, too_many
from likewise.types import DATA_FOLDER, Busy, DataProblem, LikewiseError, NotFound

if TYPE_CHECKING:
    from likewise.collection import Collection
    from likewise.intake.forecast import Forecast

OK, SOME_FAILED, USAGE, DATA = 0, 1, 2, 3
"""Exit codes: all well; some items failed and are listed; wrong usage; a data problem."""

F = TypeVar("F", bound=Callable[..., Any])

Where = Annotated[
    Path | None,
    typer.Option(
        "--collection", "-c", metavar="FOLDER", help="The folder of pictures.", show_default=False
    ),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="The data folder, if it lies elsewhere."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Keep one core busy, not all.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def plain_errors(command: F) -> F:
    """Turn errors that likewise raises on purpose into one sentence and an exit code."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except (DataProblem, Busy) as error:
            fail(str(error), DATA)
        except (LikewiseError, FileNotFoundError, IsADirectoryError) as error:
            fail(str(error), USAGE)
        except PermissionError as error:
            fail(f"{error.filename}: {error.strerror}; check who may read and write it.", DATA)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(OK) from None
        except OSError as error:
            if error.errno not in TOO_MANY:
                raise
            fail(str(too_many()), DATA)
        except KeyboardInterrupt:
            fail("Stopped; what was done is kept, and running it again goes on from there.", 130)

    return run  # type: ignore[return-value]


class Said(NamedTuple):
    """What a command has to say: to machines, to people, beside that (stderr), and its code."""

    value: Any
    text: str = ""
    beside: Iterable[str] = ()
    code: int = OK


def verb(*, write: bool = False) -> Callable[[Callable[..., Said]], Callable[..., None]]:
    """Make a command of a function: what it says is printed, as text or as JSON.

    One whose first argument is ``collection`` is handed the one that ``--collection`` and
    ``--data`` name; one that takes ``as_json`` itself is told.
    """

    def decorate(command: Callable[..., Said]) -> Callable[..., None]:
        own = inspect.signature(command)
        shared: dict[str, Any] = {"as_json": AsJson}
        if opens := "collection" in own.parameters:
            shared = {"where": Where, "data": Data, **shared}

        def run(as_json: bool = False, **given: Any) -> None:
            if "as_json" in own.parameters:
                given["as_json"] = as_json
            if opens:
                with opened(given.pop("where"), given.pop("data"), write=write) as collection:
                    said = command(collection, **given)
            else:
                said = command(**given)
            if as_json:
                emit(said.value)
            else:
                if said.text:
                    typer.echo(said.text)
                for line in said.beside:
                    typer.echo(line, err=True)
            if said.code:
                raise typer.Exit(said.code)

        made: Any = plain_errors(wraps(command)(run))
        types = get_type_hints(command, localns={"Collection": Any}, include_extras=True)
        kept = [
            p.replace(annotation=types[p.name])
            for p in own.parameters.values()
            if p.name not in ("collection", "as_json")
        ]
        for name, kind in shared.items():
            default = False if name == "as_json" else None
            one = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            kept.append(one.replace(annotation=kind))
        made.__signature__ = own.replace(parameters=kept, return_annotation=None)
        made.__annotations__ = {p.name: p.annotation for p in kept}
        return made  # type: ignore[no-any-return]

    return decorate


def fail(sentence: str, code: int) -> None:
    """Print one sentence and leave."""
    typer.echo(f"likewise: {sentence}", err=True)
    raise typer.Exit(code)


def locate(where: Path | None) -> Path:
    """The collection's folder: the one named, else the nearest above that is indexed."""
    if where is not None:
        return where
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / DATA_FOLDER).is_dir():
            return folder
    raise NotFound(
        "No indexed folder here or above; name one with --collection FOLDER, or run: "
        "likewise index FOLDER"
    )


def opened(where: Path | None, data: Path | None, *, write: bool = False) -> Collection:
    """The collection that a command speaks of."""
    folder = where if data is not None and where is not None else locate(where)
    return likewise.open(folder, data=data, write=write)


def emit(value: Any) -> None:
    """Print a value as JSON; file names that are no Unicode stay printable."""
    text = json.dumps(value, ensure_ascii=False, indent=1, default=_plain)
    typer.echo(text.encode("utf-8", "replace").decode())


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    return str(value)


def printable(text: str) -> str:
    """A file name on one line of a terminal."""
    safe = text.encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() else "�" for c in safe)


def item_or_file(text: str) -> int | str:
    """An item's number, or a name: what a person wrote for a picture."""
    return int(text) if text.isdigit() and not Path(text).exists() else text


@contextlib.contextmanager
def progress_bar(title: str, unit: str = "pictures") -> Iterator[Telling]:
    """A bar with rate and time left on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield Telling(None, unit)
        return
    from rich import progress
    from rich.console import Console

    said, pace = map(progress.TextColumn, ("{task.description}", "{task.fields[pace]}"))
    columns = (said, progress.BarColumn(), progress.MofNCompleteColumn(), pace)
    with progress.Progress(*columns, console=Console(stderr=True)) as bar:
        bar.add_task(title, total=None, pace="")
        yield Telling(bar, unit)


@dataclass
class Telling:
    """Shows how far work is; time left is the forecast's, by bytes, where there is one."""

    bar: Any
    unit: str
    forecast: Forecast | None = None

    def __call__(self, done: int, total: int) -> None:
        """So many are done of so many."""
        if self.bar is None:
            return
        from likewise.intake.forecast import duration  # heavy: not for every command

        task = self.bar.tasks[0]
        left = self.forecast.seconds if self.forecast else task.time_remaining
        rest = f", {duration(left)} left" if left and done < total else ""
        pace = f"{task.speed or 0.0:,.0f} {self.unit}/s{rest}"
        self.bar.update(task.id, completed=done, total=total, pace=pace)

    def foreseen(self, forecast: Forecast) -> None:
        """Say the length of the whole once, and keep what is left."""
        if self.forecast is None and self.bar is not None:
            self.bar.console.print(f"{forecast.sentence}.", highlight=False)
        self.forecast = forecast


def table(columns: list[str], rows: list[list[Any]]) -> str:
    """A small table; on a terminal a long last column goes on below itself."""
    cells = [columns, *([printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    left = sum(widths[:-1]) + 2 * len(widths[:-1])
    room = max(24, shutil.get_terminal_size().columns - left) if sys.stdout.isatty() else 10**6
    lines = []
    for *first, last in cells:
        for at, part in enumerate(textwrap.wrap(last, room) or [""]):
            shown = first if at == 0 else [""] * len(first)
            row = [cell.ljust(width) for cell, width in zip(shown, widths)]
            lines.append("  ".join([*row, part]).rstrip())
    return "\n".join(lines)
