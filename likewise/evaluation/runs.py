"""Rankings as TREC runs: six columns a line, understood by every evaluation tool.

``query Q0 item rank score tag``.  In memory a run is a mapping from query name to item
name to score; the rank column follows from the scores and is not read.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from likewise.types import BadInput, DataProblem, Hits, NotFound

Run = dict[str, dict[str, float]]


def run_of_hits(
    hits: Sequence[Hits], queries: Sequence[str], items: Sequence[str] | None = None
) -> Run:
    """A run from one Hits a query.

    Parameters
    ----------
    hits
        One a query.
    queries
        Names of the queries.
    items
        Name of item 0, 1, 2, ...; by default the id itself is the name.
    """
    if len(queries) != len(hits) or len(set(queries)) != len(queries):
        raise BadInput(f"Give each of the {len(hits)} queries a name of its own.")
    run: Run = {}
    for query, (ids, scores) in zip(queries, hits, strict=True):
        numbers = np.asarray(ids).tolist()
        if items is not None and not all(0 <= number < len(items) for number in numbers):
            raise BadInput(f"Query {query!r} has a hit without a name; name every item.")
        names = [str(number) if items is None else items[number] for number in numbers]
        row = dict(zip(names, np.asarray(scores, dtype=np.float64).tolist(), strict=True))
        if len(row) != len(names):
            raise BadInput(f"Query {query!r} names an item twice; keep the better of the two.")
        run[query] = row
    return run


def write_run(
    path: str | os.PathLike[str], run: Mapping[str, Mapping[str, float]], *, tag: str = "likewise"
) -> None:
    """Write a run, best item first, ties by name; scores keep every digit.

    A query without hits has no line, so it is not there when the file is read again.
    """
    lines = [line for query, row in run.items() for line in _lines(query, row, tag)]
    # Nothing is touched until every line is known to be good.
    Path(path).write_text("".join(lines), encoding="utf-8", newline="\n")


def read_run(path: str | os.PathLike[str]) -> Run:
    """Read a run; a line that is not one is an error that names the file and the line."""
    file = Path(path)
    if not file.is_file():
        raise NotFound(f"There is no run at {file}; check the name.")
    run: Run = {}
    try:
        with file.open(encoding="utf-8") as lines:
            for at, line in enumerate(lines, 1):
                if line.strip():
                    query, item, score = _parse(line, f"{file}, line {at}")
                    row = run.setdefault(query, {})
                    if item in row:
                        raise DataProblem(
                            f"{file}, line {at}: {item} is listed twice for query {query}; "
                            "keep one of the two."
                        )
                    row[item] = score
    except UnicodeDecodeError:
        raise DataProblem(f"{file} is not UTF-8 text; save it as such.") from None
    return run


def _parse(line: str, where: str) -> tuple[str, str, float]:
    parts = line.split()
    if len(parts) != 6:
        raise DataProblem(
            f"{where}: a run has six columns (query Q0 item rank score tag), not {len(parts)}."
        )
    query, _, item, _, text, _ = parts
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise DataProblem(f"{where}: the score must be a finite number, not {text!r}.")
    return query, item, score


def _lines(query: str, row: Mapping[str, float], tag: str) -> Iterator[str]:
    for name in (query, tag, *row):
        if not name or name.split() != [name]:
            raise BadInput(f"The name {name!r} is empty or holds a space, which a run cannot keep.")
    ordered = sorted(row.items(), key=lambda hit: (-hit[1], hit[0]))
    for at, (item, score) in enumerate(ordered, 1):
        if not math.isfinite(score):
            raise BadInput(f"The score of {item!r} for query {query!r} is not a finite number.")
        yield f"{query} Q0 {item} {at} {float(score)!r} {tag}\n"
