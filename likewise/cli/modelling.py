"""Models from the command line: learn, list, show, compare, activate, roll back."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.common import (
    AsJson,
    Data,
    Where,
    emit,
    opened,
    plain_errors,
    printable,
    table,
)
from likewise.collection.learn.methods import METHODS, SLOTS
from likewise.learners.settings import from_text, settings_of
from likewise.types import BadInput

if TYPE_CHECKING:
    from likewise.collection import Collection, Model

models_app = typer.Typer(no_args_is_help=True, help="List, compare and switch models.")

Force = Annotated[bool, typer.Option("--force", help="Activate it whatever the guard says.")]
Task = Annotated[str, typer.Option(help=f"What is ranked or read by it: {', '.join(SLOTS)}.")]
Which = Annotated[str, typer.Argument(help="Its number or name, or plain.")]


@plain_errors
def learn(
    method: Annotated[str, typer.Argument(help="A way of learning; see: likewise methods")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method; repeatable."),
    ] = None,
    name: Annotated[str, typer.Option(help="A name for the model.")] = "",
    activate: Annotated[
        bool, typer.Option("--activate/--no-activate", help="Activate it if the guard lets it.")
    ] = True,
    force: Force = False,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Learn a model from what was said; it serves if held-out judgements speak for it.

    Ctrl-C stops; where learning takes long, running it again goes on.

    Example: likewise learn bilinear --name "what I mean" --set extension=groups
    """
    settings = dict(_written(text) for text in set_ or [])
    METHODS[method].read(settings)  # before anything is opened
    with opened(where, data, write=True) as collection:
        model = collection.learn(
            method, name=name, activate=activate, force=force, seed=seed, settings=settings
        )
        active = set(collection.models.all_active().values())
    if as_json:
        emit(METHODS.as_json(model, active))
        return
    show_card(model)
    if model.card["guard"].get("by") == "check" and model.id not in active:
        typer.echo(f"A short check decides: likewise models check {model.id}")
    if model.id in active:
        task = METHODS.task(model.card)
        back = "likewise models rollback" + f" --task {task}" * (task != "look")
        typer.echo(f"Model {model.id} is active for {task}; take it back: {back}")


def _written(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f"Write a setting as NAME=VALUE, not {text!r}.")
    return name.strip(), from_text(value)


@plain_errors
def methods(as_json: AsJson = False) -> None:
    """List the ways of learning, with what can be set.

    Example: likewise methods
    """
    if as_json:
        emit({"methods": [m.as_json() for m in METHODS.values()], "problems": METHODS.problems})
        return
    for method in METHODS.values():
        brought = f" (from the package {method.package})" if method.package else ""
        typer.echo(f"{method.name}: {method.title}{brought}")
        typer.echo(f"  {method.help}")
        rows = [
            [s.name, str(s.default).lower(), s.takes, s.help] for s in settings_of(method.settings)
        ]
        table("", ["--set", "default", "takes", ""], rows)
        typer.echo("")
    for sentence in METHODS.problems:
        typer.echo(sentence, err=True)


def show_card(model: Model) -> None:
    """Print what a model tells of itself."""
    card = model.card
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(model.made))
    method = METHODS.of_card(card)
    by = card.get("kind") if method is None else method.name
    typer.echo(f"Model {model.id}, {model.name} ({by}), made {made}.")
    if "queries" in card:
        typer.echo(
            f"Learned from {card['judgements']:,} judgements"
            + (f" and {card['captions']:,} captions" if "captions" in card else "")
            + f" on {card['queries']:,} queries in {card['seconds']:.1f} s."
        )
    for note in (card.get("report") or {}).get("notes", []):
        typer.echo(f"  {note}")
    rows = card.get("held_out") or []
    if rows:
        known = ("judged_map", "map", "p1", "top_precision", "difference", "p_value")
        names = [n for n in known if _any(rows, n)]
        cells = [[r["method"], *(_number(r.get(n)) for n in names)] for r in rows]
        table("On held-out queries:", ["model", *names], cells)
    if card.get("table"):
        show_table(card["table"])
    sentence = (card.get("guard") or {}).get("sentence")
    if sentence:
        typer.echo(sentence)


def show_table(bins: list[dict[str, Any]]) -> None:
    """Print t(j, l) of a word table: a word j times in the query, l times in the picture."""
    n = len(bins[0]["table"]) - 1
    pairs = [(j, l) for j in range(n + 1) for l in range(n + 1)]
    cells = [
        [f"{b['idf']:.1f}", f"{b['words']:,}", *(f"{b['table'][j][l]:+.2f}" for j, l in pairs)]
        for b in bins
    ]
    typer.echo("What a word says by its counts (query, picture), common words first:")
    table("", ["idf", "words", *(f"{j},{l}" for j, l in pairs)], cells)


def _any(rows: list[dict[str, Any]], name: str) -> bool:
    return any(r.get(name) is not None for r in rows)


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.4f}"


@models_app.command("list")
@plain_errors
def list_(where: Where = None, data: Data = None, as_json: AsJson = False) -> None:
    """List the models, the active one marked.

    Example: likewise models list
    """
    with opened(where, data) as collection:
        models, tasks = collection.models.all(), collection.models.all_active()
    active = set(tasks.values())
    if as_json:
        emit([METHODS.as_json(m, active) for m in models])
        return
    rows = [
        ["*" if m.id in active else "", m.id, m.name,
         METHODS.task(m.card), (m.card.get("guard") or {}).get("sentence", "")]
        for m in models
    ]  # fmt: skip
    table("", ["", "", "name", "for", "guard"], rows)
    if "look" not in tasks:
        typer.echo("Plain similarity ranks every search.")
    if "text" not in tasks:
        typer.echo("Words are looked up in texts only.")


@models_app.command("show")
@plain_errors
def show(
    model: Which,
    plot: Annotated[
        Path | None, typer.Option(help="Plot a word table by bin of words (PNG or SVG).")
    ] = None,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Show a model's card: data, settings, held-out measures, what the guard said.

    Example: likewise models show 3
    """
    with opened(where, data) as collection:
        found = collection.models.get(model)
        active = set(collection.models.all_active().values())
    if plot is not None:
        if "table" not in found.card:
            raise BadInput(f"Model {found.id} is no word table; only those are plotted.")
        from likewise.layout.word_table import plot_word_table

        plot_word_table(found.card["table"], plot)
    if as_json:
        emit(METHODS.as_json(found, active))
    else:
        show_card(found)


@models_app.command("check")
@plain_errors
def check(
    model: Annotated[
        str | None, typer.Argument(help="Its number or name; the newest where not given.")
    ] = None,
    item: Annotated[int | None, typer.Option(help="Answer for the search of this picture.")] = None,
    right: Annotated[
        list[int] | None, typer.Option(help="A picture that is right for it; repeatable.")
    ] = None,
    skip: Annotated[bool, typer.Option("--skip", help="Leave this search out.")] = False,
    person: Annotated[str, typer.Option(help="Who says so.")] = "",
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """A short check of a learned model: of these pictures, which are right?

    It asks in the terminal and stops when you do; the model that passes serves at once. With
    --item or --json it takes one answer, or none, and says what is asked next.

    Example: likewise models check
    """
    with opened(where, data, write=True) as collection:
        said: dict[str, Any] = {"item": item, "right": right or (), "skip": skip, "person": person}
        found = collection.check(model, **said)
        while not as_json and item is None and found.item is not None:
            typer.echo(
                f"\nSearch {found.done + 1} of {found.size}: like {_file(collection, found.item)}"
            )
            for number, one in enumerate(found.items, start=1):
                typer.echo(f"  {number}  {_file(collection, one)}")
            reply = typer.prompt("Which are right? Numbers, 0 for none, s(kip), q(uit)").strip()
            if reply[:1] == "q":
                break
            numbers = [int(n) for n in reply.replace(",", " ").split() if n.isdecimal()]
            if reply[:1] != "s" and (not numbers or max(numbers) > len(found.items)):
                continue
            said |= {"item": found.item, "skip": reply[:1] == "s"}
            said["right"] = [found.items[n - 1] for n in numbers if n]
            found = collection.check(found.model, **said)
    if as_json:
        emit(asdict(found))
    else:
        typer.echo(f"{found.done} of {found.size} searches are checked. {found.sentence}")


def _file(collection: Collection, item: int) -> str:
    return printable(str(collection.file(item)))


@models_app.command("activate")
@plain_errors
def activate(
    model: Which,
    force: Force = False,
    task: Task = "look",
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Let a model rank, or read text, from now on; plain takes the model of a task away.

    Example: likewise models activate 3
    """
    with opened(where, data, write=True) as collection:
        collection.models.activate(model, force=force, task=task)
        now = task if model == "plain" else METHODS.task(collection.models.get(model).card)
        _say_active(collection.models.active(now), now, as_json)


@models_app.command("rollback")
@plain_errors
def rollback(
    task: Task = "look", where: Where = None, data: Data = None, as_json: AsJson = False
) -> None:
    """Go back to what ranked, or read text, before.

    Example: likewise models rollback
    """
    with opened(where, data, write=True) as collection:
        collection.models.rollback(task=task)
        _say_active(collection.models.active(task), task, as_json)


_DOES = {
    "look": "Searches are ranked",
    "text": "Text is read",
    "objects": "Same-object searches are ranked",
}


def _say_active(active: Model | None, task: str, as_json: bool) -> None:
    none = "full text alone" if task == "text" else "plain"
    title = none if active is None else f"{active.id} {active.name}"
    if as_json:
        emit({"active": None if active is None else active.id, "title": title, "task": task})
    else:
        typer.echo(f"{_DOES[task]} by: {title}.")


@models_app.command("export")
@plain_errors
def export(
    model: Which,
    target: Annotated[Path, typer.Argument(help="The folder or file to write.")],
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Write a model with its card to a file.

    Example: likewise models export 3 model.safetensors
    """
    with opened(where, data) as collection:
        written = collection.models.write(model, target)
    if as_json:
        emit({"file": str(written)})
    else:
        typer.echo(f"Wrote {written}.")


@models_app.command("import")
@plain_errors
def import_(
    source: Annotated[Path, typer.Argument(help="What export wrote.")],
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Read a model that was learned in the same space.

    Example: likewise models import model.safetensors
    """
    with opened(where, data, write=True) as collection:
        model = collection.models.read(source)
    if as_json:
        emit(METHODS.as_json(model))
    else:
        typer.echo(f"Read model {model.id}, {model.name}; activate it to use it.")


@plain_errors
def evaluate(
    models: Annotated[
        list[str] | None, typer.Argument(help="Models by number; all where none is named.")
    ] = None,
    judgements: Annotated[
        Path | None, typer.Option(help="Judge by this file instead of the log.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a plot (PNG or SVG).")] = None,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Compare models with plain similarity on judgements, with significance.

    A model has seen the log it was learned from; its card has the held-out measures.

    Example: likewise evaluate 2 3 --judgements test.csv --plot models.png
    """
    with opened(where, data) as collection:
        ranks = [m for m in collection.models.all() if METHODS.task(m.card) != "objects"]
        chosen = models or [str(m.id) for m in ranks]
        given = None
        if judgements is not None:
            from likewise.judgements import read_judgements

            given = list(read_judgements(judgements).judgements)
        compared = collection.models.evaluate(chosen, given)
        if plot is not None:
            compared.plot(plot)
    if as_json:
        emit([dict(r) for r in compared.rows])
    else:
        typer.echo(compared.text())
