"""Tags and captions that lie beside the pictures, in CSV, JSONL or Parquet files.

A row names a file (column ``file``, ``path`` or ``name``, relative to the folder) and
has any of ``tags`` (separated by ``|``), ``caption`` and ``captions`` (separated by
``|``).  Other columns are kept as metadata.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from likewise.store import Described, Store, as_key
from likewise.types import BadInput, DataProblem, NotFound

BESIDE = ("captions", "tags", "metadata")
"""Files of these names in the collection's folder are read by themselves."""
ENDINGS = (".csv", ".jsonl", ".parquet")
_FILE = ("file", "path", "name")
_BATCH = 1000


@dataclass
class SidecarReport:
    """What was read: rows that found their item, and the others with a reason."""

    described: int = 0
    problems: list[str] = field(default_factory=list)


def read_beside(store: Store, folder: Path) -> None:
    """Read sidecar files in the collection's folder that are new or changed."""
    for name, ending in itertools.product(BESIDE, ENDINGS):
        path = folder / (name + ending)
        if path.is_file():
            mark = f"sidecar:{path.name}"
            # New items may be the ones that a row speaks of: read again when their number changes.
            count = str(sum(store.items.counts().values())).encode()
            digest = hashlib.sha256(path.read_bytes() + count).hexdigest()
            if store.settings.get(mark) != digest:
                read_sidecar(store, folder, path)
                store.settings.set(mark, digest)


def read_sidecar(store: Store, folder: Path, path: Path) -> SidecarReport:
    """Read one file of tags and captions; good rows are kept, bad ones are reported."""
    report = SidecarReport()
    batch: list[Described] = []
    rows = list(_numbered(path))
    keys = {line: as_key(name) for line, row in rows if (name := _name(row))}
    known = store.items.ids(list(set(keys.values())))
    for line, row in rows:
        if line not in keys:
            report.problems.append(f"{path.name}, row {line}: no column file, path or name.")
            continue
        item = known.get(keys[line])
        if item is None:
            report.problems.append(f"{path.name}, row {line}: {_name(row)!r} is not an item.")
            continue
        batch.append(_described(item, row))
        report.described += 1
    for start in range(0, len(batch), _BATCH):
        store.texts.describe(batch[start : start + _BATCH], source="folder")
    return report


def _name(row: dict[str, Any]) -> str:
    return next((str(row[c]) for c in _FILE if row.get(c)), "")


def _described(item: int, row: dict[str, Any]) -> Described:
    extra = {
        key: value
        for key, value in row.items()
        if key not in (*_FILE, "tags", "caption", "captions") and value not in (None, "")
    }
    captions = [*_parts(row.get("captions")), *_parts(row.get("caption"), split=False)]
    return Described(item, _parts(row.get("tags")), captions, extra)


def _parts(value: Any, *, split: bool = True) -> list[str]:
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        texts = [str(v) for v in value]
    else:
        texts = str(value).split("|") if split else [str(value)]
    return [text.strip() for text in texts if text.strip()]


def _numbered(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    ending = path.suffix.lower()
    try:
        if ending == ".csv":
            with open(path, encoding="utf-8-sig", newline="") as file:
                yield from enumerate(csv.DictReader(file), start=2)
        elif ending == ".jsonl":
            with open(path, encoding="utf-8") as file:
                for line, text in enumerate(file, start=1):
                    if text.strip():
                        row = json.loads(text)
                        yield line, row if isinstance(row, dict) else {}
        elif ending == ".parquet":
            import pyarrow.parquet as parquet

            for line, row in enumerate(parquet.read_table(path).to_pylist(), start=1):
                yield line, row
        else:
            raise BadInput(f"Tags and captions come as CSV, JSONL or Parquet, not {path.name}.")
    except UnicodeDecodeError:
        raise BadInput(f"{path.name} is not UTF-8 text; save it as UTF-8 and try again.") from None
    except (json.JSONDecodeError, csv.Error, OSError) as error:
        raise DataProblem(f"{path.name} cannot be read: {error}.") from None
