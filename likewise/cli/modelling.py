"""Models from the command line: learn, list, show, compare, activate, roll back."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.common import Data, Said, Where, opened, printable, table, verb
from likewise.collection.learn.methods import METHODS, SLOTS
from likewise.learners.settings import from_text, settings_of
from likewise.types import BadInput

if TYPE_CHECKING:
    from likewise.collection import Collection, Model

models_app = typer.Typer(no_args_is_help=True, help="List, compare and switch models.")

Force = Annotated[bool, typer.Option("--force", help="Activate it whatever the guard says.")]
Task = Annotated[str, typer.Option(help=f"What is ranked or read by it: {', '.join(SLOTS)}.")]
Which = Annotated[str, typer.Argument(help="Its number or name, or plain.")]


@verb()
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
) -> Said:
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
    lines = [_card(model)]
    if model.card["guard"].get("by") == "check" and model.id not in active:
        lines.append(f"A short check decides: likewise models check {model.id}")
    if model.id in active:
        task = METHODS.task(model.card)
        back = "likewise models rollback" + f" --task {task}" * (task != "look")
        lines.append(f"Model {model.id} is active for {task}; take it back: {back}")
    return Said(METHODS.as_json(model, active), "\n".join(lines))


def _written(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f"Write a setting as NAME=VALUE, not {text!r}.")
    return name.strip(), from_text(value)


@verb()
def methods() -> Said:
    """List the ways of learning, with what can be set.

    Example: likewise methods
    """
    lines = []
    for method in METHODS.values():
        brought = f" (from the package {method.package})" if method.package else ""
        rows = [
            [s.name, str(s.default).lower(), s.takes, s.help] for s in settings_of(method.settings)
        ]
        lines += [f"{method.name}: {method.title}{brought}", f"  {method.help}"]
        lines += [table(["--set", "default", "takes", ""], rows), ""]
    found = {"methods": [m.as_json() for m in METHODS.values()], "problems": METHODS.problems}
    return Said(found, "\n".join(lines), METHODS.problems)


def _card(model: Model) -> str:
    """What a model tells of itself."""
    card = model.card
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(model.made))
    method = METHODS.of_card(card)
    by = card.get("kind") if method is None else method.name
    lines = [f"Model {model.id}, {model.name} ({by}), made {made}."]
    if "queries" in card:
        lines.append(
            f"Learned from {card['judgements']:,} judgements"
            + (f" and {card['captions']:,} captions" if "captions" in card else "")
            + f" on {card['queries']:,} queries in {card['seconds']:.1f} s."
        )
    lines += [f"  {note}" for note in (card.get("report") or {}).get("notes", [])]
    rows = card.get("held_out") or []
    if rows:
        known = ("judged_map", "map", "p1", "top_precision", "difference", "p_value")
        names = [n for n in known if any(r.get(n) is not None for r in rows)]
        cells = [[r["method"], *(_number(r.get(n)) for n in names)] for r in rows]
        lines += ["On held-out queries:", table(["model", *names], cells)]
    if card.get("table"):
        lines += _word_table(card["table"])
    lines += filter(None, [(card.get("guard") or {}).get("sentence")])
    return "\n".join(lines)


def _word_table(bins: list[dict[str, Any]]) -> list[str]:
    """t(j, l) of a word table: a word j times in the query, l times in the picture."""
    n = len(bins[0]["table"]) - 1
    pairs = [(j, l) for j in range(n + 1) for l in range(n + 1)]
    cells = [
        [f"{b['idf']:.1f}", f"{b['words']:,}", *(f"{b['table'][j][l]:+.2f}" for j, l in pairs)]
        for b in bins
    ]
    head = "What a word says by its counts (query, picture), common words first:"
    return [head, table(["idf", "words", *(f"{j},{l}" for j, l in pairs)], cells)]


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.4f}"


@models_app.command("list")
@verb()
def list_(collection: Collection) -> Said:
    """List the models, the active one marked.

    Example: likewise models list
    """
    models, tasks = collection.models.all(), collection.models.all_active()
    active = set(tasks.values())
    rows = [
        ["*" if m.id in active else "", m.id, m.name,
         METHODS.task(m.card), (m.card.get("guard") or {}).get("sentence", "")]
        for m in models
    ]  # fmt: skip
    lines = [table(["", "", "name", "for", "guard"], rows)]
    if "look" not in tasks:
        lines.append("Plain similarity ranks every search.")
    if "text" not in tasks:
        lines.append("Words are looked up in texts only.")
    return Said([METHODS.as_json(m, active) for m in models], "\n".join(lines))


@models_app.command("show")
@verb()
def show(
    collection: Collection,
    model: Which,
) -> Said:
    """Show a model's card: data, settings, held-out measures, what the guard said.

    Example: likewise models show 3
    """
    found = collection.models.get(model)
    active = set(collection.models.all_active().values())
    return Said(METHODS.as_json(found, active), _card(found))


@models_app.command("check")
@verb(write=True)
def check(
    collection: Collection,
    model: Annotated[
        str | None, typer.Argument(help="Its number or name; the newest where not given.")
    ] = None,
    item: Annotated[int | None, typer.Option(help="Answer for the search of this picture.")] = None,
    right: Annotated[
        list[int] | None, typer.Option(help="A picture that is right for it; repeatable.")
    ] = None,
    skip: Annotated[bool, typer.Option("--skip", help="Leave this search out.")] = False,
    person: Annotated[str, typer.Option(help="Who says so.")] = "",
    as_json: bool = False,
) -> Said:
    """A short check of a learned model: of these pictures, which are right?

    It asks in the terminal and stops when you do; the model that passes serves at once. With
    --item or --json it takes one answer, or none, and says what is asked next.

    Example: likewise models check
    """
    said: dict[str, Any] = {"item": item, "right": right or (), "skip": skip, "person": person}
    found = collection.check(model, **said)
    while not as_json and item is None and found.item is not None:
        like, *shown = (printable(str(collection.file(i))) for i in (found.item, *found.items))
        typer.echo(f"\nSearch {found.done + 1} of {found.size}: like {like}")
        for number, file in enumerate(shown, start=1):
            typer.echo(f"  {number}  {file}")
        reply = typer.prompt("Which are right? Numbers, 0 for none, s(kip), q(uit)").strip()
        if reply[:1] == "q":
            break
        numbers = [int(n) for n in reply.replace(",", " ").split() if n.isdecimal()]
        if reply[:1] != "s" and (not numbers or max(numbers) > len(found.items)):
            continue
        said |= {"item": found.item, "skip": reply[:1] == "s"}
        said["right"] = [found.items[n - 1] for n in numbers if n]
        found = collection.check(found.model, **said)
    done = f"{found.done} of {found.size} searches are checked. {found.sentence}"
    return Said(asdict(found), done)


@models_app.command("activate")
@verb(write=True)
def activate(
    collection: Collection, model: Which, force: Force = False, task: Task = "look"
) -> Said:
    """Let a model rank, or read text, from now on; plain takes the model of a task away.

    Example: likewise models activate 3
    """
    collection.models.activate(model, force=force, task=task)
    now = task if model == "plain" else METHODS.task(collection.models.get(model).card)
    return _active(collection.models.active(now), now)


@models_app.command("rollback")
@verb(write=True)
def rollback(collection: Collection, task: Task = "look") -> Said:
    """Go back to what ranked, or read text, before.

    Example: likewise models rollback
    """
    collection.models.rollback(task=task)
    return _active(collection.models.active(task), task)


_DOES = {
    "look": "Searches are ranked",
    "text": "Text is read",
    "objects": "Same-object searches are ranked",
}


def _active(active: Model | None, task: str) -> Said:
    none = "full text alone" if task == "text" else "plain"
    title = none if active is None else f"{active.id} {active.name}"
    value = {"active": None if active is None else active.id, "title": title, "task": task}
    return Said(value, f"{_DOES[task]} by: {title}.")


@models_app.command("export")
@verb()
def export(
    collection: Collection,
    model: Which,
    target: Annotated[Path, typer.Argument(help="The folder or file to write.")],
) -> Said:
    """Write a model with its card to a file.

    Example: likewise models export 3 model.safetensors
    """
    written = collection.models.write(model, target)
    return Said({"file": str(written)}, f"Wrote {written}.")


@models_app.command("import")
@verb(write=True)
def import_(
    collection: Collection, source: Annotated[Path, typer.Argument(help="What export wrote.")]
) -> Said:
    """Read a model that was learned in the same space.

    Example: likewise models import model.safetensors
    """
    model = collection.models.read(source)
    read = f"Read model {model.id}, {model.name}; activate it to use it."
    return Said(METHODS.as_json(model), read)


@verb()
def evaluate(
    collection: Collection,
    models: Annotated[
        list[str] | None, typer.Argument(help="Models by number; all where none is named.")
    ] = None,
    judgements: Annotated[
        Path | None, typer.Option(help="Judge by this file instead of the log.")
    ] = None,
) -> Said:
    """Compare models with plain similarity on judgements, with significance.

    A model has seen the log it was learned from; its card has the held-out measures.

    Example: likewise evaluate 2 3 --judgements test.csv
    """
    ranks = [m for m in collection.models.all() if METHODS.task(m.card) != "objects"]
    chosen = models or [str(m.id) for m in ranks]
    given = None
    if judgements is not None:
        from likewise.judgements import read_judgements

        given = list(read_judgements(judgements).judgements)
    compared = collection.models.evaluate(chosen, given)
    return Said([dict(r) for r in compared.rows], compared.text())
