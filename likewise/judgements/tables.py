"""One table of judgements, three ways to store it: CSV, JSONL and Parquet.

All three have the same columns and read back exactly what was written.  They
also accept the two simple tables that people have: ``query, item, relevant`` and
``query, item, clicks``.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, cast

from likewise.judgements import exchange
from likewise.judgements.records import Judgements, check_judgement
from likewise.later import parquet, pyarrow
from likewise.types import LOOK, BadInput, DataProblem, Judgement, QueryKind, QueryRef

FULL = ("query", "items", "kind")
LABELS = ("query", "item", "relevant")
CLICKS = ("query", "item", "clicks")
ALSO = {"image": "item", "count": "clicks"}
"""Other names of columns that click logs come with."""

_TYPES = {
    "query_kind": "string", "query": "string", "crop": "[double]", "items": "[string]",
    "kind": "string", "value": "double", "time": "double", "person": "string",
    "source": "string", "position": "int64", "line": "string",
}  # fmt: skip
COLUMNS = tuple(_TYPES)
_TRUE = {"true", "yes", "y", "relevant"}
_FALSE = {"false", "no", "n", "irrelevant", "not relevant"}


# -- One row -------------------------------------------------------------------


Row = Mapping[str, Any]
Parser = Callable[[Row], Judgement]


def parser(columns: Iterable[str], query_kind: QueryKind | None) -> Parser:
    """The function that makes a judgement of a row with these columns."""
    named = set(columns)
    other = {old: new for old, new in ALSO.items() if old in named and new not in named}
    if other and not named.issuperset(FULL):
        inner = parser({other.get(name, name) for name in named}, query_kind)
        return lambda row: inner({other.get(name, name): value for name, value in row.items()})
    if named.issuperset(FULL):
        return lambda row: _full(row, query_kind or "item")
    if named.issuperset(LABELS):
        return lambda row: _simple(row, "label", _relevant(row["relevant"]), query_kind or "item")
    if named.issuperset(CLICKS):
        return lambda row: _simple(
            row, "click", exchange.as_number(row["clicks"], "clicks"), query_kind or "text"
        )
    missing = min((set(form) - named for form in (FULL, LABELS, CLICKS)), key=len)
    raise BadInput(
        f"The columns {', '.join(sorted(missing))} are missing; needed are query, items and kind, "
        "or query, item and relevant, or query, item and clicks."
    )


def _full(row: Row, query_kind: QueryKind) -> Judgement:
    items = row["items"]
    if isinstance(items, str):
        items = [items]
    if not isinstance(items, (list, tuple)):
        raise BadInput("The items must be a list of texts.")
    kind = row["kind"]
    value = row.get("value")
    if kind == "ordering" and value in (None, ""):
        value = 1.0
    return check_judgement(
        Judgement(
            _query(row, query_kind),
            tuple(exchange.as_text(item, "item") for item in items),
            kind,
            exchange.as_number(value, "value"),
            *_who(row),
        )
    )


def _simple(row: Row, kind: Any, value: float, query_kind: QueryKind) -> Judgement:
    items = (exchange.as_text(row["item"], "item"),)
    return check_judgement(Judgement(_query(row, query_kind), items, kind, value, *_who(row)))


def _query(row: Row, query_kind: QueryKind) -> QueryRef:
    kind = cast(QueryKind, row.get("query_kind") or query_kind)
    query = exchange.as_text(row["query"], "query")
    return QueryRef(kind, query, exchange.as_crop(row.get("crop")))


def _who(row: Row) -> tuple[float, str, str, int, str]:
    person, source, line = (
        "" if row.get(name) is None else exchange.as_text(row[name], name)
        for name in ("person", "source", "line")
    )
    place = row.get("position")
    position = 0 if place in (None, "") else exchange.as_number(place, "position")
    if position != int(position) or not 0 <= position < 2**53:
        raise BadInput(f"A position is a whole number from 1 on, not {position:g}.")
    return exchange.as_time(row.get("time")), person, source, int(position), line or LOOK


def _relevant(value: Any) -> float:
    if isinstance(value, bool):
        return float(value)
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in _TRUE or word in _FALSE:
        return float(word in _TRUE)
    return exchange.as_number(value, "relevant")


# -- CSV.  Several items share a cell, parted by "|"; a bar within an item is "\|", and backslashes
# count only before a bar or at the end of an item, so that Windows paths stay as they are.


def items_cell(items: Iterable[str]) -> str:
    """The items as one cell."""
    return "|".join(
        re.sub(r"(\\*)(\||\Z)", lambda m: m[1] * 2 + (m[2] and "\\|"), item) for item in items
    )


def cell_items(cell: str) -> list[str]:
    """The items of a cell that :func:`items_cell` made, or a person."""
    items, start, text = [], 0, ""
    for match in re.finditer(r"(\\*)(\||\Z)", cell):
        slashes, bar = len(match[1]), match[2]
        text += cell[start : match.start()] + "\\" * ((slashes + (not bar)) // 2)
        start = match.end()
        if bar and slashes % 2:
            text += "|"
        elif bar:
            items.append(text)
            text = ""
        else:
            break  # the end; a second, empty match may follow a run of backslashes
    return [*items, text]


def read_csv(
    path: Path, query_kind: QueryKind | None = None, delimiter: str = ","
) -> exchange.ImportResult:
    """Judgements of a CSV file with a header line."""
    reading = exchange.Reading(path)
    # The usual limit of 131,072 letters a cell is below a long ordering.
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))
    lines = csv.reader(
        io.StringIO(exchange.read_text(path), newline=""), delimiter=delimiter, strict=True
    )
    try:
        header = [name.strip().lower() for name in next(lines, [])]
        exchange.check_utf8(*header)
        parse = parser(header, query_kind)
    except csv.Error as problem:
        raise DataProblem(f"{path} is not a CSV table: {problem}.") from None
    except BadInput as problem:
        raise BadInput(f"{path} cannot be read: {problem}") from None
    while True:
        line = lines.line_num + 1
        try:
            cells = next(lines, None)
        except csv.Error as problem:
            reading.bad(line, f"The quotation marks do not match ({problem}).")
            continue
        if cells is None:
            return reading.result()
        if cells:
            with reading.row(line):
                reading.good.append(parse(_csv_row(header, cells)))


def _csv_row(header: list[str], cells: list[str]) -> dict[str, Any]:
    exchange.check_utf8(*cells)
    if len(cells) != len(header):
        raise BadInput(f"The line has {len(cells)} cells, but the header has {len(header)}.")
    row: dict[str, Any] = dict(zip(header, cells))
    if "items" in row:
        row["items"] = cell_items(row["items"])
    if "crop" in row:
        row["crop"] = row["crop"].replace(",", " ").split() or None
    return row


def write_csv(judgements: Judgements, path: exchange.PathLike, delimiter: str = ",") -> None:
    """Judgements as a CSV file that a person can read and change."""

    def lines() -> Iterator[str]:
        yield _csv_line(COLUMNS, delimiter)
        for j in judgements:
            crop = " ".join(map(exchange.number_text, j.query.crop or ()))
            numbers = (exchange.number_text(j.value), exchange.number_text(j.time))
            query = (j.query.kind, j.query.value, crop)
            said = (items_cell(j.items), j.kind, *numbers, j.person, j.source)
            row = (*query, *said, str(j.position), j.line)
            yield _csv_line(row, delimiter)

    exchange.write_text(path, lines())


def _csv_line(cells: Iterable[str], delimiter: str) -> str:
    line = io.StringIO(newline="")
    csv.writer(line, delimiter=delimiter).writerow(cells)
    return line.getvalue()


# -- JSONL ---------------------------------------------------------------------


def json_lines(path: Path, reading: exchange.Reading) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL file with their lines; what is none becomes a problem."""
    for line, text in enumerate(exchange.read_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        found = None
        with reading.row(line):
            exchange.check_utf8(text)
            found = _json_object(text)
        if found is not None:
            yield line, found


def _json_object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise BadInput("The line is nested too deeply to be a judgement.") from None
    except ValueError as problem:
        raise BadInput(f"The line is not JSON: {problem}.") from None
    if not isinstance(found, dict):
        raise BadInput("The line must be one JSON object.")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def read_jsonl(path: Path, query_kind: QueryKind | None = None) -> exchange.ImportResult:
    """Judgements of a file with one JSON object a line."""
    reading = exchange.Reading(path)
    for line, row in json_lines(path, reading):
        with reading.row(line):
            reading.good.append(parser(row, query_kind)(row))
    return reading.result()


def write_jsonl(judgements: Judgements, path: exchange.PathLike) -> None:
    """Judgements as one JSON object a line."""
    exchange.write_text(path, (json_line(_record(judgement)) for judgement in judgements))


def json_line(record: Mapping[str, Any]) -> str:
    """One line, as readable as its text allows."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False)
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:  # a file name that is no Unicode; JSON can still escape it
        line = json.dumps(record, allow_nan=False)
    return line + "\n"


def _record(j: Judgement) -> dict[str, Any]:
    values = (
        *(j.query.kind, j.query.value, j.query.crop and list(j.query.crop), list(j.items)),
        *(j.kind, float(j.value), float(j.time), j.person, j.source, int(j.position), j.line),
    )
    return dict(zip(COLUMNS, values))


# -- Parquet -------------------------------------------------------------------


def read_parquet(path: Path, query_kind: QueryKind | None = None) -> exchange.ImportResult:
    """Judgements of a Parquet file; the line of a problem is its row, counted from 1."""
    reading = exchange.Reading(path)
    try:
        with parquet.ParquetFile(path) as file:
            try:
                parse = parser(file.schema_arrow.names, query_kind)
            except BadInput as problem:
                raise BadInput(f"{path} cannot be read: {problem}") from None
            line = 0
            for batch in file.iter_batches():
                for row in batch.to_pylist():
                    line += 1
                    with reading.row(line):
                        reading.good.append(parse(row))
    except BadInput:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as problem:
        reason = str(problem).splitlines()[0].rstrip(".") if str(problem) else "no reason given"
        raise DataProblem(
            f"{path} is not a whole Parquet file ({reason}); export it again."
        ) from None
    return reading.result()


def _schema() -> pyarrow.Schema:
    kinds = {name: pyarrow.type_for_alias(kind.strip("[]")) for name, kind in _TYPES.items()}
    listed = {name: pyarrow.list_(kinds[name]) for name, kind in _TYPES.items() if kind[0] == "["}
    return pyarrow.schema({**kinds, **listed})


def write_parquet(judgements: Judgements, path: exchange.PathLike) -> None:
    """Judgements as a Parquet file."""
    try:
        table = pyarrow.Table.from_pylist([_record(j) for j in judgements], schema=_schema())
    except UnicodeEncodeError:
        raise exchange.not_unicode(path) from None
    with exchange.atomic(path) as file:
        parquet.write_table(table, file)
