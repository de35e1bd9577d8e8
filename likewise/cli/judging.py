"""Judgements from the command line: mark, label, import, export, list, undo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import numpy as np
import typer

from likewise.cli.common import OK, SOME_FAILED, Said, item_or_file, printable, table, verb
from likewise.collection.learn.methods import DEFAULT
from likewise.types import LOOK, JudgementKind

if TYPE_CHECKING:
    from likewise.collection import Collection

app = typer.Typer(no_args_is_help=True, help="Import, export, list and undo judgements.")

Format = Annotated[
    str, typer.Option("--format", help="csv, tsv, jsonl, parquet, qrels or ubi; else by ending.")
]

By = Annotated[str | None, typer.Option("--by", help="Of this person only.")]
Source = Annotated[str | None, typer.Option("--source", help="From here only: cli, web, a key.")]


@verb(write=True)
def mark(
    collection: Collection,
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
) -> Said:
    """Mark items as relevant or not to a query; its next search is better at once.

    Example: likewise mark beach.jpg -r a.jpg -r b.jpg --not c.jpg
    """
    shown = () if text or not query else item_or_file(query)
    asked = collection.query(shown, text, line=line)
    records: list[int] = []
    for items, value in ((relevant or [], True), (irrelevant or [], False)):
        if items:
            records += collection.mark(
                asked, [item_or_file(i) for i in items], value, person=person, source="cli"
            )
    written = f"{len(records)} marks written; take one back with: likewise judgements undo"
    return Said({"records": records}, written)


@app.command("import")
@verb(write=True)
def import_(
    collection: Collection,
    file: Annotated[Path, typer.Argument(help="The file to read.")],
    format: Format = "",
    text_queries: Annotated[
        bool, typer.Option("--text-queries", help="The queries are words, not items.")
    ] = False,
    queries: Annotated[
        Path | None, typer.Option(help="For UBI events: the file of UBI queries.")
    ] = None,
) -> Said:
    """Read judgements from a file; good rows are kept, bad ones are listed.

    A table of clicks has the columns query, image (or item) and count (or clicks).

    Example: likewise judgements import labels.csv
    """
    options: dict[str, object] = {"format": format or None}
    if text_queries:
        options["query_kind"] = "text"
    if queries is not None:
        options["queries"] = queries
    count, bad = collection.teaching.read(file, **options)
    beside = [f"  {printable(line)}" for line in bad]
    found = {"imported": count, "problems": bad}
    return Said(found, f"{count:,} judgements read.", beside, SOME_FAILED if bad else OK)


@app.command("export")
@verb()
def export(
    collection: Collection,
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    format: Format = "",
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Only these: label, click or ordering; may be repeated."),
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(help="For UBI events: the file of UBI queries to write.")
    ] = None,
) -> Said:
    """Write every judgement that counts to a file, or those of some kinds.

    Example: likewise judgements export judgements.jsonl

    Example: likewise judgements export events.jsonl --kind click --format ubi --queries asked.jsonl
    """
    kinds = cast(list[JudgementKind], kind or [])
    count = collection.teaching.write(file, kinds=kinds, format=format or None, queries=queries)
    done = {"exported": count, "file": str(file)}
    return Said(done, f"{count:,} judgements written to {file}.")


@app.command("list")
@verb()
def list_(
    collection: Collection,
    last: Annotated[int, typer.Option(help="How many, newest last.")] = 20,
    by: By = None,
    source: Source = None,
) -> Said:
    """List the latest judgements with their numbers: all, or those of a person or source.

    Example: likewise judgements list --last 50 --by ann
    """
    records = list(collection.log.records(undone=True, person=by, source=source))[-last:]
    found = [{"id": r.id, "undone": r.undone, "judgement": r.judgement} for r in records]
    rows = [
        [r.id, "undone" if r.undone else "", r.judgement.kind, r.judgement.query.value,
         " ".join(r.judgement.items), f"{r.judgement.value:g}", r.judgement.person,
         r.judgement.source]
        for r in records
    ]  # fmt: skip
    titles = ["", "", "kind", "query", "items", "value", "person", "source"]
    return Said(found, table(titles, rows))


@app.command("undo")
@verb(write=True)
def undo(
    collection: Collection,
    record: Annotated[int | None, typer.Argument(help="Its number; the last one if none.")] = None,
    by: By = None,
    source: Source = None,
) -> Said:
    """Take a judgement back, or all of a person or source.

    Example: likewise judgements undo 12

    Example: likewise judgements undo --by ann --source web
    """
    if record is None and (by, source) != (None, None):
        undos = collection.log.undo_all(by=by, of=source, source="cli")
        none = "Nothing that counts is from there; see who said what: likewise judgements list"
        told = f"{len(undos):,} judgements no longer count." if undos else none
        return Said({"undos": undos}, told)
    number = collection.undo(record, source="cli")
    return Said({"undone": number}, f"Judgement {number} no longer counts.")


@verb(write=True)
def label(
    collection: Collection,
    query: Annotated[str, typer.Argument(help="The query picture: an item or a file.")],
    count: Annotated[int, typer.Option("-n", help="How many candidates.")] = 10,
    person: Annotated[str, typer.Option(help="Who says so.")] = "",
) -> Said:
    """Judge candidates of a query one by one: y(es), n(o), s(kip), u(ndo), q(uit).

    Half of the candidates are the nearest, the others are those that models dispute.

    Example: likewise label beach.jpg -n 20
    """
    asked = collection.query(item_or_file(query))
    candidates = collection.candidates(asked, count)
    done: list[int] = []
    for place, item in enumerate(candidates, start=1):
        name = printable(str(collection.file(item)))
        reply = ""
        while reply not in ("y", "n", "s", "q"):
            reply = typer.prompt(f"[{place}/{len(candidates)}] {name}  y/n/s/u/q").strip()[:1]
            if reply == "u" and done:
                collection.undo(done.pop(), person=person, source="cli")
                typer.echo("Undone.")
        if reply == "q":
            break
        if reply in ("y", "n"):
            done += collection.mark(asked, [item], reply == "y", person=person, source="cli")
    written = f"{len(done)} marks written; learn from them with: likewise learn {DEFAULT}"
    return Said({"records": done}, written)


@app.command("folders")
@verb(write=True)
def folders(
    collection: Collection,
    queries: Annotated[int, typer.Option(help="Reference queries of each folder.")] = 5,
    marks: Annotated[int, typer.Option(help="Labels of each query.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the choice.")] = 0,
) -> Said:
    """Take class folders as labels: a picture is relevant to those of its own folder.

    Example: likewise judgements folders --queries 10
    """
    from likewise.collection.learn.folders import SOURCE, class_of, labels_of_folders

    rng = np.random.default_rng(seed)
    written, named = 0, set()
    ids = collection.look.view().ids.tolist()
    paths = [item.file for item in collection.items.many(ids)]
    for query, same, others in labels_of_folders(paths, queries, marks, rng):
        named.add(class_of(query))
        asked = collection.query(query)
        for items, relevant in ((same, True), (others, False)):
            written += len(collection.mark(asked, items, relevant, source=SOURCE))
    return Said({"written": written}, f"{written:,} labels from {len(named):,} folders.")
