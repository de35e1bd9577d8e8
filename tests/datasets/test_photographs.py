"""The demo's photographs: copied under mute names, with their credits, and outside the package."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

import pytest

from likewise.datasets import photographs
from likewise.types import DataProblem

ROOT = Path(__file__).parents[2]


def credits(folder: Path) -> dict[str, dict[str, str]]:
    with open(folder / photographs.CREDITS, encoding="utf-8", newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


def test_every_photograph_has_its_credit_and_an_open_licence():
    known = credits(photographs.HERE)
    assert set(known) == {path.name for path in photographs.HERE.glob("*.jpg")}
    assert len(known) == 385
    for row in known.values():
        assert row["author"]
        assert row["source"]
        assert row["licence"].startswith(("Public ", "CC0 ", "CC BY ", "MIT")), row["licence"]


def test_copies_have_names_that_do_not_tell_and_keep_their_credits(tmp_path):
    told = []
    assert (
        photographs.copy(tmp_path, lambda done, total: told.append((done, total)), first=40) == 40
    )
    assert told[-1] == (40, 40)
    copied, known = credits(tmp_path), credits(photographs.HERE)
    assert sorted(copied) == [path.name for path in sorted(tmp_path.glob("*.jpg"))]
    by_bytes = {(photographs.HERE / name).read_bytes(): name for name in known}
    kinds = []
    for name, row in copied.items():
        original = by_bytes[(tmp_path / name).read_bytes()]
        kinds.append(original.rpartition("-")[0])
        assert kinds[-1] not in name
        assert {**row, "file": original} == known[original]
    assert len(set(kinds)) > 15  # neighbours by number are of different kinds
    assert (tmp_path / photographs.README).read_text(encoding="utf-8").count("licence")
    before = (tmp_path / "photo-001.jpg").stat()
    photographs.copy(tmp_path)
    assert (tmp_path / "photo-001.jpg").stat().st_mtime_ns == before.st_mtime_ns
    assert len(list(tmp_path.glob("*.jpg"))) == 385


def test_without_a_checkout_there_are_none(tmp_path, monkeypatch):
    monkeypatch.setattr(photographs, "HERE", tmp_path / "site-packages" / "demo_photos")
    assert not photographs.are_here()
    with pytest.raises(DataProblem, match="--swatches"):
        photographs.copy(tmp_path)


def test_they_are_no_part_of_the_wheel():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert settings["packages"]["find"]["include"] == ["likewise*"]
    assert all("demo" not in pattern for pattern in settings["package-data"]["likewise"])
    assert not (ROOT / "demo_photos" / "__init__.py").exists()
