"""Keeping a collection well: status, forget, verify, backup, restore, doctor."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise import collection as kept
from likewise.cli import common
from likewise.collection.learn.methods import METHODS
from likewise.intake import confine
from likewise.types import DATA_FOLDER

if TYPE_CHECKING:
    from likewise.collection import Collection


def _data(where: Path | None, data: Path | None) -> Path:
    return data if data is not None else common.locate(where) / DATA_FOLDER


@common.verb(write=True)
def add(
    collection: Collection,
    folder: Annotated[Path, typer.Argument(help="Another folder of pictures, on any drive.")],
) -> common.Said:
    """Add a folder to a collection, and index it.

    Where it is away later, its pictures stay; where it moved, add it again from its new place.

    Example: likewise add /media/drive/photos --collection ~/Pictures
    """
    collection.add(folder)
    with common.progress_bar("Indexing") as tell:
        report = collection.index(progress=tell, foreseen=tell.foreseen)
    return common.Said(
        asdict(report),
        f"Added {common.printable(str(folder))}: {report.embedded:,} new pictures, "
        f"{report.renamed:,} known ones that had moved.",
    )


@common.verb(write=True)
def remove(
    collection: Collection,
    folder: Annotated[Path, typer.Argument(help="A folder that was added.")],
) -> common.Said:
    """Leave a folder that was added; its files and the marks on its pictures stay.

    Example: likewise remove /media/drive/photos --collection ~/Pictures
    """
    gone = collection.remove(folder)
    name = common.printable(str(folder))
    return common.Said(
        {"removed": gone}, f"Removed {name}: {gone:,} pictures are searched no more."
    )


@common.verb()
def status(collection: Collection) -> common.Said:
    """Say what is indexed, what is unreadable, and which model ranks.

    Example: likewise status
    """
    found = collection.status()
    items = found["items"]
    lines = [
        f"{', '.join(found['roots'])}: {found['findable']:,} pictures can be found.",
        f"{found['waiting']:,} wait, {items['problem']:,} are unreadable, "
        f"{found['unreachable']:,} are unreachable, {items['removed']:,} have left; "
        f"{found['judgements']:,} judgements; model {found['model']}, index {found['generation']}.",
        *(f"  {common.printable(line)}" for line in found["unreachable_folders"]),
    ]
    if found["reader"]:
        lines.append(f"Words are read by model {found['reader']}.")
    if found["degraded"]:
        lines.append(found["degraded"])
    return common.Said(found, "\n".join(lines))


@common.verb(write=True)
def forget(
    collection: Collection,
    items: Annotated[list[str], typer.Argument(help="Items, by path or number.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> common.Said:
    """Remove items' vectors, thumbnails and judgements for good; the files stay.

    Example: likewise forget party.jpg
    """
    found = [collection.item(common.item_or_file(i)) for i in items]
    if not yes:
        names = ", ".join(i.name for i in found[:5])
        typer.confirm(f"Forget {len(found)} items ({names}) for good?", abort=True)
    gone = collection.forget([i.id for i in found])
    told = [f"Forgot {len(found):,} items. Their files were not touched."]
    told += filter(None, [collection.look.view(checked=False).degraded])
    return common.Said(asdict(gone), "\n".join(told))


@common.verb()
def verify(
    engine: Annotated[
        bool, typer.Option("--engine", help="Compare the engine's server too, and repair it.")
    ] = False,
    where: common.Where = None,
    data: common.Data = None,
) -> common.Said:
    """Check every checksum and every reference of the data folder.

    Example: likewise verify
    """
    found = kept.verify(_data(where, data))
    if engine:
        with common.opened(where, data, write=True) as collection:
            found += collection.verify_engine()
    text = "\n".join(f"{f.severity}: {f.sentence}" for f in found) or "All is well."
    code = common.DATA if any(f.severity == "damage" for f in found) else common.OK
    return common.Said([asdict(f) for f in found], text, code=code)


@common.verb()
def backup(
    target: Annotated[Path, typer.Argument(help="A folder that does not exist yet.")],
    where: common.Where = None,
    data: common.Data = None,
) -> common.Said:
    """Copy the data folder as it is at one moment, even while another process writes.

    Example: likewise backup /media/disk/likewise-2026-01-01
    """
    done = kept.backup(_data(where, data), target)
    text = f"Copied {done.files:,} files ({done.bytes / 1e6:,.1f} MB) to {done.folder}."
    return common.Said({"folder": str(done.folder), "files": done.files, "bytes": done.bytes}, text)


@common.verb()
def restore(
    source: Annotated[Path, typer.Argument(help="A folder that backup made.")],
    folder: Annotated[Path, typer.Argument(help="The folder of pictures.")],
    data: common.Data = None,
) -> common.Said:
    """Bring a backup back as the data folder of a folder of pictures.

    Example: likewise restore /media/disk/likewise-2026-01-01 ~/Pictures
    """
    done = kept.restore(source, data if data is not None else folder / DATA_FOLDER)
    text = f"Restored {done.files:,} files to {done.folder}."
    return common.Said({"folder": str(done.folder), "files": done.files, "bytes": done.bytes}, text)


@common.verb()
def doctor(where: common.Where = None, data: common.Data = None) -> common.Said:
    """Look at the machine and the data folder: versions, room, permissions.

    Example: likewise doctor
    """
    confined = "confined" if confine.is_possible() else "not confined: this needs Linux's seccomp"
    facts = [*kept.doctor(_data(where, data)), kept.Fact("children", confined)]
    facts += [
        kept.Fact("method", sentence, "Update or uninstall that package.")
        for sentence in METHODS.problems
    ]
    rows = [["ok" if f.well else "look", f.name, f.value, f.advice] for f in facts]
    code = common.OK if all(f.well for f in facts) else common.SOME_FAILED
    text = common.table(["", "what", "finding", "advice"], rows)
    return common.Said([asdict(f) for f in facts], text, code=code)
