"""Labels without a browser: a loop in the terminal, or class folders as labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from likewise.cli.common import Said, item_or_file, printable, verb
from likewise.cli.judging import app
from likewise.collection.learn.methods import DEFAULT

if TYPE_CHECKING:
    from likewise.collection import Collection


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
