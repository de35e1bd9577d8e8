"""How long it takes and how much room: told before, and while it works."""

from __future__ import annotations

import io
import json
import os

import pytest
from typer.testing import CliRunner

import likewise
from likewise.cli import app, common
from likewise.datasets import swatches
from likewise.intake import forecast as forecast_
from likewise.intake.child import Outcome
from likewise.intake.forecast import Forecast, Pace

COUNT = 60


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forecast") / "pictures"
    swatches(COUNT, size=64, seed=2).write(folder, jobs=1)
    return folder


def run(*words: str):
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize(
    ("pictures", "seconds", "room", "said"),
    [
        (20_000, 3_300, 3.1e9, "20,000 pictures, about 55 minutes, 3.1 GB of data folder"),
        (1, 0.2, 2e4, "1 picture, about 1 second, 1 MB of data folder"),
        (300, 61, 4.4e7, "300 pictures, about 61 seconds, 44 MB of data folder"),
        (90_000, 12_600, 14e9, "90,000 pictures, about 3.5 hours, 14.0 GB of data folder"),
    ],
)
def test_a_forecast_is_one_sentence(pictures, seconds, room, said):
    assert Forecast(pictures, 0, seconds, int(room)).sentence == said


def test_time_goes_by_bytes_and_not_by_count(monkeypatch):
    now = 0.0
    monkeypatch.setattr(forecast_.time, "monotonic", lambda: now)
    pace = Pace(200, 100 * 1_000 + 100 * 9_000)
    for _ in range(99):
        now += 0.01
        pace.took(1_000, Outcome(0))
        assert pace.forecast is None  # a few files say too little
    now += 0.01
    pace.took(1_000, Outcome(0))
    # A tenth of the bytes took one second: nine more, though half of the files are done.
    assert pace.forecast.seconds == pytest.approx(9.0, rel=0.02)
    for _ in range(100):
        now += 0.09
        pace.took(9_000, Outcome(0))
    assert pace.forecast.seconds == 0


def test_the_bar_tells_the_forecast_and_the_time_left_by_bytes(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(common.sys, "stderr", terminal)
    with common.progress_bar("Indexing") as tell:
        tell(0, 20_000)
        tell.foreseen(Forecast(20_000, 10**9, 3_300, int(3.1e9)))
        tell(10_000, 20_000)
        assert tell.bar.tasks[0].fields["pace"].endswith(", 55 minutes left")
        tell.foreseen(Forecast(20_000, 10**9, 1_200, int(3.1e9)))
        tell(19_000, 20_000)
        assert tell.bar.tasks[0].fields["pace"].endswith(", 20 minutes left")
        tell(20_000, 20_000)
        assert "left" not in tell.bar.tasks[0].fields["pace"]
    assert terminal.getvalue().count("20,000 pictures, about 55 minutes, 3.1 GB") == 1
    monkeypatch.setattr(common.sys, "stderr", io.StringIO())  # no terminal: not a word
    with common.progress_bar("Indexing") as tell:
        tell.foreseen(Forecast(1, 1, 1, 1))
        tell(1, 1)
    assert common.sys.stderr.getvalue() == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_dry_run_tells_and_writes_nothing(made):
    before = sorted(os.listdir(made))
    told = run("index", str(made), "--dry-run", "--features", "colour,texture", "--json")
    assert told.exit_code == 0, told.output
    foreseen = json.loads(told.output)
    assert foreseen["pictures"] == COUNT
    assert foreseen["bytes"] == sum(f.stat().st_size for f in made.glob("*.jpg"))
    assert foreseen["seconds"] > 0
    assert sorted(os.listdir(made)) == before
    said = run("index", str(made), "--dry-run", "--features", "colour,texture")
    assert said.output.startswith(f"{COUNT} pictures, about ")
    assert run("index", str(made / "none"), "--dry-run").exit_code == 2


def test_what_is_known_already_is_no_part_of_it(made, tmp_path):
    data = tmp_path / "data"
    heard = []
    with likewise.open(made, data=data, create=True) as collection:
        collection.index(features=("colour", "texture"), quiet=True, foreseen=heard.append)
    assert heard[-1].pictures == COUNT
    assert heard[-1].seconds == 0
    # The room that was foretold is about the room that it took.
    size = sum(f.stat().st_size for f in data.rglob("*") if f.is_file() and "wal" not in f.name)
    assert heard[-1].data_bytes / 4 < size < heard[-1].data_bytes * 6
    told = run("index", str(made), "--data", str(data), "--dry-run", "--json")
    assert json.loads(told.output)["pictures"] == 0
