"""Keeping a collection well: status, forget, verify, backup, restore, doctor."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from likewise import collection as kept
from likewise.cli.common import (
    DATA,
    SOME_FAILED,
    AsJson,
    Data,
    Where,
    emit,
    item_or_file,
    locate,
    opened,
    plain_errors,
    printable,
    progress_bar,
    table,
)
from likewise.collection.learn.methods import METHODS
from likewise.intake import confine
from likewise.types import DATA_FOLDER


def _data(where: Path | None, data: Path | None) -> Path:
    return data if data is not None else locate(where) / DATA_FOLDER


@plain_errors
def add(
    folder: Annotated[Path, typer.Argument(help="Another folder of pictures, on any drive.")],
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Add a folder to a collection, and index it.

    Where it is away later, its pictures stay; where it moved, add it again from its new place.

    Example: likewise add /media/drive/photos --collection ~/Pictures
    """
    with opened(where, data, write=True) as collection:
        collection.add(folder)
        with progress_bar("Indexing") as tell:
            report = collection.index(progress=tell, foreseen=tell.foreseen)
    if as_json:
        emit(asdict(report))
    else:
        typer.echo(
            f"Added {printable(str(folder))}: {report.embedded:,} new pictures, "
            f"{report.renamed:,} known ones that had moved."
        )


@plain_errors
def remove(
    folder: Annotated[Path, typer.Argument(help="A folder that was added.")],
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Leave a folder that was added; its files and the marks on its pictures stay.

    Example: likewise remove /media/drive/photos --collection ~/Pictures
    """
    with opened(where, data, write=True) as collection:
        gone = collection.remove(folder)
    if as_json:
        emit({"removed": gone})
    else:
        typer.echo(f"Removed {printable(str(folder))}: {gone:,} pictures are searched no more.")


@plain_errors
def status(where: Where = None, data: Data = None, as_json: AsJson = False) -> None:
    """Say what is indexed, what is unreadable, and which model ranks.

    Example: likewise status
    """
    with opened(where, data) as collection:
        found = collection.status()
    if as_json:
        emit(found)
        return
    items = found["items"]
    typer.echo(f"{', '.join(found['roots'])}: {found['findable']:,} pictures can be found.")
    typer.echo(
        f"{found['waiting']:,} wait, {items['problem']:,} are unreadable, "
        f"{found['unreachable']:,} are unreachable, {items['removed']:,} have left; "
        f"{found['judgements']:,} judgements; model {found['model']}, index {found['generation']}."
    )
    for line in found["unreachable_folders"]:
        typer.echo(f"  {printable(line)}")
    if found["reader"]:
        typer.echo(f"Words are read by model {found['reader']}.")
    if found["degraded"]:
        typer.echo(found["degraded"])


@plain_errors
def forget(
    items: Annotated[list[str], typer.Argument(help="Items, by path or number.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Remove items' vectors, thumbnails and judgements for good; the files stay.

    Example: likewise forget party.jpg
    """
    with opened(where, data, write=True) as collection:
        found = [collection.item(item_or_file(i)) for i in items]
        if not yes:
            names = ", ".join(i.name for i in found[:5])
            typer.confirm(f"Forget {len(found)} items ({names}) for good?", abort=True)
        gone = collection.forget([i.id for i in found])
        degraded = collection.look.view(checked=False).degraded
    if as_json:
        emit(asdict(gone))
    else:
        typer.echo(f"Forgot {len(found):,} items. Their files were not touched.")
        if degraded:
            typer.echo(degraded)


@plain_errors
def verify(
    engine: Annotated[
        bool, typer.Option("--engine", help="Compare the engine's server too, and repair it.")
    ] = False,
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Check every checksum and every reference of the data folder.

    Example: likewise verify
    """
    found = kept.verify(_data(where, data))
    if engine:
        with opened(where, data, write=True) as collection:
            found += collection.verify_engine()
    if as_json:
        emit([asdict(f) for f in found])
    else:
        for finding in found:
            typer.echo(f"{finding.severity}: {finding.sentence}")
        if not found:
            typer.echo("All is well.")
    if any(f.severity == "damage" for f in found):
        raise typer.Exit(DATA)


@plain_errors
def backup(
    target: Annotated[Path, typer.Argument(help="A folder that does not exist yet.")],
    where: Where = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Copy the data folder as it is at one moment, even while another process writes.

    Example: likewise backup /media/disk/likewise-2026-01-01
    """
    done = kept.backup(_data(where, data), target)
    if as_json:
        emit({"folder": str(done.folder), "files": done.files, "bytes": done.bytes})
    else:
        typer.echo(f"Copied {done.files:,} files ({done.bytes / 1e6:,.1f} MB) to {done.folder}.")


@plain_errors
def restore(
    source: Annotated[Path, typer.Argument(help="A folder that backup made.")],
    folder: Annotated[Path, typer.Argument(help="The folder of pictures.")],
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Bring a backup back as the data folder of a folder of pictures.

    Example: likewise restore /media/disk/likewise-2026-01-01 ~/Pictures
    """
    done = kept.restore(source, data if data is not None else folder / DATA_FOLDER)
    if as_json:
        emit({"folder": str(done.folder), "files": done.files, "bytes": done.bytes})
    else:
        typer.echo(f"Restored {done.files:,} files to {done.folder}.")


@plain_errors
def doctor(where: Where = None, data: Data = None, as_json: AsJson = False) -> None:
    """Look at the machine and the data folder: versions, room, permissions.

    Example: likewise doctor
    """
    confined = "confined" if confine.is_possible() else "not confined: this needs Linux's seccomp"
    facts = [*kept.doctor(_data(where, data)), kept.Fact("children", confined, True)]
    facts += [
        kept.Fact("method", sentence, False, "Update or uninstall that package.")
        for sentence in METHODS.problems
    ]
    if as_json:
        emit([asdict(f) for f in facts])
    else:
        table(
            "",
            ["", "what", "finding", "advice"],
            [["ok" if f.well else "look", f.name, f.value, f.advice] for f in facts],
        )
    if not all(f.well for f in facts):
        raise typer.Exit(SOME_FAILED)
