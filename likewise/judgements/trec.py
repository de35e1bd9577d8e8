"""TREC qrels: ``topic iteration item grade``, one label a line."""

from __future__ import annotations

from pathlib import Path

from likewise.judgements import exchange
from likewise.judgements.records import Judgements
from likewise.types import BadInput, Judgement, QueryKind, QueryRef


def read_qrels(path: Path, query_kind: QueryKind | None = None) -> exchange.ImportResult:
    """Labels of a qrels file; the topic is the query."""
    reading = exchange.Reading(path)
    for line, text in enumerate(exchange.read_text(path).split("\n"), start=1):
        cells = text.split()
        if not cells:
            continue
        with reading.row(line):
            exchange.check_utf8(text)
            if len(cells) != 4:
                raise BadInput(
                    f"The line has {len(cells)} words, not four: topic, iteration, item, grade."
                )
            topic, _, item, grade = cells
            query = QueryRef(query_kind or "item", topic)
            reading.good.append(
                Judgement(query, (item,), "label", exchange.as_number(grade, "grade"))
            )
    return reading.result()


def write_qrels(judgements: Judgements, path: exchange.PathLike) -> None:
    """Labels as qrels: one line a query and item, the latest label of it.

    Qrels have no room for time, person, source, crops or spaces in names; what
    cannot be told is refused, so that nothing is lost unseen but the first three.
    """
    others = len(judgements) - len(judgements.of_kind("label"))
    if others:
        raise BadInput(
            f"Qrels hold labels only, but {others} of the judgements are clicks or orderings; "
            "export the labels alone (--kind label), or use CSV, JSONL or Parquet."
        )
    topics: dict[str, QueryRef] = {}
    grades: dict[tuple[str, str], float] = {}
    for judgement in sorted(judgements, key=lambda j: j.time):
        query = judgement.query
        if query.crop is not None or topics.setdefault(query.value, query) != query:
            raise BadInput(
                f"Qrels name a query by one word, so the crop or the kind of {query.value!r} would "
                "be lost; use CSV, JSONL or Parquet."
            )
        if not float(judgement.value).is_integer():
            raise BadInput(
                f"Qrels have whole grades, not {judgement.value:g}; use CSV, JSONL or Parquet."
            )
        for item in judgement.items:
            for word in (query.value, item):
                if len(word.split()) != 1 or word != word.strip():
                    raise BadInput(
                        f"Qrels cannot hold the name {word!r}, because it is empty or has spaces; "
                        "use CSV, JSONL or Parquet."
                    )
            grades[query.value, item] = judgement.value
    lines = (f"{topic} 0 {item} {exchange.number_text(g)}\n" for (topic, item), g in grades.items())
    exchange.write_text(path, lines)
