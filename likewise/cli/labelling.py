"""Labels without a browser: a loop in the terminal, or class folders as labels."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from likewise.cli.common import (
    AsJson,
    Data,
    Where,
    emit,
    item_or_file,
    opened,
    plain_errors,
    printable,
)
from likewise.cli.judging import app
from likewise.collection.learn.methods import DEFAULT


@plain_errors
def label(
    query: Annotated[str, typer.Argument(help="The query picture: an item or a file.")],
    count: Annotated[int, typer.Option("-n", help="How many candidates.")] = 10,
    person: Annotated[str, typer.Option(help="Who says so.")] = "",
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Judge candidates of a query one by one: y(es), n(o), s(kip), u(ndo), q(uit).

    Half of the candidates are the nearest, the others are those that models dispute.

    Example: likewise label beach.jpg -n 20
    """
    with opened(where, data, write=True) as collection:
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
    if as_json:
        emit({"records": done})
    else:
        typer.echo(f"{len(done)} marks written; learn from them with: likewise learn {DEFAULT}")


@app.command("folders")
@plain_errors
def folders(
    queries: Annotated[int, typer.Option(help="Reference queries of each folder.")] = 5,
    marks: Annotated[int, typer.Option(help="Labels of each query.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the choice.")] = 0,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Take class folders as labels: a picture is relevant to those of its own folder.

    Example: likewise judgements folders --queries 10
    """
    from likewise.collection.learn.folders import SOURCE, class_of, labels_of_folders

    rng = np.random.default_rng(seed)
    written, named = 0, set()
    with opened(where, data, write=True) as collection:
        ids = collection.look.view().ids.tolist()
        paths = [item.file for item in collection.items.many(ids)]
        for query, same, others in labels_of_folders(paths, queries, marks, rng):
            named.add(class_of(query))
            asked = collection.query(query)
            for items, relevant in ((same, True), (others, False)):
                written += len(collection.mark(asked, items, relevant, source=SOURCE))
    if as_json:
        emit({"written": written})
    else:
        typer.echo(f"{written:,} labels from {len(named):,} folders.")
