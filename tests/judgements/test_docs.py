"""The page on judgements: its examples run, and every public name is on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import likewise.judgements as room
from likewise.judgements import read_judgements

PAGE = (Path(__file__).parents[2] / "docs" / "judgements.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("name", room.__all__)
def test_every_public_name_is_explained(name):
    assert f"`{name}" in PAGE or f" {name}(" in PAGE


def test_the_first_example_runs(capsys):
    exec(blocks("python")[0], {})
    assert capsys.readouterr().out.split() == ["2", "1"]


@pytest.mark.parametrize(
    ("language", "ending"), [("csv", "csv"), ("text", "qrels")], ids=["csv", "qrels"]
)
def test_example_files_are_read(tmp_path, language, ending):
    for text in blocks(language):
        path = tmp_path / f"example.{ending}"
        path.write_text(text, encoding="utf-8")
        back = read_judgements(path)
        assert back.problems == ()
        assert len(back.judgements) >= 2


def test_json_examples_are_read(tmp_path):
    record, event, query = blocks("json")
    for name, text in (("log", record), ("events", event), ("queries", query)):
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    assert read_judgements(tmp_path / "log.jsonl").judgements[0].items == ("beach.jpg", "lake.jpg")
    back = read_judgements(
        tmp_path / "events.jsonl", format="ubi", queries=tmp_path / "queries.jsonl"
    )
    assert [j.value for j in back.judgements] == [1.0, 0.0]
