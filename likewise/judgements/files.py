"""Import and export of judgements: the format is told by the file's name, or by you."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from likewise.judgements import tables
from likewise.judgements.exchange import ImportResult, PathLike, existing
from likewise.judgements.records import QUERY_KINDS, Judgements
from likewise.judgements.trec import read_qrels, write_qrels
from likewise.judgements.ubi import read_ubi, write_ubi
from likewise.types import BadInput, QueryKind

Format = Literal["csv", "tsv", "jsonl", "parquet", "qrels", "ubi"]

_ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".qrels": "qrels",
    ".trec": "qrels",
}


_WAYS: dict[str, tuple[Callable[..., ImportResult], Callable[..., None]]] = {
    "csv": (tables.read_csv, tables.write_csv),
    "tsv": (
        partial(tables.read_csv, delimiter="\t"),
        partial(tables.write_csv, delimiter="\t"),
    ),
    "jsonl": (tables.read_jsonl, tables.write_jsonl),
    "parquet": (tables.read_parquet, tables.write_parquet),
    "qrels": (read_qrels, write_qrels),
}


def format_of(path: PathLike, format: Format | None = None) -> Format:
    """The format that was named, or that the file's ending tells."""
    if format is not None:
        if format not in get_args(Format):
            known = ", ".join(get_args(Format))
            raise BadInput(f"There is no format {format!r}; the formats are {known}.")
        return format
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        raise BadInput(
            f"The ending of {Path(path).name} does not tell its format; name one of "
            f"{', '.join(get_args(Format))}."
        )
    return _ENDINGS[ending]


def read_judgements(
    path: PathLike,
    *,
    format: Format | None = None,
    query_kind: QueryKind | None = None,
    queries: PathLike | None = None,
) -> ImportResult:
    """Read judgements from a file; bad rows are reported and the good ones kept.

    Parameters
    ----------
    path
        The file.
    format
        ``csv``, ``tsv``, ``jsonl``, ``parquet``, ``qrels`` or ``ubi``; told by the ending
        unless given (``ubi`` must be given).
    query_kind
        What the queries are, where the file does not say: ``item`` for labels and
        ``text`` for clicks unless given.
    queries
        For ``ubi``: the file of queries.

    Returns
    -------
    ImportResult
        ``judgements`` and ``problems``, each with file, line and reason.  A file that cannot be
        used as a whole (truncated, another encoding, columns are missing) is refused.
    """
    chosen = format_of(path, format)
    if query_kind is not None and query_kind not in QUERY_KINDS:
        raise BadInput(f"A query is an item, an upload or a text, not {query_kind!r}.")
    if queries is not None and chosen != "ubi":
        raise BadInput("A file of queries belongs to UBI events only.")
    found = existing(path)
    if chosen == "ubi":
        return read_ubi(found, queries, query_kind=query_kind)
    return _WAYS[chosen][0](found, query_kind)


def write_judgements(
    judgements: Judgements,
    path: PathLike,
    *,
    format: Format | None = None,
    queries: PathLike | None = None,
) -> None:
    """Write judgements to a file, which appears, or replaces the old one, only when whole.

    CSV, TSV, JSONL and Parquet hold all of every judgement.  Qrels hold labels and UBI events
    hold clicks; other judgements are refused there.

    Parameters
    ----------
    judgements
        What to write.
    path
        The file.
    format
        As in :func:`read_judgements`.
    queries
        For ``ubi``: the file of queries, which is needed.
    """
    chosen = format_of(path, format)
    if (queries is not None) != (chosen == "ubi"):
        raise BadInput("UBI events, and they only, need a second file for the queries.")
    if chosen == "ubi":
        write_ubi(judgements, path, queries or "")
    else:
        _WAYS[chosen][1](judgements, path)
