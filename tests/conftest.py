"""Settings that all tests share, and a small indexed collection that they copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import settings

import likewise
from likewise.datasets import swatches

FEATURES = ("colour", "texture")

settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")


def indexed(folder: Path, count: int, *, problems: int = 0) -> Path:
    """A folder of drawn pictures, described and indexed."""
    swatches(count, size=64, seed=1).write(folder, jobs=1)
    for number in range(problems):
        (folder / f"broken{number or ''}.jpg").write_bytes(b"not a picture")
    with likewise.open(folder, create=True) as collection:
        report = collection.index(features=FEATURES, processes=1)
        assert (report.embedded, report.problems) == (count, problems)
    return folder


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    return indexed(tmp_path_factory.mktemp("made") / "pictures", 48)


@pytest.fixture
def folder(made, tmp_path) -> Path:
    """A copy of the indexed folder, to be changed at will."""
    target = tmp_path / "pictures"
    shutil.copytree(made, target)
    return target


@pytest.fixture
def collection(folder):
    with likewise.open(folder, write=True) as opened:
        yield opened
