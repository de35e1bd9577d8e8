"""Words from the command line: learn from clicks, search, suggest, open a result, import clicks."""

from __future__ import annotations

import json

import typer

import likewise
from tests.cli.test_cli import run  # noqa: F401


def test_learn_search_suggest_and_take_back(run, tmp_path):  # noqa: F811
    learned = run(
        "learn", "ranked-cca", "--name", "words", "--set", "dim=10", "--force", "--json"
    ).data
    assert learned["task"] == "text"
    assert learned["active"]
    assert learned["card"]["captions"] > 10
    found = run("search", "--text", "olive", "-k", "5", "--json").data
    assert found["reader"] == f"{learned['id']} words"
    assert "learned words" in {name for r in found["results"] for name in r["found_by"]}
    shown = run("search", "--text", "olive", "-k", "5").stdout
    assert "learned words" in shown
    assert f"words read by {learned['id']} words" in shown
    table = tmp_path / "clicks.csv"
    table.write_text("query,image,count\nolive dots,swatch-0001.jpg,3\n", encoding="utf-8")
    run("judgements", "import", str(table))
    assert "olive dots" in [s["text"] for s in run("suggest", "olive", "--json").data]
    assert "olive dots" in run("suggest", "olive").stdout
    listed = run("models", "list").stdout
    assert "Plain similarity ranks" in listed
    assert "texts only" not in listed
    card = run("models", "show", str(learned["id"])).stdout
    assert "captions on" in card
    said = run("models", "rollback", "--task", "text").stdout
    assert "full text alone" in said
    assert run("search", "--text", "olive", "--json").data["reader"] == "own words"
    assert run("models", "activate", "plain", "--task", "text", "--json").data["task"] == "text"
    assert "No learned query" in run("suggest", "olive").stderr


def test_an_opened_result_is_a_click_with_its_place(run, folder, monkeypatch):  # noqa: F811
    opened: list[str] = []
    monkeypatch.setattr(typer, "launch", opened.append)
    answer = run("search", "--text", "swatch", "-k", "4", "--open", "3", "--json").data
    assert opened == [str(folder / answer["results"][2]["path"])]
    record = run("judgements", "list", "--json").data[0]["judgement"]
    assert (record["kind"], record["position"], record["source"]) == ("click", 3, "cli")
    assert record["query"]["value"] == "swatch"
    run("search", "swatch-0001.jpg", "-k", "4", "--open", "1")
    outside = folder.parent / "outside.jpg"
    outside.write_bytes((folder / "swatch-0002.jpg").read_bytes())
    run("search", str(outside), "-k", "4", "--open", "2")
    kinds = [r["judgement"]["query"]["kind"] for r in run("judgements", "list", "--json").data]
    assert kinds == ["text", "item", "upload"]
    assert "from 1 on" in run("search", "1", "-k", "4", "--open", "5", code=2).stderr
    with likewise.open(folder, write=True):
        busy = run("search", "--text", "swatch", "--open", "1")
    assert "not kept" in busy.stderr


def test_marks_for_words_and_clicks_from_files(run, tmp_path):  # noqa: F811
    run("mark", "--text", "red", "-r", "swatch-0001.jpg")
    assert "picture, words, or both" in run("mark", "-r", "swatch-0001.jpg", code=2).stderr
    events, asked = tmp_path / "events.jsonl", tmp_path / "asked.jsonl"
    asked.write_text('{"query_id": "q", "user_query": "dots"}\n')
    event = {"action_name": "click", "query_id": "q"}
    event["event_attributes"] = {"object": {"object_id": "swatch-0002.jpg"}}
    events.write_text(json.dumps(event))
    options = ("--format", "ubi", "--queries", str(asked), "--json")
    assert run("judgements", "import", str(events), *options).data["imported"] == 1
    bad = tmp_path / "bad.csv"
    rows = b"query,image,count\nred,swatch-0001.jpg,-3\nred,swatch-0001.jpg,2\nr\xff,a.jpg,1\n"
    bad.write_bytes(rows)
    found = run("judgements", "import", str(bad), "--json", code=1).data
    assert found["imported"] == 1
    assert len(found["problems"]) == 2
    learned = run("learn", "ranked-cca", "--set", "captions=no", "--json").data
    assert learned["card"]["queries"] == 2
    assert not learned["active"]
    assert (
        "No model that reads text" in run("learn", "ranked-cca", "--set", "more=yes", code=2).stderr
    )
    wrong = run("learn", "ranked-cca", "--set", "propensity=-1", code=2).stderr
    assert "propensity" in wrong
    assert "threads" in run("learn", "ranked-cca", "--set", "threads=9", code=2).stderr
