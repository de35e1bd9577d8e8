"""A small indexed collection that tests copy rather than make anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import likewise
from likewise.datasets import swatches

FEATURES = ("colour", "texture")


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "pictures"
    swatches(48, size=64, seed=1).write(folder, jobs=1)
    with likewise.open(folder, create=True) as collection:
        report = collection.index(features=FEATURES, processes=1)
        assert report.embedded == 48
        assert report.problems == 0
    return folder


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
