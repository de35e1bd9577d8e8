"""Judgements from the command line: mark, import, export, list, undo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from likewise.cli.common import (
    SOME_FAILED,
    AsJson,
    Data,
    Where,
    emit,
    item_or_file,
    opened,
    plain_errors,
    printable,
    table,
)
from likewise.types import LOOK, JudgementKind

app = typer.Typer(no_args_is_help=True, help="Import, export, list and undo judgements.")

Format = Annotated[
    str, typer.Option("--format", help="csv, tsv, jsonl, parquet, qrels or ubi; else by ending.")
]

By = Annotated[str | None, typer.Option("--by", help="Of this person only.")]
Source = Annotated[str | None, typer.Option("--source", help="From here only: cli, web, a key.")]


@plain_errors
def mark(
    query: Annotated[
        str | None, typer.Argument(help="The query picture: an item or a file.")
    ] = None,
    relevant: Annotated[
        list[str] | None, typer.Option("--relevant", "-r", help="An item that is meant.")
    ] = None,
    irrelevant: Annotated[
        list[str] | None, typer.Option("--not", "-n", help="An item that is not meant.")
    ] = None,
    text: Annotated[str, typer.Option("--text", help="Mark for these words instead.")] = "",
    line: Annotated[str, typer.Option(help="What was searched: look or objects.")] = LOOK,
    person: Annotated[str, typer.Option(help="Who says so.")] = "",
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Mark items as relevant or not to a query; its next search is better at once.

    Example: likewise mark beach.jpg -r a.jpg -r b.jpg --not c.jpg
    """
    with opened(where, data, write=True) as collection:
        shown = () if text or not query else item_or_file(query)
        asked = collection.query(shown, text, line=line)
        records: list[int] = []
        for items, value in ((relevant or [], True), (irrelevant or [], False)):
            if items:
                records += collection.mark(
                    asked, [item_or_file(i) for i in items], value, person=person, source="cli"
                )
    if as_json:
        emit({"records": records})
    else:
        typer.echo(f"{len(records)} marks written; take one back with: likewise judgements undo")


@app.command("import")
@plain_errors
def import_(
    file: Annotated[Path, typer.Argument(help="The file to read.")],
    format: Format = "",
    text_queries: Annotated[
        bool, typer.Option("--text-queries", help="The queries are words, not items.")
    ] = False,
    queries: Annotated[
        Path | None, typer.Option(help="For UBI events: the file of UBI queries.")
    ] = None,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Read judgements from a file; good rows are kept, bad ones are listed.

    A table of clicks has the columns query, image (or item) and count (or clicks).

    Example: likewise judgements import labels.csv
    """
    options: dict[str, object] = {"format": format or None}
    if text_queries:
        options["query_kind"] = "text"
    if queries is not None:
        options["queries"] = queries
    with opened(where, data, write=True) as collection:
        count, bad = collection.teaching.read(file, **options)
    if as_json:
        emit({"imported": count, "problems": bad})
    else:
        typer.echo(f"{count:,} judgements read.")
        for line in bad:
            typer.echo(f"  {printable(line)}", err=True)
    if bad:
        raise typer.Exit(SOME_FAILED)


@app.command("export")
@plain_errors
def export(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    format: Format = "",
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Only these: label, click or ordering; may be repeated."),
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(help="For UBI events: the file of UBI queries to write.")
    ] = None,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Write every judgement that counts to a file, or those of some kinds.

    Example: likewise judgements export judgements.jsonl

    Example: likewise judgements export events.jsonl --kind click --format ubi --queries asked.jsonl
    """
    with opened(where, data) as collection:
        count = collection.teaching.write(
            file,
            kinds=cast(list[JudgementKind], kind or []),
            format=format or None,
            queries=queries,
        )
    if as_json:
        emit({"exported": count, "file": str(file)})
    else:
        typer.echo(f"{count:,} judgements written to {file}.")


@app.command("list")
@plain_errors
def list_(
    last: Annotated[int, typer.Option(help="How many, newest last.")] = 20,
    by: By = None,
    source: Source = None,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """List the latest judgements with their numbers: all, or those of a person or source.

    Example: likewise judgements list --last 50 --by ann
    """
    with opened(where, data) as collection:
        records = list(collection.log.records(undone=True, person=by, source=source))[-last:]
    if as_json:
        emit([{"id": r.id, "undone": r.undone, "judgement": r.judgement} for r in records])
        return
    rows = [
        [r.id, "undone" if r.undone else "", r.judgement.kind, r.judgement.query.value,
         " ".join(r.judgement.items), f"{r.judgement.value:g}", r.judgement.person,
         r.judgement.source]
        for r in records
    ]  # fmt: skip
    table("", ["", "", "kind", "query", "items", "value", "person", "source"], rows)


@app.command("undo")
@plain_errors
def undo(
    record: Annotated[int | None, typer.Argument(help="Its number; the last one if none.")] = None,
    by: By = None,
    source: Source = None,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Take a judgement back, or all of a person or source.

    Example: likewise judgements undo 12

    Example: likewise judgements undo --by ann --source web
    """
    with opened(where, data, write=True) as collection:
        if record is None and (by, source) != (None, None):
            undos = collection.log.undo_all(by=by, of=source, source="cli")
            if as_json:
                emit({"undos": undos})
            else:
                typer.echo(f"{len(undos):,} judgements no longer count.")
            return
        number = collection.undo(record, source="cli")
    if as_json:
        emit({"undone": number})
    else:
        typer.echo(f"Judgement {number} no longer counts.")
