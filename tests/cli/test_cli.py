"""Every verb through the command line: exit codes, one-sentence errors, JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

import likewise
from likewise.cli import app

runner = CliRunner()


@pytest.fixture
def run(folder):
    """Run a command on the small collection; gives the result, JSON parsed where asked for."""

    def call(*words: str, code: int = 0, **options):
        where = [] if words[0] in ("index", "restore") else ["-c", str(folder)]
        result = runner.invoke(app, [*words, *where], **options)
        assert result.exit_code == code, result.output + result.stderr
        result.data = json.loads(result.stdout) if "--json" in words and code != 2 else None
        return result

    return call


def test_index_says_what_it_did(run, folder):
    Image.new("RGB", (30, 30), (1, 200, 3)).save(folder / "new.png")
    found = run("index", str(folder), "--json").data
    assert found["embedded"] == 1
    assert found["status"]["findable"] == 49
    (folder / "bad.jpg").write_bytes(b"nothing")
    result = run("index", str(folder), code=1)
    assert "1 unreadable" in result.stdout
    listed = run("problems", "--json").data
    assert [p["file"] for p in listed] == ["bad.jpg"]
    assert listed[0]["reason"]


def test_search_by_item_words_and_both(run, tmp_path):
    first = run("search", "swatch-0001.jpg", "-k", "3", "--json").data
    assert len(first["results"]) == 3
    assert first["model"] == "plain"
    assert run("search", "1", "-k", "3", "--json").data["results"] == first["results"]
    words = run("search", "--text", "swatch-0005", "--json").data
    assert words["results"][0]["path"] == "swatch-0005.jpg"
    assert "found by" in run("search", "1", "-t", "swatch").stdout
    sheet = tmp_path / "sheet.png"
    run("search", "1", "-k", "4", "--sheet", str(sheet))
    with Image.open(sheet) as image:
        assert image.width > 200


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["search"], "picture, words, or both"),
        (["search", "nowhere.jpg"], "no item and no file"),
        (["search", "1", "--crop", "a,b"], "Write a crop as"),
        (["search", "1", "--since", "yesterday"], "Write a date as"),
        (["search", "1", "-k", "0"], "k must be"),
        (["search", "1", "--model", "99"], "no model 99"),
        (["models", "activate", "nothing"], "no model 'nothing'"),
        (["models", "rollback"], "nothing to go back to"),
        (["judgements", "undo"], "no judgement to undo"),
        (["judgements", "import", "none.csv"], "none.csv"),
        (["evaluate"], "no labels"),
        (["learn", "bilinear"], "mark some results first"),
        (["learn", "magic"], "There is no method 'magic'; there are bilinear, reference-queries"),
        (["learn", "bilinear", "--set", "colour=red"], "no setting 'colour'; its settings are ext"),
        (["learn", "bilinear", "--set", "M=0"], "M is a whole number of at least 1, not 0."),
        (["learn", "bilinear", "--set", "M"], "NAME=VALUE"),
        (["models", "rollback", "--task", "words"], "look, text, objects; not for 'words'"),
        (["forget", "nothing.jpg", "--yes"], "nothing.jpg"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(run, words, sentence):
    result = run(*words, code=2)
    assert result.stderr.startswith("likewise: ")
    assert sentence in " ".join(result.stderr.split())
    assert "Traceback" not in result.output


def test_a_folder_that_is_not_indexed_says_how_to(tmp_path):
    result = runner.invoke(app, ["search", "x", "-c", str(tmp_path)])
    assert result.exit_code == 2
    assert "likewise index" in result.stderr


def test_a_folder_that_lost_its_files_is_a_data_problem(run, folder):
    for file in folder.glob("*.jpg"):
        file.unlink()
    result = run("index", str(folder), code=3)
    assert "nothing was changed" in " ".join(result.stderr.split())


def test_mark_list_undo(run):
    records = run("mark", "1", "-r", "2", "-r", "3", "--not", "4", "--json").data["records"]
    assert len(records) == 3
    assert run("search", "1", "--json").data["marks"] == 3
    assert run("judgements", "undo", str(records[0]), "--json").data == {"undone": records[0]}
    assert run("search", "1", "--json").data["marks"] == 2
    assert run("search", "1", "--no-marks", "--json").data["marks"] == 0
    assert [r["undone"] for r in run("judgements", "list", "--json").data] == [True, False, False]


def test_earlier_teaching_is_offered_and_used(run):
    near = [r["item"] for r in run("search", "1", "--json").data["results"]]
    marks = [word for item in near[:4] for word in ("-r", str(item))]
    run("mark", "1", *marks)
    said = " ".join(run("search", str(near[0])).stdout.split())
    assert "You could use your feedback on item:1 (4 right, 0 wrong): --use item:1" in said
    said = " ".join(run("search", str(near[0]), "--use", "item:1").stdout.split())
    assert "Uses your feedback on item:1 (4 right, 0 wrong)" in said


def test_label_in_the_terminal(run):
    result = run("label", "1", "-n", "4", input="y\nn\nu\nn\ns\nq\n")
    assert "marks written" in result.stdout
    assert run("search", "1", "--json").data["marks"] >= 1


def test_judgements_travel(run, tmp_path):
    run("mark", "1", "-r", "2", "--not", "3")
    file = tmp_path / "labels.csv"
    assert run("judgements", "export", str(file), "--json").data["exported"] == 2
    run("judgements", "undo")
    run("judgements", "undo")
    assert run("judgements", "import", str(file), "--json").data["imported"] == 2
    with open(file, "a", encoding="utf-8") as out:
        out.write("item,gone.jpg,,gone.jpg,label,1,1,,,0,look\n")
    assert "gone.jpg" in run("judgements", "import", str(file), code=1).stderr


def test_clicks_and_labels_part_where_a_format_holds_one_kind(run, tmp_path, monkeypatch):
    monkeypatch.setattr(typer, "launch", lambda file: 0)
    run("mark", "1", "-r", "2", "--not", "3")
    run("search", "--text", "swatch", "--open", "2")
    ubi = ["judgements", "export", str(tmp_path / "events.jsonl"), "--format", "ubi"]
    ubi += ["--queries", str(tmp_path / "asked.jsonl")]
    assert "--kind click" in run(*ubi, code=2).stderr
    assert run(*ubi, "--kind", "click", "--json").data["exported"] == 1
    qrels = ["judgements", "export", str(tmp_path / "labels.qrels"), "--format", "qrels"]
    assert "--kind label" in run(*qrels, code=2).stderr
    assert run(*qrels, "--kind", "label", "--json").data["exported"] == 2
    assert "not 'mark'" in run(*qrels, "--kind", "mark", code=2).stderr


def test_words_in_the_place_of_a_picture_are_told_where_they_belong(run):
    assert "--text" in run("search", "stripes", code=2).stderr
    assert "--text" not in run("search", "stripes.jpg", code=2).stderr


def test_upkeep(run, folder, tmp_path):
    assert run("verify", "--json").data == []
    assert run("status", "--json").data["findable"] == 48
    run("backup", str(tmp_path / "copy"))
    shutil.rmtree(folder / ".likewise")
    run("restore", str(tmp_path / "copy"), str(folder))
    assert run("search", "1", "-k", "2", "--json").data["results"]
    assert {f["name"] for f in run_doctor(folder)} >= {"SQLite", "disk"}
    run("forget", "swatch-0001.jpg", "--yes")
    assert run("status", "--json").data["findable"] == 47
    groups = run("duplicates", "--json").data
    assert all(len(g) > 1 for g in groups)
    run("neighbours", str(tmp_path / "n.parquet"), "-k", "2")


def run_doctor(folder):
    result = runner.invoke(app, ["doctor", "--json", "-c", str(folder)])
    assert result.exit_code in (0, 1)
    return json.loads(result.stdout)


def test_a_damaged_segment_is_found_by_verify(run, folder):
    segment = next((folder / ".likewise" / "segments").iterdir())
    data = bytearray(segment.read_bytes())
    data[10] ^= 0xFF
    segment.write_bytes(data)
    assert "damage" in run("verify", code=3).stdout


def test_the_real_command_in_a_real_process(folder):
    command = [sys.executable, "-m", "likewise"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.strip() == f"likewise {likewise.__version__}"
    found = subprocess.run(
        [*command, "search", "swatch-0002.jpg", "--json"],
        cwd=folder,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(found.stdout)["results"]


def test_a_search_comes_without_what_reads_other_arguments(folder):
    program = (
        "import sys\n"
        "from likewise.cli import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    print(*sys.modules, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", program, "search", "swatch-0001.jpg", "-c", str(folder)]
    for more in ([], ["-k", "2"]):
        done = subprocess.run([*command, *more], capture_output=True, text=True, check=True)
        assert "swatch-" in done.stdout
        assert ("pydantic" in done.stderr.split()) is bool(more)


def test_a_target_search_in_the_terminal(run, tmp_path):
    refused = run("session", "start", "--way", "other", code=2)
    assert "'ours' or 'paper'" in refused.stderr
    first = run("session", "start", "-n", "8", "--way", "paper", "--json").data
    assert len(first["shown"]) == 8
    session = str(first["session"])
    shown = [s["item"] for s in first["shown"]]
    order = ",".join(str(i) for i in shown[1:4])
    second = run("session", "next", session, "-q", str(shown[0]), "-o", order, "--json").data
    assert second["query"] == shown[0]
    assert not set(shown) & {s["item"] for s in second["shown"]}
    back = ("session", "next", session, "--round", str(first["round"]))
    branch = run(*back, "-q", str(shown[0]), "-o", order, "--pin", str(shown[5]), "--json").data
    assert branch["shown"][0]["item"] == shown[5]
    seen = {s["item"] for s in branch["shown"]} | set(shown)
    hundred = run("session", "next", session, "--another", "--json").data
    assert not seen & {s["item"] for s in hundred["shown"]}
    assert "no query" in run("session", "next", session, "--another", "-q", "1", code=2).stderr
    done = run("session", "finish", session, "--found", str(shown[0]), "--keep", "--json").data
    assert done["orderings"] == 1
    assert [s["id"] for s in run("session", "list", "--json").data] == [first["session"]]
    times = tmp_path / "steps.csv"
    assert len(run("session", "show", session, "--times", str(times), "--json").data) == 4
    assert times.read_text().startswith("round,step,seconds")
    kinds = {r["judgement"]["kind"] for r in run("judgements", "list", "--json").data}
    assert kinds == {"ordering"}


def test_simulated_searches(run):
    rows = run("session", "simulate", "--sessions", "5", "-n", "6", "--rounds", "3", "--json").data
    assert [r["round"] for r in rows] == [1, 2, 3]
    assert rows[0]["found"] <= rows[-1]["found"] <= 1
    assert "no block" in run("session", "simulate", "--block", "smell", code=2).stderr
    few = ("--sessions", "3", "-n", "6", "--rounds", "2", "--moves", "4", "--jitter", "0.1")
    rows = run("session", "simulate", *few, "--block", "colour", "--json").data
    assert all(row["low"] <= row["found"] <= row["high"] for row in rows)


def test_the_next_closest_are_named_and_places_given(run):
    laid = run("session", "start", "-n", "8", "--layout", "grid", "--json").data
    assert all(len(one["place"]) == 2 for one in laid["shown"])
    a, b, c = (str(one["item"]) for one in laid["shown"][:3])
    said = ("session", "next", str(laid["session"]), "-q", a, "--close")
    assert "Only pictures" in run(*said, f"{b},{a}", code=2).stderr
    assert run(*said, f"{b},{c}", "--json").data["query"] == int(a)


def test_a_session_that_is_not_there(run):
    assert "session" in run("session", "next", "99", code=2).stderr
    assert "commas" in run("session", "next", "1", "-o", "a,b", code=2).stderr


def test_keys_are_made_listed_and_removed(run):
    made = run("key", "add", "shop", "--scope", "click", "--json").data
    assert made["key"].startswith("likewise-key-")
    listed = run("key", "list", "--json").data
    assert [(k["name"], k["scope"]) for k in listed] == [("shop", "click")]
    assert made["key"] not in run("key", "list").stdout
    assert "one of search, click, teach" in run("key", "add", "x", "--scope", "y", code=2).stderr
    run("key", "remove", "shop")
    assert run("key", "list", "--json").data == []


def test_what_a_person_said_is_listed_and_undone(run):
    run("mark", "swatch-0001.jpg", "-r", "swatch-0002.jpg", "--person", "ann")
    run("mark", "swatch-0001.jpg", "-r", "swatch-0003.jpg", "--person", "bob")
    by = run("judgements", "list", "--by", "ann", "--source", "cli", "--json").data
    assert [r["judgement"]["person"] for r in by] == ["ann"]
    assert len(run("judgements", "undo", "--by", "ann", "--json").data["undos"]) == 1
    counting = [r for r in run("judgements", "list", "--json").data if not r["undone"]]
    assert [r["judgement"]["person"] for r in counting] == ["bob"]
