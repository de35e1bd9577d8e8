"""Models from the command line: learn, list, show, compare, activate, roll back."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli.common import AsJson, Data, Where, emit, opened, plain_errors, table
from likewise.collection import Collection
from likewise.collection.modelling import DEFAULT, OBJECTS, WORDS, slot_of
from likewise.store import Model
from likewise.types import BadInput

learn_app = typer.Typer(no_args_is_help=True, help="Learn a model from judgements.")
models_app = typer.Typer(no_args_is_help=True, help="List, compare and switch models.")

Force = Annotated[bool, typer.Option("--force", help="Activate it whatever the guard says.")]
Words = Annotated[bool, typer.Option("--words", help="Of the models that read words.")]
Objects = Annotated[
    bool, typer.Option("--same-object", help="Of the models that find the same object.")
]
Which = Annotated[str, typer.Argument(help="Its number or name, or plain.")]


@learn_app.command("labels")
@plain_errors
def learn_labels(
    objective: Annotated[
        str, typer.Option(help="bilinear (around taught queries) or top-precision.")
    ] = "bilinear",
    name: Annotated[str, typer.Option(help="A name for the model.")] = "",
    activate: Annotated[
        bool, typer.Option("--activate/--no-activate", help="Activate it if the guard lets it.")
    ] = True,
    force: Force = False,
    space: Annotated[
        str, typer.Option(help="words: learn the table of same-object search instead.")
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Learn from marks and orderings; it serves later queries if held-out judgements say so.

    Example: likewise learn labels --name "what I mean"
    """
    with opened(where, data, write=True) as collection:
        model = collection.models.learn(
            objective, name=name, activate=activate, force=force, seed=seed, space=space
        )
        _say_learned(collection, model, as_json)


@learn_app.command("clicks")
@plain_errors
def learn_clicks(
    name: Annotated[str, typer.Option(help="A name for the model.")] = "",
    captions: Annotated[
        bool, typer.Option("--captions/--no-captions", help="A caption counts as one click.")
    ] = True,
    propensity: Annotated[
        float,
        typer.Option(help="At place r results are looked at with chance r^-N; 0: all alike."),
    ] = 0.0,
    more: Annotated[
        bool, typer.Option("--more", help="Go on from the active model with what came since.")
    ] = False,
    dim: Annotated[int, typer.Option(help="Dimensions that words and pictures share.")] = 80,
    threads: Annotated[int, typer.Option(help="Threads of the descent, 1 to 3.")] = 1,
    activate: Annotated[
        bool, typer.Option("--activate/--no-activate", help="Activate it if the guard lets it.")
    ] = True,
    force: Force = False,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Learn what words look like, from clicks after words and from captions.

    Then words find pictures that carry no text at all. Ctrl-C stops; running it again goes on.

    Example: likewise learn clicks --name words
    """
    settings: dict[str, Any] = {"captions": captions, "propensity": propensity, "more": more}
    settings |= {"dim": dim, "threads": threads}
    with opened(where, data, write=True) as collection:
        model = collection.models.learn(
            "clicks", name=name, activate=activate, force=force, seed=seed, settings=settings
        )
        _say_learned(collection, model, as_json)


_NOW = {
    DEFAULT: ("ranks every search", ""),
    WORDS: ("reads every text query", " --words"),
    OBJECTS: ("ranks every same-object search", " --same-object"),
}


def _say_learned(collection: Collection, model: Model, as_json: bool) -> None:
    active = set(collection.models.all_active().values())
    if as_json:
        emit(as_row(model, active))
        return
    show_card(model)
    if model.id in active:
        does, flag = _NOW[slot_of(model)]
        back = f"likewise models rollback{flag}"
        typer.echo(f"Model {model.id} now {does}; take it back: {back}")


def as_row(model: Model, active: set[int]) -> dict[str, Any]:
    """A model as JSON."""
    return {
        "id": model.id,
        "name": model.name,
        "slot": slot_of(model),
        "active": model.id in active,
        "made": model.made,
        "space": model.space,
        "card": dict(model.card),
    }


def show_card(model: Model) -> None:
    """Print what a model tells of itself."""
    card = model.card
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(model.made))
    typer.echo(f"Model {model.id}, {model.name} ({card.get('kind')}), made {made}.")
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
        names = [n for n in ("judged_map", "map", "p1", "difference", "p_value") if _any(rows, n)]
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
        models, slots = collection.models.all(), collection.models.all_active()
    active = set(slots.values())
    if as_json:
        emit([as_row(m, active) for m in models])
        return
    rows = [
        ["*" if m.id in active else "", m.id, m.name,
         m.card.get("kind", ""), (m.card.get("guard") or {}).get("sentence", "")]
        for m in models
    ]  # fmt: skip
    table("", ["", "", "name", "kind", "guard"], rows)
    if "default" not in slots:
        typer.echo("Plain similarity ranks every search.")
    if "words" not in slots:
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
        found = collection.store.models.get(collection.models.number(model))
        active = set(collection.models.all_active().values())
    if plot is not None:
        if slot_of(found) != OBJECTS:
            raise BadInput(f"Model {found.id} is no word table; only those are plotted.")
        from likewise.layout.word_table import plot_word_table

        plot_word_table(found.card["table"], plot)
    if as_json:
        emit(as_row(found, active))
    else:
        show_card(found)


@models_app.command("activate")
@plain_errors
def activate(
    model: Which,
    force: Force = False,
    words: Words = False,
    same_object: Objects = False,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Let a model rank every search, or read its words (plain: none), in one step.

    Example: likewise models activate 3
    """
    with opened(where, data, write=True) as collection:
        done = collection.models.activate(model, force=force, slot=_slot(words, same_object))
        _say_active(collection, done.slot, as_json)


@models_app.command("rollback")
@plain_errors
def rollback(
    words: Words = False,
    same_object: Objects = False,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Go back to what ranked, or what read words, before.

    Example: likewise models rollback
    """
    with opened(where, data, write=True) as collection:
        done = collection.models.rollback(slot=_slot(words, same_object))
        _say_active(collection, done.slot, as_json)


def _slot(words: bool, same_object: bool) -> str:
    if words and same_object:
        raise BadInput("Say --words or --same-object, not both.")
    return WORDS if words else OBJECTS if same_object else DEFAULT


_RANKED = {
    DEFAULT: "Searches are ranked",
    WORDS: "Words are read",
    OBJECTS: "Same-object searches are ranked",
}


def _say_active(collection: Any, slot: str, as_json: bool) -> None:
    active = collection.models.active(slot)
    none = "full text alone" if slot == WORDS else "plain"
    title = none if active is None else f"{active.id} {active.name}"
    if as_json:
        emit({"active": None if active is None else active.id, "title": title, "slot": slot})
    else:
        typer.echo(f"{_RANKED[slot]} by: {title}.")


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
        emit(as_row(model, set()))
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
        ranks = [m for m in collection.models.all() if slot_of(m) != OBJECTS]
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
