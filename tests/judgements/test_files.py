from __future__ import annotations

import json
import os
import string

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.judgements import Judgements, read_judgements, write_judgements
from likewise.judgements.exchange import as_number, number_text
from likewise.judgements.tables import cell_items, items_cell
from likewise.types import BadInput, DataProblem, Judgement, NotFound, QueryRef

from .strategies import laws, logs, names, numbers

LOSSLESS = ["csv", "tsv", "jsonl", "parquet"]
Q = QueryRef("item", "a.jpg")


def label(item: str, value: float = 1.0, **others) -> Judgement:
    return Judgement(Q, (item,), "label", value, **others)


# -- round trips -----------------------------------------------------------


@pytest.mark.parametrize("ending", LOSSLESS)
@laws
@given(log=logs)
def test_round_trip_is_lossless(tmp_path, ending, log):
    path = tmp_path / f"log.{ending}"
    made = Judgements.of(log)
    write_judgements(made, path)
    back = read_judgements(path)
    assert back.problems == ()
    assert back.judgements == made
    assert list(back.judgements) == log


@laws
@given(st.lists(st.text(alphabet="a|\\ ", max_size=5) | names, min_size=1))
def test_items_share_a_cell(items):
    assert cell_items(items_cell(items)) == items


@pytest.mark.parametrize("path", ["C:\\pictures\\a.jpg", "\\\\server\\share\\a.jpg", "a b.jpg"])
def test_ordinary_paths_stay_readable_in_a_cell(path):
    assert items_cell([path]) == path
    assert cell_items(path) == [path]


@laws
@given(numbers)
def test_numbers_are_written_exactly(number):
    back = as_number(number_text(number), "number")
    assert back == number
    assert str(back) == str(number)  # the sign of zero too


@pytest.mark.parametrize("ending", LOSSLESS)
def test_a_long_ordering_survives(tmp_path, ending):
    items = tuple(f"folder/picture-{n:06d}.jpg" for n in range(10_000))
    log = Judgements.of([Judgement(Q, items, "ordering")])
    write_judgements(log, tmp_path / f"long.{ending}")
    assert read_judgements(tmp_path / f"long.{ending}").judgements == log


def test_a_file_name_that_is_no_unicode(tmp_path):
    log = Judgements.of([label(os.fsdecode(b"caf\xe9.jpg"))])
    write_judgements(log, tmp_path / "log.jsonl")
    assert read_judgements(tmp_path / "log.jsonl").judgements == log
    for ending in ("csv", "parquet"):
        with pytest.raises(BadInput, match="export as JSONL"):
            write_judgements(log, tmp_path / f"log.{ending}")
    assert [p.name for p in tmp_path.iterdir()] == ["log.jsonl"]


# -- what people have ------------------------------------------------------


def test_simple_labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("Query, item ,relevant\na.jpg,b.jpg,1\na.jpg,c.jpg,no\na.jpg,d.jpg,2.5\n")
    back = read_judgements(path)
    assert back.problems == ()
    assert list(back.judgements) == [label("b.jpg"), label("c.jpg", 0.0), label("d.jpg", 2.5)]
    assert read_judgements(path, query_kind="text").judgements.queries()[0].kind == "text"


@pytest.mark.parametrize("ending", LOSSLESS)
def test_simple_clicks(tmp_path, ending):
    path = tmp_path / f"clicks.{ending}"
    rows = [
        {"query": "red car", "item": 17, "clicks": 3},
        {"query": "red car", "item": 4, "clicks": 0},
    ]
    if ending == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif ending == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        comma = "," if ending == "csv" else "\t"
        path.write_text(
            "\n".join(comma.join(map(str, r)) for r in [rows[0], *(r.values() for r in rows)])
        )
    query = QueryRef("text", "red car")
    assert list(read_judgements(path).judgements) == [
        Judgement(query, ("17",), "click", 3.0),
        Judgement(query, ("4",), "click", 0.0),
    ]


def test_click_logs_have_other_names_for_columns(tmp_path):
    path = tmp_path / "clicks.tsv"
    path.write_text("query\timage\tcount\tposition\nred car\tb.jpg\t3\t2\nred car\tc.jpg\t0\t\n")
    query = QueryRef("text", "red car")
    assert list(read_judgements(path).judgements) == [
        Judgement(query, ("b.jpg",), "click", 3.0, position=2),
        Judgement(query, ("c.jpg",), "click", 0.0),
    ]
    path.write_text("query\timage\tcount\tposition\nred car\tb.jpg\t3\t-2\nq\tb.jpg\t-3\t1\n")
    assert len(read_judgements(path).problems) == 2


def test_times_may_be_dates(tmp_path):
    path = tmp_path / "labels.csv"
    times = [
        "86400",
        "1970-01-02",
        "1970-01-02T01:00:00+01:00",
        "1970-01-02T00:00:00Z",
        "1e-05",
        "",
    ]
    path.write_text("query,item,relevant,time\n" + "".join(f"a,b,1,{t}\n" for t in times))
    assert read_judgements(path).judgements.time.tolist() == [86400.0] * 4 + [1e-05, 0.0]


def test_a_byte_order_mark_and_blank_lines_do_no_harm(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes("\ufeffquery,item,relevant\r\n\r\na.jpg,b.jpg,1\r\n\r\n".encode())
    assert list(read_judgements(path).judgements) == [label("b.jpg")]


# -- bad rows --------------------------------------------------------------


CSV_ROWS = {
    "a,b,1\n": None,
    "a,b\n": "2 cells",
    "a,b,maybe\n": "'maybe'",
    "a,b,nan\n": "finite",
    "a,c,0\n": None,
    'a,"two\nlines",1\n': None,
    'a,"b"x,1\n': "quotation marks",
    "a,b,\n": "must be a number",
    b"a,caf\xe9,1\n".decode("latin-1"): "UTF-8",
    "a,d,1\n": None,
    'a,"never closed,1\na,b,1\n': "quotation marks",
}


def test_bad_csv_rows_cost_themselves_only(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes("".join(["query,item,relevant\n", *CSV_ROWS]).encode("latin-1"))
    back = read_judgements(path)
    assert [j.items[0] for j in back.judgements] == ["b", "c", "two\nlines", "d"]
    line = 2
    wanted = []
    for row, why in CSV_ROWS.items():
        wanted += [(line, why)] if why else []
        line += row.count("\n")
    assert [problem.line for problem in back.problems] == [line for line, _ in wanted]
    for problem, (_, why) in zip(back.problems, wanted):
        assert why in problem.reason
        assert problem.file == str(path)
        assert str(problem).startswith(f"{path}, line {problem.line}: ")


JSON_ROWS = [
    ('{"query": "a", "items": ["b"], "kind": "label", "value": 1}', None),
    ("{", "not JSON"),
    ("[1]", "one JSON object"),
    ('{"query": "a", "kind": "label", "value": 1}', "items"),
    ('{"query": "a", "items": ["b"], "kind": "vote", "value": 1}', "vote"),
    ('{"query": "a", "items": [], "kind": "label", "value": 1}', "at least one"),
    ('{"query": "a", "items": {"b": 1}, "kind": "label", "value": 1}', "list of texts"),
    ('{"query": "a", "items": [null], "kind": "label", "value": 1}', "must be text"),
    ('{"query": "a", "items": ["b"], "kind": "label", "value": true}', "number"),
    ('{"query": "a", "items": ["b"], "kind": "label", "value": NaN}', "NaN"),
    ('{"query": "a", "items": ["b"], "kind": "label", "value": 1' + "0" * 400 + "}", "number"),
    ('{"query": "a", "items": ["b"], "kind": "click", "value": -1}', "negative"),
    ('{"query": "a", "items": ["b"], "kind": "label", "value": 1, "crop": [0, 0, 1]}', "four"),
    ('{"query": "a", "items": ["b"], "kind": "label", "value": 1, "crop": [1, 0, 0, 1]}', "left"),
    ('{"query": "a", "query_kind": "song", "items": ["b"], "kind": "label", "value": 1}', "song"),
    ("[" * 100_000, "nested too deeply"),
    ('{"query": "a", "items": ["b", "c"], "kind": "ordering"}', None),
    ('{"query": "a", "item": "b", "relevant": true}', None),
]


def test_bad_json_lines_cost_themselves_only(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(row for row, _ in JSON_ROWS))
    back = read_judgements(path)
    assert len(back.judgements) == sum(why is None for _, why in JSON_ROWS)
    wanted = [(line, why) for line, (_, why) in enumerate(JSON_ROWS, 1) if why]
    assert [problem.line for problem in back.problems] == [line for line, _ in wanted]
    for problem, (_, why) in zip(back.problems, wanted):
        assert why in problem.reason


def test_bad_parquet_rows_cost_themselves_only(tmp_path):
    path = tmp_path / "labels.parquet"
    table = pa.table({"query": ["a", None, "a"], "item": ["b"] * 3, "relevant": [1.0, 1.0, None]})
    pq.write_table(table, path)
    back = read_judgements(path)
    assert len(back.judgements) == 1
    assert [problem.line for problem in back.problems] == [2, 3]


# -- bad files -------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_missing_columns_are_named(tmp_path, ending):
    path = tmp_path / f"log.{ending}"
    if ending == "parquet":
        pq.write_table(pa.table({"query": ["a"], "item": ["b"]}), path)
    else:
        path.write_text("query,item\na,b\n".replace(",", "," if ending == "csv" else "\t"))
    with pytest.raises(BadInput, match=r"relevant.* missing"):
        read_judgements(path)


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_an_empty_table_has_no_columns(tmp_path, ending):
    (tmp_path / f"log.{ending}").write_text("")
    with pytest.raises(BadInput, match="missing"):
        read_judgements(tmp_path / f"log.{ending}")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_truncated_parquet_file(tmp_path, share):
    path = tmp_path / "log.parquet"
    write_judgements(Judgements.of([label(c) for c in string.ascii_letters]), path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(DataProblem, match=r"not a whole Parquet file .* export it again"):
        read_judgements(path)


def test_damaged_parquet_pages(tmp_path):
    path = tmp_path / "log.parquet"
    write_judgements(Judgements.of([label(c * 50) for c in string.ascii_letters]), path)
    data = bytearray(path.read_bytes())
    data[4:1000] = b"\xff" * 996
    path.write_bytes(data)
    with pytest.raises(DataProblem, match="not a whole Parquet file"):
        read_judgements(path)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "qrels"])
def test_another_encoding_is_named(tmp_path, ending):
    path = tmp_path / f"log.{ending}"
    path.write_bytes("query,item,relevant\na,b,1\n".encode("utf-16"))
    with pytest.raises(DataProblem, match="UTF-16 text; save it as UTF-8"):
        read_judgements(path)


def test_a_header_in_another_encoding(tmp_path):
    (tmp_path / "log.csv").write_bytes("query,item,relevant,é\n".encode("latin-1"))
    with pytest.raises(BadInput, match="UTF-8"):
        read_judgements(tmp_path / "log.csv")


def test_a_header_that_is_no_csv(tmp_path):
    (tmp_path / "log.csv").write_text('"query"x,item\n')
    with pytest.raises(DataProblem, match="not a CSV table"):
        read_judgements(tmp_path / "log.csv")


def test_files_that_are_not_there_or_not_known(tmp_path):
    with pytest.raises(NotFound, match=r"nothing\.csv"):
        read_judgements(tmp_path / "nothing.csv")
    with pytest.raises(BadInput, match="does not tell its format"):
        read_judgements(tmp_path / "log.doc")
    with pytest.raises(BadInput, match="no format 'xml'"):
        read_judgements(tmp_path / "log.csv", format="xml")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="not a file"):
        read_judgements(tmp_path, format="csv")
    with pytest.raises(NotFound, match="no folder"):
        write_judgements(Judgements.of(), tmp_path / "missing" / "log.csv")
    (tmp_path / "log.csv").write_text("query,item,relevant\n")
    with pytest.raises(BadInput, match="song"):
        read_judgements(tmp_path / "log.csv", query_kind="song")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="UBI"):
        read_judgements(tmp_path / "log.csv", queries=tmp_path / "log.csv")


def test_the_format_may_be_named(tmp_path):
    log = Judgements.of([label("b")])
    write_judgements(log, tmp_path / "log.txt", format="jsonl")
    assert read_judgements(tmp_path / "log.txt", format="jsonl").judgements == log


# -- writing ---------------------------------------------------------------


@pytest.mark.parametrize("ending", LOSSLESS)
def test_a_failed_write_leaves_the_old_file(tmp_path, ending, monkeypatch):
    path = tmp_path / f"log.{ending}"
    log = Judgements.of([label("b")])
    write_judgements(log, path)

    def full(_descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_judgements(log + log, path)
    assert read_judgements(path).judgements == log
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_writing_keeps_the_mode_of_the_file(tmp_path):
    path = tmp_path / "log.csv"
    write_judgements(Judgements.of(), path)
    path.chmod(0o600)
    write_judgements(Judgements.of([label("b")]), path)
    assert path.stat().st_mode & 0o777 == 0o600
