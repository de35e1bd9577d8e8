"""OpenSearch User Behavior Insights (UBI): clicks of search logs.

UBI keeps two streams of JSON objects.  *Queries* have ``query_id``, ``user_query`` and
the ids of the hits; *events* have ``query_id``, ``action_name`` and the object
that was acted on.  A click-like event is one click; an impression, and a hit of a query that
was clicked for, is a click of value 0: shown and not chosen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from likewise.judgements import exchange
from likewise.judgements.records import Judgements
from likewise.judgements.tables import json_line, json_lines
from likewise.types import BadInput, Judgement, QueryKind, QueryRef

CLICK_ACTIONS = frozenset({"click", "click_through", "add_to_cart", "purchase", "watch"})
SHOWN_ACTIONS = frozenset({"impression"})

_MILLISECONDS = 1e11  # as seconds this is the year 5138, as milliseconds 1973


@dataclass(frozen=True)
class _Asked:
    query: QueryRef
    hits: tuple[str, ...]
    time: float
    person: str
    source: str


def read_ubi(
    events: exchange.PathLike,
    queries: exchange.PathLike | None = None,
    *,
    actions: Collection[str] = CLICK_ACTIONS,
    hits: bool = True,
    query_kind: QueryKind | None = None,
) -> exchange.ImportResult:
    """Clicks of UBI events: JSONL, an event a line, or a search hit with it in ``_source``.

    Without ``queries``, which say what was asked, events must have ``user_query`` themselves.
    ``actions`` count as a click; with ``hits``, those of a query that was clicked for count as
    shown.  ``query_kind`` is what ``user_query`` is, where the query does not say: a text unless
    given.
    """
    reading = exchange.Reading(exchange.existing(events))
    asked: dict[str, _Asked] = {}
    if queries is not None:
        aside = exchange.Reading(exchange.existing(queries))
        for line, row in json_lines(exchange.existing(queries), aside):
            with aside.row(line):
                query = _source(row)
                asked[exchange.as_text(query.get("query_id"), "query_id")] = _asked(
                    query, query_kind
                )
        reading.problems += aside.problems
    clicked: dict[str, _Asked] = {}
    for line, row in json_lines(exchange.existing(events), reading):
        with reading.row(line):
            event = _source(row)
            action = exchange.as_text(event.get("action_name"), "action_name")
            is_click = action in actions
            if not is_click and action not in SHOWN_ACTIONS:
                reading.skipped += 1
                continue
            number = event.get("query_id")
            about = asked.get(str(number)) if number is not None else None
            if about is None:
                about = _asked_in_event(event, query_kind)
            reading.good.append(_click(event, about, float(is_click)))
            if is_click and number is not None:
                clicked[str(number)] = about
    reading.good += [
        Judgement(a.query, a.hits, "click", 0.0, a.time, a.person, a.source)
        for a in clicked.values()
        if hits and a.hits
    ]
    return reading.result()


def _source(row: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = row.get("_source", row)
    if not isinstance(inner, Mapping):
        raise BadInput("The _source of the line must be a JSON object.")
    return inner


def _asked(query: Mapping[str, Any], query_kind: QueryKind | None) -> _Asked:
    attributes = query.get("query_attributes")
    attributes = attributes if isinstance(attributes, Mapping) else {}
    ids = query.get("query_response_hit_ids") or query.get("query_response_objects_ids") or []
    if not isinstance(ids, list):
        raise BadInput("The hit ids of a query must be a list.")
    crop = exchange.as_crop(attributes.get("crop"))
    kind = attributes.get("query_kind") or query_kind or "text"
    return _Asked(
        QueryRef(kind, exchange.as_text(query.get("user_query"), "user_query"), crop),
        tuple(exchange.as_text(key, "hit id") for key in ids),
        *_who(query),
    )


def _asked_in_event(event: Mapping[str, Any], query_kind: QueryKind | None) -> _Asked:
    if not isinstance(event.get("user_query"), str):
        raise BadInput(
            f"Nothing says what query {event.get('query_id')!r} asked; "
            "give the file of UBI queries as well."
        )
    return _asked(event, query_kind)


def _click(event: Mapping[str, Any], asked: _Asked, value: float) -> Judgement:
    attributes = event.get("event_attributes")
    thing = attributes.get("object") if isinstance(attributes, Mapping) else None
    if not isinstance(thing, Mapping) or thing.get("object_id") is None:
        raise BadInput("The event does not say which object it is about (object_id).")
    item = exchange.as_text(thing["object_id"], "object_id")
    return Judgement(asked.query, (item,), "click", value, *_who(event), _position(attributes))


def _position(attributes: Any) -> int:
    """Where the object was shown; 0 where the event does not say, or says nonsense."""
    position = attributes.get("position")
    ordinal = position.get("ordinal") if isinstance(position, Mapping) else None
    whole = isinstance(ordinal, int) and not isinstance(ordinal, bool)
    return int(ordinal) if whole and 0 < ordinal < 2**53 else 0  # type: ignore[operator, arg-type]


def _who(row: Mapping[str, Any]) -> tuple[float, str, str]:
    stamp = row.get("timestamp")
    time = exchange.as_time(stamp)
    if isinstance(stamp, (int, float)) and abs(time) > _MILLISECONDS:
        time /= 1000
    person = exchange.as_text(row.get("user_id") or row.get("client_id") or "", "user_id")
    return time, person, exchange.as_text(row.get("application") or "", "application")


# -- Writing -------------------------------------------------------------------


def write_ubi(
    judgements: Judgements, events: exchange.PathLike, queries: exchange.PathLike
) -> None:
    """Clicks as UBI: an event for each click, an impression for each item shown only.

    Times are kept to the microsecond.
    """
    others = len(judgements) - len(judgements.of_kind("click"))
    if others:
        raise BadInput(
            f"UBI events hold clicks only, but {others} of the judgements are labels or orderings; "
            "export the clicks alone (--kind click), or use CSV, JSONL or Parquet."
        )
    if not all(float(value).is_integer() for value in judgements.value):
        raise BadInput("UBI has one event a click, so that clicks must be whole numbers.")
    for time in judgements.time:
        _timestamp(time)  # refuse before the first of two files is written
    asked = (json_line(_query_row(query)) for query in judgements.queries())
    exchange.write_text(queries, list(asked))
    exchange.write_text(events, _event_lines(judgements))


def _event_lines(judgements: Judgements) -> Iterator[str]:
    for judgement in judgements:
        for item in judgement.items:
            line = json_line(_event_row(judgement, item))
            yield from (line for _ in range(max(1, int(judgement.value))))


def _query_row(query: QueryRef) -> dict[str, Any]:
    attributes: dict[str, Any] = {"query_kind": query.kind}
    if query.crop is not None:
        attributes["crop"] = list(query.crop)
    asked = {"query_id": _query_id(query), "user_query": query.value}
    return {**asked, "query_attributes": attributes}


def _event_row(judgement: Judgement, item: str) -> dict[str, Any]:
    who = {"user_id": judgement.person, "application": judgement.source}
    shown: dict[str, Any] = {"object": {"object_id": item}}
    if judgement.position:
        shown["position"] = {"ordinal": judgement.position}
    return {
        "action_name": "click" if judgement.value else "impression",
        "query_id": _query_id(judgement.query),
        "timestamp": _timestamp(judgement.time),
        **{name: value for name, value in who.items() if value},
        "event_attributes": shown,
    }


def _query_id(query: QueryRef) -> str:
    text = repr((query.kind, query.value, query.crop))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _timestamp(time: float) -> str:
    try:
        return datetime.fromtimestamp(time, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        raise BadInput(f"The time {time:g} is not between the years 1 and 9999.") from None
