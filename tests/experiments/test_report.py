"""What every experiment shares: rows are written, and bad input is one sentence."""

from __future__ import annotations

import json

import pytest

from experiments.report import run
from likewise.types import BadInput


def test_rows_are_written_also_those_before_an_error(tmp_path, capsys):
    def main(report):
        report.row(method="first", map=0.5)
        raise BadInput("There is no Chromium here.")

    out = tmp_path / "deep" / "rows.json"
    with pytest.raises(SystemExit) as ended:
        run("some", main, None, ["--json", str(out)])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "There is no Chromium here.\n"
    assert json.loads(out.read_text())["rows"] == [{"method": "first", "map": 0.5}]


@pytest.mark.parametrize("option", ["--json", "--out"])
def test_a_place_that_cannot_be_written_to_is_told_before_the_work(option, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    began = []
    with pytest.raises(SystemExit) as ended:
        run("some", began.append, None, [option, str(tmp_path / "file" / "below" / "x")])
    assert ended.value.code == 2
    assert "name another folder" in capsys.readouterr().err
    assert not began
