from __future__ import annotations

import json

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from likewise.judgements import (
    Judgements,
    from_clicks,
    read_judgements,
    read_ubi,
    write_judgements,
    write_ubi,
)
from likewise.types import BadInput, Judgement, NotFound, QueryRef

from .strategies import laws, names, queries

Q, TEXT = QueryRef("item", "a.jpg"), QueryRef("text", "red car")


def label(item: str, value: float = 1.0, query: QueryRef = Q, time: float = 0.0) -> Judgement:
    return Judgement(query, (item,), "label", value, time)


# -- qrels -----------------------------------------------------------------


words = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1).filter(
    lambda word: len(word.split()) == 1 and not word.startswith("\ufeff")
)


@laws
@given(st.dictionaries(st.tuples(words, words), st.integers(-2, 5)))
def test_qrels_round_trip(tmp_path, grades):
    log = Judgements.of(
        label(item, float(g), QueryRef("item", topic)) for (topic, item), g in grades.items()
    )
    write_judgements(log, tmp_path / "log.qrels")
    back = read_judgements(tmp_path / "log.qrels")
    assert back.problems == ()
    assert back.judgements == log


def test_qrels_are_what_other_tools_read(tmp_path):
    several = Judgement(Q, ("b", "c"), "label", 2.0)
    write_judgements(Judgements.of([several, label("d", 0.0)]), tmp_path / "log.qrels")
    with (tmp_path / "log.qrels").open() as file:
        assert pytrec_eval.parse_qrel(file) == {"a.jpg": {"b": 2, "c": 2, "d": 0}}


def test_the_latest_label_is_written(tmp_path):
    log = Judgements.of([label("b", 1.0, time=5.0), label("b", 0.0, time=3.0)])
    write_judgements(log, tmp_path / "log.qrels")
    assert read_judgements(tmp_path / "log.qrels").judgements.value.tolist() == [1.0]


def test_bad_qrels_lines_cost_themselves_only(tmp_path):
    path = tmp_path / "log.qrels"
    path.write_bytes(b"1 0 b 1\n1 0 b\n\n1 0 c x\n1 0 caf\xe9 1\r\n2 Q0 d 0\r\n")
    back = read_judgements(path, query_kind="text")
    assert [j.items for j in back.judgements] == [("b",), ("d",)]
    assert [(p.line, p.reason.split()[-1]) for p in back.problems] == [
        (2, "grade."),
        (4, "'x'."),
        (5, "UTF-8."),
    ]
    assert {query.kind for query in back.judgements.queries()} == {"text"}


@pytest.mark.parametrize(
    ("judgement", "why"),
    [
        (Judgement(Q, ("b",), "click"), "labels only, but 1"),
        (label("two words"), "spaces"),
        (label(""), "empty"),
        (label("b", 0.5), "whole grades"),
        (label("b", query=QueryRef("item", "a.jpg", (0, 0, 1, 0.5))), "crop"),
        (label("b", query=QueryRef("text", "a.jpg")), "kind"),
    ],
)
def test_what_qrels_cannot_hold_is_refused(tmp_path, judgement, why):
    with pytest.raises(BadInput, match=why):
        write_judgements(Judgements.of([label("z"), judgement]), tmp_path / "log.qrels")
    assert list(tmp_path.iterdir()) == []


# -- UBI -------------------------------------------------------------------


def event(action: str, item: object, query: str = "q1", **others) -> dict:
    attributes = {"object": {"object_id": item}, "position": {"ordinal": 1}}
    return {"action_name": action, "query_id": query, "event_attributes": attributes} | others


def lines(path, rows):
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def test_ubi_events_become_clicks(tmp_path):
    asked = [
        {"query_id": "q1", "user_query": "red car", "query_response_hit_ids": ["1", "2", "3"]},
        {"_source": {"query_id": "q2", "user_query": "tree", "query_response_hit_ids": ["9"]}},
    ]
    events = [
        event("click", 2, timestamp="2024-05-16T12:34:56.500Z", client_id="browser", user_id="eve"),
        {"_source": event("add_to_cart", "2", timestamp=1715862896500, application="shop")},
        event("page_exit", 3),
        event("impression", "8", "q2"),
    ]
    back = read_judgements(
        lines(tmp_path / "events.jsonl", events),
        format="ubi",
        queries=lines(tmp_path / "queries.jsonl", asked),
    )
    assert back.problems == ()
    assert back.skipped == 1
    assert list(back.judgements) == [
        Judgement(TEXT, ("2",), "click", 1.0, 1715862896.5, "eve", position=1),
        Judgement(TEXT, ("2",), "click", 1.0, 1715862896.5, "", "shop", position=1),
        Judgement(QueryRef("text", "tree"), ("8",), "click", 0.0, position=1),
        Judgement(TEXT, ("1", "2", "3"), "click", 0.0),
    ]
    log = back.judgements.resolve({str(n): n for n in range(10)}, {TEXT: 0})
    known = log.where(log.query >= 0)
    made = from_clicks(known.query, known.item, known.value)
    assert list(zip(made.better, made.worse)) == [(2, 1), (2, 3)]


def test_ubi_options(tmp_path):
    asked = lines(
        tmp_path / "queries.jsonl",
        [{"query_id": "q1", "user_query": "a.jpg", "query_response_objects_ids": ["1"]}],
    )
    events = lines(tmp_path / "events.jsonl", [event("click", "1"), event("liked", "2")])
    back = read_ubi(events, asked, actions={"liked"}, hits=False, query_kind="item")
    assert list(back.judgements) == [Judgement(Q, ("2",), "click", 1.0, position=1)]
    assert len(read_ubi(events, asked).judgements) == 2


@pytest.mark.parametrize("ordinal", [None, 0, -3, 1.5, True, "first", 2**60])
def test_a_position_that_is_none_costs_nothing(tmp_path, ordinal):
    row = event("click", "1", user_query="red car")
    row["event_attributes"]["position"] = {"ordinal": ordinal}
    back = read_ubi(lines(tmp_path / "events.jsonl", [row]))
    assert [j.position for j in back.judgements] == [0]


def test_bad_ubi_lines_cost_themselves_only(tmp_path):
    asked = [
        {"query_id": "q1", "user_query": "red car"},
        {"user_query": "no id"},
        {"query_id": "q3"},
        {"query_id": "q4", "user_query": "x", "query_response_hit_ids": "1"},
        {"query_id": "q5", "user_query": "x", "query_attributes": {"crop": [0, 1]}},
        "{",
    ]
    events = [
        event("click", "1"),
        event("click", None),
        event("click", 1.5),
        event("click", "1", "unheard of"),
        event("click", "1", timestamp="yesterday"),
        {"query_id": "q1"},
        {"_source": 3},
        {"action_name": "click", "query_id": "q1"},
        event("click", "2", "unheard of", user_query="red car"),
    ]
    asked_path, path = tmp_path / "queries.jsonl", tmp_path / "events.jsonl"
    back = read_ubi(lines(path, events), lines(asked_path, asked))
    assert [j.items[0] for j in back.judgements] == ["1", "2"]
    assert [p.line for p in back.problems if p.file == str(asked_path)] == [2, 3, 4, 5, 6]
    assert [p.line for p in back.problems if p.file == str(path)] == [2, 3, 4, 5, 6, 7, 8]
    with pytest.raises(NotFound):
        read_ubi(path, tmp_path / "nothing.jsonl")


click = st.builds(
    Judgement,
    queries,
    st.lists(names, min_size=1, max_size=3).map(tuple),
    st.just("click"),
    st.integers(0, 3).map(float),
    st.integers(0, 2**40).map(lambda t: t / 16),
    names,
    names,
    st.integers(0, 2**40),
)


@laws
@given(st.lists(click, max_size=4))
def test_ubi_keeps_every_click(tmp_path, log):
    events, asked = tmp_path / "events.jsonl", tmp_path / "queries.jsonl"
    write_judgements(Judgements.of(log), events, format="ubi", queries=asked)
    back = read_judgements(events, format="ubi", queries=asked)
    assert back.problems == ()
    wanted = [
        Judgement(
            j.query, (item,), "click", min(j.value, 1.0), j.time, j.person, j.source, j.position
        )
        for j in log
        for item in j.items
        for _ in range(max(1, int(j.value)))
    ]
    assert list(back.judgements) == wanted


@pytest.mark.parametrize(
    ("judgement", "why"),
    [
        (label("b"), "clicks only, but 1"),
        (Judgement(Q, ("b",), "click", 0.5), "whole numbers"),
        (Judgement(Q, ("b",), "click", 1.0, 1e18), "years"),
    ],
)
def test_what_ubi_cannot_hold_is_refused(tmp_path, judgement, why):
    with pytest.raises(BadInput, match=why):
        write_ubi(Judgements.of([judgement]), tmp_path / "e.jsonl", tmp_path / "q.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_ubi_needs_two_files(tmp_path):
    with pytest.raises(BadInput, match="second file"):
        write_judgements(Judgements.of(), tmp_path / "e.jsonl", format="ubi")
