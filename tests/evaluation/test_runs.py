"""TREC runs: lossless there and back, and bad lines are named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import evaluation as ev
from likewise.types import BadInput, DataProblem, Hits, NotFound

name = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=8).filter(
    lambda text: text.split() == [text]
)
score = st.floats(allow_nan=False, allow_infinity=False)
runs = st.dictionaries(name, st.dictionaries(name, score, min_size=1, max_size=6), max_size=4)


@given(run=runs)
def test_there_and_back(tmp_path_factory, run):
    path = tmp_path_factory.mktemp("runs") / "a.run"
    ev.write_run(path, run)
    assert ev.read_run(path) == run


def test_lines_are_best_first_with_ties_by_name(tmp_path):
    path = tmp_path / "a.run"
    ev.write_run(path, {"q": {"b": 1.0, "c": 2.0, "a": 1.0}}, tag="mine")
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line[2:4] for line in lines] == [["c", "1"], ["a", "2"], ["b", "3"]]
    assert {(line[0], line[1], line[5]) for line in lines} == {("q", "Q0", "mine")}


def test_float32_scores_survive(tmp_path):
    scores = np.random.default_rng(0).random(20).astype(np.float32)
    run = ev.run_of_hits([Hits(np.arange(20), scores)], ["q"])
    ev.write_run(tmp_path / "a.run", run)
    back = ev.read_run(tmp_path / "a.run")["q"]
    assert [np.float32(back[str(i)]) for i in range(20)] == scores.tolist()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("q Q0 b 2 1.0", "six columns"),
        ("q Q0 b 2 high tag", "finite number"),
        ("q Q0 b 2 nan tag", "finite number"),
        ("q Q0 a 2 0.5 tag", "twice"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, said):
    path = tmp_path / "bad.run"
    path.write_text(f"q Q0 a 1 1.0 tag\n\n{line}\n", encoding="utf-8")
    with pytest.raises(DataProblem, match=said) as error:
        ev.read_run(path)
    assert f"{path}, line 3" in str(error.value)


def test_files_that_are_no_runs(tmp_path):
    with pytest.raises(NotFound, match="no run"):
        ev.read_run(tmp_path / "none.run")
    (tmp_path / "binary.run").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(DataProblem, match="UTF-8"):
        ev.read_run(tmp_path / "binary.run")


@pytest.mark.parametrize(
    "run", [{"q 1": {"a": 1.0}}, {"q": {"a b": 1.0}}, {"": {"a": 1.0}}, {"q": {"a": np.nan}}]
)
def test_what_a_run_cannot_keep_is_refused_and_nothing_is_overwritten(tmp_path, run):
    path = tmp_path / "a.run"
    ev.write_run(path, {"q": {"a": 1.0}})
    before = path.read_bytes()
    with pytest.raises(BadInput, match=r"cannot keep|finite"):
        ev.write_run(path, run)
    assert path.read_bytes() == before


def test_hits_need_names():
    hits = [Hits(np.array([0, 5]), np.array([2.0, 1.0]))]
    with pytest.raises(BadInput, match="name every item"):
        ev.run_of_hits(hits, ["q"], ["a", "b"])
    with pytest.raises(BadInput, match="name of its own"):
        ev.run_of_hits(hits * 2, ["q", "q"])
    with pytest.raises(BadInput, match="twice"):
        ev.run_of_hits([Hits(np.array([1, 1]), np.array([2.0, 1.0]))], ["q"])
