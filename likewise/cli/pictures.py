"""Pictures in, results out: index, search, problems, duplicates, neighbours."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import likewise
from likewise.cli import common
from likewise.filters import Filter
from likewise.types import LOOK, BadInput, Busy

if TYPE_CHECKING:
    from likewise.collection import Answer, Collection
    from likewise.collection.options import Crop


@common.verb()
def index(
    folder: Annotated[Path, typer.Argument(help="The folder of pictures.")],
    data: common.Data = None,
    features: Annotated[
        str,
        typer.Option(
            help="Blocks to compute, with commas: deep,colour,... or onnx:FILE, clip:FOLDER; words "
            "adds same-object search."
        ),
    ] = "",
    describe: Annotated[
        list[Path] | None, typer.Option(help="A CSV, JSONL or Parquet file of tags and captions.")
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(help="Own vectors (.npy or Parquet) instead of features.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="What serves from now on: flat, faiss, tree, auto (by size), or a server: "
            "postgresql://user@host/database."
        ),
    ] = "",
    smoothing: Annotated[
        str,
        typer.Option(
            help="Whether a picture takes in its nearest neighbours from now on: on, off, or auto "
            "(where a check shows no harm)."
        ),
    ] = "",
    network: Annotated[
        str, typer.Option(help="What gives the deep features from now on: lite0, lite1, lite2.")
    ] = "",
    arithmetic: Annotated[
        str, typer.Option(help="How it computes: float32, or int8 (faster, a little less exact).")
    ] = "",
    processes: Annotated[int | None, typer.Option(help="Child processes; one a core.")] = None,
    gps: Annotated[bool, typer.Option("--gps", help="Keep where pictures were taken.")] = False,
    accept_missing: Annotated[
        bool, typer.Option("--accept-missing", help="Missing files are really gone.")
    ] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Try unreadable files and damaged vectors again.")
    ] = False,
    quiet: common.Quiet = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how long it would take and how much room.")
    ] = False,
) -> common.Said:
    """Index a folder: only new and changed pictures are read.

    Ctrl-C pauses; running it again goes on.

    Example: likewise index ~/Pictures
    """
    wanted = [name.strip() for name in features.split(",") if name.strip()] or None
    if dry_run:
        from likewise.collection.foresight import foreseen

        forecast = foreseen(folder, data, wanted, processes=1 if quiet else processes)
        return common.Said(asdict(forecast), f"{forecast.sentence}.")
    with likewise.open(folder, data=data, create=True) as collection:
        with common.progress_bar("Indexing") as tell:
            report = collection.index(
                features=wanted, processes=processes, gps=gps, accept_missing=accept_missing,
                retry=retry, vectors=vectors, engine=engine or None, smoothing=smoothing or None,
                network=network or None, arithmetic=arithmetic or None, quiet=quiet, progress=tell,
                foreseen=tell.foreseen,
            )  # fmt: skip
        notes = [
            problem for file in describe or [] for problem in collection.describe(file).problems
        ]
        status = collection.status()
    done = "Indexed" if report.finished else "Paused after"
    lines = [
        f"{done} {report.embedded:,} new pictures in {report.seconds:.1f} s: "
        f"{status['findable']:,} can be found, {report.removed:,} left, "
        f"{status['items']['problem']:,} unreadable, {report.unreachable:,} unreachable.",
        *report.notes,
    ]
    if status["items"]["problem"]:
        lines.append("  See why with: likewise problems")
    failed = report.problems or report.unreadable_folders or notes
    return common.Said(
        {**report.__dict__, "status": status, "notes": [*report.notes, *notes]},
        "\n".join(lines),
        [f"  {common.printable(line)}" for line in [*report.unreadable_folders, *notes]],
        common.SOME_FAILED if failed else common.OK,
    )


@common.verb()
def search(
    pictures: Annotated[
        list[str] | None, typer.Argument(help="Items or picture files; none for words alone.")
    ] = None,
    text: Annotated[str, typer.Option("--text", "-t", help="Words to look for.")] = "",
    without: Annotated[
        list[str] | None, typer.Option("--without", "-w", help="A picture of what is not meant.")
    ] = None,
    weights: Annotated[
        list[float] | None, typer.Option(help="Weight of each picture, in order.")
    ] = None,
    crop: Annotated[
        str, typer.Option(help="Part of the first picture: left,top,right,bottom from 0 to 1.")
    ] = "",
    k: Annotated[int, typer.Option("-k", help="How many results.")] = 20,
    model: Annotated[
        str, typer.Option(help="A model's number, or plain; the active one where not given.")
    ] = "",
    folder: Annotated[str, typer.Option(help="Only below this folder of the collection.")] = "",
    tags: Annotated[list[str] | None, typer.Option(help="Only with this tag.")] = None,
    without_tags: Annotated[list[str] | None, typer.Option(help="Only without this tag.")] = None,
    since: Annotated[str, typer.Option(help="Taken then or later: 2020, 2020-05 ...")] = "",
    until: Annotated[str, typer.Option(help="Taken then or earlier.")] = "",
    formats: Annotated[list[str] | None, typer.Option(help="Only JPEG, PNG, ...")] = None,
    min_pixels: Annotated[int | None, typer.Option(help="Width times height at least.")] = None,
    max_pixels: Annotated[int | None, typer.Option(help="Width times height at most.")] = None,
    fold: Annotated[bool, typer.Option("--fold", help="Fold near-duplicates into one.")] = False,
    pin: Annotated[bool, typer.Option("--pin", help="Put the query itself first.")] = False,
    compact: Annotated[
        bool, typer.Option("--compact", help="Search words over a small index.")
    ] = False,
    marks: Annotated[
        bool, typer.Option("--marks/--no-marks", help="Use marks on this very query.")
    ] = True,
    use: Annotated[
        list[str] | None, typer.Option(help="Use the marks of an offer too, by its name.")
    ] = None,
    open_: Annotated[
        int | None,
        typer.Option("--open", help="Open this result (1: the first); it counts as a click."),
    ] = None,
    line: Annotated[
        str, typer.Option(help="look, or objects: find the same object, not the same look.")
    ] = LOOK,
    check: Annotated[
        int, typer.Option(help="Put so many first results in order by geometry (line objects).")
    ] = 0,
    sheet: Annotated[Path | None, typer.Option(help="Write a contact sheet (PNG or JPEG).")] = None,
    where: common.Where = None,
    data: common.Data = None,
) -> common.Said:
    """Search by pictures, words, or both.

    Example: likewise search beach.jpg --text "dog" --without rain.jpg -k 10
    """
    wanted = Filter(
        folder=folder or None, tags=tuple(tags or ()), without_tags=tuple(without_tags or ()),
        since=since or None, until=until or None, formats=tuple(formats or ()),
        min_pixels=min_pixels, max_pixels=max_pixels,
    )  # fmt: skip
    with common.opened(where, data) as collection:
        answer = collection.search(
            [common.item_or_file(p) for p in pictures or ()],
            text,
            without=[common.item_or_file(p) for p in without or ()],
            weights=weights or None,
            crop=parse_crop(crop),
            line=line,
            k=k,
            filter=wanted,
            model=model or None,
            marks=marks,
            use=use or (),
            pin=pin,
            fold=fold,
            compact=compact,
            check=check,
        )
        if sheet is not None:
            write_sheet(collection, answer, sheet)
        if open_ is not None:
            chosen = open_result(collection, answer, open_)
    if open_ is not None:
        log_click(where, data, (pictures or [], text, parse_crop(crop), line), chosen, open_)
    beside = filter(None, [answer.degraded, *answer.notes])
    return common.Said(answer.as_json(), _shown(answer), beside)


def open_result(collection: Collection, answer: Answer, place: int) -> int:
    """Show a result with whatever shows pictures here; gives its item."""
    if not 1 <= place <= len(answer.results):
        raise BadInput(f"There are {len(answer.results)} results; open one from 1 on.")
    item = answer.results[place - 1].item
    typer.launch(str(collection.file(item)))
    return item


def log_click(
    where: Path | None,
    data: Path | None,
    asked: tuple[list[str], str, Crop | None, str],
    item: int,
    place: int,
) -> None:
    """Write down that a result was opened; while another process writes, say that it is not."""
    pictures, text, crop, line = asked
    try:
        with common.opened(where, data, write=True) as collection:
            shown = [common.item_or_file(p) for p in pictures]
            query = collection.query(shown, text, crop=crop, line=line)
            collection.click(query, item, source="cli", position=place)
    except Busy as error:
        typer.echo(f"The click was not kept: {error}", err=True)


@common.verb()
def suggest(
    collection: Collection,
    text: Annotated[str, typer.Argument(help="Words.")],
    k: Annotated[int, typer.Option("-k", help="How many.")] = 8,
) -> common.Said:
    """Name queries near this one: earlier ones, and tags, that ask for alike pictures.

    Example: likewise suggest "red stripes"
    """
    found = collection.suggest(text, k)
    none = [] if found else ["No learned query is near; see: likewise methods"]
    value = [{"text": t, "score": score} for t, score in found]
    return common.Said(value, "\n".join(common.printable(other) for other, _ in found), none)


def parse_crop(text: str) -> Crop | None:
    """A crop as people write it."""
    if not text:
        return None
    try:
        left, top, right, bottom = (float(part) for part in text.split(","))
    except ValueError:
        raise BadInput("Write a crop as left,top,right,bottom, for instance 0,0,0.5,1.") from None
    return left, top, right, bottom


def _shown(answer: Answer) -> str:
    """An answer as a table with what it rests on."""
    lines = []
    if not answer.results:
        lines.append("Nothing found.")
    else:
        rows = [
            [place, r.item, f"{r.score:.4f}", r.path, " + ".join(r.found_by)]
            for place, r in enumerate(answer.results, start=1)
        ]
        if any(r.inliers is not None for r in answer.results):
            for row, r in zip(rows, answer.results):
                row.append("" if r.inliers is None else r.inliers)
        heads = ["", "item", "score", "file", "found by"]
        lines.append(
            common.table(heads + ["places that agree"] * (len(rows[0]) - len(heads)), rows)
        )
    rests = f"model {answer.model}, index {answer.generation}"
    if answer.reader:
        rests += f", words read by {answer.reader}"
    if answer.marks:
        rests += f", {answer.marks} marks on this query"
    lines.append(f"({rests}, {answer.seconds * 1e3:.0f} ms)")
    for offer in answer.offers:
        says = "Uses" if offer.used else "You could use"
        taught = offer.text or offer.name
        option = "" if offer.used else f": --use {shlex.quote(offer.name)}"
        lines.append(
            f"{says} your feedback on {common.printable(taught)} "
            f"({offer.right} right, {offer.wrong} wrong){common.printable(option)}"
        )
    return "\n".join(lines)


def write_sheet(collection: Collection, answer: Answer, path: Path) -> None:
    """A contact sheet of an answer."""
    import io

    from PIL import Image

    from likewise.layout.sheet import contact_sheet

    small = (io.BytesIO(collection.thumbnail(result.item)) for result in answer.results)
    pictures = [Image.open(file) for file in small]
    names = [common.printable(Path(r.path).name) for r in answer.results]
    contact_sheet(pictures, path, captions=names)


@common.verb()
def problems(collection: Collection) -> common.Said:
    """List files that could not be read, each with one reason.

    Example: likewise problems --json
    """
    found = collection.problems()
    text = "Every file could be read."
    if found:
        text = common.table(["item", "file", "reason"], [[i.id, i.file, i.reason] for i in found])
        text += "\nMended files are read by the next: likewise index (or index --retry)"
    return common.Said([{"item": i.id, "file": i.file, "reason": i.reason} for i in found], text)


@common.verb()
def duplicates(
    collection: Collection,
    threshold: Annotated[
        float | None, typer.Option(help="How alike, from 0 to 1 (default 0.9).")
    ] = None,
) -> common.Said:
    """List groups of near-duplicates.

    Example: likewise duplicates --threshold 0.95
    """
    found = collection.duplicates(threshold)
    names = {i: collection.item(i).file for group in found for i in group}
    lines = ["  ".join(common.printable(names[i]) for i in group) for group in found]
    lines.append(f"{len(found):,} groups of near-duplicates.")
    value = [[{"item": i, "file": names[i]} for i in group] for group in found]
    return common.Said(value, "\n".join(lines))


@common.verb()
def neighbours(
    collection: Collection,
    file: Annotated[Path, typer.Argument(help="The Parquet file to write.")],
    k: Annotated[int, typer.Option("-k", help="How many of each.")] = 10,
) -> common.Said:
    """Write the k nearest of every item as Parquet.

    Example: likewise neighbours nearest.parquet -k 20
    """
    rows = collection.neighbours(file, k)
    return common.Said({"file": str(file), "rows": rows}, f"Wrote {rows:,} rows to {file}.")
